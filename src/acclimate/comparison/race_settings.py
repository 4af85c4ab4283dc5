"""What a race of recipes is given: a budget in minutes or updates, and who judges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from acclimate.comparison.judging import AGREEMENT, require_selectors
from acclimate.comparison.selectors import FEWEST
from acclimate.recipes.catalogue import RecipeNames
from acclimate.settings import Settings, SettingsError

_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(m|min|minutes?|h|hours?|u|updates?)?", re.IGNORECASE)


@dataclass(frozen=True)
class Budget:
    """So many minutes of training, or so many updates, for all candidates together."""

    amount: float
    unit: Literal["minutes", "updates"] = "minutes"

    def __str__(self) -> str:
        return f"{self.amount:,g} {self.unit}"


def read_budget(text: str | float) -> Budget:
    """`10`, `10m` and `10 minutes`, `1.5h`, `3000u` and `3000 updates`."""
    found = _FORM.fullmatch(str(text).strip())
    if found is None or float(found[1]) <= 0:
        raise SettingsError(f"a budget is minutes (10, 10m, 1.5h), or updates (3000u), above 0; {text!r} is neither.")
    amount, unit = float(found[1]), (found[2] or "m").lower()
    if unit.startswith("u"):
        return Budget(amount, "updates")
    return Budget(60 * amount if unit.startswith("h") else amount)


AUTO = "auto"  # the name people type where a recipe is asked for
# measured on seven targets (docs/explanation/results/leaderboard.md):
# who judges candidates that have learnt no target label …
SELECTOR = "source-dev"
# … and those that have, and differ so much by it that the source's sentences say nothing
SELECTOR_OF_LABELLED = AGREEMENT
# For races of two, which agree with each other alike. Sure of each word and varied in all: not taken in by a tagger
# that finds nothing, and costs one reading of the text
SELECTOR_OF_TWO = "information-maximisation"
LEFT_TO_THE_USER = ("compose",)  # what it does is written by whoever uses it


class RaceSettings(Settings):
    """How much the race may cost, who takes part, and who judges."""

    budget: str = "10m"
    """Budget of all candidates together: minutes (10m), hours (1.5h) or updates (3000u), without the final training."""
    recipes: RecipeNames = ()
    """Recipes to compare with source-only; empty: every recipe that the data allow."""
    # who judges without target labels; null: source-dev; where candidates learn target labels, or no
    # source sentences are held out, agreement, or information-maximisation for two
    selector: str | None = None
    """Method that ranks candidates without target labels; null: chosen to suit the candidates, usually source-dev."""
    held_out: float = Field(0.3, ge=0, lt=1)
    """Share of the labelled target sentences used to rank candidates, if there are enough; 0: use the selector."""
    each: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Options of single recipes, keyed by recipe name."""

    @field_validator("budget", mode="before")
    @classmethod
    def _readable(cls, text: Any) -> str:
        read_budget(text)
        return str(text)

    @field_validator("selector")
    @classmethod
    def _known_selector(cls, name: str | None) -> str | None:
        require_selectors([] if name is None else [name])
        return name


def judge_of(named: str, candidates: int) -> str:
    """Who judges a race of so many, where this one is named for it."""
    return SELECTOR_OF_TWO if named == AGREEMENT and candidates < FEWEST else named


def notes_on(settings: RaceSettings, selector: str) -> tuple[str, ...]:
    """What to tell where another than the one that was named has judged."""
    if settings.selector in (None, selector):
        return ()
    return (f"{settings.selector} asks {FEWEST} candidates at least: {selector} judged in its place.",)
