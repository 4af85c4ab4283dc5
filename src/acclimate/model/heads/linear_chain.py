"""The linear chain: sums and maxima over every path of tags through a sentence (Lafferty et al. 2001).

A path's score is the sum of its words' scores, its moves' scores and, where given, those of its first and last tag.
Every function takes

    scores       (sentence, word, tag)
    transitions  (from tag, to tag)
    mask         (sentence, word)      True on words; padding stands on the right; a row may have no word at all
    start, end   (tag,) or None

and works in float32 (float64 when given float64), also inside autocast: log-sums in half precision are noise.
A forbidden move, start, end or tag is an entry of -inf. It is read as a cost of 1e30, so that gradients stay finite.

How it is made fast: both directions run in one loop, as each sentence is also written backwards; a step is one matrix
product and one product; and the gradient of the log partition is known (the marginals).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

IMPOSSIBLE = -1e30
Boundary = Tensor | None
"""Scores of the first or the last tag, (tag,); None where there are none."""

Counts = Callable[[Tensor, Tensor, Tensor, Boundary, Boundary], tuple[Tensor, Tensor, Tensor]]
"""Scores, transitions, mask, start and end → log partition, expected tags and expected moves."""
Marginals = Callable[[Tensor, Tensor, Tensor, Boundary, Boundary], Tensor]
"""The same → the probability of each tag at each word."""


def partition_and_counts(
    scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary, period: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Log partition (sentence,), expected tags (sentence, word, tag) and moves (sentence, from tag, to tag)."""
    chain = _chain(scores, transitions, mask, start, end, period=period)
    return chain.log_partition(), chain.words(), chain.moves()


def word_marginals(
    scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary, period: int | None = None
) -> Tensor:
    """(sentence, word, tag)"""
    return _chain(scores, transitions, mask, start, end, period=period).words()


def log_partition(
    scores: Tensor,
    transitions: Tensor,
    mask: Tensor,
    start: Boundary = None,
    end: Boundary = None,
    compute: Counts = partition_and_counts,
) -> Tensor:
    """The log of the summed exponentiated scores of all paths, (sentence,); 0 for a sentence without words."""
    with _full_precision(scores):
        inputs = _in_one_dtype(scores, transitions, mask, start, end)
        if scores.shape[1] == 0:
            return inputs[0].sum((1, 2))  # zeros that still belong to the graph
        if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in inputs):
            total: Tensor = _LogPartition.apply(*inputs, compute)  # type: ignore[no-untyped-call]
            return total
        return _chain(*inputs, both_ways=False).log_partition()


def path_score(
    scores: Tensor, transitions: Tensor, tags: Tensor, mask: Tensor, start: Boundary = None, end: Boundary = None
) -> Tensor:
    """The score of one given path, (sentence,). Tags at padding may hold any number, such as -100."""
    with _full_precision(scores):
        scores, transitions, mask, start, end = _in_one_dtype(scores, transitions, mask, start, end)
        tags = tags.masked_fill(~mask, 0)  # (sentence, word)
        words = scores.gather(2, tags.unsqueeze(2)).squeeze(2)  # (sentence, word)
        total = words.clamp(min=IMPOSSIBLE).masked_fill(~mask, 0).sum(1)
        pairs = (tags[:, :-1] * transitions.shape[0] + tags[:, 1:]).flatten()
        moves = transitions.clamp(min=IMPOSSIBLE).flatten().gather(0, pairs).view(tags[:, 1:].shape)
        total = total + moves.masked_fill(~mask[:, 1:], 0).sum(1)
        if tags.shape[1] == 0:
            return total
        has_words = mask[:, 0]
        if start is not None:
            total = total + start.clamp(min=IMPOSSIBLE).gather(0, tags[:, 0]).masked_fill(~has_words, 0)
        if end is not None:
            last = tags.gather(1, (mask.sum(1, keepdim=True) - 1).clamp(min=0)).squeeze(1)  # (sentence,)
            total = total + end.clamp(min=IMPOSSIBLE).gather(0, last).masked_fill(~has_words, 0)
        return total


