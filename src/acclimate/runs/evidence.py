"""What a run keeps for its report: predictions, distances between texts, and random words as the taggers see them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from acclimate.analysis.features import FeaturePoints, feature_points, readers_of
from acclimate.analysis.text_comparison import compare_text
from acclimate.data.corpus import Corpus, Kind, Sentence
from acclimate.data.problems import InputError
from acclimate.model.storage import read_sealed_json, read_tensors, require_unchanged
from acclimate.model.tagger import Tagger
from acclimate.runs.task import Task

SOURCE, TARGET = "source", "target"
BEFORE, AFTER = "before", "after"
DOMAINS = "domains.json"
FEATURES = "features.safetensors"
MOST_WORDS = 400  # of each domain, of which features are kept: enough for a map, and a megabyte or so
_TYPICAL_WORDS = 20


@dataclass(frozen=True)
class Answers:
    """A test corpus with its gold tags, and what was predicted for it. `before` is None where nothing was adapted."""

    gold: Corpus
    before: Corpus | None
    after: Corpus

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], gold: Corpus | None = None, before: Corpus | None = None) -> Answers:
        """What `answers_dict` kept; `gold` and `before` where the run was not given or did not make them."""

        def with_tags(part: str) -> Corpus | None:
            return None if kept[part] is None else tagged(kept["words"], kept[part], kept["name"], kept["kind"])

        gold, after = gold or with_tags("gold"), with_tags(AFTER)
        assert gold is not None
        assert after is not None
        return cls(gold, before or with_tags(BEFORE), after)


def answers_dict(gold: Corpus | None, before: Corpus | None, after: Corpus) -> dict[str, Any]:
    """As JSON keeps it."""
    text = after if gold is None else gold
    return {
        "name": text.name,
        "kind": text.kind,
        "words": [sentence.words for sentence in text],
        "gold": None if gold is None else _tags(gold),
        BEFORE: None if before is None else _tags(before),
        AFTER: _tags(after),
    }


def tagged(words: Any, tags: Any, name: str, kind: Kind) -> Corpus:
    """A corpus of lists, as JSON has them."""
    rows = zip(words, tags, strict=True)
    return Corpus.of((Sentence(tuple(row), None if own is None else tuple(own)) for row, own in rows), name, kind)


def text_figures(source: Corpus, target: Corpus | None) -> dict[str, Any] | None:
    """Sizes, words in common, density ratio and typical words; None without a source or a target."""
    if target is None or not len(source):
        return None
    found = compare_text({SOURCE: source, TARGET: target}, most=_TYPICAL_WORDS).as_dict()
    return {**found, "names": {SOURCE: source.name, TARGET: target.name}}


@dataclass
class FeatureKeeper:
    """Takes the features of random words of both domains under each tagger. A text without words must not end a trained
    run: then `problem` says why there are none."""

    corpora: Mapping[str, Corpus]  # of `source` and `target`; tags are not looked at
    found: dict[str, FeaturePoints] = field(default_factory=dict)
    problem: str | None = None

    def __call__(self, when: str, tagger: Tagger, siblings: Mapping[str, Tagger]) -> None:
        try:
            readers = readers_of(tagger, siblings.get(SOURCE), self.corpora, SOURCE)
            self.found[when] = feature_points(readers, self.corpora, most=MOST_WORDS)
        except InputError as problem:
            self.problem = f"There are no features {when}: {problem}"

    def as_dict(self) -> dict[str, Any]:
        """The points by their words; the numbers go to a file of their own."""
        names = {name: corpus.name for name, corpus in self.corpora.items()}
        points = next(iter(self.found.values()), None)
        if points is None:
            return {"names": names, "problem": self.problem}
        return {
            "names": names,
            "domains": points.domains,
            "words": points.labels,
            "sentences": points.sentences,
            "problem": self.problem,
        }

    def files(self) -> dict[str, bytes]:
        """The numbers, as a file to be saved with the tagger; none where nothing could be measured."""
        half = {when: torch.from_numpy(points.points).half() for when, points in self.found.items()}
        return {FEATURES: save(half)} if half else {}


def read_features(folder: Path) -> dict[str, FeaturePoints]:
    """By `before` and `after`, what a run has kept; empty where it kept nothing."""
    if not (folder / FEATURES).is_file() or not (folder / DOMAINS).is_file():
        return {}
    about = read_sealed_json(folder / DOMAINS)["points"]
    if "domains" not in about:
        return {}
    known = (tuple(about["domains"]), tuple(about["words"]), tuple(about["sentences"]))
    require_unchanged(folder / FEATURES)
    tensors = read_tensors(folder / FEATURES)
    return {
        when: FeaturePoints(tensors[when].numpy().astype(np.float32), *known)
        for when in (BEFORE, AFTER)
        if when in tensors
    }


def _tags(corpus: Corpus) -> list[tuple[str, ...] | None]:
    return [sentence.tags for sentence in corpus]


def feature_keeper(task: Task) -> FeatureKeeper:
    """Of sentences that were not learnt from, where there are some."""
    source = task.source_test or task.source_dev or task.source
    target = task.target_test or task.target or task.target_labelled
    return FeatureKeeper({name: text for name, text in ((SOURCE, source), (TARGET, target)) if text})


def domains_json(task: Task, keeper: FeatureKeeper) -> str:
    target = task.target or task.target_labelled
    return json.dumps({"text": text_figures(task.source, target), "points": keeper.as_dict()})
