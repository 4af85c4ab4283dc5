"""Why a change of scores is called neither a gain nor a loss, however small its p-value."""

from __future__ import annotations

from dataclasses import dataclass

from acclimate.data.shared_sentences import Shared


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


def reservation(source_before: float | None, target_before: float | None, learnt: Shared | None) -> Reservation | None:
    """What speaks against a claim; None if nothing does.

    source_before, target_before: scores of the tagger that is compared with. The source decides where it is scored: who
        knows the source and gets nothing right on the target is a baseline like any.
    learnt: how much of the target's test was learnt with labels.
    """
    if learnt is not None and learnt.is_most:
        return Reservation(
            "Nothing can be claimed: the target test sentences were learnt from",
            f"{learnt.told('target test')} were learnt with their labels. Test on others, or take them out of what is "
            "learnt.",
            spoils_source=False,
        )
    if source_before is not None:
        return UNLEARNT if source_before == 0 else None
    return PERHAPS_UNLEARNT if target_before == 0 else None
