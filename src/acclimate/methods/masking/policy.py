"""Masking policies: which places of a batch are hidden (Vu, Phung, Haffari 2020, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Literal

import torch
from torch import Tensor, nn

from acclimate.data.corpus import Corpus, Sentence
from acclimate.inference.part_of_speech import PartOfSpeechTagger
from acclimate.methods.masking.masked_batch import MaskedBatch, policy_autocast
from acclimate.methods.masking.subset_distribution import SubsetDistribution
from acclimate.model.cuda_graphs.cast_weights import cast_module
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import MlmHead


class Policy(nn.Module):
    """Gives every place a priority; those with the highest are hidden. Asked twice, it may answer otherwise."""

    name = "policy"

    def forward(self, batch: MaskedBatch) -> Tensor:
        """Priorities (row, piece); those of places that may not be hidden do not matter."""
        raise NotImplementedError

    def before_update(self, update: int) -> None:
        """The number of the update that begins, the same in every process."""

    def reward(self, losses: Tensor) -> None:
        """Learn how hard each row was: the mean loss at its hidden pieces (row), without a gradient."""

    def loss(self) -> Tensor | None:
        """The policy's own loss after the rewards of this update; None when it has nothing to learn."""
        return None

    def chosen_by(self, rows: int) -> list[str]:
        """Which policy decided each row of the last batch."""
        return [self.name] * rows


def gumbel_like(values: Tensor) -> Tensor:
    """Gumbel noise: the top K of log weights plus it are a draw without replacement by the weights."""
    waits = torch.empty_like(values, dtype=torch.float32).exponential_()
    return -waits.clamp(min=torch.finfo(torch.float32).tiny).log()


class Uniform(Policy):
    """All places alike; with `whole_words` all pieces of a word have one priority."""

    def __init__(self, whole_words: bool = False) -> None:
        super().__init__()
        self.whole_words = whole_words
        self.name = "whole-words" if whole_words else "random"

    def forward(self, batch: MaskedBatch) -> Tensor:
        lots = torch.rand(batch.pieces.shape, device=batch.pieces.device)
        if not self.whole_words:
            return lots
        if batch.first is None:
            raise ValueError("Whole words are to be hidden, but where words begin is not known.")
        return lots.gather(1, batch.first)


class Mixture(Policy):
    """Each row is masked by the policy or at random; only its own rows are shown to the policy and rewarded."""

    def __init__(self, policy: Policy, share: float = 0.5) -> None:
        super().__init__()
        self.policy, self.share, self.rest = policy, share, Uniform()
        self.name = f"mix-{policy.name}"
        self._rows = torch.zeros(0, dtype=torch.long)  # of the last batch, those of the named policy
        self._there = self._rows

    def forward(self, batch: MaskedBatch) -> Tensor:
        # drawn on the CPU, so that the number of rows is known without waiting for a GPU
        self._rows = torch.nonzero(torch.rand(len(batch.pieces)) < self.share).squeeze(1)
        priorities: Tensor = self.rest(batch)
        if not len(self._rows):
            return priorities
        self._there = self._rows.to(batch.pieces.device, non_blocking=True)
        named: Tensor = self.policy(batch.some(self._there))
        return priorities.index_copy(0, self._there, named.to(priorities.dtype))

    def before_update(self, update: int) -> None:
        self.policy.before_update(update)

    def reward(self, losses: Tensor) -> None:
        if len(self._rows):
            self.policy.reward(losses[self._there])

    def loss(self) -> Tensor | None:
        return self.policy.loss()

    def chosen_by(self, rows: int) -> list[str]:
        named = set(self._rows.tolist())
        return [self.policy.name if row in named else self.rest.name for row in range(rows)]


_EDGE = 1e-4  # keeps ratios off 0 and 1


class DensityRatio(Policy):
    """Draws pieces by r = max(1 - P_source / P_target, 0), which prefers words of the target (the "rw" strategy of the
    released code)."""

    name = "density-ratio"

    def __init__(self, source_counts: Tensor, target_counts: Tensor) -> None:
        """How often each piece of the vocabulary occurs in either text (piece)."""
        super().__init__()
        ratios = density_ratios(source_counts, target_counts)
        self.register_buffer("scores", ratios.clamp(_EDGE, 1 - _EDGE).logit(), persistent=False)
        self.scores: Tensor

    def forward(self, batch: MaskedBatch) -> Tensor:
        scores = batch.per_place(self.scores[batch.pieces])
        return SubsetDistribution(scores, batch.allowed, batch.sizes, batch.most).draw().float()


