"""The heads that choose tags: word by word, or all of a sentence together (CRF, Lafferty et al. 2001)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from acclimate.data.corpus import LabelSet
from acclimate.data.schemes import Scheme, is_legal
from acclimate.model.acceleration import accelerated
from acclimate.model.heads import linear_chain
from acclimate.model.heads.soft_targets import expected_score


@dataclass(frozen=True, init=False, eq=False)
class Legality:
    """What a tag scheme allows. Knows tags as numbers only; `names`, if given, make its complaints readable."""

    start: Tensor  # (tag,), bool: may begin a sentence
    moves: Tensor  # (from tag, to tag), bool: the second may follow the first
    end: Tensor  # (tag,), bool: may end a sentence
    names: tuple[str, ...] | None = None

    def __init__(self, start: Any, moves: Any, end: Any, names: Sequence[str] | None = None) -> None:
        """Take tensors, numpy arrays or nested lists, of bools."""
        for field, values in (("start", start), ("moves", moves), ("end", end)):
            object.__setattr__(self, field, torch.as_tensor(values, dtype=torch.bool, device="cpu"))
        object.__setattr__(self, "names", None if names is None else tuple(names))
        count = self.tag_count
        if self.start.shape != (count,) or self.moves.shape != (count, count) or self.end.shape != (count,):
            raise ValueError(
                f"Legality got start {tuple(self.start.shape)}, moves {tuple(self.moves.shape)}, end "
                f"{tuple(self.end.shape)}. For n tags they must be (n,), (n, n) and (n,)."
            )
        if self.names is not None and len(self.names) != count:
            raise ValueError(f"Legality got {len(self.names)} names for {count} tags. Pass one name per tag, or none.")

    @classmethod
    def everything(cls, tag_count: int) -> Legality:
        """Every sequence of tags is allowed."""
        one, two = torch.ones(tag_count, dtype=torch.bool), torch.ones(tag_count, tag_count, dtype=torch.bool)
        return cls(one, two, one)

    @property
    def tag_count(self) -> int:
        return len(self.start)

    @property
    def allows_everything(self) -> bool:
        return bool(self.start.all() and self.moves.all() and self.end.all())

    def check(self, tags: Tensor, mask: Tensor) -> None:
        """Raise a ValueError that names the first illegal move of (sentence, word) tags."""
        tags, mask = tags.detach().cpu(), mask.detach().cpu().bool()
        for number, (row, words) in enumerate(zip(tags, mask, strict=True)):
            complaint = self._complaint(row[words].tolist())
            if complaint is not None:
                raise ValueError(
                    f"Sentence {number}, {complaint}. Repair the tags, or train without constraints "
                    f"(constrain_training=False), which gives illegal paths a probability too."
                )

    def _complaint(self, tags: list[int]) -> str | None:
        for word, tag in enumerate(tags):
            if not 0 <= tag < self.tag_count:
                return f"word {word}: tag number {tag} does not exist; there are {self.tag_count} tags, from 0"
            if word == 0 and not self.start[tag]:
                return f"word 0: {self._name(tag)} may not begin a sentence"
            if word > 0 and not self.moves[tags[word - 1], tag]:
                return f"word {word}: {self._name(tag)} may not follow {self._name(tags[word - 1])}"
        if tags and not self.end[tags[-1]]:
            return f"word {len(tags) - 1}: {self._name(tags[-1])} may not end a sentence"
        return None

    def _name(self, tag: int) -> str:
        return f"tag {tag}" if self.names is None else self.names[tag]


class IndependentTags(nn.Module):
    """Each word chooses its tag alone. No parameters; the same questions as a conditional random field.

    `legal` binds decoding only: where the law forbids something, the best legal path is taken instead of the best tags.
    """

    legal_start: Tensor
    legal_moves: Tensor
    legal_end: Tensor

    def __init__(self, tag_count: int, *, legal: Legality | None = None) -> None:
        super().__init__()
        self.legal = Legality.everything(tag_count) if legal is None else legal
        if self.legal.tag_count != tag_count:
            raise ValueError(
                f"The head has {tag_count} tags but its legality has {self.legal.tag_count}. "
                f"Build both from the same list of tags."
            )
        self.tag_count = tag_count
        self.constrain_decoding = not self.legal.allows_everything
        self.register_buffer("legal_start", self.legal.start, persistent=False)
        self.register_buffer("legal_moves", self.legal.moves, persistent=False)
        self.register_buffer("legal_end", self.legal.end, persistent=False)

    def loss(self, scores: Tensor, tags: Tensor, mask: Tensor, odds: Tensor | None = None) -> Tensor:
        """The cross-entropy summed over a sentence's words, (sentence,). Tags at padding may hold any number. With
        `odds` (sentence, word, tag), a word may have any tag whose odds are above 0: their probabilities, times their
        odds, are summed."""
        if odds is None:
            return -self.log_probability(scores, tags, mask)
        mask = mask.bool()
        words = self._masked(scores, mask).log_softmax(-1) + odds.log()
        return -torch.where(mask.unsqueeze(-1), words, 0).logsumexp(-1).masked_fill(~mask, 0).sum(1)

    def expected_loss(self, scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        """The cross-entropy against distributions (sentence, word, tag), summed over each sentence, (sentence,)."""
        mask = mask.bool()
        words = targets * self._masked(scores, mask).log_softmax(-1)
        return -words.sum(-1).masked_fill(~mask, 0).sum(1)

    def log_probability(self, scores: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The log probability of one path per sentence, (sentence,)."""
        mask = mask.bool()
        chosen = tags.masked_fill(~mask, 0).unsqueeze(-1)
        words = self._masked(scores, mask).log_softmax(-1).gather(-1, chosen).squeeze(-1)  # (sentence, word)
        return words.masked_fill(~mask, 0).sum(1)

    def log_partition(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The log of the summed exponentiated scores of all paths, (sentence,)."""
        mask = mask.bool()
        return self._masked(scores, mask).logsumexp(-1).masked_fill(~mask, 0).sum(1)

    def marginals(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The probability of each tag at each word, (sentence, word, tag), zero at padding. Differentiable."""
        mask = mask.bool()
        return self._masked(scores, mask).softmax(-1) * mask.unsqueeze(-1)

    @torch.no_grad()
    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The best legal tags, (sentence, word), 0 at padding."""
        if not self.constrain_decoding:
            return scores.argmax(-1).masked_fill(~mask.bool(), 0)
        start, moves, end = self.legal_scores()
        tags, _ = accelerated(self, linear_chain.best_path, scores, moves, mask, start, end)
        return tags

    def legal_scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Of the first tag, of moves and of the last tag: 0, and -inf where the law forbids."""
        laws = (self.legal_start, self.legal_moves, self.legal_end)
        start, moves, end = (torch.zeros_like(law, dtype=torch.float32).masked_fill(~law, -torch.inf) for law in laws)
        return start, moves, end

    def check_legal(self, tags: Tensor, mask: Tensor) -> None:
        """Raise a ValueError that names the first illegal move. For data, before training: it reads every tag."""
        self.legal.check(tags, mask)

    @staticmethod
    def _masked(scores: Tensor, mask: Tensor) -> Tensor:
        """At least float32, and zero at padding, which may hold anything: NaN there must not reach a gradient."""
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        return torch.where(mask.unsqueeze(-1), scores, 0)

    def extra_repr(self) -> str:
        return str(self.tag_count)


class ConditionalRandomField(nn.Module):
    """A score for each move from tag to tag, learned beside the words' own scores.

    `boundary_scores` adds a score for the first and the last tag; the papers' formula has none. `legal` always binds
    decoding. With `constrain_training` it binds the partition too: illegal paths then have probability zero, the gold
    path must be legal (`check_legal` the data first), and the recursion takes its slower, exact form.

    Prefer `IndependentTags` above a large pretrained encoder, where the chain adds little and costs time.
    """

    legal_start: Tensor
    legal_moves: Tensor
    legal_end: Tensor

    def __init__(
        self,
        tag_count: int,
        *,
        boundary_scores: bool = False,
        legal: Legality | None = None,
        constrain_training: bool = False,
    ) -> None:
        super().__init__()
        self.legal = Legality.everything(tag_count) if legal is None else legal
        if self.legal.tag_count != tag_count:
            raise ValueError(
                f"The field has {tag_count} tags but its legality has {self.legal.tag_count}. "
                f"Build both from the same list of tags."
            )
        self.tag_count = tag_count
        self.constrain_decoding = not self.legal.allows_everything
        self.constrain_training = constrain_training and self.constrain_decoding
        self.transitions = nn.Parameter(torch.empty(tag_count, tag_count).uniform_(-0.1, 0.1))  # (from tag, to tag)
        self.start = nn.Parameter(torch.empty(tag_count).uniform_(-0.1, 0.1)) if boundary_scores else None
        self.end = nn.Parameter(torch.empty(tag_count).uniform_(-0.1, 0.1)) if boundary_scores else None
        # not persistent: the tag names, saved with the tagger, say it already, and one truth is enough
        self.register_buffer("legal_start", self.legal.start, persistent=False)
        self.register_buffer("legal_moves", self.legal.moves, persistent=False)
        self.register_buffer("legal_end", self.legal.end, persistent=False)

    def loss(self, scores: Tensor, tags: Tensor, mask: Tensor, odds: Tensor | None = None) -> Tensor:
        """Minus the log probability of the given tags, (sentence,). Tags at padding may hold any number. With
        `odds` (sentence, word, tag), a word may have any tag whose odds are above 0: minus the log probability of all
        legal paths through them (Tsuboi et al. 2008), each times the odds of its tags. Of a sentence with such a word,
        that is among legal paths only: the law alone would favour O, and a sentence of which nothing is known is to
        teach nothing."""
        if odds is None:
            return -self.log_probability(scores, tags, mask)
        transitions, start, end = self._chain_scores(True)
        # not `accelerated`, which takes a head's transitions for those of the call before
        within = linear_chain.log_partition(scores + odds.log(), transitions, mask, start, end)
        legal = linear_chain.log_partition(scores, transitions, mask, start, end)
        is_open = (((odds > 0).sum(-1) > 1) & mask).any(1)
        return torch.where(is_open, legal, self.log_partition(scores, mask)) - within

    def expected_loss(self, scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        """Minus the expected log probability of paths drawn from distributions (sentence, word, tag), (sentence,)."""
        law = self.legal_start, self.legal_moves
        expected = expected_score(scores, self.transitions, self.start, self.end, targets, mask, *law)
        return self.log_partition(scores, mask) - expected

    def log_probability(self, scores: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The log probability of one path per sentence, (sentence,)."""
        transitions, start, end = self._chain_scores(self.constrain_training)
        path = linear_chain.path_score(scores, transitions, tags, mask, start, end)
        return path - accelerated(self, linear_chain.log_partition, scores, transitions, mask, start, end)

    def log_partition(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The log of the summed exponentiated scores of all paths, (sentence,)."""
        transitions, start, end = self._chain_scores(self.constrain_training)
        return accelerated(self, linear_chain.log_partition, scores, transitions, mask, start, end)

    def marginals(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The probability of each tag at each word, (sentence, word, tag), zero at padding. Differentiable."""
        transitions, start, end = self._chain_scores(self.constrain_training)
        return accelerated(self, linear_chain.marginals, scores, transitions, mask, start, end)

    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The best legal path, (sentence, word), 0 at padding."""
        transitions, start, end = self._chain_scores(self.constrain_decoding)
        tags, _ = accelerated(self, linear_chain.best_path, scores, transitions, mask, start, end)
        return tags

    def check_legal(self, tags: Tensor, mask: Tensor) -> None:
        """Raise a ValueError that names the first illegal move. For data, before training: it reads every tag."""
        self.legal.check(tags, mask)

    def legal_scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Of the first tag, of moves and of the last tag, with -inf where the law forbids."""
        moves, start, end = self._chain_scores(True)
        assert start is not None
        assert end is not None
        return start, moves, end

    def _chain_scores(self, constrained: bool) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Transitions, start and end, with -inf where the law forbids."""
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

    def extra_repr(self) -> str:
        boundary = self.start is not None
        return f"{self.tag_count}, boundary_scores={boundary}, constrain_training={self.constrain_training}"


HeadName = Literal["crf", "softmax"]
Head = ConditionalRandomField | IndependentTags


def build_head(name: HeadName, labels: LabelSet, scheme: Scheme, crf: Mapping[str, bool]) -> Head:
    """A head for the tags of these labels; `crf` are the CRF's own options."""
    legal = legality(labels, scheme)
    if name == "crf":
        return ConditionalRandomField(legal.tag_count, legal=legal, **crf)
    if name == "softmax":
        return IndependentTags(legal.tag_count, legal=legal)
    raise ValueError(f"Unknown head {name!r}: expected crf or softmax.")


def legality(labels: LabelSet, scheme: Scheme) -> Legality:
    """What the scheme allows of the labels' tags."""
    tags = labels.tags(scheme)
    if labels.kind == "plain":
        return Legality.everything(len(tags))
    return Legality(
        start=torch.tensor([is_legal(None, tag, scheme) for tag in tags]),
        moves=torch.tensor([[is_legal(before, after, scheme) for after in tags] for before in tags]),
        end=torch.tensor([is_legal(tag, None, scheme) for tag in tags]),
    )
