"""La-DTL (Wang et al. 2018): words of one label made alike in both domains.

What PDALN is compared with: the tagger learns the source and the labelled target sentences while the discrepancy of the
words of each label is made small. The paper's second half, a target CRF that is kept near the source's, has no place
here: both domains have the same labels, and one CRF.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from acclimate.data.batches import SOURCE, TARGET
from acclimate.methods.alignment.discrepancy import WordDiscrepancy
from acclimate.methods.alignment.mmd import BANK
from acclimate.methods.objective import Objective
from acclimate.methods.tagging import TaggingOfAll
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.settings import Settings
from acclimate.training.stage import Stage


class LaDtlSettings(Settings):
    """How strongly words of one label are drawn together."""

    weight: float = Field(0.02, ge=0)
    """Weight of the discrepancy of each tag; 0: only train on the source and the labelled target sentences."""
    floor: float = Field(1e-4, ge=0)
    """Ignore the gradient of discrepancies below this value."""
    most_words: int = Field(256, ge=1)
    """Maximum number of words per tag and domain sampled from a batch."""


def la_dtl(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    options: LaDtlSettings = plan.options
    objectives: dict[str, Objective] = {"tag": TaggingOfAll("sentence")}
    if options.weight > 0:
        objectives["words"] = WordDiscrepancy(options.weight, BANK, most=options.most_words, floor=options.floor)
    batches = plan.batches(tagger, {SOURCE: plan.source.labelled(), TARGET: plan.target.labelled()})
    yield Stage("la-dtl", objectives, batches, plan.training)


LA_DTL = Recipe(
    "la-dtl",
    "make words of the same label alike in both domains, given labelled target sentences",
    la_dtl,
    LaDtlSettings,
    needs=frozenset({"target", "target labels"}),
)
