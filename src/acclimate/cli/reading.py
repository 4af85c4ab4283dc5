"""Corpora as the command line names them: a file, a folder, `-`, or a bundled one such as `news` or `news/test`; and
sources, which may have options behind them: `--source news.conll --source tweets.conll,annotates=PER+LOC,weight=2`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from acclimate.cli.outputs import reading_bar, stderr_console, warn
from acclimate.data.corpus import Corpus
from acclimate.data.mapping import LabelMap, map_labels, typeless
from acclimate.data.problems import InputError
from acclimate.data.readers.labelling import is_session
from acclimate.data.reading import (
    BUNDLED,
    FORMATS,
    CorpusStream,
    load_bundled,
    read_corpus,
    stream_corpus,
    unknown_format,
)
from acclimate.data.sources import annotated_labels, join_sources, remarks_on_sources
from acclimate.settings import Settings, UsageError, complete, gathered
from acclimate.spelling import count, did_you_mean

if TYPE_CHECKING:
    from acclimate.data.selection.text_files import RawText

PARTS = ("train", "dev", "test", "unlabelled")
Tell = Callable[[str], Any]
_ORDER = ("train", "dev", "valid", "test", "unlabelled")
_SUFFIXES = (".conll", ".txt", ".conllu", ".jsonl", ".json", ".csv", ".tsv", ".parquet", ".spacy", ".iob", ".bio")
S = TypeVar("S", bound=Settings)


class ReadingSettings(Settings):
    """How files are read."""

    format: str | None = None
    """Format of the files, such as conll, jsonl or text; null: detect it."""
    column: int | str | None = None
    """Column of the tags: a number from 0, a negative number counted from the end, or a name; null: the last."""
    words_column: int | str | None = None
    """Column of the words, given in the same way as the column of the tags; null: the first."""
    labels: Literal["spans", "plain"] | None = None
    """Kind of tags: spans (B-PER, I-PER, O) or plain (one label per word); null: detect it."""
    comments: bool = False
    """Treat lines that begin with # in column files as comments."""
    borders: Literal["split", "error", "expand", "drop"] = "split"
    """If a span begins or ends inside a word: split the word, expand or drop the span, or report an error."""
    pre_split: bool = False
    """Plain text is already tokenized: words are separated by spaces."""
    paragraphs: bool = False
    """Plain text is running text: split it into sentences first."""
    skip_bad: bool = False
    """Skip sentences that contain an invalid line, and list them; false: stop with an error."""
    map: str | None = None
    """Label map that renames entity types: a YAML file, or the name of a bundled map; null: none."""
    typeless: bool = False
    """Replace all entity types by a single one, so that only the span boundaries matter."""

    def options(self) -> dict[str, Any]:
        """What `read_corpus` and `stream_corpus` take of it."""
        shared = self.model_dump(
            include={"format", "column", "words_column", "labels", "comments", "borders", "paragraphs"}
        )
        return {**shared, "skip_bad": self.skip_bad, "tokenize": "blanks" if self.pre_split else None}

    def require_only(self, *names: str) -> Self:
        """Refuse settings that the command at hand would not look at."""
        for name in sorted(self.model_fields_set - set(names)):
            if getattr(self, name) != type(self).model_fields[name].default:
                known = ", ".join(f"reading.{each}" for each in names)
                raise UsageError(f"This command does not use reading.{name}. It uses {known}.")
        return self


