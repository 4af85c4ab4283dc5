"""Independent tags: a softmax over the tags of each word, as BERT taggers use."""

import torch
from torch import Tensor, nn

from acclimate.model.acceleration import active_acceleration
from acclimate.model.heads import linear_chain
from acclimate.model.heads.legality import Legality


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

    def loss(self, scores: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The cross-entropy summed over a sentence's words, (sentence,). Tags at padding may hold any number."""
        return -self.log_probability(scores, tags, mask)

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
        start, moves, end = (
            torch.zeros(law.shape, device=scores.device).masked_fill(~law, -torch.inf)
            for law in (self.legal_start, self.legal_moves, self.legal_end)
        )
        tags, _ = active_acceleration().chain(self, linear_chain.best_path, scores, moves, mask, start, end)
        return tags

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
