"""Discrepancy of sentences and of words, tag by tag: what counts, what is passed over, whom it reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.methods.alignment.mmd import BANK, SentenceDiscrepancy, WordDiscrepancy, squared_mmd
from acclimate.model.learner import NoView
from acclimate.model.tagger import Tagger

TAGS = ["O", "B-PER", "I-PER"]
ENCODERS = ["character-cnn-lstm", "bert"]


def words(features: Tensor, tags: list[list[int]], labelled: list[bool] | None = None) -> Any:
    """A view that has nothing but features and tags; -1 is padding."""
    counted = torch.tensor(labelled or [True] * len(tags)).unsqueeze(1)
    sentences = SimpleNamespace(numbers=torch.tensor(tags).masked_fill(~counted, -1))
    return SimpleNamespace(features=features, sentences=sentences, tagger=SimpleNamespace(tags=TAGS))


def two_sides() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 3, 4).double().requires_grad_(), torch.randn(2, 2, 4).double().requires_grad_()


def test_words_of_one_tag_meet_only_each_other() -> None:
    source, target = two_sides()
    found = WordDiscrepancy()(words(source, [[0, 1, 2], [0, 0, -1]]), words(target, [[1, 0], [0, -1]]))
    outside = squared_mmd(
        torch.stack([source[0, 0], source[1, 0], source[1, 1]]), torch.stack([target[0, 1], target[1, 0]])
    )
    people = squared_mmd(source[0, 1:2], target[0, 0:1])
    torch.testing.assert_close(found, 0.25 * outside + 0.25 * people)  # nobody in the target is I-PER


@pytest.mark.parametrize(
    ("mu", "weights"),
    [(0.5, (0.5, 0.5)), ({"O": 0.0, "B-PER": 2.0}, (0.0, 2.0)), ({"B-PER": 1.0}, (0.25, 1.0)), (0.0, (0, 0))],
)
def test_mu_weighs_each_tag(mu: float | Mapping[str, float], weights: tuple[float, float]) -> None:
    source, target = two_sides()
    found = WordDiscrepancy(mu)(words(source, [[0, 1, -1], [0, 1, -1]]), words(target, [[0, 1], [0, 1]]))
    terms = [squared_mmd(source[:, number], target[:, number]) for number in (0, 1)]
    torch.testing.assert_close(found, weights[0] * terms[0] + weights[1] * terms[1], check_dtype=False)


@pytest.mark.parametrize("unbiased", [False, True])
def test_tags_of_one_side_alone_are_passed_over_without_a_nan(unbiased: bool) -> None:
    source, target = two_sides()
    found = WordDiscrepancy(unbiased=unbiased)(words(source, [[1, 2, 2], [1, -1, -1]]), words(target, [[0, 0], [0, 0]]))
    found.backward()
    assert found == 0
    assert source.grad is None


def test_sentences_without_tags_count_nothing() -> None:
    source, target = two_sides()
    here = words(source, [[0, 0, 0], [0, 0, 0]])
    with_text = WordDiscrepancy()(here, words(target, [[0, 0], [0, 0]], [True, False]))
    alone = WordDiscrepancy()(here, words(target[:1], [[0, 0]]))
    torch.testing.assert_close(with_text, alone)
    assert WordDiscrepancy()(here, words(target, [[0, 0], [0, 0]], [False, False])) == 0


def test_of_a_crowd_of_words_only_some_are_looked_at() -> None:
    source, target = torch.randn(1, 500, 3), torch.randn(1, 400, 3)
    views = words(source, [[0] * 500]), words(target, [[0] * 400])
    capped = WordDiscrepancy(most=50)
    assert {len(capped._by_tag(view)[0]) for view in views} == {50}
    assert not torch.equal(capped._by_tag(views[0])[0], capped._by_tag(views[0])[0])  # others each time
    assert len(WordDiscrepancy(most=600)._by_tag(views[0])[0]) == 500
    assert capped(*views) != WordDiscrepancy(most=600)(*views)


def test_a_discrepancy_below_the_floor_has_no_gradient() -> None:
    source, target = two_sides()
    views = words(source, [[0] * 3] * 2), words(target, [[0] * 2] * 2)
    found = WordDiscrepancy(1.0, BANK, floor=100.0)(*views)
    found.backward()
    assert found == 100
    assert source.grad is None or not source.grad.any()
    assert WordDiscrepancy(1.0, BANK, floor=1e-4)(*views) == WordDiscrepancy(1.0, BANK)(*views)


def test_its_gradient_is_exact() -> None:
    source, target = two_sides()

    def loss(source: Tensor, target: Tensor) -> Tensor:
        views = words(source, [[0, 1, 0], [1, 0, -1]]), words(target, [[0, 1], [1, 0]])
        return WordDiscrepancy(0.3, BANK)(*views)

    assert torch.autograd.gradcheck(loss, (source, target))


def test_sentences_are_compared_by_their_vectors() -> None:
    source, target = torch.randn(3, 4), torch.randn(2, 4)
    views: list[Any] = [SimpleNamespace(sentence_vectors=vectors) for vectors in (source, target)]
    assert SentenceDiscrepancy()(*views) == squared_mmd(source, target)
    assert SentenceDiscrepancy(BANK, unbiased=True)(*views) == squared_mmd(source, target, BANK, unbiased=True)


@pytest.mark.parametrize("objective", [SentenceDiscrepancy(), WordDiscrepancy()])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_they_reach_the_encoder_only_and_by_way_of_both_domains(
    build: Callable[..., Tagger], news: Corpus, tweets: Corpus, encoder: str, objective: Any
) -> None:
    tagger = build(encoder).eval()
    for source, target in ((news[:4], tweets[:4]), (tweets[:4], news[:4])):
        tagger.zero_grad()
        with torch.no_grad():
            still = tagger.view(target.sentences)
            _ = still.features, still.sentence_vectors
        objective(tagger.view(source.sentences), still).backward()
        reached = {name.split(".")[0] for name, weight in tagger.named_parameters() if weight.grad is not None}
        assert reached == {"encoder"}


def test_a_missing_domain_is_told() -> None:
    with pytest.raises(ValueError, match="needs target sentences"):
        SentenceDiscrepancy()(SimpleNamespace(sentence_vectors=torch.ones(1, 1)), NoView("target"))  # type: ignore[arg-type]


def test_few_words_and_many_are_weighed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = two_sides()
    views = words(source, [[0, 1, 2], [0, 0, 2]]), words(target, [[1, 0], [2, 0]])
    objective = WordDiscrepancy({"O": 0.5, TAGS[1]: 2.0})
    together = objective(*views)
    monkeypatch.setattr("acclimate.methods.alignment.mmd._FEW", 0)
    torch.testing.assert_close(together, objective(*views))