class PairReadingSettings(ReadingSettings):
    """How files of two domains are read. What is set for one domain wins over what is set for both."""

    source_format: str | None = None
    """Format of the source files, in place of `format`; null: use `format`."""
    target_format: str | None = None
    """Format of the target files, in place of `format`; null: use `format`."""
    source_column: int | str | None = None
    """Column of the tags in the source files, in place of `column`; null: use `column`."""
    target_column: int | str | None = None
    """Column of the tags in the target files, in place of `column`; null: use `column`."""
    map: str | None = None
    """Label map for the target files: a YAML file, or a bundled map by name."""
    map_source: str | None = None
    """Label map for the source files: a YAML file, or a bundled map by name."""

    def of_source(self) -> ReadingSettings:
        return self._of(self.source_format, self.source_column, self.map_source)

    def of_target(self) -> ReadingSettings:
        return self._of(self.target_format, self.target_column, self.map)

    def _of(self, format: str | None, column: int | str | None, map: str | None) -> ReadingSettings:
        own = {"format": format or self.format, "column": self.column if column is None else column, "map": map}
        shared = self.model_dump(include=set(ReadingSettings.model_fields))
        return ReadingSettings(**{**shared, **own})


class CorpusSettings(Settings):
    """A command that has no other settings than how it reads."""

    reading: ReadingSettings = ReadingSettings()
    """How files are read."""


def settings_of(kind: type[S], assignments: Sequence[str] | None, given: Mapping[str, Any] | None = None) -> S:
    """The settings of one of these commands, from `--set` and from options that stand for settings."""
    return complete(kind, gathered(None, given or {}, assignments), "--set")


def reading_of(assignments: Sequence[str] | None, map_name: str | None = None) -> ReadingSettings:
    """How a command reads that has no other settings."""
    return settings_of(CorpusSettings, assignments, {"reading.map": map_name}).reading


def is_bundled(name: str) -> bool:
    """A file or folder of that name wins over a bundled corpus."""
    return name.partition("/")[0] in BUNDLED and not Path(name).exists()


def is_whole(name: str) -> bool:
    """Whether it is a bundled corpus with all its parts."""
    return "/" not in name and is_bundled(name)


def read(name: str, reading: ReadingSettings | None = None, *, tell: Tell | None = None) -> Corpus:
    """Read a corpus, with its labels renamed or dropped as asked. `tell` hears what was not taken as it stood."""
    reading = reading or ReadingSettings()
    if is_bundled(name):
        corpus = _bundled_part(name)
    else:
        _check_name(name, reading)
        # called as the user calls it: of three files named test.conll.gz, which one is meant?
        corpus = read_corpus(name, name=None if name == "-" else name, **reading.options())
    if tell is not None:
        tell_notes(corpus, tell)
    if reading.map is not None and corpus.is_labelled:
        corpus = map_labels(corpus, LabelMap.load(reading.map))
    return typeless(corpus) if reading.typeless and corpus.is_labelled else corpus


def read_stream(name: str, reading: ReadingSettings, words: int) -> CorpusStream:
    """A corpus that is read part by part where its format allows it, so many words at a time."""
    if is_bundled(name):
        return CorpusStream.of(_bundled_part(name))
    _check_name(name, reading)
    return stream_corpus(name, name=None if name == "-" else name, words=words, **reading.options())


def _bundled_part(name: str) -> Corpus:
    domain, slash, part = name.partition("/")
    part = part if slash else "train"
    if part not in (*PARTS, "few"):
        raise UsageError(f"{name}: a bundled corpus has the parts {', '.join(PARTS)}, and few: 100 sentences of train.")
    corpus: Corpus = getattr(load_bundled(domain), part)
    return corpus


def _check_name(name: str, reading: ReadingSettings) -> None:
    if reading.format is not None and reading.format not in FORMATS:
        raise UsageError(str(unknown_format(reading.format, FORMATS)))
    if "/" not in name and not Path(name).exists():
        close = difflib.get_close_matches(name, BUNDLED, n=1)
        if close:
            raise InputError(f"{name}: there is no such file. Did you mean the bundled corpus {close[0]!r}?")


