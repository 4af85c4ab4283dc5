"""Are word vectors worth it? CoNLL-2003 with few labels: random vectors, GloVe, and vectors trained on raw text.

    python benchmarks/vectors.py --data FOLDER --text FILE [--megabytes 12] [--sentences 1000] [--seeds 1,2,3]
        [--gensim-python PYTHON] [--pairs FILE ...] [--json FILE]

FOLDER holds train, dev and test. The tagger learns from the first sentences of a seeded choice of train; the rest of
train is its target text, without tags. The state kept is the one with the best F1 on 800 dev sentences; test is scored
once. `--gensim-python` is an interpreter with gensim: the same text, words and settings, for comparison. `--pairs` are
files of word pairs with a human judgement of their likeness (WordSim-353 and SimLex-999 lie in gensim's test data).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from acclimate.data.corpus import Corpus
from acclimate.data.reading import read_corpus
from acclimate.data.subsets import take_sentences
from acclimate.model.encoders.vector_files import write_vectors
from acclimate.model.encoders.vector_text import NumberedText, read_paragraphs
from acclimate.model.encoders.vector_training import VectorSettings, VectorTraining
from acclimate.model.encoders.vectors import in_table, read_vectors
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt

TRAINING = {"epochs": 15, "words_per_batch": 512, "learning_rate": 0.003}

GENSIM = """
import sys, time
from gensim.models import Word2Vec
from gensim.models.word2vec import LineSentence
text, out, width, epochs, sg = sys.argv[1:]
model = Word2Vec(vector_size=int(width), window=5, min_count=5, seed=1, workers=1, sg=int(sg))
lines = list(LineSentence(text))
model.build_vocab(lines)
started = time.process_time()
model.train(lines, total_examples=model.corpus_count, epochs=int(epochs))
print(time.process_time() - started)
model.wv.save_word2vec_format(out)
"""


def paragraphs(path: str, megabytes: float) -> list[list[str]]:
    """The first paragraphs of a text, spelled as the table spells them."""
    found, size = [], 0.0
    for words in read_paragraphs(path):
        size += sum(map(len, words)) + len(words)
        if size > megabytes * 1e6:
            break
        found.append([in_table(word, True) for word in words])
    return found


def train_ours(lines: list[list[str]], settings: VectorSettings, out: Path) -> float:
    text = NumberedText.of(lines)
    training = VectorTraining(text, settings)
    started = time.process_time()  # of one thread, and of gensim's: other programs on the machine do not count
    for _ in training:
        pass
    seconds = time.process_time() - started
    write_vectors(text.words, training.vectors, out)
    return seconds


def train_gensim(python: str, lines: list[list[str]], settings: VectorSettings, out: Path) -> float:
    text = out.with_suffix(".blanks")
    text.write_text("".join(" ".join(words) + "\n" for words in lines), encoding="utf-8")
    numbers = [settings.width, settings.epochs, int(settings.method == "skip-gram")]
    command = [python, "-c", GENSIM, text, out, *numbers]
    return float(subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout)


def likeness(vectors: str, pairs: Path) -> tuple[float, int]:
    """Rank correlation with human judgement, and how many pairs have both vectors."""
    rows = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    judged = [(row[0].lower(), row[1].lower(), float(row[2])) for row in rows if row[2].replace(".", "").isdigit()]
    known = read_vectors(vectors, {word for row in judged for word in row[:2]})
    judged = [row for row in judged if row[0] in known and row[1] in known]
    ours = [float(torch.cosine_similarity(known[one], known[other], dim=0)) for one, other, _ in judged]
    ranks = [_ranks(ours), _ranks([value for *_, value in judged])]
    return float(np.corrcoef(*ranks)[0, 1]), len(judged)


def _ranks(values: Sequence[float]) -> np.ndarray[Any, Any]:
    """Equal values share the mean of their ranks."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[place]


def tagged(vectors: str | None, seed: int, parts: dict[str, Corpus], sentences: int) -> dict[str, Any]:
    few = take_sentences(parts["train"], sentences, seed=0)
    taken = set(map(id, few))
    rest = Corpus.of((one for one in parts["train"] if id(one) not in taken), "rest").unlabelled()
    tagger = Tagger.build(
        "character-cnn-lstm", labels=parts["train"].labels, text=few, more_text=rest, seed=seed, vectors=vectors
    )
    outcome = adapt(
        tagger,
        few,
        recipe="source-only",
        source_dev=parts["dev"],
        source_test=parts["test"],
        training=TRAINING,
        seed=seed,
    )
    assert outcome.source is not None
    return {
        "vectors": "none" if vectors is None else Path(vectors).name,
        "seed": seed,
        "found": None if tagger.encoder.coverage is None else str(tagger.encoder.coverage),
        "dev_f1": 100 * outcome.stages[0]["score"],
        "test_f1": 100 * outcome.source.after.span.f1,
    }


def find(folder: str, part: str) -> Path:
    found = sorted(Path(folder).glob(f"{part}.*"))
    if not found:
        sys.exit(f"{folder}: no {part}.* there.")
    return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--megabytes", type=float, default=12)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--gensim-python", metavar="PYTHON")
    parser.add_argument("--pairs", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    parts = {part: read_corpus(find(arguments.data, part)) for part in ("train", "dev", "test")}
    parts["dev"] = take_sentences(parts["dev"], 800, seed=0)
    settings = VectorSettings()
    lines = paragraphs(arguments.text, arguments.megabytes)
    print(f"{len(lines):,} paragraphs, {sum(map(len, lines)):,} running words", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        choices: dict[str, str | None] = {"none": None, "glove": "glove", "ours": str(Path(folder, "ours"))}
        seconds = {"ours": train_ours(lines, settings, Path(folder, "ours"))}
        if arguments.gensim_python:
            choices["gensim"] = str(Path(folder, "gensim"))
            seconds["gensim"] = train_gensim(arguments.gensim_python, lines, settings, Path(folder, "gensim"))
            print(f"training took gensim {seconds['gensim'] / seconds['ours']:.2f} times as much CPU time", flush=True)
        likenesses = {}
        for name, vectors in islice(choices.items(), 1, None):
            for pairs in arguments.pairs:
                assert vectors is not None
                likenesses[f"{name} {Path(pairs).name}"] = value, number = likeness(vectors, Path(pairs))
                print(f"{name:8s} {Path(pairs).name}: rank correlation {value:.3f} on {number} pairs", flush=True)
        rows = []
        for seed in map(int, arguments.seeds.split(",")):
            for vectors in choices.values():
                rows.append(tagged(vectors, seed, parts, arguments.sentences))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)

    print(f"{arguments.sentences:,} labelled sentences, test span F1, mean ± std of {arguments.seeds}")
    for name in choices:
        scores = {part: [row[part] for row in rows if row["vectors"] == name] for part in ("dev_f1", "test_f1")}
        shown = [
            f"{statistics.mean(values):.2f} ± {statistics.stdev(values) if len(values) > 1 else 0:.2f}"
            for values in scores.values()
        ]
        found = next(row["found"] for row in rows if row["vectors"] == name)
        print(f"{name:8s} dev {shown[0]}  test {shown[1]}  {found or ''}")
    if arguments.json:
        report = {
            "rows": rows,
            "cpu_time_of_gensim_by_ours": seconds["gensim"] / seconds["ours"] if "gensim" in seconds else None,
            "rank_correlation_and_pairs": likenesses,
            "training": TRAINING,
            "vectors": settings.model_dump(),
            "megabytes": arguments.megabytes,
        }
        Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
