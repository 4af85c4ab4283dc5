"""The conditional random field: likelihood, decoding under a law, what it saves and what it refuses."""

import copy
import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from acclimate.model.heads.tag_heads import ConditionalRandomField, Legality

# O, B-PER, I-PER, B-LOC, I-LOC under IOB2
NAMES = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
MOVES = [[not to.startswith("I-") or origin[1:] == to[1:] for to in NAMES] for origin in NAMES]
IOB2 = Legality(torch.tensor([not name.startswith("I-") for name in NAMES]), torch.tensor(MOVES), torch.ones(5) > 0)


def mask_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)


def is_legal(path: list[int]) -> bool:
    return not path or bool(
        IOB2.start[path[0]] and IOB2.end[path[-1]] and all(MOVES[one][two] for one, two in itertools.pairwise(path))
    )


def legal_paths(length: int) -> list[tuple[int, ...]]:
    return [
        path
        for path in itertools.product(range(5), repeat=length)
        if IOB2.start[path[0]] and all(MOVES[here][there] for here, there in itertools.pairwise(path))
    ]


def test_the_oracle_likelihood_is_reproduced() -> None:
    field = ConditionalRandomField(3).double()
    field.transitions.data = torch.tensor([[0.3, 0.2, -2.0], [-0.1, -0.5, 0.9], [0.4, -0.3, 0.6]], dtype=torch.float64)
    scores = torch.tensor([[[0.5, 1.2, -0.3], [0.1, 0.4, 1.0], [1.1, -0.2, 0.3]]], dtype=torch.float64)
    mask, gold = mask_of([3]), torch.tensor([[1, 2, 2]])
    assert field.loss(scores, gold, mask).item() == pytest.approx(1.6387289868602206, abs=1e-12)
    assert field.log_probability(scores, gold, mask).exp().item() == pytest.approx(0.1942267502247989, abs=1e-12)
    assert field.log_partition(scores, mask).item() == pytest.approx(5.638728986860221, abs=1e-12)
    assert field.decode(scores, mask).tolist() == [[1, 2, 0]]


@pytest.mark.parametrize("lengths", [[6, 6, 6], [6, 1, 3]])
def test_loss_gradient_and_decoding_equal_those_of_pytorch_crf(lengths: list[int]) -> None:
    theirs = pytest.importorskip("torchcrf").CRF(4, batch_first=True).double()
    ours = ConditionalRandomField(4, boundary_scores=True).double()
    with torch.no_grad():
        for mine, other in zip(ours.parameters(), pytorch_crf_parameters(theirs), strict=True):
            other.copy_(mine)
    mask, tags = mask_of(lengths), torch.randint(4, (3, 6))
    scores = torch.randn(3, 6, 4, dtype=torch.float64)
    mine, other = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    loss, expected = ours.loss(mine, tags, mask), -theirs(other, tags, mask=mask, reduction="none")
    torch.testing.assert_close(loss, expected)
    loss.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(mine.grad, other.grad)
    for parameter, twin in zip(ours.parameters(), pytorch_crf_parameters(theirs), strict=True):
        torch.testing.assert_close(parameter.grad, twin.grad)
    decoded = [row[:length] for row, length in zip(ours.decode(scores, mask).tolist(), lengths, strict=True)]
    assert decoded == theirs.decode(scores, mask=mask)


def pytorch_crf_parameters(theirs: torch.nn.Module) -> list[Tensor]:
    return [theirs.transitions, theirs.start_transitions, theirs.end_transitions]


@pytest.mark.parametrize("boundary_scores", [False, True])
@pytest.mark.parametrize("constrain_training", [False, True])
def test_the_loss_has_the_derivatives_of_finite_differences(boundary_scores: bool, constrain_training: bool) -> None:
    field = ConditionalRandomField(
        5, boundary_scores=boundary_scores, legal=IOB2, constrain_training=constrain_training
    ).double()
    scores = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    tags, mask = torch.tensor([[1, 2, 0], [3, 4, -100]]), mask_of([3, 2])
    names, values = zip(*field.named_parameters(), strict=True)

    def loss(scores: Tensor, *parameters: Tensor) -> Tensor:
        twin = copy.copy(field)  # the same law, with these parameters
        twin._parameters = {**field._parameters, **dict(zip(names, parameters, strict=True))}  # type: ignore[assignment]
        return twin.loss(scores, tags, mask)

    assert torch.autograd.gradcheck(loss, (scores, *values))


def test_every_parameter_learns() -> None:
    field = ConditionalRandomField(5, boundary_scores=True, legal=IOB2, constrain_training=True)
    field.loss(torch.randn(2, 4, 5), torch.tensor([[1, 2, 0, 3], [0, 1, 2, 0]]), mask_of([4, 3])).sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in field.parameters())