def tell_notes(corpus: Corpus, tell: Tell, most: int = 5, of_tags: bool = True) -> None:
    """Say what the reader repaired, skipped or moved, and what has no tags: nothing is lost silently."""
    notes = corpus.notes
    lines = []
    if notes.repaired and of_tags:
        verb = "was" if notes.repaired == 1 else "were"
        lines.append(f"{count(notes.repaired, 'tag')} broke the scheme and {verb} read as the start of a span.")
    lists: list[tuple[Sequence[object], str, str]] = [(notes.skipped, "bad line", "skipped")]
    lists += [(notes.border_misses, "span", "missed word borders")] if of_tags else []
    for items, noun, outcome in lists:
        if items:
            more = [f"… and {len(items) - most:,} more"] if len(items) > most else []
            lines.append("\n  ".join([f"{count(len(items), noun)} {outcome}.", *map(str, items[:most]), *more]))
    annotated = sum(sentence.tags is not None for sentence in corpus)
    if of_tags and 0 < annotated < len(corpus):
        lines.append(f"{annotated:,} of {count(len(corpus), 'sentence')} are annotated, the others not.")
    if of_tags and corpus.guess_count:
        soft = f"{corpus.soft_word_count:,} of {count(corpus.word_count, 'word')} may have more than one tag"
        lines.append(f"{count(corpus.guess_count, 'sentence')} with guesses, no gold; {soft}.")
    for line in [*lines, *notes.remarks]:
        tell(f"{corpus.name}: {line}")


def expand(places: Sequence[str]) -> dict[str, str]:
    """Short names for files; a folder or a bundled domain stands for the corpora in it, the training part first."""
    return short_names([inner for place in places for inner in _parts(place)])


def short_names(places: Sequence[str]) -> dict[str, str]:
    """The last part of each path as its name, with its folder where two are equal."""
    for place in sorted({place for place in places if places.count(place) > 1}):
        warn(f"{place} is named {places.count(place)} times: it is read once.")
    for parts in (1, 2):
        names = {"/".join(Path(place).parts[-parts:]) or place: place for place in places}
        if len(names) == len(set(places)):
            return names
    return {place: place for place in places}


def _parts(place: str) -> list[str]:
    if is_whole(place):
        return [f"{place}/{part}" for part in PARTS]
    return ([place] if not Path(place).is_dir() else corpora_in(Path(place))) or [place]


def corpora_in(folder: Path) -> list[str]:
    """The files of a folder, the training part first; none of one that is a corpus itself."""
    if is_session(folder) or any(folder.glob("*.ann")) or (folder / "state.json").is_file():  # brat's, `datasets`'
        return []
    files = [path for path in folder.iterdir() if _plain_name(path).endswith(_SUFFIXES) and "LICENSE" not in path.name]
    if not files:
        raise InputError("no corpus file in this folder. Name the files, or a folder that holds them.", file=folder)

    def rank(path: Path) -> tuple[int, str]:
        numbers = (number for number, part in enumerate(_ORDER) if part in path.name.lower())
        return next(numbers, len(_ORDER)), path.name

    return [str(path) for path in sorted(files, key=rank)]


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".xz").lower()


def warn_of_long_lines(lines: int) -> None:
    if lines:
        warn(f"{count(lines, 'line')} of more than a megabyte: left out, as no sentence is so long.")


def is_raw_text(name: str, reading: ReadingSettings) -> bool:
    """Whether it is a file or folder of raw text, which can be read as a stream."""
    from acclimate.data.selection.ngram_scores import detected_format

    if is_bundled(name) or name == "-" or not Path(name).exists():
        return False
    # who speaks of paragraphs means text, though each line may have as many words as the next, like a table
    running = reading.paragraphs and _plain_name(Path(name)).endswith(".txt")
    return (reading.format or ("text" if running else detected_format(name))) == "text"


def open_raw_text(
    files: str | Sequence[str],
    reading: ReadingSettings,
    show: Callable[[int, int, int], None] = lambda stored, of, text: None,
) -> RawText:
    """Raw text as a stream of sentences. `show` hears how much is read."""
    from acclimate.data.selection.text_files import RawText

    return RawText(files, "blanks" if reading.pre_split else "words", reading.paragraphs, show)


