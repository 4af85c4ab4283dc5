"""Masked-language-model training: hide pieces, guess them from what is left (Devlin et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from acclimate.methods.masking.masked_batch import (
    Corruption,
    Hidden,
    MaskedBatch,
    ReadStates,
    hide,
    losses_at,
    pose,
    without_dropout,
    word_beginnings,
)
from acclimate.methods.masking.policy import Policy
from acclimate.methods.objective import Objective
from acclimate.model.cuda_graphs.cast_weights import EvalStates
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import MlmHead
from acclimate.model.learner import Learner, TextView

_NOTED = 8  # rows of a batch that the notes show


@dataclass(frozen=True)
class Budget:
    """How much of a row is hidden, and how many masks each batch gets."""

    share: float = 0.15
    by_words: bool = False  # words, each with all its pieces; else pieces
    samples: int = 1  # masks per batch, whose losses are averaged
    quick: bool = True  # policies may read the text in half precision


class MaskedWords(Objective):
    """Cross-entropy of the hidden pieces, averaged over all of them."""

    def __init__(
        self,
        policy: Policy,
        corruption: Corruption,
        special: tuple[int, ...],
        budget: Budget | None = None,
        mlm_head: MlmHead | None = None,
        domain: Literal["source", "target"] = "target",
        continues: Tensor | None = None,
    ) -> None:
        """`special` pieces are never hidden. Without a head the learner's own is asked. `continues` (piece of the
        vocabulary) is True for pieces that go on with a word, for text that comes as bare pieces."""
        super().__init__()
        self.policy, self.corruption, self.budget = policy, corruption, budget or Budget()
        self.mlm_head, self.domain = mlm_head, domain
        self.register_buffer("special", torch.tensor(special), persistent=False)
        self.special: Tensor
        self.register_buffer("continues", continues, persistent=False)
        self.continues: Tensor | None
        self._posed: tuple[MaskedBatch, Hidden] | None = None
        self._quick: Callable[..., tuple[Tensor, Tensor]] | None = None
        self._look: ReadStates | None = None
        self._eval_states = EvalStates()

    def forward(self, source: TextView, target: TextView) -> Tensor:
        batch = self.batch(source if self.domain == "source" else target)
        quick = self._quick if self._quick is not None and self.training else self.losses
        totals = []
        for _ in range(self.budget.samples):
            hidden = hide(batch, self.policy(batch))
            mean, by_row = quick(*batch.model, batch.pieces, hidden, batch.attention)
            self.policy.reward(by_row)
            totals.append(mean)
            self._posed = batch, hidden
        return torch.stack(totals).mean() if len(totals) > 1 else totals[0]

    def batch(self, view: TextView) -> MaskedBatch:
        """The view's text as rows to be masked, with the model that predicts them."""
        encoder = view.encoder
        mlm_head = self.mlm_head or view.mlm_head
        if not isinstance(encoder, Transformer) or mlm_head is None:
            raise ValueError(
                "Masked words need a pre-trained encoder and its language-model head: "
                "MaskedWords(..., mlm_head=MlmHead.of(model))."
            )
        pieces, words = view.inputs["pieces"], view.inputs.get("words")
        attention = inside = view.inputs.get("attention")
        first = None
        if words is not None:
            inside, first = words >= 0, word_beginnings(words)  # pieces of no word are special for any tokenizer
        elif self.continues is not None:
            first = first_pieces(pieces, self.continues)
        posed = pose(pieces, self.special, self.budget.share, inside, first, self.budget.by_words)
        return replace(
            posed,
            attention=attention,
            words=words,
            originals=view.originals,
            encoder=encoder,
            mlm_head=mlm_head,
            quick=self.budget.quick,
            look=self._look or self._eval_states,
        )

    def speed_up(self) -> None:
        """Compile the training pass, and a policy's look at the text."""
        self._quick = torch.compile(self.losses)
        self._look = without_dropout(torch.compile(Transformer.states))

    def losses(
        self, encoder: Transformer, mlm_head: MlmHead, pieces: Tensor, hidden: Hidden, attention: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean loss over all hidden pieces, and that of each row (row), the second without a gradient."""
        states = encoder.states(self.corruption(pieces, hidden), attention)
        losses = losses_at(hidden.places, states, pieces, mlm_head) * hidden.counts
        by_row: Tensor = losses.detach().sum(1) / hidden.counts.sum(1).clamp_min(1)
        mean: Tensor = losses.sum() / hidden.counts.sum().clamp_min(1)
        return mean, by_row

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        learned = list(self.policy.parameters())
        return [learned] if learned else []

    def before_update(self, update: int) -> None:
        self.policy.before_update(update)

    def end(self, learner: Learner) -> None:
        self._eval_states = EvalStates()  # frees the memory of its graphs

    def notes(self) -> Mapping[str, Any] | None:
        """Which words of some rows were hidden last, and by which policy."""
        if self._posed is None or self._posed[0].words is None or not self.training:
            return None
        batch, hidden = self._posed
        return {"kind": "masks", "policy": self.policy.name, "rows": hidden_words(batch, hidden, self.policy, _NOTED)}


def hidden_words(batch: MaskedBatch, hidden: Hidden, policy: Policy, rows: int) -> list[dict[str, Any]]:
    """The first rows as words, with the numbers of those that are hidden. `places` counts the places of each word, and
    `drawn` the hidden places of the row."""
    assert batch.words is not None
    rows = min(rows, len(batch.pieces))
    places, counts = hidden.places[:rows].cpu(), hidden.counts[:rows].cpu()
    numbers, allowed, drawn = batch.words[:rows].cpu(), batch.allowed[:rows].cpu(), batch.sizes[:rows].tolist()
    spelled = [word for sentence in batch.originals for word in sentence.words]
    by = policy.chosen_by(len(batch.pieces))
    noted = []
    for row in range(rows):
        here = numbers[row][numbers[row] >= 0]
        begin, end = int(here.min()), int(here.max()) + 1
        masked = sorted(set(numbers[row][places[row][counts[row]]].tolist()))
        open_to = torch.bincount(numbers[row][allowed[row]] - begin, minlength=end - begin)  # (word)
        noted.append(
            {
                "words": spelled[begin:end],
                "hidden": [word - begin for word in masked],
                "places": open_to.tolist(),
                "drawn": drawn[row],
                "by": by[row],
            }
        )
    return noted


def first_pieces(pieces: Tensor, continues: Tensor) -> Tensor:
    """Where the word of each piece begins (row, piece); the first piece of a row begins a word."""
    places = torch.arange(pieces.shape[1], device=pieces.device).expand_as(pieces)
    return places.masked_fill(continues[pieces], 0).cummax(1).values


class PolicyLoss(Objective):
    """The policy's own loss beside that of the language model (Vu, Phung, Haffari 2020, Algorithm 1, line 8). Stands
    after `MaskedWords` in a stage."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._policy = (policy,)  # in a tuple: it is a module of `MaskedWords`

    def forward(self, source: TextView, target: TextView) -> Tensor:
        (policy,) = self._policy
        loss = policy.loss()
        if loss is not None:
            return loss
        # without a gradient: one of zero would still let Adam move the policy
        return torch.zeros((), device=next(policy.parameters()).device)
