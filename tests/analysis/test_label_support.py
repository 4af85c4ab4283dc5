"""Labels on both sides: counts, entities in common, and names that only look different."""

from __future__ import annotations

import pytest

from acclimate.analysis.inspection.facts import LabelSupport
from acclimate.data.corpus import Corpus, Sentence


def tagged(*rows: str, name: str = "corpus") -> Corpus:
    """`Anna/B-PER left/O`."""
    pairs = [[word.split("/") for word in row.split()] for row in rows]
    return Corpus.of((Sentence(tuple(w for w, _ in row), tuple(t for _, t in row)) for row in pairs), name)


SOURCE = tagged("Anna/B-PER saw/O New/B-LOC York/I-LOC", "Acme/B-ORG and/O Anna/B-PER")


def test_a_source_alone_has_counts() -> None:
    found = LabelSupport.of(SOURCE, None)
    assert found.source == {"PER": 2, "LOC": 1, "ORG": 1}
    assert found.sentences == 2
    assert found.target is None


def test_labels_and_entities_are_compared() -> None:
    target = tagged("Anna/B-ORG met/O Anna/B-PER", "New/B-LOC York/I-LOC or/O Bob/B-PER", "Oslo/B-CITY", name="few")
    found = LabelSupport.of(SOURCE, target).target
    assert found is not None
    assert (found.corpus, found.sentences) == ("few", 3)
    assert found.counts == {"PER": 2, "ORG": 1, "LOC": 1, "CITY": 1}
    assert (found.both, found.only_source, found.only_target) == (("LOC", "ORG", "PER"), (), ("CITY",))
    assert found.mentions_seen == pytest.approx(3 / 5)  # Anna twice, New York
    assert found.alike == {}


def test_text_without_tags_says_nothing_of_labels() -> None:
    assert LabelSupport.of(SOURCE, SOURCE.unlabelled()).target is None


def test_sentences_without_an_entity_have_no_share_of_known_ones() -> None:
    found = LabelSupport.of(SOURCE, tagged("so/O tired/O")).target
    assert found is not None
    assert (found.mentions_seen, found.counts) == (None, {})


def test_plain_tags_have_counts_and_no_entities(part_of_speech: Corpus) -> None:
    found = LabelSupport.of(part_of_speech, part_of_speech)
    assert found.target is not None
    assert found.target.mentions_seen is None
    assert found.target.counts["DET"] == 6


def test_a_bundled_map_that_fits_is_named() -> None:
    source = tagged("a/B-PER b/B-LOC c/B-ORG d/B-MISC")
    found = LabelSupport.of(source, tagged("a/B-person b/B-tvshow d/B-tvshow")).target
    assert found is not None
    assert found.bundled_map == "wnut16-to-conll"
    assert found.alike == {"person": "PER"}
    assert found.own_names == {"MISC": ["tvshow"], "PER": ["person"]}