class TextReading:
    """The sentences of all texts: raw ones as a stream under a bar, others as corpora, of which the labelled stay."""

    def __init__(self, texts: Sequence[str], reading: ReadingSettings) -> None:
        raw = [name for name in texts if Path(name).is_file() and is_raw_text(name, reading)]
        as_text = reading.model_copy(update={"borders": "drop"})
        self._corpora = [read(name, as_text, tell=warn) for name in texts if name not in raw]
        self.labelled = [corpus for corpus in self._corpora if corpus.is_labelled and corpus.kind == "spans"]
        self._raw, self._reading = raw, reading

    def __iter__(self) -> Iterator[Sequence[str]]:
        for corpus in self._corpora:
            yield from (sentence.words for sentence in corpus)
        with reading_bar(stderr_console()) as show:
            stream = open_raw_text(self._raw, self._reading, show)
            yield from stream.words()
        warn_of_long_lines(stream.lines_too_long)


Spec = str | Sequence[str]


def place_of(spec: str) -> str:
    """The corpus that a `--source` names, without the options behind it. A place that exists may itself hold commas."""
    return spec if os.path.exists(spec) else spec.split(",")[0]


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
        given: dict[str, Any] = {}
        for option in spec.removeprefix(place).split(",")[1:]:
            key, _, value = option.partition("=")
            if key == "map" and value:
                given[key] = value
            elif key == "annotates" and value:
                given[key] = tuple(sorted(label for label in value.split("+") if label))
            elif key == "weight" and value:
                given[key] = _number(spec, value)
            else:
                known = "map=..., annotates=..., weight=..."
                raise UsageError(f"--source {spec}: {option!r} is no option of a source. Options: {known}.")
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
    plain = [str(Path(name).with_name(Path(name).name.split(".")[0] or Path(name).name)) for name in names]
    # endings stay where they tell the sources apart
    return dict(zip(plain if len(set(plain)) == len(plain) else names, sources, strict=True))


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
    # a label that no source has is a slip: its true name would count as not looked for
    known = {label for corpus in corpora.values() for label in corpus.labels}
    for source in sources.values():
        for label in sorted(set(source.annotates or ()) - known):
            raise UsageError(
                f"--source {source.place}: annotates names {label}, which occurs in no source."
                f"{did_you_mean(label, known)} Labels: {', '.join(sorted(known)) or 'none'}."
            )
    if len(corpora) > 1:
        corpora = {name: corpus.renamed(name) for name, corpus in corpora.items()}
    for remark in remarks_on_sources(list(corpora.values())):
        tell(remark)
    return corpora


def read_source(given: Spec, reading: ReadingSettings, tell: Callable[[str], Any]) -> Corpus:
    """All sources as one corpus. Types are dropped last: then it is known what each source annotates."""
    joined = join_sources(list(read_each(given, reading.model_copy(update={"typeless": False}), tell).values()))
    return typeless(joined) if reading.typeless else joined


def read_sources(
    given: Spec | None, dev: Spec | None, test: Spec | None, reading: ReadingSettings, tell: Callable[[str], Any]
) -> tuple[Corpus | None, Corpus | None, Corpus | None]:
    """All sources as one corpus, with their dev and test parts: one each, a single one, or the bundled ones."""
    sources = sources_of(given)
    if not sources:
        one, other = (None if part is None else read(specs_of(part)[0], reading, tell=tell) for part in (dev, test))
        return None, one, other
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
        return {name: f"{source.place}/{bundled}" for name, source in sources.items() if is_whole(source.place)}
    named = specs_of(part)
    if len(named) != len(sources):
        raise UsageError(
            f"There are {len(sources)} sources and {len(named)} {bundled} parts of them. Give one for each source in "
            "the same order, or a single one for all."
        )
    return dict(zip(sources, named, strict=True))
