"""Selectors: they prefer one of several finished runs without having seen a label of the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from statistics import fmean
from typing import Any, TypeVar

import torch
from torch import Tensor

from acclimate.comparison.results import Choice
from acclimate.data.corpus import Corpus, Kind
from acclimate.data.schemes import Span
from acclimate.data.subsets import take_sentences
from acclimate.evaluation.counts import Tally, read_spans
from acclimate.inference.predict import predict
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger, answers
from acclimate.runs.folder import JUDGEMENTS, read_checksummed, write_checksummed
from acclimate.runs.prepare import choose_selector
from acclimate.runs.run import PlannedRun, finish_run, working_alone
from acclimate.runs.task import BlindTask
from acclimate.settings import UsageError
from acclimate.spelling import did_you_mean
from acclimate.training.loop import device_for
from acclimate.training.stage import DevelopmentScore

T = TypeVar("T")
MOST_SENTENCES = 500  # of the target: enough to tell runs apart, and soon read
FEWEST = 3  # runs for agreement: two agree with each other as much as each other's

Tags = Sequence[Sequence[str]]
"""Of every word of every sentence."""


@dataclass(frozen=True)
class Material:
    """What a selector may see of a run: target text without tags, and labelled source sentences that were held out.

    `source_dev` is None where the tagger learnt all of the source, or has the target's labels.
    """

    target: Corpus
    source_dev: Corpus | None
    _read: dict[tuple[str, int], tuple[Tagger, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.target.is_labelled:
            raise ValueError("A selector without target labels was given some.")

    def once(self, what: str, tagger: Tagger, read: Callable[[], T]) -> T:
        """The result of `read` for this tagger; from memory, the second time."""
        key = (what, id(tagger))
        if key not in self._read:
            self._read[key] = (tagger, read())  # the tagger is kept, or another one might get its id
        result: T = self._read[key][1]
        return result

    @cached_property
    def sample(self) -> Corpus:
        """Random sentences of the target with words, the same for every run."""
        text = self.target.filter(lambda sentence: len(sentence) > 0)
        return take_sentences(text, MOST_SENTENCES) if len(text) > MOST_SENTENCES else text

    def answers(self, tagger: Tagger) -> Corpus:
        """The sample under the tagger's own tags."""
        return self.once("answers", tagger, lambda: predict(tagger, self.sample))

    def probabilities(self, tagger: Tagger) -> Tensor:
        """The probability of every tag at every word of the sample, (word, tag)."""
        return self.once("probabilities", tagger, lambda: word_probabilities(tagger, self.sample))


def source_dev(tagger: Tagger, material: Material) -> float | None:
    """Span F1 (accuracy for plain tags) on held-out source sentences. Punishes a recipe that gives up some of the
    source for the target; guards against runs that went wrong altogether."""
    return None if material.source_dev is None else DevelopmentScore(material.source_dev)(tagger)


def mean_entropy(tagger: Tagger, material: Material) -> float | None:
    """Minus the mean entropy of a word's tag, in nats (Morerio et al. 2018). Self-training lowers it whether it is
    right or wrong, and a tagger that finds no entity is the surest of all."""
    probabilities = material.probabilities(tagger)
    return -float(entropies(probabilities).mean()) if len(probabilities) else None


def information_maximisation(tagger: Tagger, material: Material) -> float | None:
    """The mutual information of word and tag: the entropy of the mean prediction minus the mean entropy (Bridle et al.
    1991). A tagger that says O everywhere does not win; one with many false alarms may."""
    probabilities = material.probabilities(tagger)
    if not len(probabilities):
        return None
    return float(entropies(probabilities.mean(0)) - entropies(probabilities).mean())


def nuclear_norm(tagger: Tagger, material: Material) -> float | None:
    """The sum of the singular values of the predictions (word, tag), as a share of its largest possible value (Cui et
    al. 2020; Deng et al. 2023). High where words are sure of their tag, and many tags occur."""
    probabilities = material.probabilities(tagger)
    if not len(probabilities):
        return None
    largest = sqrt(len(probabilities) * min(probabilities.shape))
    return float(torch.linalg.matrix_norm(probabilities, "nuc")) / largest


SELECTORS: dict[str, Callable[[Tagger, Material], float | None]] = {
    "source-dev": source_dev,
    "entropy": mean_entropy,
    "information-maximisation": information_maximisation,
    "nuclear-norm": nuclear_norm,
}
"""Each gives a finished tagger a number, the higher the better; None where it cannot say anything."""
AGREEMENT = "agreement"  # compares all runs, and is computed when they are over
ALL_SELECTORS = (*SELECTORS, AGREEMENT)


def agreement(answers: Mapping[str, Tags], kind: Kind = "spans") -> dict[str, float | None]:
    """For each run the mean F1 of its spans (accuracy of plain tags) with every other run's in the place of gold.

    Favours the answer in the middle, and never a run that is better by being different. None for fewer than three.
    """
    if len(answers) < FEWEST:
        return dict.fromkeys(answers)
    spans = {name: _spans(tags, kind) for name, tags in answers.items()}
    return {
        name: fmean(Tally.of(mine, theirs).f1 for other, theirs in spans.items() if other != name)
        for name, mine in spans.items()
    }


def _spans(tags: Tags, kind: Kind) -> set[tuple[int, Span]]:
    rows = read_spans([tuple(row) for row in tags], kind, "lenient", "answers")
    return {(number, span) for number, row in enumerate(rows) for span in row}


def sample_answers(tagger: Tagger, material: Material) -> list[tuple[str, ...]] | None:
    """The tags of the target's sample; None without any sentence."""
    if not len(material.sample):
        return None
    return [sentence.tags or () for sentence in material.answers(tagger)]


