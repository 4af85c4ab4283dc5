"""What has to be said beside the tables of a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from acclimate.comparison.choices import Choice
from acclimate.comparison.summary import Comparison
from acclimate.data.corpus import Corpus

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


def remarks_of_runs(found: Comparison) -> Iterator[str]:
    """What the runs remark themselves, each once: with the recipes whose runs do, unless all do or it names one. Of a
    recipe's remarks that differ in figures alone, the first seed's is told."""
    sayers: dict[str, dict[str, None]] = {}
    for result in found.recipes:
        for alike in _by_words(run.remarks for run in result.runs).values():
            first = f"{alike[0]} (Seed {result.runs[0].seed}; alike with the others.)"
            sayers.setdefault(alike[0] if len(set(alike)) == 1 else first, {})[result.recipe] = None
    everybody = {run.recipe for run in found.runs}
    for remark, recipes in sayers.items():
        is_clear = recipes.keys() == everybody or all(remark.startswith(f"{name} ") for name in recipes)
        yield remark if is_clear else f"{', '.join(recipes)}: {remark}"


def _by_words(said: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Remarks by their words, whatever the figures."""
    alike: dict[str, list[str]] = {}
    for remarks in said:
        for remark in remarks:
            alike.setdefault(_FIGURE.sub("#", remark), []).append(remark)
    return alike
