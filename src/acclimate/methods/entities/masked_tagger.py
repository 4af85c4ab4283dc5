"""A tagger that reads sentences of which some words are hidden, and guesses them (MSLM, Abaho et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Sentence
from acclimate.methods.entities.masks import Masks, chosen_instead, equal_puzzle, masks_of
from acclimate.methods.masking.corruption import Corruption
from acclimate.methods.masking.joint import JointMasking
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.puzzle import Puzzle
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import Learner
from acclimate.model.sentences import Sentences
from acclimate.model.tagger import Tagger
from acclimate.model.view import View
from acclimate.model.word_guesser import WordGuesser


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
        guesser: WordGuesser | None,
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
        self.tagger, self.guesser, self.corruption, self.policy = tagger, guesser, corruption, policy
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
        here = self.tagger.number(part)
        masks = masks_of(here, self._kinds(here), self._special).to(self.device)
        sentences = here.to(self.device)
        shown = self.corruption(sentences.inputs["pieces"], masks.hidden)
        masked = sentences.reading({**sentences.inputs, "pieces": shown})
        by = "joint" if self.policy is None else self.policy.name
        view = MaskedView(View(self.tagger, sentences), masked, masks, by)
        view.guesser = self.guesser
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
        return chosen_instead(self.policy, self._posed(equal_puzzle(sentences, kinds)), sentences)

    def _posed(self, puzzle: Puzzle) -> Puzzle:
        """The puzzle where the encoder is, and with it: some policies look at the text."""
        names = ("pieces", "allowed", "sizes", "ordinary", "attention", "first", "words")
        moved = {name: getattr(puzzle, name).to(self.device, non_blocking=True) for name in names}
        return replace(puzzle, encoder=self.encoder, guesser=self.guesser, **moved)
