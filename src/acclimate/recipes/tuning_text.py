"""The text that an encoder is tuned on: read, cut to rows, held out and mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.reading import read_corpus
from acclimate.data.running_text import TextChoice
from acclimate.model.encoders.transformer import Transformer

_FEWEST, _MOST = 40, 500  # sentences: with fewer none are held out, and more than about so many never


@dataclass(frozen=True)
class TuningText:
    """Text of both domains, more text like the target's, and what of it the loss is measured on: that is in none of the
    others."""

    source: Corpus | None
    target: Corpus
    extra: Corpus
    measured: Corpus

    @property
    def of_target(self) -> Corpus:
        return self.target + self.extra if len(self.extra) else self.target

    def mixed(self) -> Corpus:
        """One pass: source and target in equal numbers, then the extra text, each sentence of it once."""
        even = evenly(self.source, self.target)
        return (even + self.extra).unlabelled().renamed(even.name) if len(self.extra) else even

    @property
    def target_passes(self) -> float:
        """How often the target is read in one pass of the mixture."""
        return max(len(self.source or ()), len(self.target)) / len(self.target)


def tuning_text(
    source: Corpus | None, target: Corpus, extra: Corpus | None, encoder: Transformer, share: float, seed: int
) -> TuningText:
    """Cut to rows, and some of the target held out: of the extra text where the target is too small for that."""
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


def read_text(files: Sequence[str]) -> Corpus:
    """All files as one corpus without tags. What is called .txt is raw text, a sentence a line, even where its lines
    look like columns; other files are what they look like."""
    corpora = []
    for file in files:
        name = file.lower().removesuffix(".gz").removesuffix(".xz")
        corpora.append(read_corpus(file, "text" if name.endswith(".txt") else None).unlabelled())
    text = corpora[0]
    for more in corpora[1:]:
        text = (text + more).renamed(text.name)
    return text


def evenly(source: Corpus | None, target: Corpus) -> Corpus:
    """Both domains in one corpus, the smaller one repeated until it is as large as the other."""
    if source is None or not len(source):
        return target
    size = max(len(source), len(target))
    both = [sentence for corpus in (source, target) for sentence in islice(cycle(corpus), size)]
    return Corpus.of(both, f"{source.name} and {target.name}").unlabelled()


def cut(corpus: Corpus, encoder: Transformer) -> Corpus:
    """Sentences that are too long for a row in parts that are not: the windows a tagger reads them through overlap, and
    what stands in two would count twice."""
    room, counts = encoder.pieces.room, encoder.count_pieces(corpus)
    longest = room + len(encoder.pieces.before) + len(encoder.pieces.after)
    if max(counts, default=0) <= longest:
        return corpus
    parts: list[Sentence] = []
    for sentence, count in zip(corpus, counts, strict=True):
        parts += [sentence] if count <= longest else _parts(sentence, encoder, room)
    return Corpus.of(parts, corpus.name, corpus.kind)


def _parts(sentence: Sentence, encoder: Transformer, room: int) -> list[Sentence]:
    parts: list[list[str]] = []
    used = room
    for word, pieces in zip(sentence.words, encoder.pieces.of_words(sentence.words), strict=True):
        if used + len(pieces) > room:
            parts.append([])
            used = 0
        parts[-1].append(word)
        used += len(pieces)
    return [Sentence(tuple(part)) for part in parts]


def packed(corpus: Corpus, encoder: Transformer) -> Corpus:
    """Neighbouring sentences joined while they fit into a row."""
    room = encoder.pieces.room
    rows: list[list[str]] = []
    used = room
    for sentence in corpus:
        size = sum(map(len, encoder.pieces.of_words(sentence.words)))
        if used + size > room:
            rows.append([])
            used = 0
        rows[-1] += sentence.words
        used += size
    return Corpus.of((Sentence(tuple(row)) for row in rows), corpus.name)


def held_out(target: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus]:
    """The target to learn from, and the part of it that the loss is measured on; equal sentences stay together."""
    if share == 0 or len(target) < _FEWEST:
        return target, Corpus(())
    choice = TextChoice(min(max(share, 10 / len(target)), _MOST / len(target)), seed=seed)
    lots = [choice.is_held_out(" ".join(sentence.words)) for sentence in target]
    kept, measured = ([number for number, lot in enumerate(lots) if lot == wanted] for wanted in (False, True))
    return (target.select(kept), target.select(measured[:_MOST])) if kept else (target, Corpus(()))
