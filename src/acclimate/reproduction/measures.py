"""What tables can show, by the names that they use: measures of a finished training, and statistics of corpora alone.
Each gives figures by name: one, or a row of them (by label, by update …). Scores are in percent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, cast

from acclimate.analysis.curves import Evaluation, ScoreCurve, Series, StageCurves, read_curves
from acclimate.analysis.masks import HiddenWords, Yardsticks, mask_statistics
from acclimate.analysis.run_records import read_masks
from acclimate.analysis.terms import compare_term_confidences, term_overlap
from acclimate.analysis.text_comparison import Overlap, corpus_statistics, frequent_words
from acclimate.data.collocations import build_collocations
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.agreement import Agreement
from acclimate.evaluation.counts import Tally
from acclimate.evaluation.errors import ErrorReport, report_errors
from acclimate.evaluation.scores import Scores, score
from acclimate.evaluation.seen import Group, Vocabulary
from acclimate.evaluation.significance import Metric
from acclimate.inference.part_of_speech import PartOfSpeechTagger
from acclimate.inference.predict import TermGuess, guess_terms
from acclimate.layout import PREDICTIONS, REPORT
from acclimate.model.storage import read_sealed_json
from acclimate.model.tagger import Tagger
from acclimate.reproduction.datasets import WeakLabels, weakly_labelled
from acclimate.runs.task import BlindTask
from acclimate.settings import Settings

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
    def report(self) -> Mapping[str, Any]:
        return cast(Mapping[str, Any], read_sealed_json(self.folder / REPORT))

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        return cast(Mapping[str, Any], read_sealed_json(self.folder / FACTS))

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
    def curves(self) -> list[StageCurves]:
        return read_curves(self.folder)

    @cached_property
    def guesses(self) -> list[TermGuess]:
        """What the tagger takes each gold span for."""
        return guess_terms(Tagger.load(self.folder), self.test)


Figures = dict[str, float]
Reference = Finished | None  # the run that this one is compared with, of the same seed
NEVER = math.nan  # a curve that does not come so far
_TERMS = 10  # that are shown one by one


@dataclass(frozen=True)
class Measure:
    """How it is had. `facts` are what the learner must be asked before it is gone; `metric` is what a test compares."""

    of: Callable[[Finished, Reference], Figures]
    facts: tuple[str, ...] = ()
    metric: Metric | None = None
    parts_of_speech: bool = False
    by_row: bool = False  # many figures, which stand side by side under their own names
    across: str = ""  # what these are
    digits: int = 2


def _scored(name: str, value: Callable[[Finished], float], metric: Metric | None = None) -> Measure:
    return Measure(lambda run, _: {name: 100 * value(run)}, metric=metric)


def _words(scores: Scores, group: Group) -> Tally:
    assert scores.unseen is not None
    return scores.unseen.words[group]


def _dev_score(run: Finished) -> float:
    """Of the chosen state; none where nothing was chosen."""
    score = run.report["stages"][-1]["score"]
    return math.nan if score is None else float(score)


def _by_type(run: Finished, _: Reference) -> Figures:
    figures: Figures = {}
    for label, tally in run.scores.by_label.items():
        if tally.gold:
            scores = {"F1": tally.f1, "P": tally.precision, "R": tally.recall}
            figures |= {f"{label} {name}": 100 * value for name, value in scores.items()}
    return figures


def _density_ratio(run: Finished, _: Reference) -> Figures:
    periods = [period for period in run.hidden.periods if period.density_ratio is not None]
    return {str(one.last): one.density_ratio.hidden for one in periods if one.density_ratio is not None}


def _parts_of_speech(run: Finished, _: Reference) -> Figures:
    return {part: 100 * shares.hidden for part, shares in (run.hidden.parts_of_speech or {}).items()}


def _dev_curve(run: Finished) -> ScoreCurve:
    """Of the last stage, whose state was kept."""
    stage = run.curves[-1]
    return ScoreCurve.of("dev", stage, next(iter(stage.scores.values()), Series()), factor=100)


def _dev_by_epoch(run: Finished, _: Reference) -> Figures:
    return {f"{_when(evaluation):g}": evaluation.score for evaluation in _dev_curve(run).evaluations}


def _epochs(run: Finished, reference: Reference) -> Figures:
    curve = _dev_curve(run)
    if not curve.evaluations:
        return {}
    figures = {"best dev": curve.best.score, "its epoch": _when(curve.best)}
    if reference is not None:
        figures["epoch that reaches the other's best"] = _when(curve.reaches(_dev_curve(reference).best.score))
    return figures


def _when(one: Evaluation | None) -> float:
    return NEVER if one is None else one.update if one.epoch is None else one.epoch


def _confidence_by_update(run: Finished, _: Reference) -> Figures:
    """The mean over the watched sentences."""
    by_update: dict[int, list[float]] = {}
    for one in run.curves[-1].confidences.values():
        for value, update in one.probability.known:
            by_update.setdefault(update, []).append(value)
    return {str(update): fmean(values) for update, values in by_update.items()}


def _watched(run: Finished, _: Reference) -> Figures:
    """Each watched sentence, in the end."""
    known = {words: one.probability.known for words, one in run.curves[-1].confidences.items()}
    return {words: values[-1][0] for words, values in known.items() if values}


def _confidence(run: Finished, _: Reference) -> Figures:
    tagger = compare_term_confidences(run.test, {"": run.guesses}).taggers[0]
    apart = {"if right": tagger.confidence_if_right, "if wrong": tagger.confidence_if_wrong}
    known = {name: value for name, value in apart.items() if value is not None}
    return {"confidence": tagger.confidence, "right, %": 100 * tagger.right, **known}


def _confidence_by_term(run: Finished, _: Reference) -> Figures:
    terms = compare_term_confidences(run.test, {"": run.guesses}, most=_TERMS).terms
    return {f"{term.term} ({term.label})": term.taggers[0].confidence for term in terms}


def _error_kinds(run: Finished, _: Reference) -> Figures:
    report = run.errors
    figures: Figures = {name: float(times) for name, times in (*report.kinds.items(), *report.borders.items())}
    figures["over-labelled"] = float(report.times_over_labelled)
    elsewhere = sum(one.times for one in report.over_labelled if one.gold_elsewhere)
    return {**figures, "of these labelled elsewhere": float(elsewhere)}


def _f1_by_entity_length(run: Finished, _: Reference) -> Figures:
    return {length: 100 * tally.f1 for length, tally in run.errors.by_entity_length.items() if tally.gold}


def _speed(run: Finished, _: Reference) -> Figures:
    stage = run.report["stages"][0]  # domain tuning
    return {"ms per update": 1000 * stage["seconds"] / stage["updates"]}


def _fact(name: str) -> Callable[[Finished, Reference], Figures]:
    return lambda run, _: {key: float(value) for key, value in run.facts[name].items()}


MEASURES: dict[str, Measure] = {
    "span f1": _scored("span f1", lambda run: run.scores.span.f1, "span f1"),
    "precision": _scored("precision", lambda run: run.scores.span.precision),
    "recall": _scored("recall", lambda run: run.scores.span.recall),
    "macro f1": _scored("macro f1", lambda run: run.scores.macro.f1, "macro f1"),
    "token f1": _scored("token f1", lambda run: run.scores.token.f1, "token f1"),
    "accuracy": _scored("accuracy", lambda run: run.scores.token.accuracy, "token accuracy"),
    "exact match": _scored("exact match", lambda run: run.scores.exact_match, "span recall"),
    "exact match, short": _scored("exact match, short", lambda run: run.scores.by_length.short.exact_match),
    "exact match, long": _scored("exact match, long", lambda run: run.scores.by_length.long.exact_match),
    "unseen token f1": _scored("unseen token f1", lambda run: _words(run.scores, "unseen").f1),
    "accuracy in entities": _scored("accuracy in entities", lambda run: run.folded_scores.token.recall),
    "accuracy, seen": _scored("accuracy, seen", lambda run: _words(run.folded_scores, "seen").recall),
    "accuracy, unseen": _scored("accuracy, unseen", lambda run: _words(run.folded_scores, "unseen").recall),
    "dev score": _scored("dev score", _dev_score),
    "scores by type": Measure(_by_type, by_row=True, across="type"),
    "density ratio": Measure(_density_ratio, by_row=True, across="update", digits=3),
    "parts of speech": Measure(_parts_of_speech, parts_of_speech=True, by_row=True, across="part of speech", digits=1),
    "dev score by epoch": Measure(_dev_by_epoch, by_row=True, across="epoch"),
    "epochs": Measure(_epochs, by_row=True),
    "confidence by update": Measure(_confidence_by_update, by_row=True, across="update", digits=3),
    "confidence in sentences": Measure(_watched, by_row=True, across="sentence", digits=3),
    "confidence": Measure(_confidence, facts=(TAGGER,), by_row=True, digits=3),
    "confidence by term": Measure(_confidence_by_term, facts=(TAGGER,), by_row=True, across="term", digits=3),
    "mistakes": Measure(_error_kinds, by_row=True, across="kind", digits=0),
    "f1 by entity length": Measure(_f1_by_entity_length, by_row=True, across="words of the entity"),
    "tuning speed": Measure(_speed, digits=1),
    "perplexity": Measure(_fact("perplexity"), facts=("perplexity",)),
    "separability": Measure(_fact("separability"), facts=("separability", "map"), by_row=True, digits=1),
}


@dataclass(frozen=True)
class Statistic:
    """A function of corpora, and the options that it takes."""

    of: Callable[..., Figures]
    options: type[Settings] = Settings


class OverlapSettings(Settings):
    least_sentences: int = 3


class CollocationSettings(Settings):
    at_least: int = 5


class FocalSettings(Settings):
    chance: float  # the probability that the discriminator gives to the source
    of: Literal["source", "target"] = "source"
    alpha: float = 0.25
    gamma: float = 2.0


def _sizes(corpora: Sequence[Corpus], _: Settings) -> Figures:
    """Sentences, words and entities, and the means that the papers print."""
    sizes = corpus_statistics({corpus.name: corpus for corpus in corpora})[0]
    figures: Figures = {"sentences": sizes.sentences, "words": sizes.words, "words per sentence": sizes.mean_length}
    if sizes.spans is not None and sizes.spans_per_sentence is not None and sizes.share_in_spans is not None:
        inside = sizes.share_in_spans * sizes.words
        figures |= {"entities": sizes.spans, "words in entities": round(inside)}
        figures |= {"entities per sentence": sizes.spans_per_sentence, "words per entity": inside / max(1, sizes.spans)}
        figures["types"] = len(sizes.labels)
    return figures


def _overlap(corpora: Sequence[Corpus], options: OverlapSettings) -> Figures:
    if len(corpora) != 2:
        raise InputError(f"the overlap is of two corpora, not of {len(corpora)}.")
    one, other = (frequent_words(corpus, options.least_sentences) for corpus in corpora)
    return {"words shared, %": Overlap.of({"one": one, "other": other}).percents[0][1]}


def _collocations(corpora: Sequence[Corpus], options: CollocationSettings) -> Figures:
    """Of all the text, and how many of them are terms."""
    text = [sentence for corpus in corpora for sentence in corpus]
    overall = term_overlap(build_collocations(text, options.at_least), corpora).overall
    return {
        "collocations": overall.collocations,
        "terms": overall.terms,
        "mentions": overall.mentions,
        "collocations that are terms": overall.shared,
        "% of collocations": 100 * overall.share_of_collocations,
    }


def _dictionary(corpora: Sequence[Corpus], options: WeakLabels) -> Figures:
    """A dictionary's labels against gold ones."""
    agreement = Agreement()
    for corpus in corpora:
        for gold, weak in zip(corpus, weakly_labelled(corpus, options), strict=True):
            agreement.add(gold, weak)
    exact = agreement.as_dict()["exact"]
    return {name: 100 * exact[name] for name in ("precision", "recall", "f1")}


def source_weight(chance: float, alpha: float, gamma: float) -> float:
    """The weight in GRAD's loss of a source sentence to which the discriminator gives this probability of being one."""
    return alpha * math.pow(1 - chance, gamma)


def target_weight(chance: float, alpha: float, gamma: float) -> float:
    """The weight of a target sentence to which the discriminator gives this probability of being a source one."""
    return (1 - alpha) * math.pow(chance, gamma)


def _focal(corpora: Sequence[Corpus], options: FocalSettings) -> Figures:
    weight = source_weight if options.of == "source" else target_weight
    return {"weight": weight(options.chance, options.alpha, options.gamma)}


STATISTICS: dict[str, Statistic] = {
    "sizes": Statistic(_sizes),
    "overlap": Statistic(_overlap, OverlapSettings),
    "collocations": Statistic(_collocations, CollocationSettings),
    "dictionary": Statistic(_dictionary, WeakLabels),
    "focal weight": Statistic(_focal, FocalSettings),
}
