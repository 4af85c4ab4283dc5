"""Gold × predicted → numbers. This room knows no model: it compares two corpora (significance.py is opened apart)."""

from acclimate.evaluation.errors import Mistake, count_errors, find_errors
from acclimate.evaluation.pairs import Reading
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.table import render
from acclimate.evaluation.tally import Tally
from acclimate.evaluation.unseen import Vocabulary

__all__ = ["Mistake", "Reading", "Scores", "Tally", "Vocabulary", "count_errors", "find_errors", "render", "score"]
