"""One finished training of a table, as its measures see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from acclimate.analysis.curves import StageCurves, read_curves
from acclimate.analysis.mask_log import Yardsticks, read_masks
from acclimate.analysis.mask_statistics import HiddenWords, mask_statistics
from acclimate.analysis.run_records import read_records, record_files
from acclimate.data.corpus import Corpus
from acclimate.evaluation.errors import ErrorReport, report_errors
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.seen import Vocabulary
from acclimate.inference.part_of_speech import PartOfSpeechTagger
from acclimate.inference.predict import TermGuess, guess_terms
from acclimate.layout import PREDICTIONS, REPORT
from acclimate.model.storage import read_sealed_json
from acclimate.model.tagger import Tagger
from acclimate.runs.task import BlindTask

FACTS = "facts.json"  # what was measured on the trained learner itself
Place = tuple[str, str, int]  # row, column, seed
TAGGER = "tagger"  # in the place of such a fact: the tagger is kept


@dataclass(frozen=True)
class Finished:
    """A run's folder, what it stood on, and the gold tags of its test."""

    folder: Path
    seed: int
    task: BlindTask
    test: Corpus
    parts_of_speech: PartOfSpeechTagger | None = None

    @cached_property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = read_sealed_json(self.folder / REPORT)
        return found

    @cached_property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = read_sealed_json(self.folder / FACTS)
        return found

    @cached_property
    def predicted(self) -> Corpus:
        tags = read_sealed_json(self.folder / PREDICTIONS)["target"]["after"]
        text = self.test.unlabelled().with_tags(tags)
        return Corpus(text.sentences, f"{self.test.name}, predicted", self.test.kind)

    @cached_property
    def scores(self) -> Scores:
        """Words are told apart as they are written."""
        return score(self.test, self.predicted, seen=self.task.source)

    @cached_property
    def folded_scores(self) -> Scores:
        """Words are told apart in lower case."""
        seen = Vocabulary.of(self.task.source, lower_cased=True)
        return score(self.test, self.predicted, seen=seen)

    @cached_property
    def errors(self) -> ErrorReport:
        return report_errors(self.test, self.predicted)

    @cached_property
    def hidden(self) -> HiddenWords:
        """What domain tuning hid."""
        task = self.task
        target = task.target if task.target is not None else task.source
        sticks = Yardsticks(task.source, target, tagger=self.parts_of_speech)
        return mask_statistics({"run": read_masks(self.folder)}, sticks)[0].everything

    @cached_property
    def mask_weights(self) -> tuple[float, float] | None:
        """What a hidden piece of a term and any other weighed (mslm); None where nothing is said about it."""
        for file in record_files(self.folder):
            for _, entry in read_records(file, lambda line: b'"masks"' in line):
                if "weights" in entry:
                    return entry["weights"]["elm"], entry["weights"]["blm"]
        return None

    @cached_property
    def curves(self) -> list[StageCurves]:
        return read_curves(self.folder)

    @cached_property
    def guesses(self) -> list[TermGuess]:
        """What the tagger takes each gold span for."""
        return guess_terms(Tagger.load(self.folder), self.test)

    @property
    def tuning(self) -> dict[str, Any]:
        """The first stage: domain tuning, where there is any."""
        stage: dict[str, Any] = self.report["stages"][0]
        return stage
