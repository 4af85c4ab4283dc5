"""Subsets of a corpus: seeded, nested, in the corpus's own order, and the same on every machine.

A smaller subset lies within a larger one of the same seed, so that a learning curve measures the amount of data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from random import Random
from typing import Literal

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.words import bare_text
from acclimate.spelling import count, either

Size = float | int | Literal["rest"]

SLACK = 0.1  # a part may miss its size by this share of it, since documents are not cut

FEW_SHOT_PARTS = ("labelled", "dev", "unlabelled", "test")  # of few_shot_split

_NOWHERE = ""  # the part that takes what no part asks for


def take_sentences(corpus: Corpus, count: int, seed: int = 0) -> Corpus:
    """`count` random sentences; the ones of a smaller count are among them."""
    if not 0 < count <= len(corpus):
        raise InputError(f"{corpus.name} has {_sentences(len(corpus))}; {count:,} cannot be taken from it.")
    return _chosen(corpus, _order(len(corpus), seed)[:count], f"{_sentences(count)}, seed {seed}")


def take_share_of_words(corpus: Corpus, share: float, seed: int = 0) -> Corpus:
    """Random sentences until they hold this share of the words; smaller shares lie within larger ones."""
    if not 0 < share <= 1:
        raise InputError(f"the share of words must be above 0 and at most 1, not {share}.")
    if not len(corpus):
        raise InputError(f"{corpus.name} has no sentences to take a share of.")
    wanted = round(share * corpus.word_count, 6)  # 0.07 of 100 words is 7, though not in binary fractions
    taken, words = [], 0
    for position in _order(len(corpus), seed):
        if words >= wanted:
            break
        taken.append(position)
        words += len(corpus[position])
    return _chosen(corpus, taken, f"{share:.4g} of words, seed {seed}")


def few_shot(corpus: Corpus, k: int, seed: int = 0) -> tuple[Corpus, dict[str, int]]:
    """Sentences with at least `k` spans of each label (words, for plain tags); all there are where a label has fewer.
    Also the labels that have fewer than k in all, and how many they have.

    Greedy: in round r = 1 … k each label, the rarest first, takes the next sentence of the seeded order that has it,
    until r of its spans are there. So `few_shot(k)` lies within `few_shot(k + 1)`, but it is not the smallest such set.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}.")
    contents: list[Counter[str]] = [
        Counter(one.tags or () if corpus.kind == "plain" else (span.label for span in one.spans)) for one in corpus
    ]
    totals = Counter(label for content in contents for label in content.elements())
    if not totals:
        raise InputError(f"{corpus.name} has no labels; few-shot examples need them.")
    order = _order(len(corpus), seed)
    waiting = {
        label: iter([position for position in order if label in contents[position]])
        for label in sorted(totals, key=lambda label: (totals[label], label))
    }
    taken: set[int] = set()
    counts: Counter[str] = Counter()
    for turn in range(1, k + 1):
        for label, positions in waiting.items():
            while counts[label] < min(turn, totals[label]):
                position = next(positions)
                if position not in taken:
                    taken.add(position)
                    counts.update(contents[position])
    short = {label: totals[label] for label in sorted(totals) if totals[label] < k}
    return _chosen(corpus, taken, f"{k}-shot, seed {seed}"), short


def split(
    corpus: Corpus, parts: Mapping[str, Size], seed: int = 0, by_document: bool = True, tied_from: int = 1
) -> dict[str, Corpus]:
    """Divide a corpus: shares (`{"train": 0.8, "dev": 0.1, "test": 0.1}`) or numbers of sentences; one may be "rest".

    Equal sentences (letters and digits only, in lower case) and the sentences of one document go to the same part.
    Whole documents may miss a size by a tenth; beyond that the split is refused. What no part asks for is left out.
    Equal headlines can tie all documents together: `tied_from=6` ties only sentences of six or more words.
    """
    sizes = _sizes(corpus, parts)
    groups = _groups(corpus, by_document, tied_from)
    dealt = _deal(groups, sizes, len(corpus), seed)
    for part, size in sizes.items():
        if abs(len(dealt[part]) - size) > SLACK * size:
            raise InputError(
                f"{corpus.name} cannot be split so: {part} was to have {size:,} of {len(corpus):,} sentences and would "
                f"have {len(dealt[part]):,}. The largest of the {len(groups):,} groups that stay together has "
                f"{max(map(len, groups)):,} sentences. Change the "
                f"sizes{either(', pass by_document=False, or tied_from=6', '')}."
            )
    return {
        part: _chosen(corpus, dealt[part], f"{part}, {_sentences(len(dealt[part]))}, seed {seed}") for part in sizes
    }


