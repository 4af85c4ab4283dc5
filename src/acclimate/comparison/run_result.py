"""What one finished run has shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.evaluation.counts import Tally, stored_f1
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.seen import Vocabulary as SeenWords
from acclimate.layout import PREDICTIONS, REPORT
from acclimate.model.storage import read_sealed_json
from acclimate.model.tagger import read_seen
from acclimate.recipes.catalogue import BASELINE
from acclimate.runs.evidence import TARGET
from acclimate.runs.run import PlannedRun


@dataclass(frozen=True)
class RunResult:
    """One recipe with one seed. `target` and `predicted` are None without target test sentences, the first also where
    they have no gold tags; source figures are None for a tagger of the target's own."""

    recipe: str
    seed: int
    folder: str
    target: Scores | None
    predicted: Corpus | None
    source_before: float | None  # span F1 (accuracy for plain tags) of the baseline
    source_after: float | None
    updates: int
    seconds: float  # of training, what "before" takes left out unless the recipe starts from it
    megabytes: float  # the peak: of the GPU's tensors where one was used, else of the process
    on_gpu: bool
    chosen_by: str  # which state of the training was kept
    remarks: tuple[str, ...]
    judgements: Mapping[str, float | None]  # of the selectors
    baseline: str = BASELINE.name  # the recipe of its "before"
    make: tuple[str, ...] = ()  # what the recipe makes of the tagger, in words
    sources_after: Mapping[str, float | None] = field(
        default_factory=dict
    )  # span F1 of each, where several were joined
    before: Corpus | None = None  # what a "before" of the same make predicted; None where the recipe makes nothing

    @property
    def name(self) -> str:
        return f"{self.recipe}, seed {self.seed}"

    @property
    def f1(self) -> float | None:
        return None if self.target is None else self.target.span.f1

    @property
    def figures(self) -> dict[str, float | None]:
        """The numbers that are averaged over seeds, between 0 and 1, with time and memory behind them."""
        target = self.target
        groups = {} if target is None or target.unseen is None else target.unseen.mentions or target.unseen.words
        before, after = self.source_before, self.source_after
        return {
            "target_f1": self.f1,
            "target_precision": None if target is None else target.span.precision,
            "target_recall": None if target is None else target.span.recall,
            "seen_f1": _f1(groups.get("seen")),
            "unseen_f1": _f1(groups.get("unseen")),
            "source_before": before,
            "source_after": after,
            "source_change": None if before is None or after is None else after - before,
            "seconds": self.seconds,
            "megabytes": self.megabytes,
        }

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "seed": self.seed,
            "folder": self.folder,
            **self.figures,
            "memory_of": "gpu" if self.on_gpu else "process",
            "updates": self.updates,
            "chosen_by": self.chosen_by,
            "selectors": dict(self.judgements),
            "remarks": list(self.remarks),
            "make": list(self.make),
            "sources_after": dict(self.sources_after),
            "target_scores": None if self.target is None else self.target.as_dict(),
        }


def read_run(trial: PlannedRun, test: Corpus | None, judgements: Mapping[str, float | None] | None = None) -> RunResult:
    """The result of a finished run, scored against the gold tags of `test`, if it has any."""
    report = read_sealed_json(trial.folder / REPORT)
    found = read_sealed_json(trial.folder / PREDICTIONS)
    answers = found[TARGET] or {"before": None, "after": None}
    predicted = _tagged(test, answers["after"])
    source, memory = report["source"], report["peak_megabytes"]
    on_gpu = bool(memory["gpu"])
    return RunResult(
        recipe=trial.recipe,
        seed=trial.seed,
        folder=str(trial.folder),
        target=_scores(test, predicted, read_seen(trial.folder)),
        predicted=predicted,
        source_before=stored_f1(source, "before"),
        source_after=stored_f1(source, "after"),
        updates=sum(stage["updates"] for stage in report["stages"]),
        seconds=report["training_seconds"],
        megabytes=memory["gpu"] if on_gpu else memory["process"],
        on_gpu=on_gpu,
        chosen_by=report["selector"],
        remarks=tuple(report["remarks"]),
        judgements=judgements or {},
        baseline=report["before"],
        make=tuple(report["make"]),
        sources_after={name: stored_f1(part, "after") for name, part in ((source or {}).get("parts") or {}).items()},
        before=_tagged(test, answers["before"]) if report["make"] else None,
    )


def _tagged(test: Corpus | None, tags: Sequence[Any] | None) -> Corpus | None:
    if test is None or tags is None:
        return None
    return Corpus(test.unlabelled().with_tags(tags).sentences, f"{test.name}, predicted", test.kind)


def _f1(group: Tally | None) -> float | None:
    """None for a group of which there is nothing, in gold and prediction alike."""
    return None if group is None or group.is_empty else group.f1


def _scores(test: Corpus | None, predicted: Corpus | None, seen: SeenWords | None) -> Scores | None:
    if test is None or predicted is None or not test.is_labelled:
        return None
    return score(test, predicted, seen=seen)
