"""Corpora from bare tags, and random tags: well-formed IOB2, and whatever a tagger without constraints may say."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Kind, Sentence
from acclimate.data.schemes import Span, tags_from_spans

LABELS = ("PER", "LOC", "ORG")
TAGS = ("O", *(f"{letter}-{label}" for label in LABELS for letter in "BI"))

Rows = Sequence[Sequence[str]]


def corpus_of(*rows: str | Sequence[str], kind: Kind = "spans") -> Corpus:
    """A corpus from rows of tags; its words are numbered, since most figures do not look at them."""
    tags = [tuple(row.split() if isinstance(row, str) else row) for row in rows]
    return Corpus.of((Sentence(tuple(f"w{place}" for place in range(len(row))), row) for row in tags), kind=kind)


@st.composite
def well_formed(draw: st.DrawFn, length: int) -> list[str]:
    """Tags of random spans, many of them neighbours."""
    spans, position = [], 0
    while position < length:
        size = draw(st.integers(1, 3))
        label = draw(st.sampled_from([None, *LABELS]))
        if label is not None:
            spans.append(Span(position, min(position + size, length), label))
        position += size if label is not None else 1
    return tags_from_spans(spans, length)


def any_tags(length: int) -> st.SearchStrategy[list[str]]:
    """Any tag anywhere: `O I-PER`, `B-PER I-LOC` and worse."""
    return st.lists(st.sampled_from(TAGS), min_size=length, max_size=length)


@st.composite
def gold_and_predicted(draw: st.DrawFn, legal: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Two taggings of the same sentences; the second is often a copy with a few changes, so that some spans agree."""
    rows = well_formed if legal else any_tags
    gold, predicted = [], []
    for length in draw(st.lists(st.integers(1, 9), min_size=1, max_size=6)):
        gold.append(draw(rows(length)))
        predicted.append(list(gold[-1]) if draw(st.booleans()) else draw(rows(length)))
        if not legal and draw(st.booleans()):
            predicted[-1][draw(st.integers(0, length - 1))] = draw(st.sampled_from(TAGS))
    return gold, predicted
