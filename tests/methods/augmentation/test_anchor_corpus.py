"""A corpus of anchored sentences: how many, from where, which ones, and what is told when there are fewer."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_anchors import corpus_of, small_corpora

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import SCHEMES, Scheme, Span, convert_tags, faults
from acclimate.methods.augmentation.anchors import (
    Augmentation,
    Donors,
    augment_with_anchors,
    draw_all,
    draw_one,
    mentions,
    replace_entities,
)


def numbered(count: int, name: str) -> Corpus:
    """As many sentences with one place each, all different."""
    return corpus_of(*(f"{name}{number}/B-LOC is number {number} {name}" for number in range(count)), name=name)


def entities(corpus: Corpus) -> set[tuple[str, tuple[str, ...]]]:
    return {(label, mention) for label, found in mentions(corpus).items() for mention in found}


def texts(made: Augmentation) -> list[tuple[str, ...]]:
    return [variant.sentence.words for variant in made.variants]


@pytest.mark.parametrize(
    ("target", "sample", "options", "expected"),
    [
        (100, 500, {}, 1400),
        (10, 100, {"source_sentences": 100}, 240),
        (100, 700, {"ratio": 7}, 1800),
    ],
)
def test_the_counts_of_the_paper(target: int, sample: int, options: dict[str, Any], expected: int) -> None:
    made = augment_with_anchors(numbered(800, "there"), numbered(target, "here"), **options)
    assert len(made.corpus) == len(made.variants) == expected
    assert Counter(variant.side for variant in made.variants) == {"target": target * 4, "source": sample * 2}
    assert (made.target.used, made.source.used) == (target, sample)
    assert not made.remarks()


def test_every_sentence_has_as_many_variants_as_asked_for() -> None:
    made = augment_with_anchors(numbered(30, "there"), numbered(8, "here"), source_sentences=20)
    each = Counter((variant.side, variant.original.words) for variant in made.variants)
    assert {side: {count for (of, _), count in each.items() if of == side} for side in ("target", "source")} == {
        "target": {4},
        "source": {2},
    }


@given(small_corpora(), small_corpora(), st.booleans(), st.integers(0, 3))
def test_donors_come_from_the_other_domain_and_keep_the_type(
    source: Corpus, target: Corpus, all_entities: bool, seed: int
) -> None:
    if not source.label_counts.keys() & target.label_counts.keys():
        return
    made = augment_with_anchors(source, target, all_entities=all_entities, seed=seed)
    others = {"target": entities(source), "source": entities(target)}
    for variant in made.variants:
        assert variant.sentence.tags is not None
        assert not faults(variant.sentence.tags, "IOB2")
        assert variant.choice
        for span, donor in variant.choice.items():
            assert span in variant.original.spans
            assert (span.label, donor) in others[variant.side]
            assert donor != variant.original.words[span.start : span.end]


@given(small_corpora(), small_corpora(), st.booleans())
def test_with_no_bound_every_variant_that_there_is_is_made(source: Corpus, target: Corpus, all_entities: bool) -> None:
    """Against a slow enumeration of what may be put where."""
    if not source.label_counts.keys() & target.label_counts.keys():
        return
    slow = set()
    for corpus, other in ((target, source), (source, target)):
        for sentence in corpus:
            choices: list[dict[Span, tuple[str, ...]]] = [{}]
            for span in sentence.spans:
                own = sentence.words[span.start : span.end]
                fitting = [mention for label, mention in entities(other) if label == span.label and mention != own]
                ways = [{span: mention} for mention in fitting]
                if all_entities:
                    choices = [{**choice, **way} for choice in choices for way in ways or [{}]]
                else:
                    choices += ways
            slow |= {replace_entities(sentence, choice).words for choice in choices if choice}
    slow -= {sentence.words for corpus in (source, target) for sentence in corpus}
    made = augment_with_anchors(
        source, target, target_variants=10**6, source_variants=10**6, source_sentences=None, all_entities=all_entities
    )
    assert sorted(texts(made)) == sorted(slow)


def test_the_same_seed_gives_the_same_sentences_and_another_gives_others(news: Corpus, tweets: Corpus) -> None:
    def draw(seed: int) -> Augmentation:
        return augment_with_anchors(news, tweets, seed=seed, source_sentences=8)

    assert draw(1) == draw(1)
    assert texts(draw(1)) != texts(draw(2))


def test_the_choice_is_pinned_for_every_machine_and_version() -> None:
    made = augment_with_anchors(numbered(5, "there"), numbered(2, "here"), source_sentences=2, target_variants=2)
    places = [words[0] for words in texts(made)]
    assert places == ["there0", "there4", "there0", "there4", "here0", "here1", "here0", "here1"]


def test_fewer_variants_and_a_smaller_sample_lie_within_more() -> None:
    source, target = numbered(40, "there"), numbered(10, "here")
    few = augment_with_anchors(source, target, target_variants=2, source_variants=1, source_sentences=5)
    more = augment_with_anchors(source, target, target_variants=4, source_variants=2, source_sentences=20)
    assert set(texts(few)) < set(texts(more))


def test_the_entities_of_a_sentence_take_turns() -> None:
    source = corpus_of(*(f"Bob{number}/B-PER" for number in range(50)), "Rome/B-LOC and Bonn/B-LOC")
    made = augment_with_anchors(source, corpus_of("Anna/B-PER in Oslo/B-LOC"), source_variants=0)
    assert made.target.replaced == {"LOC": 2, "PER": 2}


def test_one_entity_is_exchanged_or_all() -> None:
    source = corpus_of("Bob/B-PER Stone/I-PER saw Rome/B-LOC .")
    target = corpus_of("Anna/B-PER in Oslo/B-LOC or New/B-LOC York/I-LOC")
    one = augment_with_anchors(source, target, source_variants=0)
    every = augment_with_anchors(source, target, source_variants=0, all_entities=True)
    assert {len(variant.choice) for variant in one.variants} == {1}
    (variant,) = every.variants
    assert variant.sentence.words == ("Bob", "Stone", "in", "Rome", "or", "Rome")
    assert variant.sentence.tags == ("B-PER", "I-PER", "O", "B-LOC", "O", "B-LOC")
    assert str(variant) == "[PER Anna → Bob Stone] in [LOC Oslo → Rome] or [LOC New York → Rome]"


def test_sentences_without_entities_are_not_used_and_that_is_told() -> None:
    source = corpus_of("Rome/B-LOC", "Bonn/B-LOC", "it rained")
    made = augment_with_anchors(source, corpus_of("ok", "so tired", "in Oslo/B-LOC"), target_variants=2)
    assert {variant.original.spans != [] for variant in made.variants} == {True}
    assert (made.target.used, made.target.usable, made.target.sentences) == (1, 1, 3)
    used = "of 3 sentences can be used: they have an entity that the other domain has another one for"
    assert f"target: 1 {used}." in made.remarks()
    assert f"source: 2 {used}; 500 were asked for." in made.remarks()


def test_too_few_donors_are_told() -> None:
    made = augment_with_anchors(corpus_of("Rome/B-LOC", "Bonn/B-LOC"), corpus_of("in Oslo/B-LOC"), source_variants=0)
    assert len(made.variants) == 2
    assert (made.target.made, made.target.short) == (2, 1)
    (remark,) = made.remarks()
    assert remark.startswith("target: 2 of 4 variants; 1 of 1 sentences have fewer than 4")


def test_a_type_without_partner_is_told() -> None:
    made = augment_with_anchors(
        corpus_of("Rome/B-LOC", "Acme/B-ORG"), corpus_of("in Oslo/B-LOC with Anna/B-PER"), target_variants=1
    )
    assert made.target.lonely == {"PER": 1}
    assert made.source.lonely == {"ORG": 1}
    assert made.source.usable == 1
    remarks = "\n".join(made.remarks())
    assert "target: no entity of the source is of type PER (1); those entities stay as they are." in remarks
    assert "source: no entity of the target is of type ORG (1)" in remarks


def test_no_text_is_there_twice_nor_was_it_there_before() -> None:
    source = corpus_of("in Rome/B-LOC", "in Bonn/B-LOC", "in Bonn/B-LOC")
    target = corpus_of("in Oslo/B-LOC", "in Oslo/B-LOC", "in Lima/B-LOC")
    made = augment_with_anchors(source, target)
    assert not made.variants  # every exchange gives a sentence that the other domain has
    assert made.target.short == 3
    target = corpus_of("at Oslo/B-LOC", "at Oslo/B-LOC")
    made = augment_with_anchors(source, target, source_variants=0)
    assert sorted(texts(made)) == [("at", "Bonn"), ("at", "Rome")]


def test_sentences_without_tags_are_counted_and_left_alone() -> None:
    target = corpus_of("in Oslo/B-LOC") + Corpus.of([Sentence(("no", "tags"))])
    made = augment_with_anchors(corpus_of("Rome/B-LOC", "Bonn/B-LOC"), target, target_variants=1, source_variants=0)
    assert (made.target.sentences, made.target.used) == (2, 1)
    assert made.corpus.labelled() == made.corpus


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_corpus_keeps_its_scheme(scheme: Scheme) -> None:
    def spelled(corpus: Corpus) -> Corpus:
        return corpus.with_tags(convert_tags(sentence.tags or (), scheme) for sentence in corpus)

    source = spelled(corpus_of("New/B-LOC York/I-LOC", "Bonn/B-LOC", "x Old/B-LOC Bonn/I-LOC Rome/B-PER"))
    target = spelled(corpus_of("in Oslo/B-LOC with Anna/B-PER", "San/B-LOC Remo/I-LOC City/I-LOC"))
    if scheme == "IOB1":  # what no neighbour shows might as well be IO, which spells it alike
        source = source + Corpus.of([Sentence(("Ulm", "Bern"), ("I-LOC", "B-LOC"))])
    made = augment_with_anchors(source, target, source_variants=9)
    assert not any(faults(sentence.tags or (), scheme) for sentence in made.corpus)
    letters = {tag[0] for sentence in made.corpus for tag in sentence.tags or ()}
    assert letters == {"IOB1": {"I", "B", "O"}, "IOB2": set("BIO"), "BIOES": set("BIOES"), "IO": set("IO")}[scheme]


def test_place_and_document_of_a_sentence_are_kept() -> None:
    (old,) = corpus_of("in Oslo/B-LOC")
    old = Sentence(old.words, old.tags, "in Oslo", ((0, 2), (3, 7)), document="d1")
    made = augment_with_anchors(corpus_of("Rome/B-LOC"), Corpus.of([old]), source_variants=0)
    (new,) = made.corpus
    assert (new.document, new.text, new.offsets) == ("d1", None, None)


@pytest.mark.parametrize(
    ("source", "target", "options", "words"),
    [
        ("Rome/B-LOC", "Anna/B-PER", {}, "no type of entity in common"),
        ("it rained", "Anna/B-PER", {}, "source has no entities"),
        ("Rome/B-LOC", "ok", {}, "target has no entities"),
        ("Rome/B-LOC", "Bonn/B-LOC", {"target_variants": 0, "source_variants": 0}, "no variants are asked for"),
    ],
)
def test_what_cannot_be_done_is_refused(source: str, target: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        augment_with_anchors(corpus_of(source, name="source"), corpus_of(target, name="target"), **options)


def test_plain_tags_are_refused(part_of_speech: Corpus, news: Corpus) -> None:
    with pytest.raises(InputError, match="one plain tag per word"):
        augment_with_anchors(news, part_of_speech)


def test_a_huge_number_of_choices_is_never_listed() -> None:
    donors = {Span(place, place + 1, "LOC"): [(str(number),) for number in range(1000)] for place in range(40)}
    choices = list(islice(draw_all(donors, Random(0)), 50))
    assert len({tuple(choice.items()) for choice in choices}) == 50
    assert all(len({choice[span] for choice in choices}) > 40 for span in donors)  # every digit is random


def test_of_nothing_nothing_is_drawn() -> None:
    assert not list(draw_one({}, Random(0)))


class _Watched(tuple):
    """A tuple that counts how many of its items are looked at."""

    evaluations = 0

    def __iter__(self):
        for item in super().__iter__():
            _Watched.evaluations += 1
            yield item

    def __getitem__(self, place):
        _Watched.evaluations += 1
        return super().__getitem__(place)


def test_donors_are_not_looked_through_for_every_entity():
    donors = Donors({"PER": _Watched((f"name{number}",) for number in range(5000))})
    _Watched.evaluations = 0
    sentence = Sentence(("name7", "met", "Eve"), ("B-PER", "O", "B-PER"))
    fitting = donors.for_sentence(sentence)
    assert [len(one) for one in fitting.values()] == [4999, 5000]
    choices = list(islice(draw_one(fitting, Random(1)), 6))
    assert len(choices) == 6
    assert _Watched.evaluations <= 6


def test_an_entity_is_no_donor_of_itself():
    donors = Donors({"PER": (("Anna",), ("Bob",), ("Eve",))})
    assert list(donors.for_mention("PER", ("Bob",))) == [("Anna",), ("Eve",)]
    assert donors.for_mention("PER", ("Bob",))[-1] == ("Eve",)
    assert list(donors.for_mention("LOC", ("Bob",))) == []
    assert Donors({"PER": (("Bob",),)}).for_sentence(Sentence(("Bob",), ("B-PER",))) == {}
