"""Schedules: functions of the update number and of nothing else, so that a resumed run cannot lose its place."""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def constant(value: float = 1.0) -> Schedule:
    return lambda update: value


def linear_decay(updates: int) -> Schedule:
    """From 1 down to 0 at the last update."""
    return lambda update: max(0.0, 1 - update / max(1, updates))


def cosine_decay(updates: int) -> Schedule:
    """From 1 down to 0 along half a cosine."""
    return lambda update: 0.5 * (1 + math.cos(math.pi * min(1.0, update / max(1, updates))))


def inverse_decay(rate: float, period: int) -> Schedule:
    """1 / (1 + rate · t), t counted in whole periods: DATNet's, with rate 0.05 and a period of one epoch."""
    return lambda update: 1 / (1 + rate * (update // max(1, period)))


def exponential_decay(rate: float, period: int) -> Schedule:
    """rate^t, t counted in whole periods: MAT's, with rate 0.992 and a period of one epoch."""
    return lambda update: float(rate ** (update // max(1, period)))


def warm_up(updates: int, then: Schedule) -> Schedule:
    """Rise in a straight line to 1 over the first updates, then follow the other schedule from its beginning."""
    return lambda update: (update + 1) / (updates + 1) if update < updates else then(update - updates)


def ganin_ramp(updates: int) -> Schedule:
    """2 / (1 + exp(-10 p)) - 1, p the share of the updates that is done: from 0 steeply up to nearly 1 (Ganin et al.
    2016). A discriminator learns first, and only then is it listened to."""
    return lambda update: 2 / (1 + math.exp(-10 * min(1.0, update / max(1, updates)))) - 1
