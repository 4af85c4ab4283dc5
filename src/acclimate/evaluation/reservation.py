"""Why a change of scores is called neither a gain nor a loss, however small its p-value."""

from __future__ import annotations

from dataclasses import dataclass

from acclimate.data.shared_sentences import Shared


@dataclass(frozen=True, slots=True)
class Reservation:
    """`said` is a headline without a full stop, `why` are whole sentences."""

    said: str
    why: str


LEARNT = Reservation(
    "Nothing can be claimed: the target test sentences were learnt from",
    "Test on sentences that are not learnt, or take those of the test out of what is.",
)
UNLEARNT = Reservation(
    "There is nothing to compare with: the baseline has learnt nothing",
    "The baseline gets nothing right on the source: it was trained too briefly to compare with. Train it longer.",
)
PERHAPS_UNLEARNT = Reservation(
    "There is nothing to compare with: the baseline gets nothing right on the target",
    "The baseline gets nothing right on the target, and has no source score that would tell why: it was trained too "
    "briefly, or what it learnt is too little or too far from the target. Train it longer to find out.",
)


def reservation(source_before: float | None, target_before: float | None, learnt: Shared | None) -> Reservation | None:
    """What speaks against a claim; None if nothing does.

    source_before, target_before: scores of the tagger that is compared with. The source decides where it is scored: who
        knows the source and gets nothing right on the target is a baseline like any.
    learnt: how much of the target's test was learnt with labels.
    """
    if learnt is not None and learnt.is_most:
        return LEARNT
    if source_before is not None:
        return UNLEARNT if source_before == 0 else None
    return PERHAPS_UNLEARNT if target_before == 0 else None
