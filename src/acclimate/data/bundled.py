"""The corpora that ship: three small domains written for this project. `corpora/README.md` is their data card."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import NamedTuple

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus

BUNDLED = {
    "news": "newspaper sentences; PER, LOC, ORG, MISC",
    "social": "informal posts; PER, LOC, ORG, MISC",
    "clinical": "clinical notes; DISEASE, SYMPTOM, TREATMENT",
}


class Domain(NamedTuple):
    """One bundled domain. `text` is everything that may be read without labels: the unlabelled part and train."""

    train: Corpus
    dev: Corpus
    test: Corpus
    unlabelled: Corpus

    @property
    def text(self) -> Corpus:
        return (self.train.unlabelled() + self.unlabelled).renamed(f"{self.unlabelled.name} text")


def load_bundled(name: str) -> Domain:
    """`news`, `social` or `clinical`."""
    if name not in BUNDLED:
        raise InputError(f"no bundled corpus {name!r}. There are: {', '.join(BUNDLED)}.")
    with as_file(files("acclimate.data") / "corpora" / name) as folder:
        train, dev, test = (
            read_corpus(folder / f"{part}.conll", "conll", name=f"{name} {part}") for part in ("train", "dev", "test")
        )
        unlabelled = read_corpus(folder / "unlabelled.txt", "text", name=f"{name} unlabelled", tokenize="blanks")
    return Domain(train, dev, test, unlabelled)
