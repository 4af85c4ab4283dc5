"""The three terms of MSLM (Abaho et al. 2024, equations 6, 8, 11 and 12). Each is an objective, so that a stage adds
them up, weighs them and leaves any of them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from acclimate.methods.entities.masked_tagger import MaskedView
from acclimate.methods.masking.joint import EVEN, SHOWN, MaskWeights, Normalise, weighted_loss
from acclimate.methods.objective import Objective
from acclimate.model.learner import View

ReadBy = Literal["masked", "clean", "both"]
_NOTED = 8  # sentences of a batch that are written down now and then


class HiddenWords(Objective):
    """Cross-entropy of the hidden pieces, each at the weight of its kind (L_MSLM). Reaches the encoder and its
    language-model head; the weights are numbers.

    Needs the views of a `MaskedTagger`. Other masks than joint ones know no terms: give them even weights.
    """

    def __init__(self, weights: MaskWeights = EVEN, normalise: Normalise = "masked") -> None:
        super().__init__()
        self.weights, self.normalise = weights, normalise
        self._last: dict[str, Any] | None = None

    def forward(self, source: View, target: View) -> Tensor:
        view = masked(source)
        self._last = {"by": view.masked_by, "kinds": view.masks.kinds, "sentences": view.originals[:_NOTED]}
        places, masks = view.masks.hidden.places, view.masks
        is_elm, asked = (each.gather(1, places) for each in (masks.is_elm, masks.asked))
        counted = asked & masks.hidden.counts
        return weighted_loss(self.losses(view), is_elm, counted, self.weights, self.normalise)

    @staticmethod
    def losses(view: MaskedView) -> Tensor:
        """Of every hidden place, without weights (row, hidden); what stands where a row is only filled up is of no
        meaning."""
        if view.mlm_head is None:
            raise ValueError(
                "Hidden words need somebody to guess them: MaskedTagger(tagger, mlm_head_for(encoder), ...)."
            )
        places = view.masks.hidden.places
        layer = view.last_layer
        states = layer.gather(1, places.unsqueeze(2).expand(-1, -1, layer.shape[2]))
        scores = view.mlm_head(states)  # (row, hidden, piece of the vocabulary)
        wanted = view.clean.inputs["pieces"].gather(1, places)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        losses = functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(), reduction="none")
        return losses.view(wanted.shape)

    def notes(self) -> Mapping[str, Any] | None:
        """Which words of some sentences were hidden last, and what they weighed."""
        if self._last is None or not self.training:
            return None
        by, kinds, sentences = (self._last[name] for name in ("by", "kinds", "sentences"))
        rows, begin = [], 0
        for sentence in sentences:
            here = kinds[begin : begin + len(sentence)]
            rows.append(
                {"words": list(sentence.words), "hidden": (here != SHOWN).nonzero().flatten().tolist(), "by": by}
            )
            begin += len(sentence)
        weights = {"elm": self.weights.elm, "blm": self.weights.blm}
        return {"kind": "masks", "policy": by, "weights": weights, "rows": rows}


class EntityDetection(Objective):
    """Negative log-likelihood of the gold tags per word (L_ED), of the masked text, the text as it is, or the mean of
    both. Reaches the encoder and the detection head."""

    def __init__(self, read: ReadBy = "masked") -> None:
        super().__init__()
        self.read = read

    def forward(self, source: View, target: View) -> Tensor:
        sentences = source.sentences
        words = (sentences.mask.sum(1) * sentences.labelled).sum().clamp(min=1)
        losses = [view.tag_losses.masked_fill(~sentences.labelled, 0).sum() for view in readings(source, self.read)]
        return torch.stack(losses).mean() / words


class EntityClassification(Objective):
    """Cross-entropy of the gold spans' types, per span (L_EL). Reaches the encoder and the classification head."""

    def __init__(self, read: ReadBy = "masked") -> None:
        super().__init__()
        self.read = read

    def forward(self, source: View, target: View) -> Tensor:
        types, sentences = source.tagger.types, source.sentences
        if types is None:
            raise ValueError("This tagger's tags tell the types: there is nothing to classify.")
        spans = types.spans_begin(sentences.tags, sentences.mask).sum().clamp(min=1)
        losses = [view.type_losses.sum() for view in readings(source, self.read) if view.type_losses is not None]
        return torch.stack(losses).mean() / spans


def readings(view: View, read: ReadBy) -> list[View]:
    """The masked text, the text as it is, or both."""
    if read == "masked":
        return [view]
    clean = masked(view).clean
    return [clean] if read == "clean" else [view, clean]


def masked(view: View) -> MaskedView:
    if not isinstance(view, MaskedView):
        raise ValueError("This objective needs sentences with hidden words: let a MaskedTagger read them.")
    return view