def marginals(
    scores: Tensor,
    transitions: Tensor,
    mask: Tensor,
    start: Boundary = None,
    end: Boundary = None,
    compute: Marginals = word_marginals,
) -> Tensor:
    """The probability of each tag at each word, (sentence, word, tag), zero at padding. Differentiable."""
    with _full_precision(scores):
        inputs = _in_one_dtype(scores, transitions, mask, start, end)
        if scores.shape[1] == 0:
            return inputs[0]
        return compute(*inputs)


@torch.no_grad()
def best_path(
    scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary = None, end: Boundary = None
) -> tuple[Tensor, Tensor]:
    """The first of the best paths, (sentence, word) with 0 at padding, and its score, (sentence,)."""
    with _full_precision(scores):
        inputs = _in_one_dtype(scores, transitions, mask, start, end)
        if scores.shape[1] == 0:
            return mask.long(), inputs[0].sum((1, 2))
        lattice = _Lattice(*inputs)
        # relative to their maximum, so that long sentences with large scores keep small differences
        words = lattice.scores - lattice.scores.amax(-1, keepdim=True)  # (word, sentence, tag)
        moves = lattice.transitions - lattice.transitions.max()  # (from tag, to tag)
        # from right to left: then the best path starts at word 0 in every sentence, and no loop needs a mask
        from_the_end = lattice.backwards(words).unbind(0)
        best = from_the_end[0]
        ahead = [best]
        for word in from_the_end[1:]:
            best = (best.unsqueeze(1) + moves).amax(2) + word  # (sentence, tag)
            ahead.append(best)
        reach = lattice.backwards(torch.stack(ahead)).unbind(0)  # the best that can follow each tag, its word included
        # finding each step again is faster than keeping pointers
        tag = reach[0].argmax(-1)  # (sentence,)
        path = [tag]
        for best in reach[1:]:
            tag = (moves.index_select(0, tag) + best).argmax(-1)
            path.append(tag)
        tags = torch.stack(path, 1).masked_fill(~mask.bool(), 0)
        return tags, path_score(scores, transitions, tags, mask, start, end)


class _LogPartition(torch.autograd.Function):
    """The log partition with its known gradient: expected tags, expected moves."""

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary, compute: Counts
    ) -> Tensor:
        total, words, moves = compute(scores, transitions, mask, start, end)
        ctx.save_for_backward(scores, transitions, mask, start, end, words, moves)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Boundary, ...]:
        scores, transitions, mask, start, end, words, moves = ctx.saved_tensors
        with _full_precision(scores):
            if torch.is_grad_enabled():  # create_graph=True: someone will differentiate this gradient in turn
                chain = _chain(scores, transitions, mask, start, end)
                words, moves = chain.words(), chain.moves()
            by_start = by_end = None
            if start is not None:
                by_start = gradient @ words[:, 0]
            if end is not None:
                last = (mask.sum(1) - 1).clamp(min=0)
                by_end = gradient @ words[torch.arange(len(words), device=words.device), last]
            by_moves = torch.tensordot(gradient, moves, 1)
            return gradient[:, None, None] * words, by_moves, None, by_start, by_end, None


