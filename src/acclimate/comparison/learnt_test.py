"""How much of the target's test the recipes of a comparison learn from. Their runs cannot tell: they do not have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acclimate.recipes.catalogue import BASELINE, find_recipe
from acclimate.runs.prepare import (
    TARGET_TEST,
    LearntTests,
    look_for_learnt,
    remarks_on_choice,
    remarks_on_text,
    taught_by,
)
from acclimate.runs.settings import SelectorName
from acclimate.runs.task import Task


def learnt_by_any(recipes: Sequence[str], task: Task, train_on_dev: bool) -> LearntTests:
    """Of all recipes together; nothing is said of a test without gold tags, which is not scored."""
    test, source = task.target_test, task.source
    if train_on_dev and task.source_dev is not None:
        source += task.source_dev
    taught = {
        where: corpus
        for name in recipes
        for where, corpus in taught_by(find_recipe(name), source, task.target_labelled).items()
    }
    return look_for_learnt({TARGET_TEST: test if test is not None and test.is_labelled else None}, taught)


def remarks_on_test(recipes: Sequence[str], task: Task, select: SelectorName, train_on_dev: bool) -> Iterator[str]:
    """Where the test's sentences choose the models as well, or stand in the target's text."""
    test = task.target_test
    if test is None or not test.is_labelled:
        return
    own = [name for name in recipes if task.trains_target(name)]
    by_source = select in ("auto", "source-dev") and not train_on_dev and len(own) < len(recipes)
    by_target = select == "target-dev" or (select == "auto" and own)
    judges = {
        "source dev": task.source_dev if by_source else None,
        "target dev": task.target_dev if by_target else None,
    }
    yield from remarks_on_choice({TARGET_TEST: test}, judges)
    without_text = {BASELINE.name, *(name for name in own if find_recipe(name).own_tagger == "always")}
    if not set(recipes) <= without_text:
        yield from remarks_on_text(test, task.target)
