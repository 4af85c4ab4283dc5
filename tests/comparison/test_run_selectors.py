"""Selectors without target labels: each against a slow reference, its known failures, and no way to the labels."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from comparing import compare

from acclimate.comparison import selectors
from acclimate.comparison.results import RunResult, choose
from acclimate.comparison.selectors import (
    ALL_SELECTORS,
    SELECTORS,
    Evidence,
    information_maximisation,
    mean_entropy,
    nuclear_norm,
    source_dev,
)
from acclimate.data.corpus import Corpus
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger
from acclimate.runs.settings import TaggerSettings
from acclimate.runs.train import adapt
from acclimate.settings import complete
from acclimate.training.settings import TrainingSettings

LSTM = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
TAGGER = complete(TaggerSettings, {"encoder": "character-cnn-lstm", "lstm": LSTM})
TRAINING = TrainingSettings(updates=60, words_per_batch=60, learning_rate=0.05)


@pytest.fixture(scope="module")
def trained(build: Callable[..., Tagger], news: Corpus) -> Tagger:
    tagger = build(dropout=0.0)
    adapt(tagger, news, None, select="last", training=TRAINING)
    return tagger


@pytest.fixture(scope="module")
def evidence(trained: Tagger, tweets: Corpus, make_corpus: Callable[..., Corpus]) -> Evidence:
    return Evidence(trained, tweets.unlabelled(), make_corpus(8, seed=5))


def saying_only_outside(tagger: Tagger) -> Tagger:
    """The same tagger, sure that no word is any entity."""
    silent = copy.deepcopy(tagger)
    with torch.no_grad():
        bias = silent.scores.bias  # type: ignore[union-attr]
        bias[silent.tags.index("O")] += 50
    return silent


def test_source_dev_is_the_score_on_the_held_out_source(trained: Tagger, evidence: Evidence) -> None:
    dev = evidence.source_dev
    assert dev is not None
    assert source_dev(evidence) == score(dev, predict(trained, dev)).span.f1 > 0


def test_probabilities_of_words_come_in_the_order_of_the_text(evidence: Evidence) -> None:
    whole = evidence.probabilities
    alone = [replace(evidence, target=Corpus((sentence,))).probabilities for sentence in evidence.sample]
    assert torch.allclose(whole, torch.cat(alone), atol=1e-5)
    assert torch.allclose(whole.sum(1), torch.ones(len(whole), dtype=torch.float64), atol=1e-4)


def test_entropy_and_information_equal_the_plain_sums(evidence: Evidence) -> None:
    rows = evidence.probabilities.tolist()
    words = [-sum(share * math.log(share) for share in row if share > 0) for row in rows]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    all_together = -sum(share * math.log(share) for share in mean if share > 0)
    expected = sum(words) / len(words)
    assert mean_entropy(evidence) == pytest.approx(-expected, rel=1e-4)
    assert information_maximisation(evidence) == pytest.approx(all_together - expected, rel=1e-4)


def test_the_nuclear_norm_is_one_for_sure_and_even_answers_alone(evidence: Evidence) -> None:
    rows = evidence.probabilities.numpy()
    tags = rows.shape[1]
    roots = np.sqrt(np.linalg.eigvalsh(rows.T @ rows).clip(0))  # the singular values, by another way
    assert nuclear_norm(evidence) == pytest.approx(roots.sum() / math.sqrt(len(rows) * tags), rel=1e-4)

    def given(probabilities: torch.Tensor) -> float | None:
        seen = replace(evidence)
        vars(seen)["probabilities"] = probabilities  # as if they had been computed
        return nuclear_norm(seen)

    even = torch.eye(tags, dtype=torch.float64).repeat(5, 1)
    assert given(even) == pytest.approx(1)
    assert given(torch.full_like(even, 1 / tags)) == pytest.approx(1 / tags)  # sure of nothing
    assert given(even[:1].repeat(5 * tags, 1)) == pytest.approx(1 / math.sqrt(tags))  # sure of a single tag


def test_a_tagger_that_finds_nothing_deceives_entropy_but_not_the_others(trained: Tagger, evidence: Evidence) -> None:
    silent = replace(evidence, tagger=saying_only_outside(trained))

    def prefers_silence(selector: Any) -> bool:
        return bool(selector(silent) > selector(evidence))

    assert prefers_silence(mean_entropy)
    assert not prefers_silence(information_maximisation)
    assert not prefers_silence(nuclear_norm)
    assert not prefers_silence(source_dev)


def test_what_two_selectors_read_is_read_once(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = replace(evidence)
    value = mean_entropy(fresh)
    monkeypatch.setattr(selectors, "answers", lambda *_: pytest.fail("read again"))
    assert mean_entropy(fresh) == value
    assert information_maximisation(fresh) is not None


@pytest.mark.parametrize("name", SELECTORS)
def test_nothing_to_look_at_is_no_number_and_no_crash(trained: Tagger, name: str) -> None:
    assert SELECTORS[name](Evidence(trained, Corpus(()), None)) is None


def test_target_labels_are_refused(trained: Tagger, tweets: Corpus) -> None:
    with pytest.raises(ValueError, match="was given some"):
        Evidence(trained, tweets, None)


def result(recipe: str, value: float | None) -> RunResult:
    return RunResult(recipe, 1, "", None, None, None, None, 1, 1.0, 1.0, False, "", (), {"it": value})


def test_of_equal_runs_the_first_is_chosen_and_silence_is_counted() -> None:
    runs = [result("a", None), result("b", 2.0), result("c", 2.0), result("d", math.nan)]
    found = choose("it", runs)
    assert found is not None
    assert (found.recipe, found.silent, found.regret) == ("b", 2, None)
    assert choose("it", [result("a", None)]) is None


def test_the_gold_tags_of_the_test_change_no_weight_and_no_choice(
    news: Corpus, tweets: Corpus, make_corpus: Callable[..., Corpus], tmp_path: Path
) -> None:
    other = tweets.with_tags([["B-PER"] * len(sentence) for sentence in tweets])
    tables = []
    for name, gold in {"true": tweets, "false": other}.items():
        tables.append(
            compare(
                news,
                tweets,
                ["source-only", "self-training"],
                2,
                tmp_path / name,
                source_dev=make_corpus(8, seed=5),
                target_test=gold,
                tagger=TAGGER,
                training={"updates": 20, "words_per_batch": 60, "learning_rate": 0.05},
                rounds=10,
            )
        )
    true, false = tables
    for one, two in zip(true.runs, false.runs, strict=True):
        files = sorted(path.relative_to(one.folder) for path in Path(one.folder).rglob("*.safetensors"))
        assert files
        assert all((Path(one.folder) / file).read_bytes() == (Path(two.folder) / file).read_bytes() for file in files)
        assert one.judgements == two.judgements
        assert all(value is not None for value in one.judgements.values())
    chosen = [[(choice.selector, choice.recipe, choice.seed) for choice in table.choices] for table in tables]
    assert chosen[0] == chosen[1]
    assert len(chosen[0]) == len(ALL_SELECTORS)
    assert json.dumps(true.as_dict()) != json.dumps(false.as_dict())  # the scores do change


def test_regret_is_the_distance_to_the_best_run(
    news: Corpus, tweets: Corpus, make_corpus: Callable[..., Corpus], tmp_path: Path
) -> None:
    found = compare(
        news,
        tweets,
        ["source-only"],
        3,
        tmp_path,
        source_dev=make_corpus(8, seed=5),
        target_test=tweets,
        tagger=TAGGER,
        training={"updates": 60, "words_per_batch": 60, "learning_rate": 0.05},
        selectors=["source-dev", "entropy"],
        rounds=10,
    )
    scores = {run.seed: run.f1 or 0.0 for run in found.runs}
    assert len(set(scores.values())) > 1
    for choice in found.choices:
        values = {run.seed: run.judgements[choice.selector] or 0.0 for run in found.runs}
        assert values[choice.seed] == max(values.values()) == choice.value
        assert choice.regret == max(scores.values()) - scores[choice.seed]
