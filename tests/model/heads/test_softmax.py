"""Independent tags answer the same questions as the field, and obey the same law."""

import torch
from torch import Tensor
from torch.nn import functional

from acclimate.model.heads.tag_heads import ConditionalRandomField, IndependentTags, Legality

ALL, MOVES = torch.ones(3) > 0, torch.tensor([[True, False, True], [True] * 3, [True] * 3])
NO_SECOND_AFTER_FIRST = Legality(ALL, MOVES, ALL)


def mask_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)


def test_the_loss_is_the_cross_entropy_of_each_word_summed() -> None:
    scores, tags, mask = torch.randn(3, 5, 4), torch.randint(4, (3, 5)), mask_of([5, 2, 0])
    words = functional.cross_entropy(scores.transpose(1, 2), tags, reduction="none")
    torch.testing.assert_close(IndependentTags(4).loss(scores, tags, mask), (words * mask).sum(1))


def test_it_is_a_field_whose_moves_cost_nothing() -> None:
    head, field = IndependentTags(4), ConditionalRandomField(4)
    torch.nn.init.zeros_(field.transitions)
    scores, tags, mask = torch.randn(3, 5, 4), torch.randint(4, (3, 5)), mask_of([5, 2, 0])
    torch.testing.assert_close(head.loss(scores, tags, mask), field.loss(scores, tags, mask))
    torch.testing.assert_close(head.marginals(scores, mask), field.marginals(scores, mask))
    torch.testing.assert_close(head.decode(scores, mask), field.decode(scores, mask))


def test_marginals_sum_to_one_on_words_and_zero_at_padding() -> None:
    mask = mask_of([5, 2])
    torch.testing.assert_close(IndependentTags(4).marginals(torch.randn(2, 5, 4), mask).sum(-1), mask.float())


def test_the_loss_has_the_derivatives_of_finite_differences() -> None:
    scores = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    tags, mask = torch.tensor([[0, 3, 1], [2, -100, -100]]), mask_of([3, 1])
    assert torch.autograd.gradcheck(lambda scores: IndependentTags(4).loss(scores, tags, mask), scores)


def test_whatever_stands_at_padding_reaches_neither_loss_nor_gradient() -> None:
    mask = mask_of([5, 2])
    scores = torch.randn(2, 5, 4).masked_fill(~mask.unsqueeze(-1), torch.nan).requires_grad_()
    loss = IndependentTags(4).loss(scores, torch.ones(2, 5, dtype=torch.long).masked_fill(~mask, -100), mask)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert not scores.grad[~mask].any()


def test_decoding_takes_each_words_best_tag() -> None:
    scores, mask = torch.randn(2, 5, 4), mask_of([5, 2])
    assert torch.equal(IndependentTags(4).decode(scores, mask), scores.argmax(-1) * mask)


def test_under_a_law_decoding_takes_the_best_legal_path() -> None:
    scores = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 3.0, 1.0]]])
    assert IndependentTags(3).decode(scores, mask_of([2])).tolist() == [[0, 1]]
    assert IndependentTags(3, legal=NO_SECOND_AFTER_FIRST).decode(scores, mask_of([2])).tolist() == [[0, 2]]


def test_decoding_under_a_law_is_legal() -> None:
    head, mask = IndependentTags(3, legal=NO_SECOND_AFTER_FIRST), mask_of([9, 4, 1])
    tags = head.decode(torch.randn(3, 9, 3), mask)
    follow = (tags[:, :-1] == 0) & (tags[:, 1:] == 1) & mask[:, 1:]  # the move that is forbidden
    assert not follow.any()


def test_half_precision_scores_give_a_single_precision_loss() -> None:
    scores = torch.randn(2, 3, 4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = IndependentTags(4).loss(scores, torch.zeros(2, 3, dtype=torch.long), mask_of([3, 2]))
    assert loss.dtype == torch.float32


def test_it_has_nothing_to_save() -> None:
    assert not IndependentTags(3, legal=NO_SECOND_AFTER_FIRST).state_dict()