def word_probabilities(tagger: Tagger, text: Corpus) -> Tensor:
    """The probability of every tag at every word under the head, sentence after sentence, (word, tag)."""
    rows = dict(answers(tagger, text, lambda view: view.marginals.double()))
    return torch.cat([rows[number] for number in sorted(rows)]) if rows else torch.zeros(0, len(tagger.tags))


def entropies(probabilities: Tensor) -> Tensor:
    """In nats, over the last dimension, which is normalised against rounding."""
    shares = probabilities / probabilities.sum(-1, keepdim=True).clamp_min(1e-300)
    result: Tensor = torch.special.entr(shares).sum(-1)
    return result


def require_selectors(names: Sequence[str]) -> None:
    for name in names:
        if name not in ALL_SELECTORS:
            raise UsageError(
                f"Unknown selector {name!r}.{did_you_mean(name, ALL_SELECTORS)} Known: {', '.join(ALL_SELECTORS)}."
            )


_VALUES, _ANSWERS = JUDGEMENTS  # files in the folder of a run; the second holds its tags of the target's sample


def judge(run: PlannedRun, task: BlindTask, selectors: Sequence[str]) -> None:
    """Write the values of the selectors for a finished run, and its answers for agreement, into its folder; those that
    are there are not computed again."""
    values = _stored(run, _VALUES) or {}
    missing = [name for name in selectors if name in SELECTORS and name not in values]
    needs_answers = AGREEMENT in selectors and _stored(run, _ANSWERS) is None
    if not (missing or needs_answers) or task.target is None:
        return
    tagger = Tagger.load(run.folder, device_for(run.settings.training))
    material = material_for(run, task, task.target)
    if needs_answers:
        write_checksummed(run.folder / _ANSWERS, {"kind": tagger.labels.kind, "tags": sample_answers(tagger, material)})
    for name in missing:
        values[name] = SELECTORS[name](tagger, material)
    if missing:
        write_checksummed(run.folder / _VALUES, values)


def read_judgements(runs: Sequence[PlannedRun], selectors: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """The stored values of these runs, by their names; None for a selector that gave none."""
    values = {run.name: _stored(run, _VALUES) or {} for run in runs}
    if AGREEMENT in selectors:
        for name, value in _agreement(runs).items():
            values[name][AGREEMENT] = value
    return {run: {name: own.get(name) for name in selectors} for run, own in values.items()}


def _agreement(runs: Sequence[PlannedRun]) -> Mapping[str, float | None]:
    """Of runs with tags of one kind: a tagger with the target's labels may have others."""
    stored = {run.name: _stored(run, _ANSWERS) or {"tags": None} for run in runs}
    tagged = {name: content for name, content in stored.items() if content["tags"] is not None}
    kinds = {content["kind"] for content in tagged.values()}
    if len(kinds) != 1:
        return {}
    return agreement({name: content["tags"] for name, content in tagged.items()}, kinds.pop())


def _stored(run: PlannedRun, name: str) -> Any:
    """None where the file is missing or damaged: then the run is judged once more."""
    try:
        return read_checksummed(run.folder / name)
    except (FileNotFoundError, StorageError):
        return None


def material_for(run: PlannedRun, task: BlindTask, target: Corpus) -> Material:
    """What selectors may see of this run: never source sentences that it learnt."""
    settings, dev = run.settings, None
    is_held_out = task.source_dev is not None or settings.select in ("auto", "source-dev")
    if is_held_out and not settings.train_on_dev and not task.trains_target(run.recipe):
        _, selector, _ = choose_selector(task.source, task.source_dev, None, "source-dev", run.seed)
        dev = selector.corpus if isinstance(selector, DevelopmentScore) else None
    return Material(target.unlabelled(), dev)


def run_and_judge(run: PlannedRun, task: BlindTask, selectors: Sequence[str] = (), threads: int | None = None) -> float:
    """Finish this run from where it stands, let selectors judge it, and return the seconds that it took."""
    started = time.monotonic()
    with working_alone(run.folder, threads):
        finish_run(run, task)
        judge(run, task, selectors)
    return time.monotonic() - started


def missing_judgements(
    selectors: Sequence[str], choices: Sequence[Choice], runs: Sequence[PlannedRun], task: BlindTask
) -> Iterator[str]:
    """Which of the selectors could judge none of the runs, and why."""
    chose = {choice.selector for choice in choices}
    by_reason: dict[str, list[str]] = {}
    for selector in selectors:
        if selector not in chose:
            by_reason.setdefault(_why_none(selector, runs, task), []).append(selector)
    for reason, names in by_reason.items():
        yield f"Could judge no run: {', '.join(names)}{reason and f' ({reason})'}."


def _why_none(selector: str, runs: Sequence[PlannedRun], task: BlindTask) -> str:
    reasons = [_why_not(selector, run, task) for run in runs]
    if all(reasons):
        return reasons[0]
    return f"it asks {FEWEST} runs at least" if selector == AGREEMENT and len(runs) < FEWEST else ""


def _why_not(selector: str, run: PlannedRun, task: BlindTask) -> str:
    """Why this selector can never judge this run; empty where it may."""
    if task.target is None or not task.target.word_count:
        return "there is no target text"
    if selector != "source-dev" or material_for(run, task, task.target).source_dev is not None:
        return ""
    if task.trains_target(run.recipe):
        return "a tagger of the target's own knows nothing of the source"
    if run.settings.train_on_dev:
        return "the source's dev sentences were learnt, too (train_on_dev)"
    return "there are no held-out source sentences to measure runs on"