class _Lattice:
    """The inputs made uniform: words first, padding zero, nothing infinite, start and end inside the words' scores."""

    def __init__(self, scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary) -> None:
        mask = mask.bool()
        # where, not a product: padding may hold anything, and NaN times zero is NaN
        words = torch.where(mask.unsqueeze(-1), scores, 0).transpose(0, 1)
        self.scores = words.clamp(min=IMPOSSIBLE).contiguous()  # (word, sentence, tag)
        self.transitions = transitions.clamp(min=IMPOSSIBLE)  # (from tag, to tag)
        self.mask = mask.T.contiguous()  # (word, sentence)
        self.followed = torch.cat((self.mask[1:], torch.zeros_like(self.mask[:1])))  # (word, sentence)
        self.lengths = mask.sum(1)  # (sentence,)
        numbers = torch.arange(len(self.mask), device=mask.device).unsqueeze(1)
        sentences = torch.arange(len(mask), device=mask.device)
        # Where each word comes from when its sentence is written backwards, words and sentences being one axis.
        self.mirror = (self.lengths - 1 - numbers).clamp(min=0) * len(mask) + sentences  # (word, sentence)
        if start is not None:
            self.scores[0] += start.clamp(min=IMPOSSIBLE)
        if end is not None:
            ending = end.clamp(min=IMPOSSIBLE).expand(len(mask), -1)
            self.scores.flatten(0, 1).index_add_(0, self.mirror[0], ending)

    def backwards(self, rows: Tensor) -> Tensor:
        """Each sentence's words in reverse order, still starting at word 0; done twice, it is undone."""
        return rows.flatten(0, 1).index_select(0, self.mirror.flatten()).view_as(rows)


class _ScaledChain:
    """The recursion on probabilities, rescaled every few words; exact while the transitions lie close together."""

    def __init__(self, lattice: _Lattice, period: int, both_ways: bool) -> None:
        self.lattice = lattice
        self.peaks = lattice.scores.detach().amax(-1, keepdim=True)  # (word, sentence, 1)
        self.top = lattice.transitions.detach().max()
        self.probabilities = (lattice.scores - self.peaks).exp()  # (word, sentence, tag)
        self.factors = (lattice.transitions - self.top).exp()  # (from tag, to tag)
        if both_ways:
            probabilities = torch.stack(
                (self.probabilities, lattice.backwards(self.probabilities)), 1
            )  # (word, direction, sentence, tag)
            factors = torch.stack((self.factors, self.factors.T))  # (direction, from tag, to tag)
        else:
            probabilities, factors = self.probabilities.unsqueeze(1), self.factors.unsqueeze(0)
        state = probabilities[0]
        before = [torch.ones_like(state)]
        for number, probability in enumerate(probabilities.unbind(0)[1:], start=1):
            before.append(torch.bmm(state, factors))
            state = before[-1] * probability
            if number % period == 0:
                state = state / state.sum(-1, keepdim=True)
        arriving = torch.stack(before)  # (word, direction, sentence, tag), the word's own probabilities not yet in
        self.before = arriving[:, 0]
        self.after = lattice.backwards(arriving[:, 1]) if both_ways else None
        self.inside = self.before * self.probabilities  # (word, sentence, tag)
        self.totals = self.inside.sum(-1)  # (word, sentence)
        numbers = torch.arange(len(probabilities), device=probabilities.device)
        self.rescaled = ((numbers % period == 0) & (numbers > 0)).unsqueeze(1)  # (word, 1)

    def log_partition(self) -> Tensor:
        mask, moves = self.lattice.mask, (self.lattice.lengths - 1).clamp(min=0)
        counted = torch.where(self.lattice.followed, self.rescaled, mask)  # the scales taken out, the last word's sum
        logs = torch.where(counted, self.totals.log(), 0).sum(0)
        return logs + (self.peaks.squeeze(-1) * mask).sum(0) + self.top * moves

    def words(self) -> Tensor:
        joint = self.inside * self._after()
        mask = self.lattice.mask.unsqueeze(-1)
        return (joint * (mask / joint.sum(-1, keepdim=True))).transpose(0, 1)

    def moves(self) -> Tensor:
        """Two factors give the probability of a pair, with its move's between them."""
        right = self.probabilities[1:] * self._after()[1:]
        scale = (self.before[1:] * right).sum(-1) * torch.where(self.rescaled, self.totals, 1)[:-1]
        left = self.inside[:-1] * (self.lattice.mask[1:] / scale).unsqueeze(-1)
        return self.factors * torch.bmm(left.transpose(0, 1).transpose(1, 2), right.transpose(0, 1))

    def _after(self) -> Tensor:
        assert self.after is not None, "this recursion ran from left to right only"
        return self.after


