"""The corpora of one training, by their part in it, for one seed; and the extra text that a table asks for."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.selection.select import select_text
from acclimate.data.subsets import take_sentences, take_share_of_words
from acclimate.data.writing import write_corpus
from acclimate.reproduction.datasets import Datasets
from acclimate.reproduction.table import Cell, CellSettings, Extra, Watch
from acclimate.runs.task import BlindTask, Task
from acclimate.spelling import count

_READS_TEXT = ("adversarial-masking", "pdaln", "self-training")  # recipes that learn from unlabelled target text
_LENGTHS = range(4, 13)  # of watched sentences


@dataclass(frozen=True)
class Prepared:
    """What a run is given, without the gold tags of its test, and these apart."""

    task: BlindTask
    test: Corpus
    watch: Corpus | None


def needed_parts(settings: CellSettings) -> dict[str, set[str]]:
    """The parts of each data set without which the cell cannot be."""
    if settings.count is not None:
        return {name: {settings.part} for name in settings.counted_in}
    needed: dict[str, set[str]] = defaultdict(set)
    if settings.source is not None:
        needed[settings.source].add("train")
    if settings.target is not None:
        needed[settings.target].add("test")
        if settings.labelled is not None or settings.recipe in _READS_TEXT:
            needed[settings.target].add("train")
    elif settings.source is not None:
        needed[settings.source].add("test")
    if settings.second is not None:
        needed[settings.second].add("train")
    if settings.extra is not None:
        needed[settings.extra.text].add("unlabelled")
    return needed


def prepare_task(settings: CellSettings, sets: Datasets, seed: int) -> Prepared:
    """Draw what the seed draws. The labelled sentences are the same for all models that have as many."""

    def read(name: str, part: str) -> Corpus | None:
        corpus = sets.typeless_part(name, part) if settings.typeless else sets.part(name, part)
        return corpus if corpus is None else corpus[: settings.limit]

    home = settings.target if settings.target is not None else settings.source
    assert home is not None
    test = read(home, "test")
    if test is None:
        raise InputError(f"the data set {home} has no part test.")
    source = None if settings.source is None else read(settings.source, "train")
    source_dev = None if settings.source is None else read(settings.source, "dev")
    if source is not None and settings.source_sentences is not None:
        source = take_sentences(source, min(settings.source_sentences, len(source)), seed)
    few = pool = dev = None
    if settings.target is not None:
        pool, dev = read(settings.target, "train"), read(settings.target, "dev")
        if dev is not None and settings.dev_sentences is not None:
            dev = take_sentences(dev, min(settings.dev_sentences, len(dev)))
        if pool is not None and settings.labelled is not None:
            few, pool = _drawn(pool, settings.labelled, seed)
    if settings.alone:
        source, source_dev, dev, few, pool = few, dev, None, None, None
    assert source is not None
    text = None if pool is None else pool.unlabelled()
    if settings.recipe not in _READS_TEXT:
        text = _words_only(settings, text, (source_dev, dev, test))
    task = Task(source, source_dev, None, text, few, dev, test)
    blind = BlindTask.of(task)
    if settings.alone or settings.target is None:
        labels = source.labels
        for part in (source_dev, test):
            labels = labels if part is None else labels | part.labels
        blind = replace(blind, known_source_labels=labels)
    watch = None if settings.watch is None else watched(settings.watch, source_dev, test)
    return Prepared(blind, test, watch)


def _drawn(pool: Corpus, amount: int | float | str, seed: int) -> tuple[Corpus, Corpus | None]:
    """The labelled sentences, and the rest."""
    if isinstance(amount, str):
        return pool, None
    if isinstance(amount, float):
        few = take_share_of_words(pool, amount, seed)
    else:
        few = take_sentences(pool, min(amount, len(pool)), seed)
    taken = set(map(id, few))
    rest = pool.filter(lambda sentence: id(sentence) not in taken)
    return few, rest if len(rest) else None


def _words_only(settings: CellSettings, text: Corpus | None, parts: tuple[Corpus | None, ...]) -> Corpus | None:
    """A recipe that reads no target text: it is there for the words that have vectors, which the table then knows.
    Words alone, no tags, as usual with fixed vectors."""
    if settings.tagger.lstm.vectors is None:
        return text
    for part in parts:
        if part is not None:
            text = part.unlabelled() if text is None else text + part.unlabelled()
    return text


def watched(settings: Watch, dev: Corpus | None, test: Corpus) -> Corpus:
    """The sentence that is named, and the first short sentences of dev with an entity. They teach nothing and choose
    nothing."""
    named = [sentence for sentence in test if " ".join(sentence.words) == settings.sentence][:1]
    others = [one for one in dev or () if one.tags is not None and one.spans and len(one) in _LENGTHS]
    return Corpus.of([*named, *others[: settings.others]], "watched")


def extra_files(settings: CellSettings, sets: Datasets, folder: Path) -> dict[str, object]:
    """Options that are files: more text like the target's, and another task. Made once, in `folder`."""
    made: dict[str, object] = {}
    if settings.extra is not None:
        made["extra"] = (str(extra_text(settings, settings.extra, sets, folder)),)
    if settings.second is not None:
        second = sets.require(settings.second, "train")[: settings.limit]
        place = folder / f"{sets.resolved(settings.second)}-{_digest(second.fingerprint)}.conll"
        if not place.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            write_corpus(second, place)
        made["second"] = str(place)
    return made


def extra_text(settings: CellSettings, extra: Extra, sets: Datasets, folder: Path) -> Path:
    """A file with a sentence per line: as many as are wanted, or as there are."""
    assert settings.target is not None
    like = sets.require(settings.target, "train")
    name = f"{sets.resolved(extra.text)}-{extra.lines}-{extra.by}"
    place = folder / f"{name}-{_digest(name, like.fingerprint)}.txt"
    if not place.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        if extra.by == "likeness":
            pool = [sets.file(extra.text, "unlabelled")]
            select_text(like.unlabelled(), pool, extra.lines, place, measure="jaccard")  # the paper's
        else:
            text = sets.require(extra.text, "unlabelled")
            write_corpus(take_sentences(text, min(extra.lines, len(text))), place, "text")
    return place


def _digest(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:8]


def notes_on_extra(cells: Sequence[Cell], sets: Datasets, folder: Path) -> Iterator[str]:
    """Where there is less extra text than a row's name says. Makes the files that are missing."""
    short: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    for cell in cells:
        extra = cell.settings.extra
        if extra is not None:
            with extra_text(cell.settings, extra, sets, folder).open("rb") as text:
                lines = sum(1 for _ in text)
            if lines < extra.lines:
                short[cell.column, extra.text, lines].add(extra.lines)
    for (column, name, lines), asked in short.items():
        wanted = " and ".join(f"{number:,}" for number in sorted(asked))
        there = f"{count(lines, 'line')} of {name}, all that there are"
        yield f"Extra text of {column}: {there}, where {wanted} were asked for."
