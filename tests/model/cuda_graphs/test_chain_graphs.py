"""A chain as a CUDA graph gives what the plain one gives: sums, gradients and best paths, whatever the shape."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.model.cuda_graphs import graph_cache
from acclimate.model.cuda_graphs.graph_cache import GraphCache
from acclimate.model.cuda_graphs.training_graphs import ChainGraphs
from acclimate.model.heads import linear_chain

SHAPES = [(1, 1, 2), (3, 5, 4), (8, 8, 3), (9, 17, 5), (2, 1, 9)]
SPREADS = {"scaled": 0.5, "exact": 60.0}


def problem(sentences: int, words: int, tags: int, spread: float, device: str = "cpu") -> dict[str, Tensor]:
    dice = torch.Generator().manual_seed(sentences * 100 + words)
    lengths = torch.randint(0, words + 1, (sentences,), generator=dice)
    found = {
        "scores": 3 * torch.randn(sentences, words, tags, generator=dice),
        "transitions": spread * (torch.rand(tags, tags, generator=dice) - 0.5),
        "mask": torch.arange(words) < lengths.unsqueeze(1),
        "start": torch.randn(tags, generator=dice),
        "end": torch.randn(tags, generator=dice),
    }
    return {name: tensor.to(device) for name, tensor in found.items()}


def partition_and_gradients(given: dict[str, Tensor], by: ChainGraphs | Any) -> list[Tensor]:
    leaves = {
        name: tensor.clone().requires_grad_() if tensor.is_floating_point() else tensor
        for name, tensor in given.items()
    }
    total = by.log_partition(**leaves)
    weights = torch.linspace(0.5, 1.5, len(total), device=total.device)
    wanted = [leaves[name] for name in leaves if name != "mask"]
    return [total.detach(), *torch.autograd.grad((weights * total).sum(), wanted)]


def marginals_and_gradients(given: dict[str, Tensor], by: ChainGraphs | Any) -> list[Tensor]:
    leaves = {
        name: tensor.clone().requires_grad_() if tensor.is_floating_point() else tensor
        for name, tensor in given.items()
    }
    words = by.marginals(**leaves)
    weights = torch.linspace(-1, 1, words.numel(), device=words.device).view_as(words)
    wanted = [leaves[name] for name in leaves if name != "mask"]
    found = torch.autograd.grad((weights * words).sum(), wanted, allow_unused=True, materialize_grads=True)
    return [words.detach(), *found]


@pytest.mark.parametrize("kind", SPREADS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("without", [(), ("start",), ("start", "end")])
def test_marginals_and_their_gradients_are_the_plain_ones(
    shape: tuple[int, int, int], kind: str, without: tuple[str]
) -> None:
    given = {name: tensor for name, tensor in problem(*shape, SPREADS[kind]).items() if name not in without}
    plain = marginals_and_gradients(given, linear_chain)
    for ours, wanted in zip(marginals_and_gradients(given, ChainGraphs()), plain, strict=True):
        assert ours.shape == wanted.shape
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(ChainGraphs().marginals(**given), plain[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", SPREADS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("without", [(), ("start",), ("start", "end")])
def test_sums_and_gradients_are_the_plain_ones(shape: tuple[int, int, int], kind: str, without: tuple[str]) -> None:
    given = {name: tensor for name, tensor in problem(*shape, SPREADS[kind]).items() if name not in without}
    for ours, wanted in zip(
        partition_and_gradients(given, ChainGraphs()), partition_and_gradients(given, linear_chain), strict=True
    ):
        assert ours.shape == wanted.shape
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spread", [2.0, 6.0, 12.0])
def test_sums_are_right_where_transitions_lie_twice_as_far_apart_as_was_known(spread: float) -> None:
    given = problem(4, 90, 5, spread)
    given["mask"][:] = True
    by = ChainGraphs()
    by.spread = lambda number: float(number) / 2  # type: ignore[assignment]
    exact = {name: tensor if name == "mask" else tensor.double() for name, tensor in given.items()}
    for ours, wanted in zip(
        partition_and_gradients(given, by), partition_and_gradients(exact, linear_chain), strict=True
    ):
        torch.testing.assert_close(ours.double(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", SPREADS)
@pytest.mark.parametrize("shape", SHAPES)
def test_best_paths_are_the_plain_ones(shape: tuple[int, int, int], kind: str) -> None:
    given = problem(*shape, SPREADS[kind])
    tags, totals = ChainGraphs().best_path(**given)
    plain, sums = linear_chain.best_path(**given)
    assert torch.equal(tags, plain)
    torch.testing.assert_close(totals, sums)


def test_no_words_at_all() -> None:
    given = problem(3, 0, 4, 0.5)
    tags, totals = ChainGraphs().best_path(**given)
    assert tags.shape == (3, 0)
    assert totals.tolist() == [0, 0, 0]
    assert ChainGraphs().log_partition(**given).tolist() == [0, 0, 0]


def test_sentences_of_like_shape_are_one_kind_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[Any] = set()

    def note(self: GraphCache, key: Any, work: Callable[..., Any], *inputs: Tensor) -> Any:
        asked.add((key, tuple(tensor.shape for tensor in inputs)))
        return work(*inputs)

    monkeypatch.setattr(GraphCache, "__call__", note)
    for sentences, words in ((1, 3), (5, 8), (8, 2)):
        partition_and_gradients(problem(sentences, words, 4, 0.5), ChainGraphs())
    assert len(asked) == 1


def test_what_is_asked_for_once_has_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(graph_cache, "capture", lambda *_: made.append(1) or "cannot")
    monkeypatch.setattr(graph_cache.GraphMemory, "on_gpu", object)
    monkeypatch.setattr(graph_cache, "has_room", lambda: True)

    class OnGpu:
        device, dtype, shape = torch.device("cuda"), torch.float32, (2,)

    cache = GraphCache(on_second_use=True)
    tensor: Any = OnGpu()
    with torch.no_grad():
        for _ in range(3):
            assert cache(("key",), lambda _: (1,), tensor) == (1,)  # type: ignore[arg-type, return-value]
            counts = len(made)
    assert counts == 1  # at the second meeting, and a failure is not tried again
    assert len(cache.seen) == 1


def test_a_copied_cache_has_graphs_of_its_own() -> None:
    cache = GraphCache(most=7, on_second_use=True)
    other = copy.deepcopy(cache)
    assert other.graphs is not cache.graphs
    assert (other.most, other.on_second_use) == (7, True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", SPREADS)
def test_on_a_gpu_replays_give_the_plain_ones(kind: str) -> None:
    by = ChainGraphs(GraphCache(most=64))
    for shape in (*SHAPES, *SHAPES):
        given = problem(*shape, SPREADS[kind], device="cuda")
        for ours, wanted in zip(
            partition_and_gradients(given, by), partition_and_gradients(given, linear_chain), strict=True
        ):
            torch.testing.assert_close(ours, wanted, rtol=1e-3, atol=1e-4)
        assert torch.equal(by.best_path(**given)[0], linear_chain.best_path(**given)[0])
    assert by.cache.graphs
    assert not [found for found in by.cache.graphs.values() if isinstance(found, str)]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", SPREADS)
def test_on_a_gpu_replayed_marginals_and_their_gradients_are_the_plain_ones(kind: str) -> None:
    by = ChainGraphs(GraphCache(most=64))
    for shape in (*SHAPES, *SHAPES):
        given = problem(*shape, SPREADS[kind], device="cuda")
        plain = marginals_and_gradients(given, linear_chain)
        for ours, wanted in zip(marginals_and_gradients(given, by), plain, strict=True):
            torch.testing.assert_close(ours, wanted, rtol=1e-3, atol=1e-4)
        with torch.no_grad():
            torch.testing.assert_close(by.marginals(**given), plain[0], rtol=1e-3, atol=1e-4)
    assert not by.cache.refused
    assert sum(each.replays for made in by.cache.gradient_graphs.values() for each in made) == 2 * len(SHAPES)
    assert any(not isinstance(found, str) for found in by.cache.graphs.values())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_two_at_once_have_a_graph_each_and_more_are_done_as_usual() -> None:
    by = ChainGraphs(GraphCache(most=64))
    given = problem(3, 5, 4, 0.5, device="cuda")
    scores = given.pop("scores").requires_grad_()
    shifts = (0.0, 0.5, -1.0)
    found = [(by.marginals(scores * (1 + shift), **given)[..., 0]).sum() for shift in shifts]
    wanted = [(linear_chain.marginals(scores * (1 + shift), **given)[..., 0]).sum() for shift in shifts]
    (ours,), (plain,) = (torch.autograd.grad(sum(each), scores) for each in (found, wanted))
    torch.testing.assert_close(ours, plain, rtol=1e-3, atol=1e-5)
    (made,) = by.cache.gradient_graphs.values()
    assert len(made) == 2
    assert all(each.busy for each in made)  # somebody may go back once more
    by.cache.release()
    assert not any(each.busy for each in made)
    kept = by.marginals(scores, **given)
    assert made[0].busy
    del kept
    assert not made[0].busy  # nobody can ask for its gradient any more
