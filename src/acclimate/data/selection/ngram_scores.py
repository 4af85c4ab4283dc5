"""How similar lines are to a target text, by n-grams (n = 1 to 4) or by two language models.

Counts are exact: a bigram is a pair of word numbers, a trigram a pair of the numbers of its two bigrams, and so on.
"contrast" is the cross-entropy difference (Moore and Lewis 2010): how much likelier a line is, word by word, to a
bigram model of the target than to one of a sample of the pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.readers.detection import detect_format
from acclimate.data.readers.source import Source, Tokenize
from acclimate.data.reading import read_corpus
from acclimate.data.selection.text_files import Piece, cut_into_pieces, read_beginning, read_blocks
from acclimate.data.selection.word_numbers import (
    NOT_FOUND,
    Block,
    Keys,
    KeyTable,
    NumberedLines,
    Numbers,
    WordNumbers,
    pair_keys,
    representatives_of,
    sums,
)

Measure = Literal["jaccard", "overlap", "contrast"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
LONGEST = 4  # words of an n-gram
LINE_END = -1

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """A text to be like: its running words as numbers. It is sent along with every piece of work, so it is small."""

    keys: Keys  # (different word)
    words: NDArray[np.int32]  # (running word), LINE_END after each line
    lower_case: bool
    tokenize: Tokenize
    # what the target is contrasted with, in the same numbers; see `contrast`
    pool: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def words_per_line(self) -> float:
        lines = int((self.words == LINE_END).sum())
        return (len(self.words) - lines) / lines

    @cached_property
    def fingerprint(self) -> str:
        digest = blake2b(f"{self.lower_case} {self.tokenize} ".encode(), digest_size=16)
        digest.update(self.keys.tobytes())
        digest.update(self.words.tobytes())
        digest.update(self.pool.tobytes())
        return digest.hexdigest()


class TargetNgrams:
    """The n-grams of a target, ready to be found in lines. Not to be shared by threads: it learns words as it reads."""

    def __init__(self, target: Target, most: int = 1 << 20) -> None:
        self.words = WordNumbers(target.keys, lower_case=target.lower_case, tokenize=target.tokenize, most=most)
        self._tables: list[KeyTable] = []  # of pairs of shorter n-grams, for n = 2 to 4
        places = np.flatnonzero(target.words != LINE_END)
        numbers = target.words[places].astype(np.int64)
        for _ in range(2, LONGEST + 1):
            places, keys = _followed(places, numbers)
            self._tables.append(KeyTable())
            numbers, _ = self._tables[-1].number(keys)
        self.sizes: Numbers = np.array([len(target.keys), *map(len, self._tables)])

    def candidate_lines(self, block: Block, least_score: float, measure: Measure) -> Numbers:
        """Lines with text, less those that have too few known words to reach the score (only for "jaccard")."""
        lines = np.flatnonzero(np.diff(block.borders) > 0)
        if least_score <= 0 or measure != "jaccard":
            return lines
        known = np.diff(sums(block.known)[block.borders])[lines]
        most = np.maximum(known - np.arange(LONGEST)[:, None], 0)  # shared n-grams (n, line)
        highest = _mean_share(most, np.broadcast_to(self.sizes[:, None], most.shape))
        candidates: Numbers = lines[highest >= least_score]
        return candidates

    def scores(self, lines: NumberedLines, measure: Measure) -> Scores:
        """The share of shared n-grams among those of line and target ("jaccard") or of the line, for n = 1 to 4."""
        line_numbers = np.arange(len(lines))
        line_of_place = np.repeat(line_numbers, lines.lengths + 1)  # a place between lines: they must not touch
        line_of_word = np.repeat(line_numbers, lines.lengths)
        places = np.arange(len(lines.words)) + line_of_word
        own: Numbers = np.maximum(lines.lengths - np.arange(LONGEST)[:, None], 0)
        shared = np.zeros_like(own)
        repeats = _repeats(places, pair_keys(line_of_word, lines.words))
        for row, (again, known_places) in enumerate(zip(repeats, self._found(places, lines.words), strict=True)):
            first = np.ones(len(line_of_place), np.bool_)
            first[again] = False
            own[row] -= np.bincount(line_of_place[again], minlength=len(lines))
            shared[row] = np.bincount(line_of_place[known_places[first[known_places]]], minlength=len(lines))
        return _mean_share(shared, own + self.sizes[:, None] - shared if measure == "jaccard" else own)

    def _found(self, places: Numbers, words: Numbers) -> Iterator[Numbers]:
        """Where an n-gram of the target begins, for n = 1 to 4. Only neighbours that are found can be a longer one."""
        known = np.flatnonzero(words < self.sizes[0])
        places, numbers = places[known], words[known]
        yield places
        for table in self._tables:
            places, keys = _followed(places, numbers)
            numbers = table.find(keys)
            known = np.flatnonzero(numbers != NOT_FOUND)
            places, numbers = places[known], numbers[known]
            yield places


def _mean_share(part: Numbers, whole: Numbers) -> Scores:
    shares = np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
    scores: Scores = shares.sum(0) / LONGEST
    return scores


def _followed(places: Numbers, numbers: Numbers) -> tuple[Numbers, Keys]:
    """The places at which one thing follows upon another, and a key for the two."""
    first = np.flatnonzero(places[1:] == places[:-1] + 1)
    return places[first], pair_keys(numbers[first], numbers[first + 1])


def _repeats(places: Numbers, keys: Keys) -> Iterator[Numbers]:
    """Where an n-gram begins that stands elsewhere in its line too (all such places but one), for n = 1 to 4."""
    for length in range(1, LONGEST + 1):
        equal = representatives_of(keys)
        again = equal != np.arange(len(keys))
        yield places[again]
        if length < LONGEST:
            # what stands there once cannot be part of something that stands there twice
            several = again.copy()
            several[equal[again]] = True
            places, keys = _followed(places[several], equal[several])


Text = str | Path | Corpus


def read_target(
    like: Text | Sequence[Text], format: str | None = None, *, lower_case: bool = True, tokenize: Tokenize = "words"
) -> Target:
    """The words of all texts: raw text (plain, .gz or .xz), or whatever else `read_corpus` takes.

    format: found out for each text when it is not given; standard input (`-`) is then raw text.
    """
    words = WordNumbers(lower_case=lower_case, tokenize=tokenize, most=None)
    rows: list[NDArray[np.int32]] = []
    for text in [like] if isinstance(like, Text) else like:
        for lines in _numbered(text, format, words):
            ending = np.insert(lines.words, np.cumsum(lines.lengths), LINE_END)
            rows.append(ending.astype(np.int32))
    if not len(words.keys()):
        raise InputError("the target text has no words. Is it the right file?")
    return Target(words.keys(), np.concatenate(rows), lower_case, tokenize)


def _numbered(text: Text, format: str | None, words: WordNumbers) -> Iterator[NumberedLines]:
    if not isinstance(text, Corpus):
        format = format or ("text" if str(text) == "-" else detected_format(text))
        if format == "text" and Path(text).is_file():
            for piece in cut_into_pieces([text]):
                for block in read_blocks(piece):
                    read = words.read(block.text)
                    yield words.number(read, np.arange(len(read)))
            return
        text = read_corpus(text, format, tokenize=words.tokenize)
    # raw text is read by lines: a word with a line end in it will not be met, whatever becomes of it here
    spelled = [word.replace("\n", " ") for sentence in text for word in sentence.words]
    yield NumberedLines(words.of(spelled), np.array([len(sentence.words) for sentence in text]))


def detected_format(file: str | Path) -> str:
    """The format of a file by its name and its first megabyte."""
    source = Source(file)
    if source.path.is_file():
        source.data = read_beginning(file)
    return detect_format(source)


_SHARE = 0.5  # of the bigrams in a probability; the rest is the single words'
_SAMPLED_PIECES = 64
_FEWEST_SAMPLED = 100_000  # words of the pool, however small the target is


def with_sample(target: Target, pool: Sequence[Piece]) -> Target:
    """The target, and beside it lines from all over the pool: about as many words as the target has."""
    numbers = WordNumbers(target.keys, lower_case=target.lower_case, tokenize=target.tokenize, most=1 << 20)
    chosen = pool[:: -(-len(pool) // _SAMPLED_PIECES)]
    wanted = max(len(target.words), _FEWEST_SAMPLED) // len(chosen) + 1  # words of each piece
    rows: list[NDArray[np.int32]] = []
    for piece in chosen:
        block = numbers.read(next(read_blocks(piece)).text)
        lines = numbers.number(block, np.arange(len(block)))
        step = max(1, int(lines.lengths.sum()) // wanted)
        lines = numbers.number(block, np.arange(0, len(block), step))
        words = np.minimum(lines.words, len(target.keys))  # all that the target lacks is one word
        rows.append(np.insert(words, np.cumsum(lines.lengths), LINE_END).astype(np.int32))
    return replace(target, pool=np.concatenate(rows))


class Contrast:
    """Scores between 0 and 1. 0.5: either model would have written the line as readily."""

    def __init__(self, target: Target) -> None:
        unknown = len(target.keys)
        counts = np.bincount(target.words[target.words != LINE_END], minlength=unknown + 1)
        # what the target has once says little of it: it is as unknown as what the target lacks
        self._numbers: Numbers = np.where(counts > 1, np.arange(unknown + 1), unknown)
        self._target, self._pool = (
            _Bigrams(*self._followed(words.astype(np.int64)), unknown + 1) for words in (target.words, target.pool)
        )

    def scores(self, lines: NumberedLines) -> Scores:
        words = np.insert(np.minimum(lines.words, len(self._numbers) - 1), np.cumsum(lines.lengths), LINE_END)
        before, words = self._followed(words)
        gains = self._target.log(before, words) - self._pool.log(before, words)
        line = np.repeat(np.arange(len(lines)), lines.lengths)
        mean = np.bincount(line, gains, len(lines)) / np.maximum(lines.lengths, 1)
        scores: Scores = 1 / (1 + np.exp(-mean))
        return scores

    def _followed(self, words: Numbers) -> tuple[Numbers, Numbers]:
        """Each word that is no line end, and what stands before it: at the beginning of a line a number of its own."""
        known = np.where(words == LINE_END, len(self._numbers), self._numbers[words])
        before = np.concatenate(([len(self._numbers)], known[:-1])) if len(known) else known
        inside = words != LINE_END
        return before[inside], known[inside]


class _Bigrams:
    """The probability of a word after another, half of it by the two, half by the word alone."""

    def __init__(self, before: Numbers, words: Numbers, vocabulary: int) -> None:
        singles = np.bincount(words, minlength=vocabulary)
        self._alone = (singles + 1) / (len(words) + vocabulary)
        self._before = np.bincount(before, minlength=vocabulary + 1)
        self._table = KeyTable()
        pairs, _ = self._table.number(pair_keys(before, words))
        self._pairs = np.append(np.bincount(pairs), 0)  # the last for those not found

    def log(self, before: Numbers, words: Numbers) -> Scores:
        follows = self._before[before]
        together = self._pairs[self._table.find(pair_keys(before, words))] / np.maximum(follows, 1)
        alone = self._alone[words]
        found: Scores = np.log(np.where(follows > 0, _SHARE * together + (1 - _SHARE) * alone, alone))
        return found