class _ExactChain:
    """The recursion on logarithms: slower, and right for any transitions, forbidden ones included."""

    def __init__(self, lattice: _Lattice, both_ways: bool) -> None:
        self.lattice = lattice
        state = lattice.scores[0]  # (sentence, tag)
        total = state.logsumexp(-1, keepdim=True)  # (sentence, 1)
        states, totals, origins = [state], [total], []
        for score in lattice.scores.unbind(0)[1:]:
            # relative to the sum so far, so that differences stay exact in long sentences
            joint = (state - total).unsqueeze(-1) + lattice.transitions  # (sentence, from tag, to tag)
            peak = joint.detach().amax(-2, keepdim=True)
            joint = (joint - peak).exp()
            arriving = joint.sum(-2, keepdim=True)  # (sentence, 1, to tag)
            state = (arriving.log() + peak).squeeze(-2) + score
            total = state.logsumexp(-1, keepdim=True)
            states.append(state)
            totals.append(total)
            if both_ways:
                origins.append(joint / arriving)
        self.totals = torch.stack(totals).squeeze(-1)  # (word, sentence)
        self.word_list: list[Tensor] = []
        self.pair_list: list[Tensor] = []
        if both_ways:
            self._walk_back(torch.stack(states), origins)

    def _walk_back(self, states: Tensor, origins: list[Tensor]) -> None:
        is_last = self.lattice.mask & ~self.lattice.followed
        last = (states.softmax(-1) * is_last.unsqueeze(-1)).unbind(0)  # zero but at last words
        word = last[-1]  # (sentence, tag)
        self.word_list.append(word)
        for origin, ending in zip(origins[::-1], last[-2::-1], strict=True):
            pair = origin * word.unsqueeze(1)  # (sentence, from tag, to tag)
            word = pair.sum(-1) + ending
            self.pair_list.append(pair)
            self.word_list.append(word)

    def log_partition(self) -> Tensor:
        return self.totals.masked_fill(~self.lattice.mask, 0).sum(0)

    def words(self) -> Tensor:
        return torch.stack(self.word_list[::-1], 1)

    def moves(self) -> Tensor:
        sentences, tags = self.word_list[0].shape
        return sum(self.pair_list, start=self.totals.new_zeros(sentences, tags, tags))


def _chain(
    scores: Tensor,
    transitions: Tensor,
    mask: Tensor,
    start: Boundary,
    end: Boundary,
    both_ways: bool = True,
    period: int | None = None,
) -> _ScaledChain | _ExactChain:
    """Run the recursion that is exact for these transitions. A known `period` spares looking at them."""
    lattice = _Lattice(scores, transitions, mask, start, end)
    period = rescaling_period(lattice.transitions) if period is None else period
    return _ScaledChain(lattice, period, both_ways) if period else _ExactChain(lattice, both_ways)


def rescaling_period(transitions: Tensor, spread: float | None = None) -> int:
    """After how many words probabilities must be rescaled; 0 where the scaled recursion is not exact.

    From word to word a summed probability shrinks at most by the transitions' spread, and grows at most by the number
    of tags. In float32, forwards times backwards then stays above exp(-56), far from the smallest number, exp(-87).
    """
    if spread is None:
        spread = float((transitions.max() - transitions.min()).detach())
    budget = 28.0 if transitions.dtype == torch.float32 else 300.0
    if not spread <= budget:  # also for NaN
        return 0
    return int(budget / max(spread, math.log(max(len(transitions), 2))))


def _in_one_dtype(
    scores: Tensor, transitions: Tensor, mask: Tensor, start: Boundary, end: Boundary
) -> tuple[Tensor, Tensor, Tensor, Boundary, Boundary]:
    dtype = torch.promote_types(torch.promote_types(scores.dtype, transitions.dtype), torch.float32)
    start, end = (None if scores is None else scores.to(dtype) for scores in (start, end))
    return scores.to(dtype), transitions.to(dtype), mask.bool(), start, end


def _full_precision(scores: Tensor) -> torch.autocast:
    return torch.autocast(scores.device.type, enabled=False)
