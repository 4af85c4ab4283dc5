"""Mask-specific losses (MSLM; Abaho et al. 2024): joint masking, a tagger that reads masked text, three losses."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Sentence
from acclimate.methods.masking.masked_batch import (
    Corruption,
    Hidden,
    MaskedBatch,
    as_chosen,
    as_hidden,
    hide,
    losses_at,
    word_beginnings,
)
from acclimate.methods.masking.policy import Policy
from acclimate.methods.masking.word_runs import words_to_hide
from acclimate.methods.objective import Objective
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import MlmHead
from acclimate.model.learner import Learner, Sentences, View
from acclimate.model.tagger import Tagger

SHOWN, TERM, BASE = 0, 1, 2  # kinds of words: not hidden, hidden with their term (ELM), hidden alone (BLM)
Kinds = NDArray[np.int8]


@dataclass(frozen=True)
class JointMasking:
    """Entity-level masking (ELM) of a share of a sentence's entities, and base-level masking (BLM) of a share of its
    words among the rest; both are rounded up. `other_terms` lets BLM take words of entities that are not hidden."""

    elm: float = 1.0  # share of the terms
    blm: float = 0.075  # share of the words, terms counted
    other_terms: bool = False

    def draw(self, sentence: Sentence, dice: np.random.Generator) -> Kinds:
        """What becomes of each word (word)."""
        terms = sentence.spans
        chosen = dice.permutation(len(terms))[: words_to_hide(self.elm, len(terms))].tolist()
        kinds = np.zeros(len(sentence), np.int8)
        taken = np.zeros(len(sentence), bool)
        for number, term in enumerate(terms):
            if number in chosen:
                kinds[term.start : term.end] = TERM
            taken[term.start : term.end] |= not self.other_terms or number in chosen
        free = np.flatnonzero(~taken)
        count = min(words_to_hide(self.blm, len(sentence)), len(free))
        kinds[dice.permutation(free)[:count]] = BASE
        return kinds

    def draw_fixed(self, sentence: Sentence, seed: int) -> Kinds:
        """The draw that belongs to this sentence: always the same."""
        return self.draw(sentence, np.random.default_rng([seed, *_digest(sentence)]))


def _digest(sentence: Sentence) -> list[int]:
    rows = [sentence.words] if sentence.tags is None else [sentence.words, sentence.tags]
    return [zlib.crc32("\0".join(row).encode("utf-8", "surrogatepass")) for row in rows]


Normalise = Literal["masked", "weights"]


class MaskWeights(NamedTuple):
    """Loss weights of both kinds, which add up to 1."""

    elm: float
    blm: float


EVEN = MaskWeights(0.5, 0.5)


def mask_weights(elm_count: int, blm_count: int, threshold: float = 0.5) -> MaskWeights:
    """The rarer kind weighs more, but terms never less than the rest (equations 2 to 5). The released code compares the
    wrong one of the two with the threshold."""
    total = elm_count + blm_count
    if not total:
        return EVEN
    elm, blm = (1 - count / total for count in (elm_count, blm_count))
    elm, blm = max(threshold, elm), min(threshold, blm)
    share = 1 / (1 + math.exp(blm - elm))  # the softmax of the two
    return MaskWeights(share, 1 - share)


def count_masks(
    masking: JointMasking, sentences: Iterable[Sentence], sizes: Callable[[Sequence[str]], Sequence[int]], seed: int
) -> tuple[int, int]:
    """The pieces of terms, and the others, that one pass over the training sentences hides; `sizes` says how many
    pieces each word has."""
    counts = [0, 0, 0]
    for sentence in sentences:
        for kind, size in zip(masking.draw_fixed(sentence, seed).tolist(), sizes(sentence.words), strict=True):
            counts[kind] += size
    return counts[TERM], counts[BASE]


def weighted_loss(
    losses: Tensor, is_elm: Tensor, counted: Tensor, weights: MaskWeights, normalise: Normalise = "masked"
) -> Tensor:
    """The cross-entropy of hidden pieces, weighted by their kind (equation 6), over those that are `counted`; divided
    by their number or by the sum of their weights."""
    elm, blm = (losses.new_full((), weight) for weight in weights)
    costs = torch.where(is_elm, elm, blm) * counted
    divisor = counted.sum().clamp(min=1) if normalise == "masked" else costs.sum() + (~counted.any())
    total: Tensor = (torch.where(counted, losses, 0) * costs).sum() / divisor
    return total


@dataclass(frozen=True)
class Masks:
    """What is hidden, and why."""

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
    """The kinds of words (word of the batch) as masks of their pieces. `special` pieces, such as [UNK], are hidden with
    their word, but not predicted."""
    words = sentences.inputs["words"]
    of_pieces = kinds[words.clamp(min=0)].masked_fill(words < 0, SHOWN)
    hidden = of_pieces != SHOWN
    asked = hidden & ~torch.isin(sentences.inputs["pieces"], special) & _in_own_row(sentences)
    places = as_hidden(hidden, int(hidden.sum(1).max()))
    return Masks(kinds, of_pieces == TERM, of_pieces == BASE, asked, places)


def kinds_by_policy(policy: Policy, batch: MaskedBatch, sentences: Sentences) -> Tensor:
    """The words that a policy hides, as kinds (word of the batch)."""
    chosen = as_chosen(hide(batch, policy(batch)), batch.pieces.shape[1]).cpu()
    return chosen.flatten()[_first_places(sentences)].to(torch.int8) * BASE


def policy_batch(sentences: Sentences, kinds: Tensor) -> MaskedBatch:
    """The rows of a batch, in which as many words are to be hidden as `kinds` hides: each word in the row that it has
    its features from."""
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


def _in_own_row(sentences: Sentences) -> Tensor:
    """True in the one row of each word that it has its features from, (row, piece): rows of a long sentence overlap."""
    words = sentences.inputs["words"]
    rows = _first_places(sentences) // words.shape[1]
    return rows[words.clamp(min=0)] == torch.arange(len(words)).unsqueeze(1)


class MaskedView(View):
    """Sentences with some words hidden. One pass of the encoder (`last_layer`) serves the language-model head and the
    tag heads."""

    def __init__(self, clean: View, sentences: Sentences, masks: Masks, masked_by: str) -> None:
        """`clean` are the same sentences as they are, `masked_by` names the masking."""
        super().__init__(clean.tagger, sentences)
        self.clean, self.masks, self.masked_by = clean, masks, masked_by


class MaskedTagger(Learner):
    """A tagger and the language-model head of its encoder, trained together on masked sentences."""

    def __init__(
        self,
        tagger: Tagger,
        mlm_head: MlmHead | None,
        masking: JointMasking,
        corruption: Corruption,
        policy: Policy | None = None,
        seed: int | None = None,
    ) -> None:
        """A `policy` hides other words than `masking` would, and just as many. With a `seed` a sentence always has the
        same words hidden."""
        super().__init__()
        if policy is not None and seed is not None:
            raise ValueError(f"{policy.name} draws anew every time: only joint masking can hide the same words always.")
        self.tagger, self.mlm_head, self.corruption, self.policy = tagger, mlm_head, corruption, policy
        self.masking, self.seed = masking, seed
        self._special = torch.tensor(self.encoder.pieces.tokenizer.all_special_ids)

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

    def predictable_pieces(self, words: Sequence[str]) -> list[int]:
        """How many pieces of each word can be predicted: all but special ones."""
        special = set(self._special.tolist())
        return [sum(piece not in special for piece in pieces) for pieces in self.encoder.pieces.of_words(words)]

    def _kinds(self, sentences: Sentences) -> Tensor:
        """What becomes of each word (word of the batch)."""
        if self.seed is not None:
            drawn = [self.masking.draw_fixed(sentence, self.seed) for sentence in sentences.originals]
        else:
            dice = np.random.default_rng(int(torch.randint(2**62, ())))  # follows torch's state, which is saved
            drawn = [self.masking.draw(sentence, dice) for sentence in sentences.originals]
        kinds = torch.from_numpy(np.concatenate(drawn))
        if self.policy is None:
            return kinds
        batch = policy_batch(sentences, kinds).changed(lambda values: values.to(self.device, non_blocking=True))
        return kinds_by_policy(self.policy, replace(batch, encoder=self.encoder, mlm_head=self.mlm_head), sentences)


ReadBy = Literal["masked", "clean", "both"]
_NOTED = 8  # sentences of a batch that the notes show


class HiddenWords(Objective):
    """Cross-entropy of the hidden pieces, weighted by their kind (L_MSLM). Needs the views of a `MaskedTagger`."""

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
        """Of every hidden place, without weights (row, hidden)."""
        if view.mlm_head is None:
            raise ValueError(
                "Hidden words need somebody to guess them: MaskedTagger(tagger, mlm_head_for(encoder), ...)."
            )
        return losses_at(view.masks.hidden.places, view.last_layer, view.clean.inputs["pieces"], view.mlm_head)

    def notes(self) -> Mapping[str, Any] | None:
        """Which words of some sentences were hidden last, and their loss weights."""
        if self._last is None or not self.training:
            return None
        by, kinds, sentences = (self._last[name] for name in ("by", "kinds", "sentences"))
        rows, begin = [], 0
        for sentence in sentences:
            here = kinds[begin : begin + len(sentence)]
            hidden = (here != SHOWN).nonzero().flatten().tolist()
            rows.append({"words": list(sentence.words), "hidden": hidden, "by": by})
            begin += len(sentence)
        return {"kind": "masks", "policy": by, "weights": self.weights._asdict(), "rows": rows}


class EntityDetection(Objective):
    """Negative log-likelihood of the gold tags per word (L_ED), on the masked text, the clean text, or both."""

    def __init__(self, read: ReadBy = "masked") -> None:
        super().__init__()
        self.read = read

    def forward(self, source: View, target: View) -> Tensor:
        sentences = source.sentences
        words = (sentences.mask.sum(1) * sentences.labelled).sum().clamp(min=1)
        losses = [view.tag_losses.masked_fill(~sentences.labelled, 0).sum() for view in readings(source, self.read)]
        return torch.stack(losses).mean() / words


class EntityClassification(Objective):
    """Cross-entropy of the gold spans' types, per span (L_EL)."""

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
