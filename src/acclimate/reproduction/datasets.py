"""The data sets that tables name: what each is, where it is described, and how its parts are read.

A set is a folder with the parts train, dev, test and unlabelled, each a file of any format: DATA/conll2003/train.conll
and so on. What every set is stands in `datasets.yaml`. With `--scale small` a bundled corpus stands in for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from acclimate.data.concepts.dictionary import ConceptDictionary
from acclimate.data.concepts.files import load_concepts
from acclimate.data.concepts.labelling import Groups, Labeller
from acclimate.data.corpus import Corpus, Kind
from acclimate.data.mapping import LabelMap, map_labels, typeless
from acclimate.data.problems import InputError
from acclimate.data.reading import load_bundled, read_corpus
from acclimate.data.subsets import split
from acclimate.inference.part_of_speech import part_of_speech_tagger
from acclimate.settings import Settings, SettingsError, complete, load_yaml
from acclimate.spelling import did_you_mean


class WeakLabels(Settings):
    """Which names, and which label each type of them gets."""

    concepts: tuple[str, ...]
    groups: str = "table-12"
    label: str | None = None  # of names without a type


def weakly_labelled(corpus: Corpus, settings: WeakLabels) -> Corpus:
    """The same text under the dictionary's labels."""
    groups = Groups.load(settings.groups, single=settings.label)
    dictionary = ConceptDictionary(map(load_concepts, settings.concepts), groups)
    return Corpus.of(Labeller(dictionary).label(corpus.unlabelled()), f"{corpus.name}, weak labels")


PARTS = ("train", "dev", "test", "unlabelled")


class Division(Settings):
    """Parts that a set lacks, taken from one that it has: always the same, and equal sentences on one side."""

    of: Literal["train", "dev", "test", "unlabelled"]
    parts: dict[str, int | Literal["rest"]]


class Dataset(Settings):
    """One data set."""

    what: str
    where: str  # it is described
    folder: str | None = None  # its own name if not said
    small: str | None = None  # the bundled set that stands in for it
    bundled: Literal["news", "social", "clinical"] | None = None
    map: str | None = None  # renames its labels
    plain: bool = False  # a label per word
    divide: Division | None = None
    weak: WeakLabels | None = None  # its tags are dropped, and a dictionary's take their place
    parts_of_speech: bool = False  # its tags are dropped, and those of the built-in tagger take their place


@cache
def known_datasets() -> dict[str, Dataset]:
    with as_file(files("acclimate.reproduction") / "datasets.yaml") as file:
        values = load_yaml(file)
    return {name: complete(Dataset, own, where=f"datasets.yaml, {name}") for name, own in values.items()}


def find_dataset(name: str) -> Dataset:
    sets = known_datasets()
    if name not in sets:
        raise SettingsError(f"datasets.yaml has no data set {name!r}.{did_you_mean(name, sets)}")
    return sets[name]


class Datasets:
    """Parts of data sets, read once each: from a folder, or bundled ones in their place."""

    def __init__(self, folder: Path | None, small: bool) -> None:
        self.folder, self.small = folder, small
        self._parts: dict[tuple[str, str], Corpus | None] = {}

    def resolved(self, name: str) -> str:
        """The set that is really read."""
        dataset = find_dataset(name)
        if not self.small or dataset.bundled is not None:
            return name
        if dataset.small is None:
            raise SettingsError(f"datasets.yaml: nothing stands in for {name} at small scale.")
        return dataset.small

    def missing(self, name: str, parts: Iterable[str]) -> str | None:
        """What the set is and where it was looked for, if one of these parts is not there."""
        dataset = find_dataset(name)
        if self.small or dataset.bundled is not None:
            return None
        place = Path(dataset.folder or name)
        for part in parts:
            file_part = dataset.divide.of if dataset.divide is not None and part in dataset.divide.parts else part
            if self.folder is None or not _files(self.folder / place, file_part):
                looked = (self.folder or Path("DATA")) / place / f"{file_part}.*"
                return f"{name}: {dataset.what}. Described in {dataset.where}. Looked for {looked}"
        return None

    def part(self, name: str, part: str) -> Corpus | None:
        """None where the set has no such part."""
        key = (self.resolved(name), part)
        if key not in self._parts:
            self._parts[key] = self._read(*key)
        return self._parts[key]

    def typeless_part(self, name: str, part: str) -> Corpus | None:
        """The same with all labels made one."""
        key = (self.resolved(name), f"{part}, typeless")
        if key not in self._parts:
            corpus = self.part(name, part)
            self._parts[key] = corpus if corpus is None or not corpus.is_labelled else typeless(corpus)
        return self._parts[key]

    def require(self, name: str, part: str) -> Corpus:
        corpus = self.part(name, part)
        if corpus is None:
            raise InputError(f"the data set {name} has no part {part}.")
        return corpus

    def file(self, name: str, part: str) -> Path:
        """Where a part stands on disk."""
        dataset = find_dataset(self.resolved(name))
        if dataset.bundled is not None:
            kind = "txt" if part == "unlabelled" else "conll"
            with as_file(files("acclimate.data") / "corpora" / dataset.bundled / f"{part}.{kind}") as place:
                return place
        assert self.folder is not None
        return _files(self.folder / (dataset.folder or name), part)[0]

    def _read(self, name: str, part: str) -> Corpus | None:
        """A part with all that is done to its tags."""
        dataset = find_dataset(name)
        parts = {} if dataset.divide is None else dict(dataset.divide.parts)
        corpus = self._read_file(name, dataset, dataset.divide.of if dataset.divide and part in parts else part)
        if corpus is None:
            return None
        corpus = split(corpus, parts)[part] if part in parts else corpus
        if dataset.map is not None:
            corpus = map_labels(corpus, LabelMap.load(dataset.map))
        if dataset.weak is not None:
            corpus = weakly_labelled(corpus, dataset.weak)
        if dataset.parts_of_speech:
            tagged = part_of_speech_tagger().tag(corpus.unlabelled())
            corpus = Corpus(tagged.sentences, f"{corpus.name}, parts of speech", "plain")
        return corpus

    def _read_file(self, name: str, dataset: Dataset, part: str) -> Corpus | None:
        if dataset.bundled is not None:
            corpus: Corpus = getattr(load_bundled(dataset.bundled), part)
            return corpus
        assert self.folder is not None
        there = _files(self.folder / (dataset.folder or name), part)
        labels: Kind | None = "plain" if dataset.plain else None
        return read_corpus(there[0], labels=labels, name=f"{name}/{part}") if there else None


def _files(folder: Path, part: str) -> list[Path]:
    return sorted(folder.glob(f"{part}.*"))
