"""Synonyms and shorter sentences: entities stay, tags go along, nothing is ever empty."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_anchors import sentence_of, small_corpora

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import SCHEMES, Scheme, Span, faults, spans_from_tags, tags_from_spans
from acclimate.methods.augmentation.synonyms import SynonymTable
from acclimate.methods.contrastive import delete_span, edit_text, replace_synonyms

LETTERS = SynonymTable({"a": ["x", "y"], "b": ["z"]})  # c has none
BIG = sentence_of("the big dog saw Anna/B-PER Big/I-PER in big Oslo/B-LOC")
LARGE = SynonymTable({"big": ["large", "huge"], "dog": ["hound"]})

shares = st.floats(0.01, 1)
seeds = st.integers(0, 20)


def outside(sentence: Sentence) -> list[int]:
    return [place for place, tag in enumerate(sentence.tags or ["O"] * len(sentence)) if tag == "O"]


def mentions(sentence: Sentence, spans: Sequence[Span]) -> list[tuple[str, tuple[str, ...]]]:
    return [(span.label, sentence.words[span.start : span.end]) for span in spans]


@given(small_corpora(), shares, seeds)
def test_only_words_outside_of_entities_get_synonyms(corpus: Corpus, share: float, seed: int) -> None:
    for old in corpus:
        new = replace_synonyms(old, LETTERS, Random(seed), share)
        changed = [place for place, pair in enumerate(zip(old.words, new.words, strict=True)) if pair[0] != pair[1]]
        possible = [place for place in outside(old) if LETTERS.of(old.words[place])]
        assert new.tags == old.tags
        assert set(changed) <= set(possible)
        assert all(new.words[place] in LETTERS.of(old.words[place]) for place in changed)
        assert len(changed) == min(len(possible), max(1, round(share * len(old))))


def test_every_synonym_of_every_word_can_be_drawn() -> None:
    drawn = {replace_synonyms(BIG, LARGE, Random(seed), 0.1).words for seed in range(60)}
    assert len(drawn) == 5  # two for each `big`, one for the dog; `Big` is a name
    assert all(words[4:6] == ("Anna", "Big") for words in drawn)


def test_without_labels_nothing_is_protected() -> None:
    new = replace_synonyms(BIG.with_tags(None), SynonymTable({"Anna": ["Eve"]}), Random(0))
    assert new.words[4] == "Eve"
    assert new.tags is None


def test_a_sentence_in_which_nothing_can_be_changed_comes_back() -> None:
    assert replace_synonyms(BIG, SynonymTable({"cat": ["tom"]}), Random(0)) is BIG
    name = sentence_of("Anna/B-PER Big/I-PER")
    assert replace_synonyms(name, LARGE, Random(0)) is name
    assert delete_span(name, Random(0)) is name
    assert delete_span(sentence_of("ok"), Random(0)).words == ("ok",)
    assert edit_text(name, Random(0), LARGE) is name


def deletable(sentence: Sentence, size: int, scheme: Scheme) -> set[tuple[int, int]]:
    """Slowly: every stretch of words outside of entities that leaves the same entities in the same order."""
    found = set()
    for start in range(len(sentence) - size + 1):
        kept = [place for place in range(len(sentence)) if not start <= place < start + size]
        if not kept or not set(range(start, start + size)) <= set(outside(sentence)):
            continue
        spans = [Span(kept.index(s.start), kept.index(s.end - 1) + 1, s.label) for s in sentence.spans]
        if spans_from_tags(tags_from_spans(spans, len(kept), scheme)) == spans:
            found.add((start, size))
    return found


@given(small_corpora(), shares, seeds, st.sampled_from(SCHEMES))
def test_a_stretch_is_left_out_and_every_entity_stays(corpus: Corpus, share: float, seed: int, scheme: Scheme) -> None:
    for old in corpus:
        old = old.with_tags(tags_from_spans(old.spans, len(old), scheme))  # IO joins neighbours, once and for all
        new = delete_span(old, Random(seed), share, scheme=scheme)
        assert len(new) >= 1
        assert not faults(new.tags or (), scheme)
        assert mentions(new, new.spans) == mentions(old, old.spans)
        longest = max(1, round(share * len(old)))
        best = next((size for size in range(longest, 0, -1) if deletable(old, size, scheme)), 0)
        assert len(old) - len(new) == best
        starts = [start for start, _ in deletable(old, best, scheme)] if best else [0]
        assert new.words in {old.words[:start] + old.words[start + best :] for start in starts}


def test_every_stretch_can_be_drawn() -> None:
    drawn = {delete_span(BIG, Random(seed)).words for seed in range(60)}
    assert len(drawn) == len(deletable(BIG, 2, "IOB2")) == 4


@pytest.mark.parametrize(
    ("scheme", "old", "new"),
    [
        ("IOB2", "B-PER O B-PER", ("B-PER", "B-PER")),
        ("IOB1", "I-PER O I-PER", ("I-PER", "B-PER")),
        ("BIOES", "S-PER O S-PER", ("S-PER", "S-PER")),
        ("IO", "I-PER O I-PER", ("I-PER", "O", "I-PER")),
        ("IO", "I-PER O I-LOC", ("I-PER", "I-LOC")),
    ],
)
def test_two_entities_do_not_become_one(scheme: Scheme, old: str, new: tuple[str, ...]) -> None:
    sentence = Sentence(("Anna", "and", "Bob"), tuple(old.split()))
    assert delete_span(sentence, Random(0), 0.34, scheme=scheme).tags == new


def test_in_io_one_word_stays_between_two_of_a_type() -> None:
    sentence = Sentence(("Anna", "and", "also", "Bob"), ("I-PER", "O", "O", "I-PER"))
    assert delete_span(sentence, Random(0), 0.5, scheme="IO").tags == ("I-PER", "O", "I-PER")


def test_plain_tags_go_along_with_their_words() -> None:
    sentence = Sentence(("the", "big", "dog"), ("DET", "ADJ", "NOUN"))
    assert replace_synonyms(sentence, LARGE, Random(0), 1.0, kind="plain").tags == sentence.tags
    pairs = dict(zip(sentence.words, sentence.tags or (), strict=True))
    for seed in range(9):
        shorter = delete_span(sentence, Random(seed), kind="plain")
        assert len(shorter) == 2
        assert shorter.tags == tuple(pairs[word] for word in shorter.words)


@given(small_corpora(), seeds)
def test_the_same_dice_give_the_same_edit(corpus: Corpus, seed: int) -> None:
    for old in (*corpus, *corpus.unlabelled()):
        assert edit_text(old, Random(seed), LETTERS) == edit_text(old, Random(seed), LETTERS)


def test_either_edit_is_drawn_and_the_other_where_one_is_of_no_use() -> None:
    lengths = {len(edit_text(BIG, Random(seed), LARGE)) for seed in range(30)}
    assert lengths == {9, 7}
    assert {len(edit_text(BIG, Random(seed))) for seed in range(9)} == {7}
    assert {len(edit_text(BIG, Random(seed), SynonymTable({}))) for seed in range(9)} == {7}
    one = Sentence(("big",))
    assert {edit_text(one, Random(seed), LARGE).words[0] for seed in range(30)} == {"large", "huge"}


def test_the_old_text_and_its_offsets_are_gone() -> None:
    old = Sentence(("big", "dog"), None, "big dog", ((0, 3), (4, 7)), document="d")
    for new in (replace_synonyms(old, LARGE, Random(0)), delete_span(old, Random(0))):
        assert (new.text, new.offsets, new.document) == (None, None, "d")
