"""Soft labels: at each word a distribution over IOB2 tags, made from guesses with scores.

A guess is a span with the probability that it is right; the rest of 1 goes to O. Overlapping guesses of one annotator
are alternatives, whose scores add up to at most 1. Distributions are coherent: `I-PER` has at most what `B-PER` and
`I-PER` have at the word before, so they are those of some spans with scores. A sentence with soft labels also has its
likeliest tags, for whatever needs one tag per word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from acclimate.data.corpus import Distribution, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import OUTSIDE, Scheme, hidden_labels, split_tag

Row = dict[str, float]
"""The probability of each tag at one word; tags without any are left out."""

_SLACK = 1e-6  # by which sums may miss, since scores are written with few digits
_NOTHING = 1e-9  # a probability that is none


@dataclass(frozen=True, slots=True, order=True)
class ScoredSpan:
    """The words `start` to `end` (exclusive) carry `label` with probability `score`."""

    start: int
    end: int
    label: str
    score: float = 1.0


def rows_of_spans(spans: Iterable[ScoredSpan], length: int) -> list[Row]:
    """The distributions that one annotator's guesses give the words of a sentence."""
    rows: list[Row] = [{} for _ in range(length)]
    for span in spans:
        if not 0 <= span.start < span.end <= length:
            raise InputError(f"span {span.label} ({span.start}:{span.end}) does not fit into {length} words.")
        for place in range(span.start, span.end if span.score > _NOTHING else span.start):
            tag = f"{'B' if place == span.start else 'I'}-{span.label}"
            rows[place][tag] = rows[place].get(tag, 0.0) + span.score
    for place, row in enumerate(rows):
        total = sum(row.values())
        if total > 1 + _SLACK:
            problem = f"the guesses at word {place} have scores of {total:.3g} together. Guesses of one annotator that"
            advice = "overlap are alternatives: lower their scores to 1 in all, or name an annotator for each."
            raise InputError(f"{problem} {advice}")
        if total < 1 - _NOTHING:
            row[OUTSIDE] = 1 - total
        elif total > 1:
            row.update({tag: probability / total for tag, probability in row.items()})
    return rows


def spans_of_rows(rows: Sequence[Mapping[str, float]]) -> list[ScoredSpan]:
    """Spans whose scores give these coherent distributions again. Of several that might end, the last begun does."""
    spans: list[ScoredSpan] = []
    begun: dict[str, list[tuple[int, float]]] = {}  # by label: where each span began, and its score
    for place, row in enumerate((*rows, {})):
        for label, active in begun.items():
            ending = sum(score for _, score in active) - row.get(f"I-{label}", 0.0)
            while active and ending > _NOTHING:
                start, score = active.pop()
                spans.append(ScoredSpan(start, place, label, min(score, ending)))
                if score - ending > _NOTHING:
                    active.append((start, score - ending))
                ending -= score
        for tag, probability in row.items():
            if tag.startswith("B-"):
                begun.setdefault(tag[2:], []).append((place, probability))
    return sorted(spans)


def mixed(guesses: Sequence[Sequence[Mapping[str, float]]], weights: Sequence[float]) -> list[Row]:
    """The mean of several annotators' distributions, by weight."""
    total = sum(weights)
    rows: list[Row] = [{} for _ in guesses[0]]
    for guess, weight in zip(guesses, weights, strict=True):
        for row, own in zip(rows, guess, strict=True):
            for tag, probability in own.items():
                row[tag] = row.get(tag, 0.0) + probability * weight / total
    return [{tag: probability for tag, probability in row.items() if probability > _NOTHING} for row in rows]


def coherent(rows: Iterable[Mapping[str, float]], least: float = 0.0) -> list[Row]:
    """Distributions made coherent: what continues no span begins one. Tags less probable than `least` become O."""
    made: list[Row] = []
    for row in rows:
        probabilities = {
            tag: probability for tag, probability in row.items() if tag != OUTSIDE and probability >= least
        }
        before = made[-1] if made else {}
        for tag in [tag for tag in probabilities if tag.startswith("I-")]:
            begins = f"B-{tag[2:]}"
            excess = probabilities[tag] - before.get(begins, 0.0) - before.get(tag, 0.0)
            if excess > 0:
                probabilities[begins] = probabilities.get(begins, 0.0) + excess
                probabilities[tag] -= excess
        probabilities[OUTSIDE] = 1 - sum(probabilities.values())
        made.append({tag: probability for tag, probability in probabilities.items() if probability > _NOTHING})
    return made


