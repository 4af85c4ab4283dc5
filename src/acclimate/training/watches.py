"""What to write down along training besides losses and scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.model.learner import Learner
from acclimate.model.listening import eval_mode
from acclimate.model.tagger import Tagger
from acclimate.model.view import View


@dataclass(frozen=True)
class Confidence:
    """How sure the tagger is of the right tags of a few chosen sentences (MAT, Figure 2).

    For each: the probability of all its tags together, as the head has it, and that of each word's own tag.
    """

    corpus: Corpus
    tagger: Tagger
    kind: str = "confidence"

    @torch.no_grad()
    def __call__(self, learner: Learner) -> dict[str, Any]:
        with eval_mode(self.tagger):
            return {"sentences": [self._sure_of(sentence) for sentence in self.corpus]}

    def _sure_of(self, sentence: Sentence) -> dict[str, Any]:
        view = View(self.tagger, self.tagger.tensorize([sentence]).to(self.tagger.device))
        right = view.marginals[0].gather(-1, view.sentences.tags[0].unsqueeze(-1)).squeeze(-1)  # (word)
        probability = math.exp(-float(view.losses[0]))  # of a long sentence too small for float32
        marginals = [round(value, 6) for value in right.tolist()]
        return {"words": " ".join(sentence.words), "probability": probability, "marginals": marginals}
