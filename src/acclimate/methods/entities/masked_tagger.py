"""A tagger that reads sentences of which some words are hidden, and guesses them (MSLM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Sentence
from acclimate.methods.masking.joint import BASE, SHOWN, TERM, JointMasking
from acclimate.methods.masking.masked_batch import (
    Corruption,
    Hidden,
    MaskedBatch,
    as_chosen,
    as_hidden,
    hide,
    word_beginnings,
)
from acclimate.methods.masking.policy import Policy
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import MlmHead
from acclimate.model.learner import Learner, Sentences, View
from acclimate.model.tagger import Tagger


@dataclass(frozen=True)
class Masks:
    """What is hidden, and why. It stands with the sentences it belongs to: weights kept by the number of a step would
    meet other words in the next epoch."""

    kinds: Tensor  # (word of the batch): shown, hidden with its term, hidden by itself; stays on the CPU
    is_elm: Tensor  # (row, piece), True at hidden pieces of terms
    is_blm: Tensor  # (row, piece), True at other hidden pieces
    asked: Tensor  # (row, piece), True at those of them that are to be guessed
    hidden: Hidden  # all of them as places

    def to(self, device: torch.device) -> Masks:
        """All that a GPU needs there."""
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in ("is_elm", "is_blm", "asked")}
        places = Hidden(self.hidden.places.to(device, non_blocking=True), self.hidden.counts.to(device))
        return replace(self, hidden=places, **moved)


def masks_of(sentences: Sentences, kinds: Tensor, special: Tensor) -> Masks:
    """The kinds of words (word of the batch) laid over their pieces: a hidden word is hidden whole, in every row that
    holds it. `special` pieces, such as [UNK], are hidden with their word too, but there is nothing to guess in them."""
    words = sentences.inputs["words"]
    of_pieces = kinds[words.clamp(min=0)].masked_fill(words < 0, SHOWN)
    hidden = of_pieces != SHOWN
    asked = hidden & ~torch.isin(sentences.inputs["pieces"], special) & _kept(sentences)
    places = as_hidden(hidden, int(hidden.sum(1).max()))
    return Masks(kinds, of_pieces == TERM, of_pieces == BASE, asked, places)


def chosen_instead(policy: Policy, batch: MaskedBatch, sentences: Sentences) -> Tensor:
    """The words that a policy hides, as kinds (word of the batch)."""
    chosen = as_chosen(hide(batch, policy(batch)), batch.pieces.shape[1]).cpu()
    return chosen.flatten()[_first_places(sentences)].to(torch.int8) * BASE


def equal_batch(sentences: Sentences, kinds: Tensor) -> MaskedBatch:
    """The rows of a batch, in which as many words are to be hidden as `kinds` hides: each word in the one row that it
    has its features from."""
    inputs, first = sentences.inputs, _first_places(sentences)
    rows, length = inputs["pieces"].shape
    allowed = torch.zeros(rows * length, dtype=torch.bool)
    allowed[first] = True
    sizes = torch.bincount(first // length, (kinds != SHOWN).double(), minlength=rows).long()
    return MaskedBatch(
        inputs["pieces"],
        allowed.view(rows, length),
        sizes,
        int(sizes.max()),
        inputs["words"] >= 0,
        inputs["attention"],
        word_beginnings(inputs["words"]),
        by_words=True,
        words=inputs["words"],
        originals=sentences.originals,
    )


def _first_places(sentences: Sentences) -> Tensor:
    """Where in the flat rows each word has its first piece (word of the batch)."""
    return sentences.inputs["first"][sentences.mask]


def _kept(sentences: Sentences) -> Tensor:
    """True in the one row of each word that it has its features from, (row, piece): rows of a long sentence overlap."""
    words = sentences.inputs["words"]
    rows = _first_places(sentences) // words.shape[1]
    return rows[words.clamp(min=0)] == torch.arange(len(words)).unsqueeze(1)


class MaskedView(View):
    """Sentences with some words hidden: embeddings, features, scores and losses are those of the masked text. One
    reading of it (`last_layer`) serves the guesser and the tag heads."""

    def __init__(self, clean: View, sentences: Sentences, masks: Masks, masked_by: str) -> None:
        """`clean` are the same sentences as they are, `masked_by` names who chose."""
        super().__init__(clean.tagger, sentences)
        self.clean, self.masks, self.masked_by = clean, masks, masked_by


class MaskedTagger(Learner):
    """A tagger and the language-model head of its encoder, to be trained together. Who wants tags asks the tagger
    itself, which reads every word."""

    def __init__(
        self,
        tagger: Tagger,
        mlm_head: MlmHead | None,
        masking: JointMasking,
        corruption: Corruption,
        policy: Policy | None = None,
        seed: int | None = None,
    ) -> None:
        """A `policy` hides other words than `masking` would, and just as many of each sentence. With a `seed` a
        sentence always has the same words hidden; else they are drawn anew every time."""
        super().__init__()
        if policy is not None and seed is not None:
            raise ValueError(f"{policy.name} draws anew every time: only joint masking can hide the same words always.")
        self.tagger, self.mlm_head, self.corruption, self.policy = tagger, mlm_head, corruption, policy
        self.masking, self.seed = masking, seed
        self._special = torch.tensor(self.encoder.pieces.tokenizer.all_special_ids)  # asked on the CPU alone

    @property
    def encoder(self) -> Transformer:  # type: ignore[override]
        assert isinstance(self.tagger.encoder, Transformer)
        return self.tagger.encoder

    @property
    def device(self) -> torch.device:
        return self.tagger.device

    def view(self, part: Sequence[Sentence], domain: str = SOURCE) -> MaskedView:
        here = self.tagger.tensorize(part)
        masks = masks_of(here, self._kinds(here), self._special).to(self.device)
        sentences = here.to(self.device)
        shown = self.corruption(sentences.inputs["pieces"], masks.hidden)
        masked = sentences.reading({**sentences.inputs, "pieces": shown})
        by = "joint" if self.policy is None else self.policy.name
        view = MaskedView(View(self.tagger, sentences), masked, masks, by)
        view.mlm_head = self.mlm_head
        return view

    def askable(self, words: Sequence[str]) -> list[int]:
        """How many pieces of each word can be guessed: all but special ones."""
        special = set(self._special.tolist())
        return [sum(piece not in special for piece in pieces) for pieces in self.encoder.pieces.of_words(words)]

    def _kinds(self, sentences: Sentences) -> Tensor:
        """What becomes of each word (word of the batch)."""
        if self.seed is not None:
            drawn = [self.masking.draw_fixed(sentence, self.seed) for sentence in sentences.originals]
        else:
            dice = np.random.default_rng(int(torch.randint(2**62, ())))  # fixed by torch's own state, which is saved
            drawn = [self.masking.draw(sentence, dice) for sentence in sentences.originals]
        kinds = torch.from_numpy(np.concatenate(drawn))
        if self.policy is None:
            return kinds
        return chosen_instead(self.policy, self._posed(equal_batch(sentences, kinds)), sentences)

    def _posed(self, batch: MaskedBatch) -> MaskedBatch:
        """The batch where the encoder is, and with it: some policies look at the text."""
        names = ("pieces", "allowed", "sizes", "ordinary", "attention", "first", "words")
        moved = {name: getattr(batch, name).to(self.device, non_blocking=True) for name in names}
        return replace(batch, encoder=self.encoder, mlm_head=self.mlm_head, **moved)
