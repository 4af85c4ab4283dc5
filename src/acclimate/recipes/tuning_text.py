"""The text that an encoder is tuned on: read, cut to rows, held out and mixed. Packed rows lie on disk (`StoredText`);
text with a row for each sentence is held in memory (`TuningText`)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, cycle, islice, repeat

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.reading import stream_corpus
from acclimate.data.running_text import MixedRows, Shuffled, StoredRows, TextChoice
from acclimate.model.encoders.transformer import Transformer

_FEWEST, _MOST = 40, 500  # sentences: with fewer none are held out, and never more than about so many
_SAMPLE = 20_000  # rows that a policy counts words in


@dataclass(frozen=True)
class TuningText:
    """Text of both domains, extra text like the target's, and the held-out text, which is in none of the others."""

    source: Corpus | None
    target: Corpus
    extra: Corpus
    measured: Corpus

    @property
    def of_target(self) -> Corpus:
        return self.target + self.extra if len(self.extra) else self.target

    def mixed(self) -> Corpus:
        """One pass: source and target in equal numbers, then each sentence of the extra text once."""
        even = evenly(self.source, self.target)
        return (even + self.extra).unlabelled().renamed(even.name) if len(self.extra) else even

    @property
    def target_passes(self) -> float:
        """How often the target is read in one pass of the mixture."""
        return max(len(self.source or ()), len(self.target)) / len(self.target)


def tuning_text(
    source: Corpus | None, target: Corpus, extra: Corpus | None, encoder: Transformer, share: float, seed: int
) -> TuningText:
    """Cut to rows, and some of the target held out: of the extra text where the target is too small."""
    extra = cut(extra or Corpus(()), encoder)
    kept, measured = held_out(cut(target, encoder), share, seed)
    if not len(measured):
        extra, measured = held_out(extra, share, seed)
        measured = without(measured, kept)
    source = None if source is None else without(cut(source, encoder), measured)
    return TuningText(source, kept, without(extra, measured), measured)


def without(text: Corpus, other: Corpus) -> Corpus:
    """The sentences that the other does not have."""
    apart = {sentence.words for sentence in other}
    return text.filter(lambda sentence: sentence.words not in apart)


@dataclass(frozen=True)
class TextFiles:
    """The sentences of files without their tags, read anew for each iteration; .txt files are raw text with a sentence
    a line."""

    files: tuple[str, ...]

    def __iter__(self) -> Iterator[Sentence]:
        for file in self.files:
            name = file.lower().removesuffix(".gz").removesuffix(".xz")
            for part in stream_corpus(file, "text" if name.endswith(".txt") else None):
                yield from part.unlabelled()


@dataclass(frozen=True)
class Texts:
    """Several texts, one after the other."""

    parts: tuple[Corpus | TextFiles, ...]

    def __iter__(self) -> Iterator[Sentence]:
        return chain.from_iterable(self.parts)


Text = Corpus | TextFiles | Texts


def in_memory(text: Text) -> Corpus:
    return text if isinstance(text, Corpus) else Corpus.of(text)


def evenly(source: Corpus | None, target: Corpus) -> Corpus:
    """Both domains in one corpus, the smaller one repeated until it is as large as the other."""
    if source is None or not len(source):
        return target
    size = max(len(source), len(target))
    both = [sentence for corpus in (source, target) for sentence in islice(cycle(corpus), size)]
    return Corpus.of(both, f"{source.name} and {target.name}").unlabelled()


def cut(corpus: Corpus, encoder: Transformer) -> Corpus:
    """Sentences that are too long for a row, in parts without overlap."""
    counts = encoder.pieces.count([sentence.words for sentence in corpus])
    longest = encoder.pieces.room + len(encoder.pieces.before) + len(encoder.pieces.after)
    if max(counts, default=0) <= longest:
        return corpus
    parts: list[Sentence] = []
    for sentence, count in zip(corpus, counts, strict=True):
        parts += [sentence] if count <= longest else [Sentence(tuple(row)) for row in packed([sentence], encoder)]
    return Corpus.of(parts, corpus.name, corpus.kind)


def packed(text: Iterable[Sentence], encoder: Transformer) -> Iterator[list[str]]:
    """Rows of words: neighbouring sentences while they fit. A sentence that is too long continues in the next row."""
    room, row, used = encoder.pieces.room, list[str](), 0
    waiting = iter(text)
    while some := list(islice(waiting, 1024)):
        encoder.pieces.of_words(list(chain.from_iterable(one.words for one in some)))  # fills the cache at once
        for sentence in some:
            sizes = list(map(len, encoder.pieces.of_words(sentence.words)))
            if used + sum(sizes) > room and row:
                yield row
                row, used = [], 0
            for word, size in zip(sentence.words, sizes, strict=True):
                if used + size > room and row:
                    yield row
                    row, used = [], 0
                row.append(word)
                used += size
    if row:
        yield row


