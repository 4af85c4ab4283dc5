"""Counts and shares as the findings spell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def share(count: int, total: int) -> float:
    return count / total if total else 0.0


def percent(count: int, total: int) -> str:
    return f"{100 * share(count, total):.1f} %"


def out_of(count: int, total: int) -> str:
    return f"{count:,} ({percent(count, total)})"


def listed(counts: Mapping[str, int]) -> str:
    return named([f"{name} {count:,}" for name, count in counts.items()])


def named(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
