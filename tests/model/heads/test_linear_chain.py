"""The recursion against enumeration, against finite differences and against itself under padding."""

import itertools
import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from acclimate.model.heads.linear_chain import best_path, log_partition, marginals, partition_and_counts, path_score

# Oracle 5_crf: the tags are O, B, I.
ORACLE_SCORES = torch.tensor([[[0.5, 1.2, -0.3], [0.1, 0.4, 1.0], [1.1, -0.2, 0.3]]], dtype=torch.float64)
ORACLE_TRANSITIONS = torch.tensor([[0.3, 0.2, -2.0], [-0.1, -0.5, 0.9], [0.4, -0.3, 0.6]], dtype=torch.float64)
ORACLE_START = torch.tensor([0.1, 0.2, -1.5], dtype=torch.float64)
ORACLE_END = torch.tensor([0.3, -0.2, 0.05], dtype=torch.float64)
ORACLE_GOLD = torch.tensor([[1, 2, 2]])
ORACLE_MASK = torch.ones(1, 3, dtype=torch.bool)
ORACLE_MARGINALS = [
    [0.13195514411669254, 0.7277302741906424, 0.14031458169266461],
    [0.1304531723717194, 0.15871192025033587, 0.7108349073779441],
    [0.5890893380595627, 0.09408755148475259, 0.3168231104556842],
]
ORACLE_PAIRS = [
    [
        [0.04583022440199978, 0.06983925185858135, 0.01628566785611143],
        [0.06186433206222408, 0.06983925185858136, 0.5960266902698368],
        [0.022758615907495543, 0.01903341653317317, 0.0985225492519959],
    ],
    [
        [0.10099760737250438, 0.024905703343425994, 0.004549861655789036],
        [0.06601756410516403, 0.012060321260108689, 0.08063403488506317],
        [0.42207416658189434, 0.05712152688121789, 0.231639213914832],
    ],
]
ORACLE_BOUNDED_MARGINALS = [
    [0.13531739166874415, 0.8352592813029692, 0.029423327028286855],
    [0.12651801542427257, 0.1502593957103016, 0.7232225888654259],
    [0.6587811137856265, 0.06337581054653163, 0.2778430756678418],
]
ORACLE_BOUNDED_PAIRS = [
    [
        [0.04880938959154569, 0.06955828323848368, 0.016949718838714788],
        [0.07281505286946265, 0.07687379174644096, 0.6855704366870655],
        [0.004893572963264226, 0.0038273207253769906, 0.020702433339645637],
    ],
    [
        [0.1067975333479585, 0.015973559599237474, 0.0037469224770765807],
        [0.07286955451580333, 0.008074176788807279, 0.06931566440569101],
        [0.47911402592186486, 0.039328074158486874, 0.20478048878507424],
    ],
]

# The recursion has two forms; a spread of transitions beyond its budget chooses the exact one (300 in float64).
NEAR, FAR = 1.0, 500.0


def mask_of(lengths: list[int], words: int | None = None) -> Tensor:
    width = max(lengths) if words is None else words
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def problem(
    lengths: list[int], tags: int = 3, spread: float = NEAR, seed: int = 0, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    """Random inputs; `spread` is how far apart the transitions lie at least."""
    chance = torch.Generator().manual_seed(seed)
    mask = mask_of(lengths)
    transitions = torch.randn(tags, tags, generator=chance, dtype=dtype)
    if spread > NEAR:
        transitions[0, -1] = -spread
    return {
        "scores": torch.randn(*mask.shape, tags, generator=chance, dtype=dtype),
        "transitions": transitions,
        "mask": mask,
        "start": torch.randn(tags, generator=chance, dtype=dtype),
        "end": torch.randn(tags, generator=chance, dtype=dtype),
    }


def paths_of(length: int, tags: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(tags), repeat=length))


def slow_score(inputs: dict[str, Tensor], sentence: int, path: tuple[int, ...]) -> float:
    """A path's score, one addition at a time, in Python's own arithmetic."""
    if not path:
        return 0.0
    total = float(inputs["start"][path[0]]) + float(inputs["end"][path[-1]])
    total += sum(float(inputs["scores"][sentence, word, tag]) for word, tag in enumerate(path))
    return total + sum(float(inputs["transitions"][pair]) for pair in itertools.pairwise(path))


