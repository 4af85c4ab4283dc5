"""Whether a change helps, in words that nobody misreads."""

from __future__ import annotations

from dataclasses import dataclass

from acclimate.evaluation.significance import SURE
from acclimate.reporting.markup import Markup, tag


@dataclass(frozen=True)
class Verdict:
    word: str
    class_: str
    sign: str

    @property
    def badge(self) -> Markup:
        return tag("span", tag("span", self.sign, aria_hidden="true"), " ", self.word, class_=f"badge {self.class_}")


HELPS = Verdict("helps", "good", "▲")
HURTS = Verdict("hurts", "bad", "▼")
OPEN = Verdict("no difference shown", "open", "=")
NOTHING = Verdict("nothing to compare", "open", "○")
RESERVED = Verdict("not claimed", "open", "○")


def judge(difference: float | None, p_value: float | None) -> Verdict:
    """A difference counts when chance would seldom make one as large."""
    if difference is None or p_value is None:
        return NOTHING
    if p_value > SURE or difference == 0:
        return OPEN
    return HELPS if difference > 0 else HURTS