@dataclass
class HoldingOut:
    """Sentences of a stream without those held out, which are known when it has ended: those with the lowest lots
    (`TextChoice`), a share of the text from 10 to 500; none of fewer than 40. Equal sentences stay together."""

    text: Iterable[Sentence]
    share: float
    seed: int
    size: int = 0  # of the text, in sentences
    measured: list[Sentence] = field(default_factory=list)

    def __iter__(self) -> Iterator[Sentence]:
        choice, copies = TextChoice(self.share, seed=self.seed), dict[tuple[str, ...], int]()
        lowest: list[tuple[float, tuple[str, ...]]] = []
        for sentence in self.text:
            self.size += 1
            if not self.share:
                yield sentence
                continue
            if sentence.words in copies:
                copies[sentence.words] += 1
                continue
            lot = choice.held_out_lot(" ".join(sentence.words))
            if len(lowest) == _MOST and lot >= lowest[-1][0]:
                yield sentence
                continue
            insort(lowest, (lot, sentence.words))
            copies[sentence.words] = 1
            if len(lowest) > _MOST:
                _, words = lowest.pop()
                yield from repeat(Sentence(words), copies.pop(words))
        share = min(max(self.share, 10 / self.size), _MOST / self.size) if self.size >= _FEWEST else 0
        apart = {words for lot, words in lowest if lot < share}
        if sum(copies[words] for words in apart) == self.size:
            apart = set()  # nothing would be left to learn from
        for words, times in copies.items():
            yield from repeat(Sentence(words), times if words not in apart else 0)
        self.measured = [Sentence(words) for _, words in lowest if words in apart]


@dataclass(frozen=True)
class StoredText:
    """Packed rows of both domains and of extra text on disk, and the held-out text."""

    source: StoredRows | None
    target: StoredRows
    extra: StoredRows | None
    measured: Corpus
    sentences: int  # of the target and the extra text

    @classmethod
    def of(
        cls, source: Text | None, target: Text, extra: Text | None, encoder: Transformer, share: float, seed: int
    ) -> StoredText:
        """As `tuning_text` cuts and holds out, in one pass over each text."""

        def others(text: Iterable[Sentence]) -> Iterator[Sentence]:
            return (sentence for sentence in text if sentence.words not in apart)

        apart: set[tuple[str, ...]] = set()
        kept = HoldingOut(target, share, seed)
        rows = StoredRows(packed(kept, encoder))
        measured, beside = kept.measured, HoldingOut(extra or (), 0 if kept.measured else share, seed)
        apart = {sentence.words for sentence in measured}
        extra_rows = None if extra is None else StoredRows(packed(others(beside), encoder))
        if not measured:
            own = {sentence.words for sentence in target} if kept.size < _FEWEST else set()
            measured = [sentence for sentence in beside.measured if sentence.words not in own]
            apart = {sentence.words for sentence in measured}
        source_rows = None if source is None else StoredRows(packed(others(source), encoder))
        return cls(
            source_rows or None, rows, extra_rows or None, cut(Corpus.of(measured), encoder), kept.size + beside.size
        )

    def mixed(self, rows_per_batch: int, seed: int) -> MixedRows:
        """A pass: source and target in equal numbers of rows, then each row of the extra text once."""
        even = max(len(self.source or ()), len(self.target))
        parts = ((self.target, even), (self.source, even), (self.extra, len(self.extra or ())))
        return MixedRows(
            [(Shuffled(rows, seed * 3 + place), size) for place, (rows, size) in enumerate(parts) if rows],
            rows_per_batch,
        )

    @property
    def target_passes(self) -> float:
        """How often the target is read in one pass of the mixture."""
        return max(len(self.source or ()), len(self.target)) / len(self.target)

    def sample(self, texts: Iterable[StoredRows | None], seed: int) -> Corpus:
        """Rows for a policy to count words in: all of a small text."""
        parts = [Shuffled(rows, seed).at(0, min(len(rows), _SAMPLE)) for rows in texts if rows]
        return Corpus.of(chain.from_iterable(parts))


def held_out(target: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus]:
    """The target to learn from, and the held-out part; equal sentences stay together."""
    if share == 0 or len(target) < _FEWEST:
        return target, Corpus(())
    choice = TextChoice(min(max(share, 10 / len(target)), _MOST / len(target)), seed=seed)
    lots = [choice.is_held_out(" ".join(sentence.words)) for sentence in target]
    kept, measured = ([number for number, lot in enumerate(lots) if lot == wanted] for wanted in (False, True))
    return (target.select(kept), target.select(measured[:_MOST])) if kept else (target, Corpus(()))
