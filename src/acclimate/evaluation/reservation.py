"""Why a change of scores is called neither a gain nor a loss, however small its p-value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reservation:
    """`said` is a headline without a full stop, `why` are whole sentences. `spoils_source` where it also takes the
    meaning from a change of the source's score."""

    said: str
    why: str
    spoils_source: bool


UNLEARNT = Reservation(
    "There is nothing to compare with: the baseline has learnt nothing",
    "The baseline gets nothing right on the source: it was trained too briefly to compare with. Train it longer.",
    spoils_source=True,
)
PERHAPS_UNLEARNT = Reservation(
    "There is nothing to compare with: the baseline gets nothing right on the target",
    "The baseline gets nothing right on the target, and has no source score that would tell why: it was trained too "
    "briefly, or what it learnt is too little or too far from the target. Train it longer to find out.",
    spoils_source=False,
)


def reservation(source_before: float | None, target_before: float | None) -> Reservation | None:
    """What speaks against a claim, by the scores of the tagger that is compared with; None if nothing does. The source
    decides where it is scored: who knows the source and gets nothing right on the target is a baseline like any."""
    if source_before is not None:
        return UNLEARNT if source_before == 0 else None
    return PERHAPS_UNLEARNT if target_before == 0 else None
