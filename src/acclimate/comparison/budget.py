"""How much a race of recipes may cost: minutes, or updates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from acclimate.settings import SettingsError

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
