"""A selector that trains back: from the target, as the tagger sees it, to the source, whose labels are known."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from acclimate.comparison.selectors.material import Material
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger
from acclimate.recipes.adapt import adapt
from acclimate.recipes.task import Task, tagger_for
from acclimate.training.loop import completed
from acclimate.training.selectors import DevelopmentScore


@dataclass(frozen=True)
class ReverseValidation:
    """Tag the target's text, train a new tagger on that alone, and score it on held-out source sentences (Zhong et al.
    2010; Ganin et al. 2016). A small budget of updates, the same for every run.

    Favours taggers whose target tags are so consistent that the source's labels can be learnt from them. Fails where
    errors are consistent, too, where the source's entities do not occur in the target, and where the target's text is
    short. Costs a short training for every run.
    """

    updates: int = 100

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        if material.source_dev is None or not len(material.sample):
            return None
        taught = predict(tagger, material.sample)
        torch.manual_seed(material.seed)
        # a source of the same labels, whichever of them were predicted
        back = tagger_for(Task(taught, target_labelled=None), "source-only", material.tagger, {}, labels=tagger.labels)
        settings = completed(material.training, back)
        updates = min(self.updates, settings.updates or self.updates)
        settings = settings.model_copy(update={"updates": updates, "epochs": None, "tensorboard": False})
        adapt(back, taught, None, "source-only", select="last", training=settings, seed=material.seed)
        return DevelopmentScore(material.source_dev)(back)