def likeliest_tags(rows: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """The tags that have the largest sum of probabilities, and spell spans; O where it is a tie."""
    totals: dict[str, float] = {OUTSIDE: 0.0}  # of the best tags up to a word, by the last one
    origins: list[dict[str, str]] = []
    for row in rows:
        best = max(totals, key=totals.__getitem__)
        after, origin = {OUTSIDE: totals[best] + row.get(OUTSIDE, 0.0)}, {OUTSIDE: best}
        for tag, probability in sorted(row.items()):
            befores = [f"B-{tag[2:]}", tag] if tag.startswith("I-") else [best]
            known = [before for before in befores if before in totals]
            if known and tag != OUTSIDE:
                origin[tag] = max(known, key=totals.__getitem__)
                after[tag] = totals[origin[tag]] + probability
        totals = after
        origins.append(origin)
    tags = [max(totals, key=totals.__getitem__)]
    for origin in reversed(origins):
        tags.append(origin[tags[-1]])
    return tuple(reversed(tags[:-1]))


def softened(sentence: Sentence, rows: Sequence[Mapping[str, float]]) -> Sentence:
    """The sentence with these distributions and their likeliest tags."""
    return replace(sentence, tags=likeliest_tags(rows), probabilities=frozen(rows))


def frozen(rows: Sequence[Mapping[str, float]]) -> tuple[Distribution, ...]:
    """Distributions as a sentence holds them."""
    return tuple(tuple(sorted(row.items())) for row in rows)


def renamed_rows(sentence: Sentence, names: Mapping[str, str | None]) -> list[Row]:
    """A sentence's distributions under other labels. Labels that come to share a name add up; a dropped one is O."""
    rows: list[Row] = []
    for distribution in sentence.probabilities or ():
        row: Row = {}
        for tag, probability in distribution:
            letter, label = split_tag(tag)
            new = names.get(label, label) if label else None
            if new is not None and hidden_labels(new):
                raise InputError(
                    f"the map makes {label} mean {new}, and guesses with scores cannot be open to labels. Map it to "
                    "one label or to O, or take the likeliest tags: acclimate data convert GUESSES.jsonl TAGS.conll.",
                    place=sentence.place,
                )
            named = OUTSIDE if new is None else f"{letter}-{new}"
            row[named] = row.get(named, 0.0) + probability
        rows.append(row)
    return rows


def rows_in_scheme(sentence: Sentence, scheme: Scheme) -> list[Row]:
    """A sentence's distributions over the tags of a scheme, as if spans ended independently of where they began."""
    rows = [dict(distribution) for distribution in sentence.probabilities or ()]
    _require_coherent(sentence, rows)
    if scheme == "IOB2":
        return rows
    spelled: list[Row] = []
    for before, row, after in zip([{}, *rows], rows, [*rows[1:], {}], strict=False):
        new: Row = {}
        for tag, probability in row.items():
            for other, share in _spelled(tag, scheme, before, row, after):
                if share > 0:
                    new[other] = new.get(other, 0.0) + probability * share
        spelled.append(new)
    return spelled


def _spelled(
    tag: str, scheme: Scheme, before: Mapping[str, float], row: Mapping[str, float], after: Mapping[str, float]
) -> list[tuple[str, float]]:
    """The tags of a scheme that stand for an IOB2 tag, each with its share."""
    letter, label = split_tag(tag)
    if not label:
        return [(tag, 1.0)]
    if scheme == "BIOES":
        goes_on = _going_on(label, row, after)
        both = ("B", "S") if letter == "B" else ("I", "E")
        return [(f"{both[0]}-{label}", goes_on), (f"{both[1]}-{label}", 1 - goes_on)]
    if scheme == "IOB1" and letter == "B":
        ended = _inside(label, before) * (1 - _going_on(label, before, row))
        closed = 1 - sum(probability for other, probability in row.items() if other.startswith("I-"))
        touching = ended / closed if closed > 0 else 0.0
        return [(tag, touching), (f"I-{label}", 1 - touching)]
    return [(f"I-{label}", 1.0)]


def _inside(label: str, row: Mapping[str, float]) -> float:
    return row.get(f"B-{label}", 0.0) + row.get(f"I-{label}", 0.0)


def _going_on(label: str, row: Mapping[str, float], after: Mapping[str, float]) -> float:
    """How probable it is that a span of a label goes on, once it is there."""
    there = _inside(label, row)
    return min(1.0, after.get(f"I-{label}", 0.0) / there) if there > 0 else 0.0


def _require_coherent(sentence: Sentence, rows: Sequence[Mapping[str, float]]) -> None:
    """Refuse distributions that no spans with scores have."""
    for place, (before, row) in enumerate(pairwise(({}, *rows))):
        problem = None
        if min(row.values()) < 0 or abs(sum(row.values()) - 1) > _SLACK:
            problem = "the probabilities must be 0 or more and add up to 1"
        for tag, probability in row.items():
            letter, label = split_tag(tag)
            if letter == "I" and probability > _inside(label, before) + _SLACK:
                problem = f"{tag} has more than B-{label} and I-{label} at the word before, which it goes on with"
        if problem is not None:
            raise InputError(
                f"word {place} ({sentence.words[place]!r}): {problem}. Mend them, or pass them through "
                "acclimate.data.soft_labels.coherent.",
                place=sentence.place,
            )
