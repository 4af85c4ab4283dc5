"""The data check: what one would want to know of the corpora before a run, how bad it is, and what to do about it.

Every check is one small generator of findings, named in one of three lists: those that look at one corpus
(`checks/alone.py`), at two, or at all (`checks/compared.py`). A corpus is counted through once (`Survey`) and all else
is sets and dictionaries, so that big sets take seconds. What a corpus is for is read from its name: `train` or `source`
teach, `dev` or `test` are held out; when no name says so, the first one teaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from acclimate.data.checks.alone import ALONE
from acclimate.data.checks.compared import PAIRS, TOGETHER
from acclimate.data.checks.report import ADVICE, SEVERITIES, Finding, Report
from acclimate.data.checks.survey import Survey
from acclimate.data.corpus import Corpus

__all__ = ["ADVICE", "Finding", "Report", "check_corpora"]


def check_corpora(corpora: Mapping[str, Corpus]) -> Report:
    """Look the corpora over, each by itself and against the others. Nothing is changed, and nothing is refused."""
    surveys = [Survey(name, corpus) for name, corpus in corpora.items()]
    if len(surveys) > 1 and all(survey.role != "training" for survey in surveys):
        surveys[0].role = "training"  # somebody has to be the one the others are compared with
    found = [finding for survey in surveys for check in ALONE for finding in check(survey)]
    ranked = sorted(surveys, key=lambda survey: ("training", "other", "held out").index(survey.role))
    found += [finding for pair in combinations(ranked, 2) for compare in PAIRS for finding in compare(*pair)]
    found += [finding for look in TOGETHER for finding in look(surveys)]
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(tuple(survey.summary for survey in surveys), tuple(found))
