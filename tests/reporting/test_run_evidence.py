"""What a run keeps for its report comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from acclimate.data.corpus import Corpus
from acclimate.runs.run import DOMAINS, FEATURES, Answers, FeatureKeeper, answers_dict, read_features, text_figures
from acclimate.runs.train import adapt


def test_answers_survive_json(news: Corpus) -> None:
    found = Answers.from_dict(json.loads(json.dumps(answers_dict(news, None, news))))
    assert found.before is None
    assert [sentence.words for sentence in found.gold] == [sentence.words for sentence in news]
    assert [sentence.tags for sentence in found.after] == [sentence.tags for sentence in news]


def test_the_texts_of_both_domains_are_compared_even_if_they_are_called_the_same(news: Corpus) -> None:
    assert text_figures(news, None) is None
    found = text_figures(news, news.renamed(news.name))
    assert found is not None
    assert found["overlap"]["percents"]["source"]["target"] == 100
    assert found["density_ratio"]["mean"] == 0


def test_features_come_back_as_they_were_to_half_precision(
    news: Corpus, tweets: Corpus, build: Callable[..., Any], tmp_path: Path
) -> None:
    keeper = FeatureKeeper({"source": news, "target": tweets})
    keeper("before", build(), {})
    keeper("after", build(), {})
    (tmp_path / DOMAINS).write_text(json.dumps({"points": keeper.as_dict()}), encoding="utf-8")
    (tmp_path / FEATURES).write_bytes(keeper.files()[FEATURES])
    found = read_features(tmp_path)
    assert list(found) == ["before", "after"]
    assert found["after"].domains == keeper.found["after"].domains
    assert np.allclose(found["after"].points, keeper.found["after"].points, atol=1e-2)


def test_a_text_that_cannot_be_measured_does_not_end_the_run(
    news: Corpus, build: Callable[..., Any], tmp_path: Path
) -> None:
    keeper = FeatureKeeper({"source": news, "target": Corpus(())})
    keeper("after", build(), {})
    assert keeper.problem == "There are no features after: target has no sentences to take points from."
    assert keeper.files() == {}
    assert read_features(tmp_path) == {}


def test_adapt_shows_both_taggers_and_a_baseline_only_once(
    news: Corpus, tweets: Corpus, build: Callable[..., Any]
) -> None:
    for recipe, wanted in (("self-training", ["before", "after"]), ("source-only", ["after"])):
        seen: list[tuple[str, Any]] = []
        tagger = build()
        adapt(
            tagger,
            news,
            tweets.unlabelled(),
            recipe,
            target_test=tweets,
            training={"updates": 2, "words_per_batch": 40},
            look=lambda when, shown, _, seen=seen: seen.append((when, shown)),  # type: ignore[misc]
        )
        assert [when for when, _ in seen] == wanted
        assert seen[-1][1] is tagger
        assert all(shown is not tagger for _, shown in seen[:-1])
