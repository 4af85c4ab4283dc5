"""Both corpora as an encoder reads them: how well it guesses their words, and how far it tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from acclimate.analysis.features import FeaturePoints, Separability, domain_separability, feature_points
from acclimate.analysis.inspection.sampling import within
from acclimate.analysis.inspection.words_and_pieces import PieceFigures, compare_pieces
from acclimate.data.corpus import Corpus
from acclimate.methods.alignment.mmd import squared_mmd
from acclimate.model.encoders.shipped import OWN_ENCODER, SHIPPED, EncoderNotFound
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import guesser_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import Perplexity, perplexity
from acclimate.settings import UsageError

FEATURE_WORDS = 4_000  # of each corpus that the encoder reads for its features: seconds on two cores
LOSS_WORDS = 3_000  # and for its loss: some 500 hidden pieces, so that the mean is good to about 0.2
FEWEST = 4  # different sentences of each, to tell domains apart at all
SOURCE, TARGET = "source", "target"
Progress = Callable[[int, int], None]  # sentences read, of how many


@dataclass(frozen=True, slots=True)
class EncoderFigures:
    """What could not be measured is None, and `remarks` say why."""

    encoder: str
    pieces: PieceFigures
    losses: tuple[Perplexity, Perplexity] | None  # source, target
    separability: Separability | None
    mmd: float | None  # squared and unbiased, on features of sentences
    mmd_within: float | None  # the same between two halves of the source: what chance makes of it
    remarks: tuple[str, ...]

    @property
    def loss_gap(self) -> float | None:
        """How much harder the target's words are to guess, in nats per piece."""
        return None if self.losses is None else self.losses[1].loss - self.losses[0].loss

    def as_dict(self) -> dict[str, Any]:
        losses: dict[str, Any] | None = None
        if self.losses is not None:
            losses = {SOURCE: self.losses[0].as_dict(), TARGET: self.losses[1].as_dict(), "gap": self.loss_gap}
        return {
            "encoder": self.encoder,
            "pieces": self.pieces.as_dict(),
            "masked_words": losses,
            "separability": self.separability and self.separability.as_dict(),
            "squared_mmd": self.mmd,
            "squared_mmd_within_source": self.mmd_within,
            "remarks": list(self.remarks),
        }


def look_through(
    encoder: str, source: Corpus, samples: tuple[Corpus, Corpus], progress: Progress | None = None, seed: int = 0
) -> EncoderFigures:
    """Read a part of the samples. Nothing is trained, and no tag is looked at."""
    tagger = _reader(encoder, source)
    read = tagger.encoder
    assert isinstance(read, Transformer)
    featured = {name: within(part, FEATURE_WORDS) for name, part in zip((SOURCE, TARGET), samples, strict=True)}
    most = min(map(len, featured.values()))
    hidden = tuple(within(part, LOSS_WORDS) for part in samples)
    watch = _Count(progress, 2 * most + sum(map(len, hidden)))

    remarks: list[str] = []
    losses = None
    try:
        guesser = guesser_for(read)
        if read.pieces.tokenizer.mask_token_id is None:
            raise EncoderNotFound(f"the tokenizer of {encoder} has no [MASK].")
        one, other = (perplexity(read, guesser, part, seed=seed, progress=watch.add) for part in hidden)
        losses = one, other
    except EncoderNotFound as problem:
        remarks.append(f"No loss on hidden words: {problem}")
    separability, mmd, mmd_within = None, None, None
    if min(len({sentence.words for sentence in part}) for part in featured.values()) < FEWEST:
        remarks.append(f"No distance between features: that takes {FEWEST} different sentences of each corpus.")
    else:
        points = feature_points(tagger, featured, "sentence", most, seed, watch.add)
        separability = domain_separability(points, seed)
        mmd, mmd_within = _discrepancies(points)
    unknown = read.pieces.tokenizer.unk_token_id
    pieces = compare_pieces(source, samples, read.pieces.of_words, unknown)
    return EncoderFigures(encoder, pieces, losses, separability, mmd, mmd_within, tuple(remarks))


def _reader(encoder: str, source: Corpus) -> Tagger:
    if encoder == OWN_ENCODER:
        raise UsageError(
            f"{OWN_ENCODER} knows nothing before it is trained, so there is nothing to look through: take the encoder "
            f"{SHIPPED[0]}, or another pre-trained one."
        )
    return Tagger.build(encoder, labels=source.labels, seed=0)  # its head stays unused


def _discrepancies(points: FeaturePoints) -> tuple[float, float]:
    """Source against target, and the even against the odd sentences of the source."""
    one, other = (torch.from_numpy(points.of(name).points) for name in (SOURCE, TARGET))
    apart, chance = squared_mmd(one, other, unbiased=True), squared_mmd(one[::2], one[1::2], unbiased=True)
    return float(apart), float(chance)


class _Count:
    """Adds up the sentences that were read."""

    def __init__(self, progress: Progress | None, of: int) -> None:
        self._progress, self._of, self._done = progress, of, 0

    def add(self, sentences: int) -> None:
        self._done += sentences
        if self._progress is not None:
            self._progress(self._done, self._of)