def few_shot_split(
    corpus: Corpus, labelled: int = 100, dev: int = 100, test: int | None = None, seed: int = 0
) -> dict[str, Corpus]:
    """The parts labelled, dev, unlabelled and test of a corpus that has no split, such as SciTech.

    `test` is by default half of what `dev` leaves. Neither depends on `labelled`, and fewer labelled sentences lie
    within more. PDALN does not say how it split, so scores on these parts do not compare with its table.
    """
    bare = sum(sentence.tags is None for sentence in corpus)
    if bare:
        raise InputError(
            f"{bare:,} of {corpus.name}'s {len(corpus):,} sentences have no tags; "
            f"{either('use corpus.labelled()', 'leave those out (acclimate data convert --labelled-only)')}."
        )
    test = (len(corpus) - dev) // 2 if test is None else test
    left = len(corpus) - dev - test - labelled
    if min(labelled, dev, test, left) < 1:
        raise InputError(
            f"{corpus.name} has {len(corpus):,} sentences: {labelled:,} labelled, {dev:,} dev and {test:,} test leave "
            f"{left:,} unlabelled. Each part needs at least one; ask for less."
        )
    parts = split(corpus, {"dev": dev, "test": test, "pool": "rest"}, seed)
    pool = parts["pool"]
    order = _order(len(pool), seed)
    if labelled >= len(pool):
        problem = f"{corpus.name}: dev and test leave {len(pool):,} sentences, too few for {labelled:,} labelled."
        raise InputError(problem)
    named = pool.renamed(corpus.name)
    shown = _chosen(named, order[:labelled], f"labelled, {_sentences(labelled)}, seed {seed}")
    rest = _chosen(named, order[labelled:], f"unlabelled, {_sentences(len(pool) - labelled)}, seed {seed}")
    return {"labelled": shown, "dev": parts["dev"], "unlabelled": rest.unlabelled(), "test": parts["test"]}


def _sentences(number: int) -> str:
    return count(number, "sentence")


def _order(length: int, seed: int) -> list[int]:
    """The seed's order of the positions; it does not depend on what stands there."""
    random = Random(seed)
    keys = [random.random() for _ in range(length)]
    return sorted(range(length), key=keys.__getitem__)


def _chosen(corpus: Corpus, positions: Iterable[int], how: str) -> Corpus:
    sentences = tuple(corpus[position] for position in sorted(positions))
    return replace(corpus, sentences=sentences, name=f"{corpus.name}[{how}]")


def _sizes(corpus: Corpus, parts: Mapping[str, Size]) -> dict[str, int]:
    """How many sentences each part is to have."""
    given = {part: size for part, size in parts.items() if not isinstance(size, str)}
    unknown = [size for size in parts.values() if isinstance(size, str) and size != "rest"]
    if not parts or _NOWHERE in parts or unknown or len(parts) - len(given) > 1:
        raise InputError(
            f'the parts need a name and a share or a number each, and one at most may be "rest"; got {dict(parts)}.'
        )
    if len({type(size) for size in given.values()}) > 1:
        raise InputError(f"give either shares (0.1) or numbers of sentences (100) for all parts, not {dict(parts)}.")
    counted = {part: size for part, size in given.items() if isinstance(size, int)}
    if not counted:  # differences of rounded sums: shares that make a whole give sizes that do
        sums = [0, *(round(reached * len(corpus)) for reached in accumulate(given.values()))]
        counted = {part: after - before for part, (before, after) in zip(given, pairwise(sums), strict=True)}
    rest = len(corpus) - sum(counted.values())
    sizes = {part: counted.get(part, rest) for part in parts}
    if rest < 0 or min(sizes.values()) < 1:
        raise InputError(
            f"{corpus.name} has {_sentences(len(corpus))}; the parts ask for "
            f"{', '.join(f'{part} {size:,}' for part, size in sizes.items())}. Each part needs one at least, "
            "and together they cannot have more than there are."
        )
    return sizes


def _groups(corpus: Corpus, by_document: bool, tied_from: int) -> list[list[int]]:
    """Positions that must stay together: one document, or equal sentences, or a chain of both (union-find)."""
    parents = list(range(len(corpus)))

    def root(position: int) -> int:
        while parents[position] != position:
            parents[position] = position = parents[parents[position]]
        return position

    first: dict[tuple[str, str], int] = {}
    for position, sentence in enumerate(corpus):
        if len(sentence) >= tied_from:
            parents[root(position)] = root(first.setdefault(("text", bare_text(sentence.words)), position))
        if by_document and sentence.document is not None:
            parents[root(position)] = root(first.setdefault(("document", sentence.document), position))
    groups: dict[int, list[int]] = {}
    for position in range(len(corpus)):
        groups.setdefault(root(position), []).append(position)
    return list(groups.values())


def _deal(groups: Sequence[list[int]], sizes: Mapping[str, int], total: int, seed: int) -> dict[str, list[int]]:
    """Deal the groups out, the large ones first, each to a part drawn by the room that it has left."""
    left = {**sizes, _NOWHERE: total - sum(sizes.values())}
    dealt: dict[str, list[int]] = {part: [] for part in left}
    order = _order(len(groups), seed)
    random = Random(f"parts {seed}")  # not the numbers that made the order
    for number in sorted(order, key=lambda number: -len(groups[number])):
        group = groups[number]
        fitting = {part: room for part, room in left.items() if room >= len(group)}
        part = _drawn(fitting, random.random()) if fitting else max(left, key=left.__getitem__)
        dealt[part].extend(group)
        left[part] -= len(group)
    return dealt


def _drawn(rooms: Mapping[str, int], number: float) -> str:
    """A part drawn in proportion to its room, by a number from 0 to 1."""
    *_, total = ends = list(accumulate(rooms.values()))
    return list(rooms)[bisect_right(ends, min(int(number * total), total - 1))]
