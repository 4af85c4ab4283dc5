"""Masked rows for the tests: in memory, and as the log of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from acclimate.analysis.run_records import MaskedRow
from acclimate.data.corpus import Corpus, Sentence


def row(words: str, *, update: int = 1, policy: str = "random", by: str | None = None) -> MaskedRow:
    """A row whose hidden words are written in brackets: `row("the [cat] sat")`."""
    parts = words.split(" ")
    hidden = tuple(number for number, word in enumerate(parts) if word.startswith("["))
    return MaskedRow(update, policy, tuple(word.strip("[]") for word in parts), hidden, by or policy)


def corpus(*sentences: str, name: str = "corpus") -> Corpus:
    """Sentences whose entities are written in brackets, one word each: `corpus("[Anna] left")`."""
    rows = [
        (sentence.split(), ["B-X" if word[0] == "[" else "O" for word in sentence.split()]) for sentence in sentences
    ]
    return Corpus.of([Sentence(tuple(word.strip("[]") for word in words), tuple(tags)) for words, tags in rows], name)


def write_log(folder: Path, rows: Iterable[MaskedRow]) -> Path:
    """A run folder as `adapt` leaves it, with losses between the masks."""
    path = folder / "training" / "adversarial-masking" / "records.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in _lines(rows)), encoding="utf-8")
    return folder


def _lines(rows: Iterable[MaskedRow]) -> Iterator[str]:
    for row in rows:
        head = {"stage": "domain-tuning", "update": row.update, "time": 1.0}
        yield json.dumps({"kind": "update", **head, "masked_words": 2.5})
        shown = {"words": row.words, "hidden": row.hidden, "by": row.by}
        yield json.dumps({"kind": "masks", **head, "policy": row.policy, "rows": [shown]}, ensure_ascii=False)


class TagsByRule:
    """A part-of-speech tagger that looks words up, and counts the sentences it was asked for."""

    name = "rule"

    def __init__(self, tags: dict[str, str]) -> None:
        self.tags, self.asked = tags, 0

    def tag(self, corpus: Corpus, progress: Callable[[int], None] | None = None) -> Corpus:
        self.asked += len(corpus)
        tagged: Sequence[Sentence] = [
            Sentence(sentence.words, tuple(self.tags.get(word, "X") for word in sentence.words)) for sentence in corpus
        ]
        return Corpus.of(tagged, corpus.name, "plain")
