"""A tagger's answers for each word of a corpus, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.model.learner import View, eval_mode
from acclimate.model.parts import WORDS_PER_BATCH, Progress, read_in_parts
from acclimate.model.parts import planned as planned_by
from acclimate.model.text_tagger import What

if TYPE_CHECKING:
    from acclimate.model.tagger import Tagger


def answers(
    tagger: Tagger,
    corpus: Corpus,
    ask: Callable[[View], Tensor],
    words_per_batch: int = WORDS_PER_BATCH,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """The answers of `ask` on the CPU: sentence numbers and (word, ...), in the order of batches.

    `ask` takes a view without dropout, gradients and gold tags, and gives (sentence, word, ...). Long sentences are
    read in parts. Several threads may use one tagger.
    """

    def answer(part: list[Sentence]) -> Tensor:
        with eval_mode(tagger), torch.inference_mode():
            return ask(tagger.view(part)).cpu()

    most = _at_once(tagger, words_per_batch)
    return read_in_parts(tagger.encoder.pieces, corpus.unlabelled(), answer, torch.cat, most, progress)


def _decoded(view: View) -> Tensor:
    return view.decoded


def _probabilities(view: View) -> Tensor:
    return view.marginals.float()


def _confidences(view: View) -> Tensor:
    return view.marginals.gather(-1, view.decoded.unsqueeze(-1)).squeeze(-1)


def _decisions(view: View) -> Tensor:
    shares = view.type_probabilities.unsqueeze(-1)
    return torch.cat([view.decoded.unsqueeze(-1), shares, view.scores.float()], -1)


QUESTIONS: dict[What, Callable[[View], Tensor]] = {
    "tags": _decoded,
    "confidences": _confidences,
    "probabilities": _probabilities,
    "decisions": _decisions,
}


def planned(tagger: Tagger, sentences: Sequence[Sentence], words_per_batch: int) -> list[list[int]]:
    """The batches in which a tagger reads sentences."""
    return planned_by(tagger.encoder.pieces, sentences, _at_once(tagger, words_per_batch))


def _at_once(tagger: Tagger, words_per_batch: int) -> int:
    if tagger.device.type != "cpu" or tagger.encoder.pieces is None:
        return words_per_batch
    return min(words_per_batch, tagger.encoder.pieces_at_once)
