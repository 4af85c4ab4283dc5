"""Make the tagger `general` that comes with the package: names in English text, learnt from open corpora alone.

    python benchmarks/general_tagger.py text --data FOLDER --out text.txt.gz [--sentences 7000] --files FILE.txt.xz ...
    python benchmarks/general_tagger.py hashes --data FOLDER --text text.txt.gz --out benchmarks
    python benchmarks/general_tagger.py train --data FOLDER --text text.txt.gz --out DIR [--members 5] [--students 3]

`text` draws sentences from open text; those that a board measures on are left out. `hashes` writes what is learnt and
what is measured on, so that a test can compare them. `train` teaches a committee the open corpora, with copies in
careless spelling; the members tag the text. A student learns the corpora and the text: a name that all members found is
a name, a word that none called a name is none, and every other word may be anything. The student that is best on
`judges`, target sentences that are no board's test, goes to DIR/tagger; DIR/results.json has all scores.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

from open_corpora import LEAST_WORDS, MAPS, TYPES, evaluation_texts, hashes, spelling_of, with_noise, write_hashes
from shared import f1_of, one_thread, parser, save_small, train
from sources import TRAINING, TYPED, golds, open_texts

NOISE, NOISE_OF_TEXT = 0.6, 0.3  # copies in careless spelling, as a share of the sentences
WORDS = range(6, 61)  # of a sentence of text


def main() -> None:
    options = arguments()
    if options.what == "text":
        return draw_text(options)
    if options.what == "hashes":
        return keep_hashes(options)
    out = Path(options.out)
    (out / "members").mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), one_thread) as pool:
        members = list(pool.map(partial(learn_member, options), range(1, options.members + 1)))
        print(f"{len(members)} members after {time.monotonic() - began:.0f} s", flush=True)
        students = list(pool.map(partial(learn_student, options), range(1, options.students + 1)))
    best = max(students, key=lambda student: mean_of(student, "judges"))
    found = {"members": members, "students": students, "best": best["seed"], "seconds": time.monotonic() - began}
    (out / "results.json").write_text(json.dumps(found, indent=2))
    finish(options, found, out / f"student-{best['seed']}")
    for one in (*members, *students):
        parts = ("judges", "test", "lower", "upper")
        print(one["name"], one["seed"], *(f"{part} {mean_of(one, part):.2f}" for part in parts))


def finish(options: argparse.Namespace, results: dict[str, Any], student: Path) -> None:
    """The student as it is shipped, with its card."""
    from acclimate.model.tagger import Tagger

    card = (Path(__file__).parent / "general_card.md").read_text(encoding="utf-8")
    f1 = next(one["f1"] for one in results["students"] if one["seed"] == results["best"])
    targets = [name.removesuffix("/lower") for name in f1 if name.endswith("/lower")]
    rows = [[target, *(f"{f1[f'{target}/{part}']:.1f}" for part in ("test", "lower", "upper"))] for target in targets]
    facts = {name: len(results[name]) for name in ("members", "students")}
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    text = card.format(**facts, noise=NOISE, text=f"{len(text_of(options)):,}", rows=lines)
    Tagger.load(student).half().save(Path(options.out) / "tagger", **{"README.md": text})


def mean_of(scores: dict[str, Any], part: str) -> float:
    """Of the seven targets."""
    return fmean(f1 for name, f1 in scores["f1"].items() if name.endswith(f"/{part}") and "conll2003" not in name)


def learn_member(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    from acclimate.inference.predict import predict

    file = Path(options.out) / "members" / f"{seed}.json"
    if not file.exists():
        tagger = learn(options, labelled(options, seed), seed, options.updates)
        tags = [sentence.tags for sentence in predict(tagger, text_of(options))]
        file.write_text(json.dumps({"name": "member", "seed": seed, "f1": scores(options, tagger), "tags": tags}))
    return {name: value for name, value in json.loads(file.read_text()).items() if name != "tags"}


def learn_student(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    from acclimate.data.votes import agreed

    files = sorted((Path(options.out) / "members").iterdir())
    text = text_of(options)
    answers = [text.with_tags(json.loads(file.read_text())["tags"]) for file in files]
    voted = replace(agreed(answers), name="text", annotates=TYPES)
    corpora = [*labelled(options, seed), with_noise(voted, NOISE_OF_TEXT, seed)]
    tagger = learn(options, corpora, seed, options.student_updates)
    small = save_small(tagger, Path(options.out) / f"student-{seed}")
    return {"name": "student", "seed": seed, "f1": scores(options, small)}


def labelled(options: argparse.Namespace, seed: int) -> list[Any]:
    corpora = [corpus[: options.limit] for corpus in open_texts(options.data, tuple(MAPS), True)]
    return [with_noise(corpus, NOISE, seed) for corpus in corpora]


def text_of(options: argparse.Namespace) -> Any:
    from acclimate import Corpus

    with gzip.open(options.text, "rt", encoding="utf-8") as file:
        return Corpus.of_texts(file.read().splitlines()[: options.limit])


def learn(options: argparse.Namespace, corpora: list[Any], seed: int, updates: int) -> Any:
    from acclimate.data.sources import join_sources
    from acclimate.runs.task import Task

    values = {"sources": {"hidden_odds": options.hidden_odds}, "training": {**TRAINING, "updates": updates}}
    return train(Task(join_sources(corpora)), recipe="source-only", seed=seed, **values).tagger


def scores(options: argparse.Namespace, tagger: Any) -> dict[str, float]:
    parts = golds(options.data, TYPED, options.limit).items()
    return {f"{name}/{part}": f1_of(tagger, gold) for (name, part), gold in parts}


def draw_text(options: argparse.Namespace) -> None:
    """As many sentences from each file, no two alike."""
    from acclimate.data.words import find_sentences, split_words

    dice, drawn = random.Random(1), []
    taken = evaluation_texts(Path(options.data))
    for file in options.files:
        opened = (lzma if file.endswith(".xz") else gzip).open(file, "rt", encoding="utf-8")
        with opened as lines:
            paragraphs = lines.read().splitlines()
        dice.shuffle(paragraphs)
        before = len(drawn)
        for paragraph in paragraphs:
            found = find_sentences(paragraph)
            for start, end in dice.sample(found, min(2, len(found))):
                sentence = paragraph[start:end]
                words = split_words(sentence)
                if len(words) in WORDS and (spelled := spelling_of(words)) not in taken:
                    taken.add(spelled)
                    drawn.append(sentence)
            if len(drawn) - before >= options.sentences:
                break
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        file.write("\n".join(drawn) + "\n")
    print(f"{len(drawn):,} sentences in {options.out}")


def keep_hashes(options: argparse.Namespace) -> None:
    corpora = [*open_texts(options.data, tuple(MAPS), True), text_of(options)]
    learnt = (spelling_of(one.words) for corpus in corpora for one in corpus if len(one) >= LEAST_WORDS)
    write_hashes(hashes(learnt), Path(options.out) / "learnt_by_general.bin")
    write_hashes(hashes(evaluation_texts(Path(options.data))), Path(options.out) / "evaluated.bin")


def arguments() -> argparse.Namespace:
    own = {"members": 5, "students": 3, "updates": 800, "student_updates": 3000, "text": "", "jobs": 5}
    odds = (0.03, "that an open word is of a type that nobody looked for, as chosen on judges")
    made = parser(__doc__, "data out limit", sentences=(7000, "from each file"), hidden_odds=odds, **own)
    made.add_argument("what", choices=("text", "hashes", "train"))
    made.add_argument("--files", nargs="+", metavar="FILE", help="text, compressed")
    return made.parse_args()


if __name__ == "__main__":
    main()
