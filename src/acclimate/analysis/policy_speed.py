"""What a policy costs: updates per second, and the time of an update beside that of random masking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.data.problems import InputError

RANDOM = "random"


@dataclass(frozen=True, slots=True)
class PolicySpeed:
    """All runs of one policy together. `time_beside_random` 1.5 means that an update takes half as long again."""

    policy: str
    runs: int
    updates: int
    seconds: float
    updates_per_second: float
    time_beside_random: float | None  # None where no run hid at random

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def policy_speeds(rows: Iterable[Mapping[str, Any]], beside: str = RANDOM) -> list[PolicySpeed]:
    """One row `{"policy": …, "updates": …, "seconds": …}` per run; runs of a policy are added up, in order of sight."""
    groups: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        policy, updates, seconds = _checked(row)
        groups.setdefault(policy, []).append((updates, seconds))
    totals = {policy: tuple(map(sum, zip(*runs, strict=True))) for policy, runs in groups.items()}
    reference = totals.get(beside)
    return [
        PolicySpeed(
            policy=policy,
            runs=len(groups[policy]),
            updates=int(updates),
            seconds=float(seconds),
            updates_per_second=updates / seconds,
            time_beside_random=None if reference is None else (seconds / updates) / (reference[1] / reference[0]),
        )
        for policy, (updates, seconds) in totals.items()
    ]


def _checked(row: Mapping[str, Any]) -> tuple[str, int, float]:
    try:
        policy, updates, seconds = str(row["policy"]), int(row["updates"]), float(row["seconds"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"a run's time needs policy, updates and seconds; got {dict(row)}.") from None
    if updates < 1 or seconds <= 0:
        raise InputError(f"{policy}: {updates} updates in {seconds} seconds tell no speed; both must be above 0.")
    return policy, updates, seconds
