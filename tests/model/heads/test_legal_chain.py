"""The head without torch, against every path one by one and against the heads of `tag_heads`."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from acclimate.data.corpus import LabelSet
from acclimate.data.schemes import SCHEMES, Scheme, Span, is_legal, spans_from_tags
from acclimate.model.heads.legal_chain import TagChain
from acclimate.model.heads.tag_heads import ConditionalRandomField, build_head

LABELS = LabelSet(("LOC", "PER"))


def drawn(scheme: Scheme, seed: int = 0) -> TagChain:
    tags, dice = LABELS.tags(scheme), np.random.default_rng(seed)
    size = len(tags)
    return TagChain.of(tags, dice.normal(size=size), dice.normal(size=(size, size)), dice.normal(size=size))


def paths(chain: TagChain, scheme: Scheme, scores: np.ndarray) -> dict[tuple[str, ...], float]:
    """Every legal path with its probability: the slow way."""
    found = {}
    for numbers in product(range(len(chain.tags)), repeat=len(scores)):
        tags = [chain.tags[number] for number in numbers]
        if not all(is_legal(*pair, scheme) for pair in zip([None, *tags], [*tags, None], strict=True)):
            continue
        total = chain.start[numbers[0]] + chain.end[numbers[-1]]
        total += sum(chain.moves[pair] for pair in pairwise(numbers))
        found[tuple(tags)] = float(
            np.exp(total + sum(row[number] for row, number in zip(scores, numbers, strict=True)))
        )
    whole = sum(found.values())
    return {tags: weight / whole for tags, weight in found.items()}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_probability_of_a_span_is_that_of_all_legal_paths_with_it(scheme: Scheme, length: int) -> None:
    chain, scores = drawn(scheme), np.random.default_rng(1).normal(size=(length, len(LABELS.tags(scheme))))
    expected = paths(chain, scheme, scores)
    every = [Span(a, b, label) for label in LABELS for a in range(length) for b in range(a + 1, length + 1)]
    summed = [sum(weight for tags, weight in expected.items() if span in spans_from_tags(tags)) for span in every]
    assert chain.legal(scheme).span_probabilities(scores, every) == pytest.approx(summed, abs=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_best_path_and_the_marginals_are_those_of_all_legal_paths(scheme: Scheme) -> None:
    chain, scores = drawn(scheme), np.random.default_rng(2).normal(size=(4, len(LABELS.tags(scheme))))
    expected = paths(chain, scheme, scores)
    best = chain.legal(scheme).best_path(scores[None], np.array([4]))[0]
    assert tuple(chain.tags[number] for number in best) == max(expected, key=expected.__getitem__)
    sums = [[sum(p for tags, p in expected.items() if tags[word] == tag) for tag in chain.tags] for word in range(4)]
    assert chain.legal(scheme).marginals(scores) == pytest.approx(np.array(sums), abs=1e-6)


@pytest.mark.parametrize("name", ["crf", "softmax"])
@pytest.mark.parametrize("scale", [1, 1000])
def test_a_batch_of_sentences_of_several_lengths_gets_the_tags_of_the_torch_head(name, scale: float) -> None:
    head = build_head(name, LABELS, "BIOES", {"boundary_scores": True})
    lengths = torch.tensor([7, 1, 3, 7])
    mask = torch.arange(7) < lengths[:, None]
    scores = scale * torch.randn(4, 7, head.tag_count)
    chain = TagChain.of(LABELS.tags("BIOES"), *(each.detach().numpy() for each in head.legal_scores()))
    expected = head.decode(scores, mask)
    found = torch.from_numpy(chain.best_path(scores.numpy(), lengths.numpy())).masked_fill(~mask, 0)
    assert torch.equal(found, expected)


def test_of_equally_good_paths_it_takes_the_one_that_the_torch_head_takes() -> None:
    head = ConditionalRandomField(3)
    torch.nn.init.zeros_(head.transitions)
    chain = TagChain.of("abc", np.zeros(3), np.zeros((3, 3)), np.zeros(3))
    scores = torch.randint(0, 2, (20, 5, 3)).float()
    expected = head.decode(scores, torch.ones(20, 5, dtype=torch.bool))
    assert torch.equal(torch.from_numpy(chain.best_path(scores.numpy(), np.full(20, 5))), expected)
