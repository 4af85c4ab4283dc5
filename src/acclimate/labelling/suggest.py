"""Choose sentences of a text for those who label elsewhere, with the tagger's suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from acclimate.data.corpus import Corpus
from acclimate.data.soft_labels import ScoredSpan
from acclimate.methods.acquisition.candidates import Candidates
from acclimate.methods.acquisition.catalogue import ranking
from acclimate.methods.acquisition.near_duplicates import first_alike
from acclimate.methods.acquisition.settings import AcquisitionSettings
from acclimate.model.text_tagger import TextTagger


@dataclass(frozen=True)
class Chosen:
    """The sentences to label, the first one first, with suggestions. `alike` were left out: near-duplicates."""

    sentences: Corpus
    spans: Sequence[Sequence[ScoredSpan]]
    alike: int


def choose(
    text: Corpus,
    tagger: TextTagger,
    settings: AcquisitionSettings,
    top: int,
    known: Corpus | None = None,
    seed: int = 1,
) -> Chosen:
    """The `top` sentences of a text. Of near-duplicates the first is taken, and none that is like one of `known`."""
    known = known or Corpus(())
    firsts = first_alike([sentence.words for sentence in (*known, *text)])
    places = [place - len(known) for place, first in enumerate(firsts) if place == first and place >= len(known)]
    dice = Random(f"suggest {seed}")
    sampled = sorted(dice.sample(places, min(len(places), max(settings.sample, top))))
    pool = text.unlabelled().select(sampled)
    part = text.unlabelled().select(sorted(dice.sample(places, min(len(places), settings.sample))))
    candidates = Candidates(pool, tagger, (), known, part, dice.randrange(1 << 32), settings)
    chosen = pool.select(ranking(candidates, top)[:top]) if len(pool) else pool
    return Chosen(chosen, tagger.spans(chosen), len(text) - len(places))
