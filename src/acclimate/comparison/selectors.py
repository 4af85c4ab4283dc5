"""Selectors: they prefer one of several finished runs without having seen a label of the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean
from typing import Any

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

MOST_SENTENCES = 500  # of the target: enough to tell runs apart, and soon read
FEWEST = 3  # runs for agreement: two agree with each other as much as each other's

Tags = Sequence[Sequence[str]]
"""Of every word of every sentence."""


@dataclass(frozen=True)
class Evidence:
    """What a selector may see of a run: its tagger, target text without tags, and held-out labelled source sentences.

    `source_dev` is None where the tagger learnt all of the source, or has the target's labels.
    """

    tagger: Tagger
    target: Corpus
    source_dev: Corpus | None

    def __post_init__(self) -> None:
        if self.target.is_labelled:
            raise ValueError("A selector without target labels was given some.")

    @cached_property
    def sample(self) -> Corpus:
        """Random sentences of the target with words, the same for every run."""
        text = self.target.filter(lambda sentence: len(sentence) > 0)
        return take_sentences(text, MOST_SENTENCES) if len(text) > MOST_SENTENCES else text

    @cached_property
    def probabilities(self) -> Tensor:
        """The probability of every tag at every word of the sample, sentence after sentence, (word, tag)."""
        rows = dict(answers(self.tagger, self.sample, lambda view: view.marginals.double()))
        return torch.cat([rows[number] for number in sorted(rows)]) if rows else torch.zeros(0, len(self.tagger.tags))


def source_dev(seen: Evidence) -> float | None:
    """Span F1 (accuracy for plain tags) on held-out source sentences. Punishes a recipe that gives up some of the
    source for the target; guards against runs that went wrong altogether."""
    return None if seen.source_dev is None else DevelopmentScore(seen.source_dev)(seen.tagger)


def mean_entropy(seen: Evidence) -> float | None:
    """Minus the mean entropy of a word's tag, in nats (Morerio et al. 2018). Self-training lowers it whether it is
    right or wrong, and a tagger that finds no entity is the surest of all."""
    return -float(entropies(seen.probabilities).mean()) if len(seen.probabilities) else None


def information_maximisation(seen: Evidence) -> float | None:
    """The mutual information of word and tag: the entropy of the mean prediction minus the mean entropy (Bridle et al.
    1991). A tagger that says O everywhere does not win; one with many false alarms may."""
    probabilities = seen.probabilities
    if not len(probabilities):
        return None
    return float(entropies(probabilities.mean(0)) - entropies(probabilities).mean())


def nuclear_norm(seen: Evidence) -> float | None:
    """The sum of the singular values of the predictions (word, tag), as a share of its largest possible value (Cui et
    al. 2020; Deng et al. 2023). High where words are sure of their tag, and many tags occur."""
    probabilities = seen.probabilities
    if not len(probabilities):
        return None
    largest = sqrt(len(probabilities) * min(probabilities.shape))
    return float(torch.linalg.matrix_norm(probabilities, "nuc")) / largest


def entropies(probabilities: Tensor) -> Tensor:
    """In nats, over the last dimension, which is normalised against rounding."""
    shares = probabilities / probabilities.sum(-1, keepdim=True).clamp_min(1e-300)
    result: Tensor = torch.special.entr(shares).sum(-1)
    return result


SELECTORS: dict[str, Callable[[Evidence], float | None]] = {
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


def require_selectors(names: Sequence[str]) -> None:
    for name in names:
        if name not in ALL_SELECTORS:
            raise UsageError(
                f"Unknown selector {name!r}.{did_you_mean(name, ALL_SELECTORS)} Known: {', '.join(ALL_SELECTORS)}."
            )


def judge(run: PlannedRun, task: BlindTask, selectors: Sequence[str]) -> None:
    """Write the values of the selectors for a finished run, and its tags of the sample for agreement, into its folder;
    those that are there are not computed again."""
    found = _stored(run)
    missing = [name for name in selectors if name in SELECTORS and name not in found["values"]]
    needs_tags = AGREEMENT in selectors and "tags" not in found
    if not (missing or needs_tags) or task.target is None:
        return
    tagger = Tagger.load(run.folder, device_for(run.settings.training))
    seen = Evidence(tagger, task.target.unlabelled(), held_out_source(run, task))
    if needs_tags:
        found |= {"kind": tagger.labels.kind, "tags": [sentence.tags for sentence in predict(tagger, seen.sample)]}
    found["values"] |= {name: SELECTORS[name](seen) for name in missing}
    write_checksummed(run.folder / JUDGEMENTS, found)


def read_judgements(runs: Sequence[PlannedRun], selectors: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """The stored values of these runs, by their names; None for a selector that gave none."""
    stored = {run.name: _stored(run) for run in runs}
    agreed: Mapping[str, float | None] = {}
    tagged = {name: found for name, found in stored.items() if found.get("tags")}
    kinds = {found["kind"] for found in tagged.values()}  # a tagger with the target's labels may have another
    if AGREEMENT in selectors and len(kinds) == 1:
        agreed = agreement({name: found["tags"] for name, found in tagged.items()}, kinds.pop())
    values = {name: {**found["values"], AGREEMENT: agreed.get(name)} for name, found in stored.items()}
    return {run: {name: own.get(name) for name in selectors} for run, own in values.items()}


def _stored(run: PlannedRun) -> dict[str, Any]:
    """What was said of the run; nothing where the file is missing or damaged: then the run is judged once more."""
    try:
        found: dict[str, Any] = read_checksummed(run.folder / JUDGEMENTS)
    except (FileNotFoundError, StorageError):
        return {"values": {}}
    return found


def held_out_source(run: PlannedRun, task: BlindTask) -> Corpus | None:
    """Labelled source sentences that this run did not learn; None without any."""
    settings = run.settings
    is_held_out = task.source_dev is not None or settings.select in ("auto", "source-dev")
    if not is_held_out or settings.train_on_dev or task.trains_target(run.recipe):
        return None
    _, selector, _ = choose_selector(task.source, task.source_dev, None, "source-dev", run.seed)
    return selector.corpus if isinstance(selector, DevelopmentScore) else None


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
    for selector in selectors:
        if selector in chose:
            continue
        why = ""
        if task.target is None or not task.target.word_count:
            why = " (there is no target text)"
        elif selector == AGREEMENT and len(runs) < FEWEST:
            why = f" (it asks {FEWEST} runs at least)"
        elif selector == "source-dev":
            why = " (there are no held-out source sentences to measure runs on)"
        yield f"Could judge no run: {selector}{why}."
