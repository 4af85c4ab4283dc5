"""Gold × predicted → numbers. This room knows no model: it compares two corpora (significance.py is opened apart)."""

from acclimate.evaluation.counts import Reading, Tally
from acclimate.evaluation.errors import Mistake, count_errors, find_errors
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.seen import Vocabulary
from acclimate.evaluation.table import render

__all__ = ["Mistake", "Reading", "Scores", "Tally", "Vocabulary", "count_errors", "find_errors", "render", "score"]