def density_ratios(source_counts: Tensor, target_counts: Tensor) -> Tensor:
    """r of each piece; 0 for one that the target does not have."""
    source, target = (counts.double() / counts.sum().clamp(min=1) for counts in (source_counts, target_counts))
    ratios = 1 - source / target.where(target > 0, torch.inf)
    return torch.where(target > 0, ratios, 0.0).clamp(min=0).float()


def piece_counts(encoder: Transformer, sentences: Iterable[Sentence]) -> Tensor:
    """How often each piece of the encoder's vocabulary occurs (piece)."""
    counts = torch.zeros(len(encoder.pieces.tokenizer), dtype=torch.long)
    for sentence in sentences:
        numbers = [number for word in encoder.pieces.of_words(sentence.words) for number in word]
        counts.index_add_(0, torch.tensor(numbers), torch.ones(len(numbers), dtype=torch.long))
    return counts


_AT_ONCE = {"cpu": 256, "cuda": 2048}  # places whose scores of the whole vocabulary are in memory together
_FEW = {"cpu": 32}  # places whose entropies are computed together: these fit into a CPU's cache


class Entropy(Policy):
    """By the entropy of the predictions on the unmasked text. `proportional` draws without replacement by it (as the
    paper's code does with replacement); `top` takes the highest (as the paper says)."""

    name = "entropy"

    def __init__(self, choice: Literal["proportional", "top"] = "proportional") -> None:
        super().__init__()
        self.choice = choice

    @torch.no_grad()
    def forward(self, batch: MaskedBatch) -> Tensor:
        _, mlm_head = batch.model
        with policy_autocast(batch.pieces.device, batch.quick):
            entropies = batch.per_place(entropies_of(mlm_head, batch.states))
        if self.choice == "top":
            return entropies
        return entropies.clamp(min=1e-6).log() + gumbel_like(entropies)


@torch.no_grad()
def entropies_of(mlm_head: MlmHead, states: Tensor, at_once: int | None = None) -> Tensor:
    """Entropy in nats of the predicted distribution at every place (row, piece), from states (row, piece, feature), for
    `at_once` places at a time."""
    kind = states.device.type
    flat = states.flatten(0, -2)
    at_once = at_once or _AT_ONCE.get(kind, 1024)
    few = _FEW.get(kind, at_once)
    parts: list[Tensor] = []
    with ExitStack() as stack:
        if torch.is_autocast_enabled(kind):
            flat = flat.to(torch.get_autocast_dtype(kind))
            stack.enter_context(cast_module(mlm_head, flat.dtype))
        for start in range(0, len(flat), at_once):
            scores = mlm_head(flat[start : start + at_once])
            parts += [entropy(scores[first : first + few]) for first in range(0, len(scores), few)]
    return torch.cat(parts).view(states.shape[:-1])


def entropy(scores: Tensor) -> Tensor:
    """Of the softmax over the last axis, in few passes."""
    scores = scores.float()
    away = scores - scores.amax(-1, keepdim=True)
    weights = away.exp()
    total = weights.sum(-1)
    mean: Tensor = torch.linalg.vecdot(weights, away) / total
    return total.log() - mean


CONTENT = ("VERB", "NOUN", "ADJ", "PRON", "ADV")  # the paper's list; proper nouns are not in it


class PartOfSpeech(Policy):
    """Draws without replacement, content words with weight 0.8 and the rest with 0.2. Sentences are tagged when they
    first come."""

    name = "pos"

    def __init__(
        self, tagger: PartOfSpeechTagger, content: Sequence[str] = CONTENT, weight: float = 0.8, other: float = 0.2
    ) -> None:
        super().__init__()
        self.tagger, self.content, self.weight, self.other = tagger, frozenset(content), weight, other
        self._known: dict[tuple[str, ...], list[float]] = {}

    def forward(self, batch: MaskedBatch) -> Tensor:
        device = batch.pieces.device
        fresh = [sentence for sentence in batch.originals if sentence.words not in self._known]
        if fresh:
            self._learn(fresh, device)
        weights = [weight for sentence in batch.originals for weight in self._known[sentence.words]]
        spread = batch.spread(torch.tensor(weights).to(device, non_blocking=True))
        return spread.clamp(min=1e-9).log() + gumbel_like(spread)

    def _learn(self, sentences: Sequence[Sentence], device: torch.device) -> None:
        text = Corpus.of({sentence.words: Sentence(sentence.words) for sentence in sentences}.values())
        with torch.autocast(device.type, enabled=False):
            tagged = self.tagger.tag(text)
        for sentence in tagged:
            tags = sentence.tags or ()
            self._known[sentence.words] = [self.weight if tag in self.content else self.other for tag in tags]
