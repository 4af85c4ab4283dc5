"""An objective and a recipe of your own: the tagger learns the news, and to be sure of its tags on posts.

python examples/own_objective.py [--updates 500]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from torch import Tensor

from acclimate import Tagger, adapt, load_bundled
from acclimate.methods.objective import Objective, Tagging
from acclimate.model.learner import View
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.training.stage import Stage


class Certainty(Objective):
    """The entropy of the tags of target words, in nats. It needs no labels."""

    def forward(self, source: View, target: View) -> Tensor:
        probabilities = target.marginals.clamp_min(1e-6)
        entropy = -(probabilities * probabilities.log()).sum(-1)
        return entropy[target.sentences.mask].mean()


def certain(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    batches = plan.batches(tagger, {"source": plan.source, "target": plan.target})
    objectives = {"tagging": Tagging(), "certainty": Certainty()}
    yield Stage("learn", objectives, batches, plan.training, weights={"certainty": 0.1})


RECIPES["certain"] = Recipe("certain", "learn the source, and be sure of the tags of the target", certain)

parser = argparse.ArgumentParser()
parser.add_argument("--updates", type=int, default=500)
updates = parser.parse_args().updates

news, posts = load_bundled("news"), load_bundled("social")
tagger = Tagger.build("character-cnn-lstm", labels=news.train.labels, text=news.train, seed=1)
outcome = adapt(
    tagger,
    news.train,
    posts.text,
    "certain",
    source_dev=news.dev,
    target_test=posts.test,
    training={"updates": updates},
)
target = outcome.target
assert target is not None
assert target.before is not None
print(f"target F1 before {target.before.span.f1:.3f}, after {target.after.span.f1:.3f}")
