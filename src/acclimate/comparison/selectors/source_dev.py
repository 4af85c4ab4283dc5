"""The plainest selector: who is best on held-out source sentences?"""

from __future__ import annotations

from acclimate.comparison.selectors.material import Material
from acclimate.model.tagger import Tagger
from acclimate.training.stage import DevelopmentScore


class SourceDev:
    """Span F1 (accuracy for plain tags) on source sentences that were held out.

    Favours taggers that learnt the task well and kept it. Fails where the domains are far apart: a recipe that gives up
    some of the source for the target is punished for it. A safe guard against runs that went wrong altogether.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        return None if material.source_dev is None else DevelopmentScore(material.source_dev)(tagger)
