"""The heads that choose tags: word by word, or all of a sentence together (CRF, Lafferty et al. 2001)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.data.corpus import LabelSet, Sentence
from acclimate.data.schemes import Scheme, legal_moves
from acclimate.model.encoders.encoder import accelerated
from acclimate.model.heads import linear_chain

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Legality:
    """What a tag scheme allows, by tag number."""

    start: Tensor  # (tag,), bool: may begin a sentence
    moves: Tensor  # (from tag, to tag), bool: the second may follow the first
    end: Tensor  # (tag,), bool: may end a sentence

    @classmethod
    def everything(cls, tag_count: int) -> Legality:
        """Every sequence of tags is allowed."""
        one, two = torch.ones(tag_count, dtype=torch.bool), torch.ones(tag_count, tag_count, dtype=torch.bool)
        return cls(one, two, one)

    @property
    def allows_everything(self) -> bool:
        return bool(self.start.all() and self.moves.all() and self.end.all())


class _Head(nn.Module):
    """What both heads have in common. `legal` binds decoding.

    `loss(scores, tags, mask, odds)` is minus the log probability of the tags (sentence,), or with `odds` (sentence,
    word, tag) of all paths through tags whose odds are above 0, times their odds. `expected_loss` is its mean over tags
    drawn from distributions (sentence, word, tag). `marginals` are differentiable. Padding may hold anything.
    """

    legal_start: Tensor
    legal_moves: Tensor
    legal_end: Tensor

    def __init__(self, tag_count: int, *, legal: Legality | None = None) -> None:
        super().__init__()
        self.legal = Legality.everything(tag_count) if legal is None else legal
        self.tag_count, self.constrain_decoding = tag_count, not self.legal.allows_everything
        for part in ("start", "moves", "end"):  # not persistent: the saved tag names tell it
            self.register_buffer(f"legal_{part}", getattr(self.legal, part), persistent=False)


class IndependentTags(_Head):
    """Each word chooses its tag alone (softmax)."""

    def loss(self, scores: Tensor, tags: Tensor, mask: Tensor, odds: Tensor | None = None) -> Tensor:
        mask = mask.bool()
        words = self._masked(scores, mask).log_softmax(-1)  # (sentence, word, tag)
        if odds is None:
            chosen = tags.masked_fill(~mask, 0).unsqueeze(-1)
            return -words.gather(-1, chosen).squeeze(-1).masked_fill(~mask, 0).sum(1)
        return -torch.where(mask.unsqueeze(-1), words + odds.log(), 0).logsumexp(-1).masked_fill(~mask, 0).sum(1)

    def expected_loss(self, scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        mask = mask.bool()
        words = targets * self._masked(scores, mask).log_softmax(-1)
        return -words.sum(-1).masked_fill(~mask, 0).sum(1)

    def marginals(self, scores: Tensor, mask: Tensor) -> Tensor:
        mask = mask.bool()
        return self._masked(scores, mask).softmax(-1) * mask.unsqueeze(-1)

    @torch.no_grad()
    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        if not self.constrain_decoding:
            return scores.argmax(-1).masked_fill(~mask.bool(), 0)
        start, moves, end = self.legal_scores()
        tags, _ = accelerated(self, linear_chain.best_path, scores, moves, mask, start, end)
        return tags

    def legal_scores(self) -> tuple[Tensor, Tensor, Tensor]:
        legal = (self.legal_start, self.legal_moves, self.legal_end)
        start, moves, end = (torch.zeros_like(may, dtype=torch.float32).masked_fill(~may, -torch.inf) for may in legal)
        return start, moves, end

    @staticmethod
    def _masked(scores: Tensor, mask: Tensor) -> Tensor:
        """In at least float32, with zeros at padding, which may hold NaN."""
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        return torch.where(mask.unsqueeze(-1), scores, 0)


class ConditionalRandomField(_Head):
    """Learns a score for each move from tag to tag, beside the scores of words.

    `boundary_scores` adds scores of the first and the last tag. With `constrain_training` illegal paths have
    probability zero, which is slower, and the gold path must be legal.
    """

    def __init__(
        self,
        tag_count: int,
        *,
        boundary_scores: bool = False,
        legal: Legality | None = None,
        constrain_training: bool = False,
    ) -> None:
        super().__init__(tag_count, legal=legal)
        self.constrain_training = constrain_training and self.constrain_decoding
        self.transitions = nn.Parameter(torch.empty(tag_count, tag_count).uniform_(-0.1, 0.1))  # (from tag, to tag)
        self.start = nn.Parameter(torch.empty(tag_count).uniform_(-0.1, 0.1)) if boundary_scores else None
        self.end = nn.Parameter(torch.empty(tag_count).uniform_(-0.1, 0.1)) if boundary_scores else None

    def loss(self, scores: Tensor, tags: Tensor, mask: Tensor, odds: Tensor | None = None) -> Tensor:
        """With `odds` against legal paths only, as illegal ones would favour O (Tsuboi et al. 2008)."""
        if odds is None:
            return -self.log_probability(scores, tags, mask)
        transitions, start, end = self._chain_scores(True)
        # not `accelerated`, which takes a head's transitions for those of the call before
        within = linear_chain.log_partition(scores + odds.log(), transitions, mask, start, end)
        legal = linear_chain.log_partition(scores, transitions, mask, start, end)
        is_open = (((odds > 0).sum(-1) > 1) & mask).any(1)
        return torch.where(is_open, legal, self.log_partition(scores, mask)) - within

    def expected_loss(self, scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        expected = self._expected_score(scores, targets, mask)
        return self.log_partition(scores, mask) - expected

    def log_probability(self, scores: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        transitions, start, end = self._chain_scores(self.constrain_training)
        return linear_chain.path_score(scores, transitions, tags, mask, start, end) - self.log_partition(scores, mask)

    def log_partition(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The log of the summed exponentiated scores of all paths, (sentence,)."""
        transitions, start, end = self._chain_scores(self.constrain_training)
        return accelerated(self, linear_chain.log_partition, scores, transitions, mask, start, end)

    def marginals(self, scores: Tensor, mask: Tensor) -> Tensor:
        transitions, start, end = self._chain_scores(self.constrain_training)
        return accelerated(self, linear_chain.marginals, scores, transitions, mask, start, end)

    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        transitions, start, end = self._chain_scores(self.constrain_decoding)
        tags, _ = accelerated(self, linear_chain.best_path, scores, transitions, mask, start, end)
        return tags

    def legal_scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Of the first tag, of moves and of the last tag; -inf where forbidden."""
        moves, start, end = self._chain_scores(True)
        assert start is not None
        assert end is not None
        return start, moves, end

    def _chain_scores(self, constrained: bool) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Transitions, start and end."""
        if not constrained:
            return self.transitions, self.start, self.end
        nothing = torch.zeros_like(self.transitions[0])
        start = nothing if self.start is None else self.start
        end = nothing if self.end is None else self.end
        return (
            self.transitions.masked_fill(~self.legal_moves, -torch.inf),
            start.masked_fill(~self.legal_start, -torch.inf),
            end.masked_fill(~self.legal_end, -torch.inf),
        )

    def _expected_score(self, scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        """The mean score of paths drawn from the targets (sentence, word, tag), (sentence,)."""
        with torch.autocast(scores.device.type, enabled=False):
            mask = mask.bool()
            scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
            targets = (targets * mask.unsqueeze(-1)).to(scores.dtype)
            total = (torch.where(mask.unsqueeze(-1), scores, 0) * targets).sum((1, 2))
            moves = expected_moves(targets, self.legal_start, self.legal_moves)
            total = total + (moves * self.transitions).sum((1, 2))
            if self.start is not None:
                total = total + targets[:, 0] @ self.start.to(scores.dtype)
            if self.end is not None:
                last = (mask.sum(1) - 1).clamp(min=0)
                ends = targets[torch.arange(len(targets), device=last.device), last]
                total = total + ends @ self.end.to(scores.dtype)
            return total


@torch.no_grad()
def expected_moves(targets: Tensor, legal_start: Tensor, legal_moves: Tensor) -> Tensor:
    """How often each tag follows each other one, (sentence, from tag, to tag), under soft labels of words (zero at
    padding). A tag that may begin no sentence (I-PER) follows its possible predecessors in proportion; all else is
    independent."""
    before, after = targets[:, :-1], targets[:, 1:]  # (sentence, word - 1, tag)
    bound = (legal_moves & ~legal_start).to(targets.dtype)  # (from tag, to tag)
    free = legal_start.to(targets.dtype)
    share = after * (1 - free) / (before @ bound).clamp_min(_TINY)
    bound_moves = bound * (before.transpose(1, 2) @ share)
    left = (before - before * (share @ bound.T)).clamp_min(0)  # what no bound tag follows
    begun = after * free
    free_moves = left.transpose(1, 2) @ (begun / begun.sum(-1, keepdim=True).clamp_min(_TINY))
    return bound_moves + free_moves


class SourceHeads(nn.Module):
    """A layer of scores for each source corpus, used in training beside the shared one (after Daumé 2007); it learns
    what only that corpus annotates. All zero at first."""

    def __init__(self, sources: Sequence[str], width: int, tag_count: int) -> None:
        super().__init__()
        self.rows = {name: row for row, name in enumerate(sources, start=1)}  # row 0: sentences of no source
        self.weights = nn.Parameter(torch.zeros(len(sources), tag_count, width))  # (source, tag, feature)
        self.biases = nn.Parameter(torch.zeros(len(sources), tag_count))  # (source, tag)

    def forward(self, features: Tensor, sentences: Sequence[Sentence]) -> Tensor:
        """(sentence, word, feature) → (sentence, word, tag), zero for a sentence of no source."""
        rows = torch.tensor([self.rows.get(sentence.source or "", 0) for sentence in sentences])
        rows = rows.to(features.device, non_blocking=True)
        weights = torch.cat([torch.zeros_like(self.weights[:1]), self.weights]).index_select(0, rows)
        biases = torch.cat([torch.zeros_like(self.biases[:1]), self.biases]).index_select(0, rows)
        return torch.baddbmm(biases.unsqueeze(1), features.to(weights.dtype), weights.transpose(1, 2))


HeadName = Literal["crf", "softmax"]
Head = ConditionalRandomField | IndependentTags


def build_head(name: HeadName, labels: LabelSet, scheme: Scheme, crf: Mapping[str, bool]) -> Head:
    """A head for the tags of these labels; `crf` are the CRF's own options."""
    legal = legality(labels, scheme)
    if name == "crf":
        return ConditionalRandomField(len(legal.start), legal=legal, **crf)
    if name == "softmax":
        return IndependentTags(len(legal.start), legal=legal)
    raise ValueError(f"Unknown head {name!r}: expected crf or softmax.")


def legality(labels: LabelSet, scheme: Scheme) -> Legality:
    """What the scheme allows of the labels' tags."""
    tags = labels.tags(scheme)
    if labels.kind == "plain":
        return Legality.everything(len(tags))
    return Legality(*map(torch.tensor, legal_moves(tags, scheme)))
