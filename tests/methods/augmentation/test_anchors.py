"""Anchor pairs against a slow enumeration, and an entity in another's place against worked examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import SCHEMES, Scheme, Span, convert_tags, faults, spans_from_tags, tags_from_spans
from acclimate.methods.augmentation.anchors import mentions, replace_entities

LABELS = ("PER", "LOC")
SAN_FRANCISCO = Sentence(
    ("John", "lives", "in", "San", "Francisco", "."), ("B-PER", "O", "O", "B-LOC", "I-LOC", "O"), text="…", offsets=None
)


def sentence_of(text: str) -> Sentence:
    """`Anna/B-PER went` is two words; what has no tag has O."""
    pairs = [word.rpartition("/") if "/" in word else (word, "", "O") for word in text.split()]
    return Sentence(tuple(word for word, _, _ in pairs), tuple(tag for _, _, tag in pairs))


def corpus_of(*texts: str, name: str = "corpus") -> Corpus:
    return Corpus.of(map(sentence_of, texts), name)


@st.composite
def small_corpora(draw: st.DrawFn) -> Corpus:
    """Few words, so that equal entities and equal sentences are common, and neighbours of one type occur."""
    sentences = []
    for _ in range(draw(st.integers(1, 4))):
        words: list[str] = []
        spans = []
        for _ in range(draw(st.integers(1, 4))):
            label = draw(st.sampled_from([None, *LABELS]))
            size = draw(st.integers(1, 2)) if label else 1
            if label:
                spans.append(Span(len(words), len(words) + size, label))
            words += draw(st.lists(st.sampled_from("abc"), min_size=size, max_size=size))
        sentences.append(Sentence(tuple(words)).with_spans(spans))
    return Corpus.of(sentences)


def all_entities(corpus: Corpus) -> set[tuple[str, tuple[str, ...]]]:
    """Slowly, tag by tag, without a look at spans."""
    found = set()
    for sentence in corpus:
        for start, tag in enumerate(sentence.tags or ()):
            if tag[0] != "B":
                continue
            end = start + 1
            while end < len(sentence) and (sentence.tags or ())[end] == f"I-{tag[2:]}":
                end += 1
            found.add((tag[2:], sentence.words[start:end]))
    return found


def test_entities_are_listed_once_in_the_order_of_the_text() -> None:
    corpus = corpus_of("Oslo/B-LOC and Rome/B-LOC", "Rome/B-LOC , Bob/B-PER Stone/I-PER", "ok")
    assert mentions(corpus) == {"LOC": (("Oslo",), ("Rome",)), "PER": (("Bob", "Stone"),)}


def test_a_shorter_donor_takes_fewer_tags() -> None:
    changed = replace_entities(SAN_FRANCISCO, {Span(3, 5, "LOC"): ("Australia",)})
    assert changed.words == ("John", "lives", "in", "Australia", ".")
    assert changed.tags == ("B-PER", "O", "O", "B-LOC", "O")
    assert changed.text is None  # the old text has not these words


def test_a_longer_donor_takes_more_tags() -> None:
    changed = replace_entities(sentence_of("Australia/B-LOC won"), {Span(0, 1, "LOC"): ("San", "Francisco")})
    assert changed.words == ("San", "Francisco", "won")
    assert changed.tags == ("B-LOC", "I-LOC", "O")


def test_without_donors_nothing_changes() -> None:
    changed = replace_entities(SAN_FRANCISCO, {})
    assert (changed.words, changed.tags) == (SAN_FRANCISCO.words, SAN_FRANCISCO.tags)


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("IOB1", ("I-LOC", "B-LOC", "I-LOC", "O", "I-PER")),
        ("IOB2", ("B-LOC", "B-LOC", "I-LOC", "O", "B-PER")),
        ("BIOES", ("S-LOC", "B-LOC", "E-LOC", "O", "S-PER")),
    ],
)
def test_neighbours_of_one_type_stay_two_in_every_scheme_that_can_say_so(scheme: Scheme, tags: tuple[str, ...]) -> None:
    old = Sentence(("Rome", "Oslo", "saw", "Bob"), tuple(convert_tags(["B-LOC", "B-LOC", "O", "B-PER"], scheme)))
    changed = replace_entities(old, {Span(1, 2, "LOC"): ("New", "York")}, scheme)
    assert changed.words == ("Rome", "New", "York", "saw", "Bob")
    assert changed.tags == tags


@given(st.data(), st.sampled_from(SCHEMES))
def test_only_the_chosen_span_changes_and_tags_stay_legal(data: st.DataObject, scheme: Scheme) -> None:
    corpus = data.draw(small_corpora().filter(lambda corpus: corpus.label_counts))
    old = data.draw(st.sampled_from([sentence for sentence in corpus if sentence.spans]))
    spelled = tags_from_spans(old.spans, len(old), scheme)
    old = old.with_tags(spelled)  # IO joins neighbours of one type: they are one span from here on
    span = data.draw(st.sampled_from(old.spans))
    donor = data.draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3).map(tuple))
    new = replace_entities(old, {span: donor}, scheme)
    assert new.words == (*old.words[: span.start], *donor, *old.words[span.end :])
    assert not faults(new.tags or (), scheme)
    shift = len(donor) - (span.end - span.start)
    expected = [
        Span(other.start + shift, other.end + shift, other.label) if other.start > span.start else other
        for other in old.spans
        if other != span
    ]
    assert spans_from_tags(new.tags or ()) == sorted([*expected, Span(span.start, span.end + shift, span.label)])