def test_constrained_training_spreads_all_probability_over_legal_paths() -> None:
    field = ConditionalRandomField(5, legal=IOB2, constrain_training=True).double()
    paths = torch.tensor(legal_paths(3))
    scores = torch.randn(1, 3, 5, dtype=torch.float64).expand(len(paths), -1, -1)
    chances = field.log_probability(scores, paths, mask_of([3] * len(paths))).exp()
    assert chances.sum().item() == pytest.approx(1, abs=1e-12)


def test_without_constrained_training_the_law_leaves_the_likelihood_alone() -> None:
    bound = ConditionalRandomField(5, legal=IOB2)
    free = ConditionalRandomField(5)
    free.load_state_dict(bound.state_dict())
    scores, tags, mask = torch.randn(2, 4, 5), torch.randint(5, (2, 4)), mask_of([4, 2])
    torch.testing.assert_close(bound.loss(scores, tags, mask), free.loss(scores, tags, mask))
    torch.testing.assert_close(bound.marginals(scores, mask), free.marginals(scores, mask))


def test_an_illegal_gold_path_costs_much_but_breaks_nothing() -> None:
    field = ConditionalRandomField(5, legal=IOB2, constrain_training=True)
    scores = torch.randn(1, 2, 5, requires_grad=True)
    loss = field.loss(scores, torch.tensor([[0, 2]]), mask_of([2]))
    loss.backward()
    assert loss.item() > 1e29
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=4).filter(any),
    st.sampled_from([1.0, 100.0, 1e4]),
    st.booleans(),
    st.integers(0, 999),
)
def test_decoding_is_always_legal(lengths: list[int], reach: float, boundary_scores: bool, seed: int) -> None:
    torch.manual_seed(seed)
    field = ConditionalRandomField(5, boundary_scores=boundary_scores, legal=IOB2)
    mask = mask_of(lengths)
    tags = field.decode(reach * torch.randn(*mask.shape, 5), mask)
    assert all(is_legal(row[words].tolist()) for row, words in zip(tags, mask, strict=True))
    assert not tags[~mask].any()


def test_decoding_takes_the_best_of_the_legal_paths() -> None:
    field = ConditionalRandomField(5, legal=IOB2)
    scores, paths = torch.randn(1, 4, 5), torch.tensor(legal_paths(4))
    chances = field.log_probability(scores.expand(len(paths), -1, -1), paths, mask_of([4] * len(paths)))
    assert field.decode(scores, mask_of([4]))[0].tolist() == paths[chances.argmax()].tolist()


def test_decoding_honours_the_law_of_endings() -> None:
    nothing_ends_but_one = Legality(torch.ones(3) > 0, torch.ones(3, 3) > 0, torch.tensor([False, True, False]))
    field = ConditionalRandomField(3, legal=nothing_ends_but_one)
    tags = field.decode(torch.randn(8, 5, 3), mask_of([5, 1, 3, 2, 5, 4, 1, 2]))
    assert (tags.gather(1, torch.tensor([[4], [0], [2], [1], [4], [3], [0], [1]])) == 1).all()


def test_padding_and_batch_mates_do_not_matter() -> None:
    field = ConditionalRandomField(5, boundary_scores=True, legal=IOB2)
    scores, mask = torch.randn(3, 7, 5), mask_of([7, 3, 1])
    tags = torch.randint(5, (3, 7)).masked_fill(~mask, -100)
    alone = field.loss(scores[1:2, :3], tags[1:2, :3], mask_of([3]))
    torch.testing.assert_close(field.loss(scores, tags, mask)[1], alone[0])
    assert field.decode(scores, mask)[1, :3].tolist() == field.decode(scores[1:2, :3], mask_of([3]))[0].tolist()


def test_the_loss_inside_autocast_is_single_precision() -> None:
    field = ConditionalRandomField(5, boundary_scores=True)
    scores, tags, mask = torch.randn(2, 4, 5), torch.randint(5, (2, 4)), mask_of([4, 2])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = field.loss(scores, tags, mask)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, field.loss(scores, tags, mask), rtol=0, atol=0)


def test_only_what_was_learned_is_saved() -> None:
    assert set(ConditionalRandomField(5, legal=IOB2).state_dict()) == {"transitions"}
    assert set(ConditionalRandomField(5, boundary_scores=True).state_dict()) == {"transitions", "start", "end"}


def test_transitions_begin_small() -> None:
    assert ConditionalRandomField(50).transitions.abs().max() <= 0.1


def test_everything_is_everything() -> None:
    assert Legality.everything(4).allows_everything
    assert not IOB2.allows_everything
    assert not ConditionalRandomField(4, legal=Legality.everything(4), constrain_training=True).constrain_training
