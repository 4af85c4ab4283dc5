"""Conditional random field (CRF, Lafferty et al. 2001): score whole paths of tags, not words one by one."""

import torch
from torch import Tensor, nn

from acclimate.model.acceleration import active_acceleration
from acclimate.model.heads import linear_chain
from acclimate.model.heads.legality import Legality


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

    def loss(self, scores: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Minus the log probability of the given tags, (sentence,). Tags at padding may hold any number."""
        return -self.log_probability(scores, tags, mask)

    def log_probability(self, scores: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The log probability of one path per sentence, (sentence,)."""
        transitions, start, end = self._chain_scores(self.constrain_training)
        path = linear_chain.path_score(scores, transitions, tags, mask, start, end)
        return path - active_acceleration().chain(
            self, linear_chain.log_partition, scores, transitions, mask, start, end
        )

    def log_partition(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The log of the summed exponentiated scores of all paths, (sentence,)."""
        transitions, start, end = self._chain_scores(self.constrain_training)
        return active_acceleration().chain(self, linear_chain.log_partition, scores, transitions, mask, start, end)

    def marginals(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The probability of each tag at each word, (sentence, word, tag), zero at padding. Differentiable."""
        transitions, start, end = self._chain_scores(self.constrain_training)
        return active_acceleration().chain(self, linear_chain.marginals, scores, transitions, mask, start, end)

    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The best legal path, (sentence, word), 0 at padding."""
        transitions, start, end = self._chain_scores(self.constrain_decoding)
        tags, _ = active_acceleration().chain(self, linear_chain.best_path, scores, transitions, mask, start, end)
        return tags

    def check_legal(self, tags: Tensor, mask: Tensor) -> None:
        """Raise a ValueError that names the first illegal move. For data, before training: it reads every tag."""
        self.legal.check(tags, mask)

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
