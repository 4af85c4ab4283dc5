"""What you should know beside the tables of a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from acclimate.comparison.choices import Choice
from acclimate.comparison.run_result import RunResult
from acclimate.comparison.summary import Comparison, RecipeResult
from acclimate.data.corpus import Corpus
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


_FIGURE = re.compile(r"\d[\d,.]*\d|\d")


def remarks_on_scores(test: Corpus | None, selectors: Sequence[str], choices: Sequence[Choice]) -> Iterator[str]:
    """Why nothing is scored on the target, and what is shown all the same."""
    if test is not None and test.is_labelled:
        return
    why = "No target test sentences were given" if test is None else f"{test.name} has no gold tags"
    told = f"{why}: nothing can be scored on the target."
    if choices:
        told += " Shown is what the selectors would choose without labels."
    elif not selectors:
        told += " No selector was asked, either."
    yield told


def remarks_on_share(share: float) -> Iterator[str]:
    if share < 1:
        yield f"A first look: every recipe made {100 * share:.3g} % of its updates."


def remarks_on_makes(recipes: Iterable[RecipeResult], against: str) -> Iterator[str]:
    """Which recipes work on a tagger of another make than the one they are compared with, and what was done about
    it."""
    results = {result.recipe: result for result in recipes if result.runs}
    base = results[against].runs[0].make if against in results else ()
    for name, result in results.items():
        run = result.runs[0]
        if run.make == base or run.target is None:
            continue
        made = " and ".join(run.make) or "nothing of that"
        if result.against is not None:
            score = f"{100 * result.against.found.first:.2f}"
            yield f"{name}: the tagger has {made}. Its change is against {against} on such a tagger, which has {score}."
        else:
            other = " and ".join(base) or "none of that"
            yield (
                f"{name}: not tested against {against}. Its tagger has {made}, that of {against} {other}: the "
                "difference would not tell the recipe from the tagger. Set the same for both."
            )


def remarks_of_runs(found: Comparison) -> Iterator[str]:
    """What the runs remark themselves, each once: with the recipes whose runs do, unless all do or it names one. Of a
    recipe's remarks that differ in figures alone, the first seed's is told."""
    sayers: dict[str, dict[str, None]] = {}
    for result in found.recipes:
        for alike in _by_words(result.runs).values():
            sayers.setdefault(_told(alike), {})[result.recipe] = None
    everybody = {run.recipe for run in found.runs}
    for remark, recipes in sayers.items():
        is_clear = recipes.keys() == everybody or all(remark.startswith(f"{name} ") for name in recipes)
        yield remark if is_clear else f"{', '.join(recipes)}: {remark}"


def _told(alike: Mapping[int, str]) -> str:
    """A remark of several seeds, whose figures may differ."""
    (seed, remark), *others = alike.items()
    if all(other == remark for _, other in others):
        return remark
    return f"{remark} (Seed {seed}; alike with {', '.join(str(other) for other, _ in others)}.)"


def _by_words(runs: Iterable[RunResult]) -> dict[str, dict[int, str]]:
    """Remarks by their words, whatever the figures, and by the seed."""
    alike: dict[str, dict[int, str]] = {}
    for run in runs:
        for remark in run.remarks:
            alike.setdefault(_FIGURE.sub("#", remark), {})[run.seed] = remark
    return alike
