"""What can be counted without a training, by the names that tables use. Each gives figures by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from acclimate.analysis.plots.focal_weights import source_weight, target_weight
from acclimate.analysis.terms import term_overlap
from acclimate.analysis.text_comparison import corpus_statistics, vocabulary_overlap
from acclimate.data.collocations import build_collocations
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.agreement import Agreement
from acclimate.reproduction.weak_labels import WeakLabels, weakly_labelled
from acclimate.settings import Settings

Figures = dict[str, float]


class Statistic:
    """A function of corpora, and the options that it takes."""

    def __init__(self, of: Callable[..., Figures], options: type[Settings] = Settings) -> None:
        self.of, self.options = of, options


class OverlapSettings(Settings):
    """Which words are compared."""

    least_sentences: int = 3


class CollocationSettings(Settings):
    """Which collocations there are."""

    at_least: int = 5


class FocalSettings(Settings):
    """Which sentence, and how sure the discriminator is."""

    chance: float  # that it gives to the source
    of: Literal["source", "target"] = "source"
    alpha: float = 0.25
    gamma: float = 2.0


def _sizes(corpora: Sequence[Corpus], _: Settings) -> Figures:
    """Sentences, words and entities, and the means that the papers print."""
    found = corpus_statistics({corpus.name: corpus for corpus in corpora})[0]
    figures: Figures = {"sentences": found.sentences, "words": found.words, "words per sentence": found.mean_length}
    if found.spans is not None and found.spans_per_sentence is not None and found.share_in_spans is not None:
        inside = found.share_in_spans * found.words
        figures |= {"entities": found.spans, "words in entities": round(inside)}
        figures |= {"entities per sentence": found.spans_per_sentence, "words per entity": inside / max(1, found.spans)}
        figures["types"] = len(found.labels)
    return figures


def _overlap(corpora: Sequence[Corpus], options: OverlapSettings) -> Figures:
    if len(corpora) != 2:
        raise InputError(f"the overlap is of two corpora, not of {len(corpora)}.")
    pair: Mapping[str, Corpus] = {"one": corpora[0], "other": corpora[1]}
    return {"words shared, %": vocabulary_overlap(pair, least_sentences=options.least_sentences).percents[0][1]}


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
            agreement.add(gold.spans, weak.spans)
    exact = agreement.as_dict()["exact"]
    return {name: 100 * exact[name] for name in ("precision", "recall", "f1")}


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
