"""Sources as the command line names them: `--source news.conll --source tweets.conll,annotates=PER+LOC,weight=2`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acclimate.cli.outputs import place_of
from acclimate.cli.reading import ReadingSettings, is_bundled, read, short_names
from acclimate.data.corpus import Corpus
from acclimate.data.mapping import typeless
from acclimate.data.sources import annotated_labels, join_sources, remarks_on_sources
from acclimate.runs.task import NO_SOURCE
from acclimate.settings import UsageError
from acclimate.spelling import did_you_mean

_KEYS = ("map", "annotates", "weight")
Spec = str | Sequence[str]


@dataclass(frozen=True)
class NamedSource:
    """One `--source`: a corpus by its place, and what is said of it."""

    place: str
    map: str | None = None  # a label map of its own, in place of the one for all sources
    annotates: tuple[str, ...] | None = None  # labels that were looked for, under the map's names
    weight: float = 1.0

    @classmethod
    def of(cls, spec: str) -> NamedSource:
        """A place, and options behind it with commas between them."""
        place = place_of(spec)
        options = spec.removeprefix(place).split(",")[1:]
        given: dict[str, Any] = {}
        for option in options:
            key, equals, value = option.partition("=")
            if key not in _KEYS or not equals or not value:
                known = ", ".join(f"{name}=..." for name in _KEYS)
                raise UsageError(f"--source {spec}: {option!r} is no option of a source. Options: {known}.")
            given[key] = value
        if "annotates" in given:
            given["annotates"] = tuple(sorted(label for label in given["annotates"].split("+") if label))
        if "weight" in given:
            given["weight"] = _number(spec, given["weight"])
        return cls(place, **given)

    def read(self, place: str, reading: ReadingSettings, tell: Callable[[str], Any] | None) -> Corpus:
        """A corpus at another place, or this one, read as this source says."""
        own = reading if self.map is None else reading.model_copy(update={"map": self.map})
        corpus = read(place, own, tell=tell)
        return corpus if self.annotates is None else replace(corpus, annotates=self.annotates)


def _number(spec: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise UsageError(f"--source {spec}: the weight must be a number above 0, not {text!r}.")
    return weight


def specs_of(given: Spec | None) -> list[str]:
    """None, one or several, as settings hold them."""
    return [given] if isinstance(given, str) else list(given or ())


def sources_of(given: Spec | None) -> dict[str, NamedSource]:
    """The sources by short names: what is left of a path when the folders and endings that tell nothing are gone."""
    sources = [NamedSource.of(spec) for spec in specs_of(given)]
    places = [source.place for source in sources]
    files = [Path(place).resolve() for place in places]
    if len(set(files)) < len(files):
        twice = next(place for place, file in zip(places, files, strict=True) if files.count(file) > 1)
        raise UsageError(f"--source {twice} is given twice. To see it more often, give it a weight: {twice},weight=2.")
    names = list(short_names(places))
    plain = [_without_endings(name) for name in names]
    if len(set(plain)) == len(plain):  # else the endings tell them apart
        names = plain
    return dict(zip(names, sources, strict=True))


def title_of(given: Spec) -> str:
    """All sources in a heading."""
    return " + ".join(NamedSource.of(spec).place for spec in specs_of(given))


def weights_of(given: Spec | None) -> dict[str, float]:
    """The weights that differ from 1, by source name."""
    return {name: source.weight for name, source in sources_of(given).items() if source.weight != 1}


def read_each(given: Spec, reading: ReadingSettings, tell: Callable[[str], Any]) -> dict[str, Corpus]:
    """The sources by their names; `tell` receives what each of them does not annotate."""
    sources = sources_of(given)
    corpora = {name: source.read(source.place, reading, tell) for name, source in sources.items()}
    _require_known(sources, corpora)
    if len(corpora) > 1:
        corpora = {name: corpus.renamed(name) for name, corpus in corpora.items()}
    for remark in remarks_on_sources(list(corpora.values())):
        tell(remark)
    return corpora


def _require_known(sources: Mapping[str, NamedSource], corpora: Mapping[str, Corpus]) -> None:
    """A label that was looked for, and that no source has, is a slip: its true name would count as not looked for."""
    known = {label for corpus in corpora.values() for label in corpus.labels}
    for source in sources.values():
        for label in source.annotates or ():
            if label not in known:
                raise UsageError(
                    f"--source {source.place}: annotates names {label}, which occurs in no source."
                    f"{did_you_mean(label, known)} Labels: {', '.join(sorted(known)) or 'none'}."
                )


def read_source(given: Spec, reading: ReadingSettings, tell: Callable[[str], Any]) -> Corpus:
    """All sources as one corpus. Types are dropped last: then it is known what each source annotates."""
    joined = join_sources(list(read_each(given, reading.model_copy(update={"typeless": False}), tell).values()))
    return typeless(joined) if reading.typeless else joined


def read_sources(
    given: Spec | None, dev: Spec | None, test: Spec | None, reading: ReadingSettings, tell: Callable[[str], Any]
) -> tuple[Corpus, Corpus | None, Corpus | None]:
    """All sources as one corpus, with their dev and test parts: one each, a single one, or the bundled ones."""
    sources = sources_of(given)
    if not sources:
        one, other = (None if part is None else read(specs_of(part)[0], reading, tell=tell) for part in (dev, test))
        return NO_SOURCE, one, other
    corpora = read_each(given or (), reading, tell)
    if len(sources) == 1:
        ((source, whole),) = zip(sources.values(), corpora.values(), strict=True)
        places = [_places(sources, part, name) for part, name in ((dev, "dev"), (test, "test"))]
        one, other = (source.read(next(iter(place.values())), reading, tell) if place else None for place in places)
        return whole, one, other

    def joined(part: Spec | None, bundled: str) -> Corpus | None:
        if part is not None and len(specs_of(part)) == 1:
            return read(specs_of(part)[0], reading, tell=tell)
        read_parts = []
        for name, place in _places(sources, part, bundled).items():
            labels = annotated_labels(corpora[name])  # a small part need not show them all
            read_parts.append(replace(sources[name].read(place, reading, tell), name=name, annotates=labels))
        return join_sources(read_parts) if read_parts else None

    return join_sources(list(corpora.values())), joined(dev, "dev"), joined(test, "test")


def _places(sources: dict[str, NamedSource], part: Spec | None, bundled: str) -> dict[str, str]:
    """Where the dev or test part of each source stands."""
    if part is None:
        return {name: f"{source.place}/{bundled}" for name, source in sources.items() if _is_whole(source.place)}
    named = specs_of(part)
    if len(named) != len(sources):
        raise UsageError(
            f"There are {len(sources)} sources and {len(named)} {bundled} parts of them. Give one for each source in "
            "the same order, or a single one for all."
        )
    return dict(zip(sources, named, strict=True))


def _is_whole(place: str) -> bool:
    return is_bundled(place) and "/" not in place


def _without_endings(name: str) -> str:
    folder, slash, file = name.rpartition("/")
    return folder + slash + (file.split(".")[0] or file)
