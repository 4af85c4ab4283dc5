"""Where labelled sentences go: one file as they come, or three when all are there."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from acclimate.cli.places import check_place_to_write, remark_on_folder
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.source import inner_name
from acclimate.data.subsets import Size, split
from acclimate.data.writers.saving import atomic_file
from acclimate.data.writing import WRITERS, write_corpus
from acclimate.settings import UsageError

PARTS = ("train", "dev", "test")
_AT_ONCE = 5_000  # sentences
_STREAMED = {".conll": "conll", ".jsonl": "jsonl"}  # formats without a beginning and an end


def shares_of(text: str) -> dict[str, Size]:
    """`0.8,0.1,0.1` as the shares of train, dev and test."""
    try:
        shares = [float(share) for share in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) != len(PARTS) or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise UsageError(
            f"--split {text}: expected the shares of {', '.join(PARTS)}, such as 0.8,0.1,0.1, which sum to 1."
        )
    return dict(zip(PARTS, shares, strict=True))


class LabelledFiles:
    """The file that the user names, or for a split that name with the part's: weak.conll.gz → weak-train.conll.gz.

    A split holds all sentences in memory. Otherwise CoNLL and JSONL are written as the sentences come.
    """

    def __init__(
        self,
        out: str,
        shares: dict[str, Size] | None,
        seed: int,
        overwrite: bool,
        inputs: Sequence[str | None] = (),
    ) -> None:
        self.out, self.shares, self.seed = out, shares, seed
        self.written: dict[str, int] = {}  # sentences by file
        self.remark = ""  # on what else is there
        if out == "-" and shares is not None:
            raise UsageError("--split makes three files, and --out - prints one: name a file.")
        for file in [self.place(part) for part in shares or ("",)]:
            check_place_to_write("--out", file, overwrite, inputs, has_tags=True)

    def place(self, part: str) -> str:
        if not part:
            return self.out
        path = Path(self.out)
        inner = inner_name(path.name)
        suffix = Path(inner).suffix
        return str(path.with_name(f"{inner.removesuffix(suffix)}-{part}{suffix}{path.name[len(inner) :]}"))

    def write(self, sentences: Iterator[Sentence]) -> None:
        if self.shares is not None:
            corpus = Corpus.of(sentences, "weak labels")
            _check(corpus)
            for part, chosen in split(corpus, self.shares, self.seed).items():
                write_corpus(chosen, self.place(part))
                self.written[self.place(part)] = len(chosen)
            return
        format = _STREAMED.get(Path(inner_name(self.out)).suffix.lower())
        if format is None:
            corpus = Corpus.of(sentences, "weak labels")
            _check(corpus)
            self.remark = remark_on_folder(self.out, write_corpus(corpus, self.out))
            self.written[self.out] = len(corpus)
        else:
            self._stream(sentences, format)

    def _stream(self, sentences: Iterator[Sentence], format: str) -> None:
        written = 0
        with atomic_file(self.out) as file:
            while batch := tuple(islice(sentences, _AT_ONCE)):
                data = WRITERS[format](Corpus(batch, "weak labels"), "IOB2")
                # a byte-order mark is doubled at the beginning of a file, where readers take one away; only there
                file.write(data.removeprefix(codecs.BOM_UTF8) if written else data)
                written += len(batch)
            if not written:
                raise InputError("the text has no sentences. Is it the right file?")
        self.written[self.out] = written


def _check(corpus: Corpus) -> None:
    if not len(corpus):
        raise InputError("the text has no sentences. Is it the right file?")