def log_sum(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def differentiable(inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
    return tuple(inputs[name].clone().requires_grad_() for name in ("scores", "transitions", "start", "end"))


# --- the oracle ---


def move_counts(
    scores: Tensor, transitions: Tensor, mask: Tensor, start: Tensor | None = None, end: Tensor | None = None
) -> Tensor:
    """How often each move is expected, (sentence, from tag, to tag)."""
    return partition_and_counts(scores, transitions, mask, start, end)[2]


@pytest.mark.parametrize("bounded", [False, True])
def test_oracle_numbers_are_reproduced(bounded: bool) -> None:
    boundary = (ORACLE_START, ORACLE_END) if bounded else (None, None)
    total = log_partition(ORACLE_SCORES, ORACLE_TRANSITIONS, ORACLE_MASK, *boundary)
    gold = path_score(ORACLE_SCORES, ORACLE_TRANSITIONS, ORACLE_GOLD, ORACLE_MASK, *boundary)
    tags, score = best_path(ORACLE_SCORES, ORACLE_TRANSITIONS, ORACLE_MASK, *boundary)
    assert total.item() == pytest.approx(5.88928245715083 if bounded else 5.638728986860221, abs=1e-12)
    assert gold.item() == pytest.approx(4.25 if bounded else 4.0, abs=1e-12)
    assert (gold - total).item() == pytest.approx(-1.6392824571508298 if bounded else -1.6387289868602206, abs=1e-12)
    assert tags.tolist() == [[1, 2, 0]]
    assert score.item() == pytest.approx(5.1 if bounded else 4.6, abs=1e-12)


@pytest.mark.parametrize("bounded", [False, True])
def test_oracle_marginals_are_reproduced(bounded: bool) -> None:
    boundary = (ORACLE_START, ORACLE_END) if bounded else (None, None)
    words = torch.tensor(ORACLE_BOUNDED_MARGINALS if bounded else ORACLE_MARGINALS, dtype=torch.float64)
    pairs = torch.tensor(ORACLE_BOUNDED_PAIRS if bounded else ORACLE_PAIRS, dtype=torch.float64)
    torch.testing.assert_close(marginals(ORACLE_SCORES, ORACLE_TRANSITIONS, ORACLE_MASK, *boundary)[0], words)
    found = move_counts(ORACLE_SCORES, ORACLE_TRANSITIONS, ORACLE_MASK, *boundary)[0]
    torch.testing.assert_close(found, pairs.sum(0))


@pytest.mark.parametrize(("bounded", "total"), [(False, 3.6964002072636166), (True, 3.816640756032126)])
def test_a_mask_that_ends_early_equals_a_shorter_sentence(bounded: bool, total: float) -> None:
    boundary = (ORACLE_START, ORACLE_END) if bounded else (None, None)
    masked = log_partition(ORACLE_SCORES, ORACLE_TRANSITIONS, mask_of([2], words=3), *boundary)
    assert masked.item() == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(
    ("bounded", "total", "mass"),
    [(False, 5.463951282480425, 0.839643649130839), (True, 5.838015434372306, 0.9500249583564218)],
)
def test_oracle_mass_of_legal_paths_is_reproduced(bounded: bool, total: float, mass: float) -> None:
    start = torch.where(torch.tensor([True, True, False]), ORACLE_START if bounded else 0.0, -torch.inf)
    moves = ORACLE_TRANSITIONS.clone()
    moves[0, 2] = -torch.inf  # O, then I
    end = ORACLE_END if bounded else None
    legal = log_partition(ORACLE_SCORES, moves, ORACLE_MASK, start.double(), end)
    free = log_partition(ORACLE_SCORES, ORACLE_TRANSITIONS, ORACLE_MASK, ORACLE_START if bounded else None, end)
    assert legal.item() == pytest.approx(total, abs=1e-12)
    assert (legal - free).exp().item() == pytest.approx(mass, abs=1e-12)


# --- enumeration ---


@pytest.mark.parametrize("spread", [NEAR, FAR])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lengths", [[1], [2], [3], [4], [1, 4, 2, 3], [4, 0, 1, 2], [3, 3, 1, 0, 2]])
def test_everything_agrees_with_enumeration(lengths: list[int], seed: int, spread: float) -> None:
    inputs = problem(lengths, seed=seed, spread=spread)
    totals, words, moves = log_partition(**inputs), marginals(**inputs), move_counts(**inputs)
    tags, best = best_path(**inputs)
    for sentence, length in enumerate(lengths):
        paths = paths_of(length, 3)
        scores = [slow_score(inputs, sentence, path) for path in paths]
        total = log_sum(scores)
        expected_words, expected_moves = torch.zeros_like(words[sentence]), torch.zeros_like(moves[sentence])
        for path, score in zip(paths, scores, strict=True):
            for word, tag in enumerate(path):
                expected_words[word, tag] += math.exp(score - total)
            for pair in itertools.pairwise(path):
                expected_moves[pair] += math.exp(score - total)
        assert totals[sentence].item() == pytest.approx(total, abs=1e-10)
        torch.testing.assert_close(words[sentence], expected_words, atol=1e-10, rtol=0)
        torch.testing.assert_close(moves[sentence], expected_moves, atol=1e-10, rtol=0)
        assert best[sentence].item() == pytest.approx(max(scores), abs=1e-10)
        assert tuple(tags[sentence, :length].tolist()) == paths[scores.index(max(scores))]
        assert not tags[sentence, length:].any()


@pytest.mark.parametrize("spread", [NEAR, FAR])
def test_the_probabilities_of_all_paths_sum_to_one(spread: float) -> None:
    inputs = problem([4], spread=spread)
    paths = torch.tensor(paths_of(4, 3))
    everywhere = {**inputs, "scores": inputs["scores"].expand(len(paths), -1, -1), "mask": mask_of([4] * len(paths))}
    chances = (path_score(tags=paths, **everywhere) - log_partition(**everywhere)).exp()
    assert chances.sum().item() == pytest.approx(1, abs=1e-12)


def test_the_partition_is_at_least_the_score_of_any_path() -> None:
    inputs = problem([7, 3, 5], tags=4)
    assert (log_partition(**inputs) >= best_path(**inputs)[1]).all()


# --- gradients ---


@pytest.mark.parametrize("spread", [NEAR, FAR])
@pytest.mark.parametrize("question", [log_partition, marginals])
def test_first_and_second_derivatives_are_those_of_finite_differences(question, spread: float) -> None:  # type: ignore[no-untyped-def]
    inputs = problem([3, 0, 2], tags=2, spread=spread)

    def answer(scores: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
        return question(scores, transitions, inputs["mask"], start, end)

    assert torch.autograd.gradcheck(answer, differentiable(inputs))
    assert torch.autograd.gradgradcheck(answer, differentiable(inputs))


def test_path_scores_have_the_derivatives_of_finite_differences() -> None:
    inputs = problem([3, 1, 0, 2])
    tags = torch.tensor([[0, 2, 1], [1, -100, -100], [-100, -100, -100], [2, 2, 77]])

    def answer(scores: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
        return path_score(scores, transitions, tags, inputs["mask"], start, end)

    assert torch.autograd.gradcheck(answer, differentiable(inputs))


@pytest.mark.parametrize("spread", [NEAR, FAR])
def test_the_slope_of_the_partition_is_the_marginals(spread: float) -> None:
    inputs = problem([5, 2, 7], tags=4, spread=spread)
    scores, transitions, start, end = differentiable(inputs)
    log_partition(scores, transitions, inputs["mask"], start, end).sum().backward()
    torch.testing.assert_close(scores.grad, marginals(**inputs))
    torch.testing.assert_close(transitions.grad, move_counts(**inputs).sum(0))


def test_a_gradient_reaches_only_the_sentences_it_was_asked_for() -> None:
    inputs = problem([5, 2, 7])
    scores = inputs["scores"].requires_grad_()
    log_partition(**inputs)[1].backward()
    assert scores.grad is not None
    assert not scores.grad[[0, 2]].any()
    assert scores.grad[1].sum().item() == pytest.approx(2)


def test_frozen_transitions_still_let_the_scores_learn() -> None:
    inputs = problem([3, 2])
    scores = inputs["scores"].requires_grad_()
    log_partition(**inputs).sum().backward()
    torch.testing.assert_close(scores.grad, marginals(**inputs).detach())


# --- the two forms, and long sentences ---


def slow_recursion(inputs: dict[str, Tensor]) -> Tensor:
    """The textbook loop of log-sums, for sentences too long to enumerate."""
    totals = []
    for sentence, length in enumerate(inputs["mask"].sum(1).tolist()):
        state = inputs["start"] + inputs["scores"][sentence, 0]
        for word in range(1, length):
            state = (state.unsqueeze(1) + inputs["transitions"]).logsumexp(0) + inputs["scores"][sentence, word]
        totals.append((state + inputs["end"]).logsumexp(0))
    return torch.stack(totals)


def as_single(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.float() if value.is_floating_point() else value for name, value in inputs.items()}


@pytest.mark.parametrize("scale", [0.01, 1.0, 3.0, 4.6, 10.0, 1e4])
@pytest.mark.parametrize("reach", [1.0, 30.0, 1e4])
def test_single_precision_follows_double_for_any_range_of_scores(reach: float, scale: float) -> None:
    inputs = problem([60, 17, 41, 1], tags=7)
    # whole numbers that single precision holds exactly, so that only the recursion itself is measured
    inputs["scores"] = (inputs["scores"] * reach).round()
    inputs["transitions"] = (inputs["transitions"] * scale).round(decimals=0) if scale >= 1 else inputs["transitions"]
    inputs = {name: value.float().double() if value.is_floating_point() else value for name, value in inputs.items()}
    exact = slow_recursion(inputs)
    torch.testing.assert_close(log_partition(**as_single(inputs)).double(), exact, rtol=2e-6, atol=1e-4)
    single, double = marginals(**as_single(inputs)), marginals(**inputs)
    torch.testing.assert_close(single.double(), double, atol=3e-3 if scale == reach == 1e4 else 2e-4, rtol=0)


def test_the_fast_form_holds_at_the_edge_of_its_budget() -> None:
    """Tags that vanish from single precision, and transitions that favour them as much as the fast form admits."""
    inputs = problem([40, 23], tags=5)
    inputs["scores"] = torch.where(inputs["scores"] > 0.5, 0.0, -60.0) + inputs["scores"]
    inputs["transitions"] = torch.where(inputs["transitions"] > 0, 0.0, -27.9)
    torch.testing.assert_close(
        log_partition(**as_single(inputs)).double(), slow_recursion(inputs), rtol=1e-6, atol=1e-4
    )
    torch.testing.assert_close(marginals(**as_single(inputs)).double(), marginals(**inputs), atol=1e-4, rtol=0)


def test_a_hopeless_tag_is_kept_when_constraints_make_it_the_only_way() -> None:
    """B costs 200, far below single precision's reach; yet the last word must be I, and only B leads there."""
    scores = torch.tensor([[[0.0, -200.0, 0.0], [0.0, -200.0, -200.0], [-300.0, -300.0, 300.0]]])
    transitions = torch.zeros(3, 3)
    transitions[0, 2] = -torch.inf
    start = torch.tensor([0.0, 0.0, -torch.inf])
    mask = torch.ones(1, 3, dtype=torch.bool)
    assert best_path(scores, transitions, mask, start)[0].tolist() == [[0, 1, 2]]
    assert log_partition(scores, transitions, mask, start).item() == pytest.approx(100.0)
    assert marginals(scores, transitions, mask, start)[0, 1].tolist() == pytest.approx([0, 1, 0])


@pytest.mark.parametrize("low", [-torch.inf, -1e4, -1e30])
def test_forbidden_entries_give_finite_values_and_gradients(low: float) -> None:
    inputs = problem([6, 1, 0, 3], dtype=torch.float32)
    inputs["transitions"][0, 2] = inputs["start"][2] = inputs["end"][1] = inputs["scores"][0, 3, 1] = low
    scores, transitions, start, end = leaves = differentiable(inputs)
    words = marginals(scores, transitions, inputs["mask"], start, end)
    (log_partition(scores, transitions, inputs["mask"], start, end).sum() + words.square().sum()).backward()
    assert all(leaf.grad is not None and leaf.grad.isfinite().all() for leaf in leaves)
    assert words[0, 3, 1] == 0
    assert scores.grad is not None
    assert scores.grad[0, 3, 1] == 0
    assert transitions.grad is not None
    assert transitions.grad[0, 2] == 0


def test_forbidding_gives_the_limit_of_a_very_low_score() -> None:
    inputs = problem([6, 2])
    low, never = (inputs["transitions"].clone() for _ in range(2))
    low[0, 2], never[0, 2] = -1e4, -torch.inf
    torch.testing.assert_close(
        marginals(**{**inputs, "transitions": low}), marginals(**{**inputs, "transitions": never})
    )
    torch.testing.assert_close(
        log_partition(**{**inputs, "transitions": low}), log_partition(**{**inputs, "transitions": never})
    )


def test_where_every_path_is_forbidden_nothing_is_nan() -> None:
    inputs = problem([4, 2], dtype=torch.float32)
    scores = inputs["scores"].requires_grad_()
    inputs["transitions"][:] = -torch.inf
    log_partition(**inputs).sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert best_path(**inputs)[0].shape == (2, 4)


def test_scores_that_are_not_numbers_show_in_the_answer() -> None:
    inputs = problem([4, 2])
    inputs["transitions"][0, 0] = torch.nan
    assert log_partition(**inputs).isnan().all()


# --- shapes and padding ---


@pytest.mark.parametrize("spread", [NEAR, FAR])
def test_batch_mates_and_padding_do_not_matter(spread: float) -> None:
    inputs = problem([5, 2, 0, 9], spread=spread)
    inputs["scores"][~inputs["mask"]] = torch.nan
    inputs["scores"].requires_grad_()
    totals, words, (tags, best) = log_partition(**inputs), marginals(**inputs), best_path(**inputs)
    for sentence, length in ((0, 5), (1, 2), (3, 9)):
        cut = inputs["scores"][sentence : sentence + 1, :length]
        alone = {**inputs, "scores": cut, "mask": mask_of([length])}
        torch.testing.assert_close(totals[sentence], log_partition(**alone)[0])
        torch.testing.assert_close(words[sentence, :length], marginals(**alone)[0])
        assert tags[sentence, :length].tolist() == best_path(**alone)[0][0].tolist()
        torch.testing.assert_close(best[sentence], best_path(**alone)[1][0])
    (totals.sum() + words.square().sum()).backward()
    assert inputs["scores"].grad is not None
    assert inputs["scores"].grad.isfinite().all()
    assert not inputs["scores"].grad[~inputs["mask"]].any()


def test_a_sentence_without_words_weighs_nothing() -> None:
    inputs = problem([3, 0])
    scores, transitions, start, end = leaves = differentiable(inputs)
    total = log_partition(scores, transitions, inputs["mask"], start, end)
    total[1].backward()
    assert total[1] == 0
    assert all(leaf.grad is not None and not leaf.grad.any() for leaf in leaves)
    assert not marginals(**inputs)[1].any()
    assert not move_counts(**inputs)[1].any()
    assert best_path(**inputs)[1][1] == 0
    assert path_score(tags=torch.full((2, 3), -100).where(inputs["mask"].logical_not(), 1), **inputs)[1] == 0


@pytest.mark.parametrize(("sentences", "words"), [(0, 3), (2, 0), (0, 0)])
def test_an_empty_batch_has_empty_answers(sentences: int, words: int) -> None:
    inputs = {**problem([1]), "scores": torch.zeros(sentences, words, 3), "mask": torch.ones(sentences, words) > 0}
    tags = torch.zeros(sentences, words, dtype=torch.long)
    assert log_partition(**inputs).tolist() == path_score(tags=tags, **inputs).tolist() == [0] * sentences
    assert marginals(**inputs).shape == (sentences, words, 3)
    assert best_path(**inputs)[0].shape == (sentences, words)


def test_with_one_tag_there_is_one_path() -> None:
    inputs = problem([4, 1, 2], tags=1)
    only = path_score(tags=torch.zeros(3, 4, dtype=torch.long), **inputs)
    torch.testing.assert_close(log_partition(**inputs), only)
    torch.testing.assert_close(best_path(**inputs)[1], only)
    torch.testing.assert_close(marginals(**inputs), inputs["mask"].double().unsqueeze(-1))


def test_one_word_needs_no_transition() -> None:
    inputs = problem([1, 1])
    alone = inputs["scores"][:, 0] + inputs["start"] + inputs["end"]
    torch.testing.assert_close(log_partition(**inputs), alone.logsumexp(-1))
    torch.testing.assert_close(marginals(**inputs)[:, 0], alone.softmax(-1))
    assert best_path(**inputs)[0].tolist() == alone.argmax(-1, keepdim=True).tolist()
    assert not move_counts(**inputs).any()


def test_many_tags_do_not_overflow() -> None:
    inputs = problem([50, 3], tags=200)
    inputs["transitions"].zero_()
    torch.testing.assert_close(log_partition(**as_single(inputs)).double(), slow_recursion(inputs), rtol=1e-6, atol=0)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=5).filter(any),
    st.integers(1, 6),
    st.sampled_from([NEAR, FAR]),
    st.integers(0, 99),
)
def test_marginals_sum_to_one_and_moves_to_marginals(lengths: list[int], tags: int, spread: float, seed: int) -> None:
    inputs = problem(lengths, tags=tags, spread=spread, seed=seed)
    words, moves = marginals(**inputs), move_counts(**inputs)
    torch.testing.assert_close(words.sum(-1), inputs["mask"].double())
    followed = inputs["mask"][:, 1:].unsqueeze(-1)
    torch.testing.assert_close(moves.sum(-1), (words[:, :-1] * followed).sum(1))
    torch.testing.assert_close(moves.sum(-2), words[:, 1:].sum(1))


# --- precision ---


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_scores_are_summed_in_single(half: torch.dtype) -> None:
    inputs = problem([9, 4], dtype=torch.float32)
    scores = inputs["scores"].to(half).requires_grad_()
    total = log_partition(**{**inputs, "scores": scores})
    total.sum().backward()
    assert total.dtype == torch.float32
    assert scores.grad is not None
    assert scores.grad.dtype == half
    torch.testing.assert_close(total, log_partition(**{**inputs, "scores": scores.detach().float()}))


def test_inside_autocast_nothing_is_rounded() -> None:
    inputs = problem([9, 4], dtype=torch.float32)
    plain = log_partition(**inputs), marginals(**inputs), best_path(**inputs)[1]
    scores = inputs["scores"].clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = log_partition(**inputs), marginals(**inputs), best_path(**inputs)[1]
        log_partition(**{**inputs, "scores": scores}).sum().backward()
    assert all(answer.dtype == torch.float32 for answer in cast)
    torch.testing.assert_close(cast, plain, rtol=0, atol=0)
    torch.testing.assert_close(scores.grad, plain[1])


def test_double_precision_is_kept() -> None:
    inputs = problem([3])
    assert log_partition(**inputs).dtype == marginals(**inputs).dtype == best_path(**inputs)[1].dtype == torch.float64
    mixed = {**inputs, "scores": inputs["scores"].float()}
    assert log_partition(**mixed).dtype == torch.float64


# --- the best path ---


def test_of_equal_paths_the_first_in_tag_order_is_taken() -> None:
    tags, _ = best_path(torch.zeros(2, 4, 3), torch.zeros(3, 3), mask_of([4, 2]))
    assert not tags.any()
    no_stay = torch.zeros(3, 3).fill_diagonal_(-torch.inf)
    assert best_path(torch.zeros(1, 4, 3), no_stay, mask_of([4]))[0].tolist() == [[0, 1, 0, 1]]


def test_small_differences_survive_a_long_sentence_of_large_scores() -> None:
    scores = torch.full((1, 400, 3), 1e4)
    scores[..., 1] += 0.01
    assert (best_path(scores, torch.zeros(3, 3), mask_of([400]))[0] == 1).all()


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_best_path_is_legal_and_no_legal_path_beats_it(data: st.DataObject) -> None:
    tags, length = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    seed, reach = data.draw(st.integers(0, 9999)), data.draw(st.sampled_from([1.0, 100.0, 1e4]))
    chance = torch.Generator().manual_seed(seed)
    inputs = problem([length, 5], tags=tags, seed=seed, dtype=torch.float32)
    inputs["scores"] *= reach
    for name in ("transitions", "start", "end"):
        forbidden = torch.rand(inputs[name].shape, generator=chance) < 0.4
        inputs[name] = inputs[name].masked_fill(forbidden, -torch.inf)
    scores = {path: slow_score(inputs, 0, path) for path in paths_of(length, tags)}
    if max(scores.values()) == -math.inf:
        return
    path, score = best_path(**inputs)
    found = scores[tuple(path[0, :length].tolist())]
    assert found > -math.inf
    assert found == pytest.approx(max(scores.values()), rel=1e-5, abs=1e-3)
    assert score[0].item() == pytest.approx(found, rel=1e-5, abs=1e-3)


# --- a GPU ---


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("spread", [NEAR, FAR])
def test_a_gpu_gives_the_same_answers_and_waits_at_most_once(spread: float) -> None:
    inputs = problem([30, 7, 0, 19], tags=9, spread=spread, dtype=torch.float32)
    there = {name: value.cuda() for name, value in inputs.items()}
    for question in (log_partition, marginals, move_counts):
        torch.testing.assert_close(question(**there).cpu(), question(**inputs), rtol=1e-4, atol=1e-4)
    assert best_path(**there)[0].cpu().tolist() == best_path(**inputs)[0].tolist()
    there["scores"].requires_grad_()
    with warnings.catch_warnings(record=True) as waits:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        log_partition(**there).sum().backward()
        torch.cuda.set_sync_debug_mode("default")
    assert sum("called a synchronizing" in str(wait.message) for wait in waits) <= 1
    torch.testing.assert_close(there["scores"].grad, marginals(**there).detach(), rtol=1e-4, atol=1e-4)
