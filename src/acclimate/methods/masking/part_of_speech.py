"""Hide content words rather than others (Vu, Phung, Haffari 2020, section 5: strategy "POS")."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.inference.part_of_speech import PartOfSpeechTagger
from acclimate.methods.masking.masked_batch import MaskedBatch
from acclimate.methods.masking.policy import Policy, gumbel_like

CONTENT = ("VERB", "NOUN", "ADJ", "PRON", "ADV")  # the paper's list; proper nouns are not in it


class PartOfSpeech(Policy):
    """Draws without replacement, content words with weight 0.8 and the rest with 0.2.

    The paper does not say whether 80 % is a weight or a share of what is hidden; read as weights. A sentence is tagged
    when it first comes, and its tags are remembered: of large text a run may read only a part.
    """

    name = "pos"

    def __init__(
        self, tagger: PartOfSpeechTagger, content: Sequence[str] = CONTENT, weight: float = 0.8, other: float = 0.2
    ) -> None:
        super().__init__()
        if weight <= 0 or other < 0:
            raise ValueError(f"The weights of content words ({weight}) and others ({other}) must not be below 0.")
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
