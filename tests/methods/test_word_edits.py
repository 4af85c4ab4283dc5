"""What a run writes down of changed sentences: by masked noise, by contrast, and by exchanged entities."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Span
from acclimate.methods.augmentation.anchors import Variant, augment_with_anchors, noted_variant
from acclimate.methods.contrastive import Contrast
from acclimate.methods.objective import TaggingOfAll
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.methods.perturbation.word_changes import WordChanges
from acclimate.methods.word_edits import NOTED, WordEdit, edits_between, noted_row, spread
from acclimate.model.encoders.encoder import Change
from acclimate.model.learner import NoView, View
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
ANNA = Sentence(("Anna", "flew", "to", "Oslo"), ("B-PER", "O", "O", "B-LOC"))
RAIN = Sentence(("it", "rained"), ("O", "O"))


class Told(WordChanges):
    """Changes as they are told."""

    def __init__(self, *changes: Change) -> None:
        super().__init__(["a"])
        self.told = list(changes)

    def draw(self, view: View) -> list[Change]:
        return self.told


def masking(changes: WordChanges | None) -> AdversarialTraining:
    return AdversarialTraining(TaggingOfAll(), {}, changes=changes)


def view_of(tagger: Tagger, *sentences: Sentence) -> View:
    return View(tagger, tagger.tensorize(sentences))


def rewritten(row: dict[str, Any]) -> list[str | None]:
    """The sentence after its edits, None for a hidden word: slowly, from the back."""
    words: list[str | None] = list(row["words"])
    for edit in reversed(row["edits"]):
        hidden = [None] * (edit["end"] - edit["start"])
        words[edit["start"] : edit["end"]] = hidden if edit["by"] is None else edit["by"]
    return words


# edits


words = some.lists(some.sampled_from("abc"), min_size=1, max_size=6)


@given(words, words)
def test_edits_make_the_one_sentence_of_the_other(old: list[str], new: list[str]) -> None:
    assert rewritten(noted_row(old, edits_between(old, new))) == new


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("a big cat", "a big cat", []),
        ("a big cat", "a huge tom", [(1, 2, ("huge",)), (2, 3, ("tom",))]),
        ("a big cat", "a cat", [(1, 2, ())]),
        ("so so tired", "so tired", [(1, 2, ())]),
        ("a big cat", "a", [(1, 3, ())]),
        ("a cat", "a big cat", [(1, 1, ("big",))]),
    ],
)
def test_what_differs_is_named_and_nothing_else(old: str, new: str, edits: list[Any]) -> None:
    assert edits_between(old.split(), new.split()) == [WordEdit(*edit) for edit in edits]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_a_sample_is_of_the_whole_in_order_and_small(size: int) -> None:
    found = spread(range(size))
    assert len(found) == min(size, NOTED)
    assert found == sorted(set(found))
    assert size <= NOTED or found[-1] >= size - size / NOTED - 1


# masked noise


def test_hidden_and_swapped_words_are_noted_once(build: Build) -> None:
    objective = masking(Told(Change(0, 3, 3, None), Change(1, 0, 4, "Bob")))
    objective(view_of(build(), ANNA, RAIN), NoView("target"))
    assert objective.notes() == {
        "kind": "changes",
        "by": "masked noise",
        "rows": [
            {"words": ["Anna", "flew", "to", "Oslo"], "edits": [{"start": 3, "end": 4, "by": None}]},
            {"words": ["it", "rained"], "edits": [{"start": 0, "end": 1, "by": ["Bob"]}]},
        ],
    }
    again = objective.notes()
    assert again is not None
    assert again["rows"] == []


def test_both_domains_are_noted_under_their_own_words(build: Build) -> None:
    tagger, objective = build(), masking(Told(Change(0, 0, 0, None)))
    objective(view_of(tagger, ANNA), view_of(tagger, RAIN))
    noted = objective.notes()
    assert noted is not None
    assert [row["words"][0] for row in noted["rows"]] == ["Anna", "it"]


def test_no_more_than_a_few_sentences_are_kept(build: Build) -> None:
    tagger, objective = build(), masking(Told(*(Change(number, 0, 2 * number, None) for number in range(5))))
    for _ in range(4):
        objective(view_of(tagger, *[RAIN] * 5), NoView("target"))
    noted = objective.notes()
    assert noted is not None
    assert len(noted["rows"]) == NOTED


def test_masked_noise_notes_nothing_in_evaluation_or_without_changes(build: Build) -> None:
    objective = masking(Told(Change(0, 0, 0, None))).eval()
    objective(view_of(build(), RAIN), NoView("target"))
    assert objective.notes() is None
    noted = objective.train().notes()
    assert noted is not None
    assert noted["rows"] == []
    assert masking(None).notes() is None


def test_asking_draws_no_random_numbers(build: Build) -> None:
    objective = masking(WordChanges(["a", "b"], rate=1.0, hide=0.5))
    objective(view_of(build(), ANNA, RAIN), NoView("target"))
    before = torch.get_rng_state()
    assert objective.notes() is not None
    assert torch.equal(torch.get_rng_state(), before)


# contrast


def shorter(sentence: Sentence, dice: random.Random) -> Sentence:
    """Without its second word, unless that is rain."""
    return sentence if sentence == RAIN else Sentence((sentence.words[0], *sentence.words[2:]))


def test_twins_are_noted_by_what_is_missing_and_unchanged_ones_not_at_all(build: Build) -> None:
    tagger = build()
    objective = Contrast(tagger.encoder.sentence_width, shorter, 6)
    for _ in range(2):
        objective(tagger.view([ANNA, RAIN]), tagger.view([RAIN]))
    row = {"words": list(ANNA.words), "edits": [{"start": 1, "end": 2, "by": []}]}
    assert objective.notes() == {"kind": "changes", "by": "twins", "rows": [row]}
    objective.eval()(tagger.view([ANNA, RAIN]), tagger.view([RAIN]))
    assert objective.notes() is None


# exchanged entities


def test_an_exchanged_entity_is_noted_with_its_type_and_the_words_it_replaces() -> None:
    old = Sentence(("in", "New", "York", "today"), ("O", "B-LOC", "I-LOC", "O"))
    new = Sentence(("in", "Oslo", "today"), ("O", "B-LOC", "O"))
    variant = Variant("target", new, old, {Span(1, 3, "LOC"): ("Oslo",)})
    edit = {"start": 1, "end": 3, "by": ["Oslo"], "label": "LOC"}
    assert noted_variant(variant) == {"words": list(old.words), "edits": [edit], "side": "target"}


@pytest.mark.parametrize("all_entities", [True, False])
def test_noted_edits_make_the_augmented_sentence(news: Corpus, tweets: Corpus, all_entities: bool) -> None:
    made = augment_with_anchors(news, tweets, all_entities=all_entities)
    assert made.variants
    for variant in made.variants:
        assert tuple(rewritten(noted_variant(variant))) == variant.sentence.words


def test_a_few_of_both_domains_are_told_and_always_the_same(news: Corpus, tweets: Corpus) -> None:
    made = augment_with_anchors(news, tweets)
    watch = made.edited()
    rows = watch(None)["rows"]
    assert len(rows) == NOTED
    assert {row["side"] for row in rows} == {"target", "source"}
    assert watch(None) == made.edited()(None)


def test_of_few_variants_all_are_told_and_of_none_none(news: Corpus, tweets: Corpus) -> None:
    made = augment_with_anchors(news, tweets)
    assert len(replace(made, variants=made.variants[:3]).edited().rows) == 3
    assert replace(made, variants=()).edited().rows == []
