"""Perplexity of a masked language model on held-out text, so that models compare (MSLM's Table 4, S2.15, E2.18)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.methods.masking.puzzle import Puzzle, hide
from acclimate.methods.masking.uniform import Uniform
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.listening import listening
from acclimate.model.view import TextView
from acclimate.model.word_guesser import WordGuesser
from acclimate.recipes.domain_tuning import DomainTuning, masked_words
from acclimate.recipes.tuning_text import cut


@dataclass(frozen=True, slots=True)
class Perplexity:
    """exp of the mean loss of guessing a hidden piece."""

    perplexity: float
    loss: float  # nats per hidden piece
    pieces: int  # hidden
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@torch.no_grad()
def perplexity(
    encoder: Transformer,
    guesser: WordGuesser,
    text: Corpus,
    share: float = 0.15,
    seed: int = 0,
    rows: int = 64,
    progress: Callable[[int], None] | None = None,
) -> Perplexity:
    """How well hidden pieces of a text are guessed: all weigh the same, whatever a training loss may say.

    A share of each sentence's pieces, and at least one, is hidden by chance, each behind [MASK]. The seed and a
    sentence's place in the text alone decide which: models with the same tokenizer are asked the same, on any machine,
    however the sentences are put into batches. Tags are not looked at, and nothing is trained. Of a tagger's encoder,
    `guesser_for` has the head.
    """
    device = next(encoder.parameters()).device
    sentences = cut(text.unlabelled(), encoder)
    settings = DomainTuning(share=share, swapped=0.0, kept=0.0)
    objective = masked_words(encoder, guesser, Uniform(), settings).to(device)
    ordered = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    total, pieces = 0.0, 0
    dice = [device] if device.type == "cuda" else []
    with listening(encoder), listening(objective), torch.random.fork_rng(dice):  # in mid-training, too
        for start in range(0, len(ordered), rows):
            numbers = ordered[start : start + rows]
            part = [sentences[number] for number in numbers]
            inputs = {name: tensor.to(device) for name, tensor in encoder.number(part).items()}
            puzzle = objective.puzzle(TextView(encoder, inputs))
            hidden = hide(puzzle, _lots(puzzle, numbers, seed))
            mean, _ = objective.losses(encoder, guesser, puzzle.pieces, hidden, puzzle.attention)
            count = int(hidden.counts.sum())
            total, pieces = total + float(mean) * count, pieces + count
            if progress is not None:
                progress(len(part))
    if not pieces:
        raise InputError(f"{text.name} has no text to measure the perplexity on.")
    loss = total / pieces
    return Perplexity(math.exp(loss), loss, pieces, len(text))


def _lots(puzzle: Puzzle, numbers: list[int], seed: int) -> torch.Tensor:
    """Random priorities (row, piece), the same for a sentence in whatever company it comes."""
    width = puzzle.pieces.shape[1]
    rows = [np.random.default_rng((seed, number)).random(width) for number in numbers]
    return torch.from_numpy(np.stack(rows)).float().to(puzzle.pieces.device)
