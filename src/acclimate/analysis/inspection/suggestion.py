"""Something to try and to compare: no suggestion promises a gain."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

BOARD = "docs/explanation/results/leaderboard.md"  # what recipes brought, where one is suggested


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to try, why, and the commands, one after the other."""

    rule: str
    text: str
    why: str
    commands: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
