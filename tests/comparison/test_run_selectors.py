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

from acclimate.analysis.features import domain_separability, feature_points
from acclimate.comparison import selectors
from acclimate.comparison.judging import ALL_SELECTORS, SELECTORS, choose
from acclimate.comparison.run_result import RunResult
from acclimate.comparison.selectors import (
    InformationMaximisation,
    Material,
    MeanDiscrepancy,
    MeanEntropy,
    NeighbourhoodDensity,
    ProxyADistance,
    ReverseValidation,
    SourceDev,
    density,
    sample_answers,
    tags_by_linear_layer,
    word_features,
    word_probabilities,
)
from acclimate.data.corpus import Corpus
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.methods.alignment.mmd import squared_mmd
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
def material(news: Corpus, tweets: Corpus, make_corpus: Callable[..., Corpus]) -> Material:
    return Material(tweets.unlabelled(), news, make_corpus(8, seed=5), TAGGER, TRAINING, seed=1)


def saying_only_outside(tagger: Tagger) -> Tagger:
    """The same tagger, sure that no word is any entity."""
    silent = copy.deepcopy(tagger)
    with torch.no_grad():
        bias = silent.scores.bias  # type: ignore[union-attr]
        bias[silent.tags.index("O")] += 50
    return silent


def test_source_dev_is_the_score_on_the_held_out_source(trained: Tagger, material: Material) -> None:
    dev = material.source_dev
    assert dev is not None
    assert SourceDev()(trained, material) == score(dev, predict(trained, dev)).span.f1 > 0


def test_probabilities_of_words_come_in_the_order_of_the_text(trained: Tagger, material: Material) -> None:
    whole = word_probabilities(trained, material.sample)
    alone = [
        word_probabilities(trained, material.sample[number : number + 1]) for number in range(len(material.sample))
    ]
    assert torch.allclose(whole, torch.cat(alone), atol=1e-5)
    assert torch.allclose(whole.sum(1), torch.ones(len(whole), dtype=torch.float64), atol=1e-4)


def test_entropy_and_information_equal_the_plain_sums(trained: Tagger, material: Material) -> None:
    rows = word_probabilities(trained, material.sample).tolist()
    words = [-sum(share * math.log(share) for share in row if share > 0) for row in rows]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    all_together = -sum(share * math.log(share) for share in mean if share > 0)
    expected = sum(words) / len(words)
    assert MeanEntropy()(trained, material) == pytest.approx(-expected, rel=1e-4)
    assert InformationMaximisation()(trained, material) == pytest.approx(all_together - expected, rel=1e-4)


def test_density_equals_the_plain_sums() -> None:
    points = torch.rand(6, 3, dtype=torch.float64)
    total = 0.0
    for here, one in enumerate(points):
        similar = [
            math.exp(float(torch.cosine_similarity(one, other, dim=0)) / 0.05)
            for there, other in enumerate(points)
            if there != here
        ]
        total -= sum(value / sum(similar) * math.log(value / sum(similar)) for value in similar)
    assert density(points, 0.05) == pytest.approx(total / 6)
    assert density(torch.ones(6, 3), 0.05) == pytest.approx(math.log(5))  # all neighbours are as near


def test_density_of_features_is_that_of_the_words_features(trained: Tagger, material: Material) -> None:
    points = feature_points(trained, {"target": material.sample}, most=1000).points
    expected = density(torch.from_numpy(points).double(), 0.05)
    assert NeighbourhoodDensity("features")(trained, material) == pytest.approx(expected)


def test_distances_are_those_of_the_features(trained: Tagger, material: Material, news: Corpus) -> None:
    found = feature_points(trained, {"source": news, "target": material.sample}, most=400)
    assert ProxyADistance()(trained, material) == -domain_separability(found).a_distance
    source, target = (torch.from_numpy(found.of(name).points).double() for name in ("source", "target"))
    assert MeanDiscrepancy()(trained, material) == -float(squared_mmd(source, target, unbiased=True))
    assert np.isfinite(found.points).all()


def test_a_target_that_is_the_source_is_nearer(trained: Tagger, material: Material, news: Corpus) -> None:
    same = Material(news.unlabelled(), news, material.source_dev, TAGGER, TRAINING)
    for selector in (MeanDiscrepancy(), ProxyADistance()):
        near, far = selector(trained, same), selector(trained, material)
        assert near is not None
        assert far is not None
        assert near > far


def test_a_tagger_that_finds_nothing_deceives_entropy_and_density_but_not_the_others(
    trained: Tagger, material: Material
) -> None:
    silent = saying_only_outside(trained)

    def prefers_silence(selector: Any) -> bool:
        return bool(selector(silent, material) > selector(trained, material))

    assert prefers_silence(MeanEntropy())
    assert prefers_silence(NeighbourhoodDensity())
    assert not prefers_silence(InformationMaximisation())
    assert not prefers_silence(ReverseValidation(60))
    assert not prefers_silence(SourceDev())


def test_what_two_selectors_read_is_read_once(
    trained: Tagger, material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = replace(material, _read={})
    values = [selector(trained, fresh) for selector in (MeanEntropy(), NeighbourhoodDensity(), ProxyADistance())]
    monkeypatch.setattr(selectors, "word_probabilities", lambda *_: pytest.fail("read again"))
    monkeypatch.setattr(selectors, "feature_points", lambda *_, **__: pytest.fail("read again"))
    again = [selector(trained, fresh) for selector in (MeanEntropy(), NeighbourhoodDensity(), ProxyADistance())]
    assert values == again
    assert InformationMaximisation()(trained, fresh) is not None
    assert MeanDiscrepancy()(trained, fresh) is not None


def test_reverse_validation_is_the_same_every_time_and_leaves_the_tagger_alone(
    trained: Tagger, material: Material
) -> None:
    before = {name: tensor.clone() for name, tensor in trained.state_dict().items()}
    first, second = (ReverseValidation(5)(trained, material) for _ in range(2))
    assert first == second
    assert all(torch.equal(before[name], tensor) for name, tensor in trained.state_dict().items())


@pytest.fixture
def on_bert(bert: str, make_corpus: Callable[..., Corpus]) -> Material:
    """What selectors see of runs on a pre-trained encoder."""
    word_features.cache_clear()
    choice = complete(TaggerSettings, {"encoder": bert})
    return Material(make_corpus(120, seed=3).unlabelled(), None, make_corpus(12, seed=5), choice, TRAINING)


def test_on_a_pre_trained_encoder_right_tags_teach_more_than_mixed_up_and_missing_ones(
    build: Callable[..., Tagger],
    on_bert: Material,
    make_corpus: Callable[..., Corpus],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = make_corpus(120, seed=3)
    others = {"B-PER": "B-LOC", "B-LOC": "B-ORG", "B-ORG": "O", "O": "B-PER"}
    said = {
        "right": right,
        "mixed up": right.with_tags([[others.get(tag, tag) for tag in sentence.tags or ()] for sentence in right]),
        "missing": right.with_tags([["O"] * len(sentence) for sentence in right]),
    }
    values = {}
    for name, told in said.items():
        monkeypatch.setattr(selectors, "predict", lambda tagger, text, told=told: told)
        values[name] = ReverseValidation()(build("bert"), on_bert)
    assert values["right"] > 0.2 > 0.1 > values["mixed up"], values
    assert values["missing"] == 0.0


def test_judges_that_ask_for_answers_have_them_made_once(trained: Tagger, material: Material) -> None:
    found = material.answers(trained)
    assert found is material.answers(trained)
    assert [sentence.tags for sentence in found] == [one.tags for one in predict(trained, material.sample)]
    assert sample_answers(trained, material) == [sentence.tags for sentence in found]


def test_plain_tags_teach_back_too(
    build: Callable[..., Tagger], on_bert: Material, part_of_speech: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "predict", lambda tagger, text: part_of_speech)
    plain = replace(on_bert, target=part_of_speech.unlabelled(), source_dev=part_of_speech)
    assert ReverseValidation()(build("bert", text=part_of_speech), plain) == 1.0


def test_the_encoder_that_is_taught_back_is_one_that_no_run_has_touched(
    build: Callable[..., Tagger], on_bert: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagger = build("bert", dropout=0.0)
    adapt(tagger, on_bert.source_dev, None, select="last", training=TRAINING)
    before = copy.deepcopy(tagger.state_dict())
    read: list[Corpus] = []
    kept = selectors.answers

    def watched(reader: Tagger, text: Corpus, ask: Any) -> Any:
        read.append(text)
        assert not text.is_labelled
        fresh = build("bert").encoder.state_dict()
        assert all(torch.equal(tensor, fresh[name]) for name, tensor in reader.encoder.state_dict().items())
        return kept(reader, text, ask)

    monkeypatch.setattr(selectors, "answers", watched)
    value = ReverseValidation()(tagger, on_bert)
    assert value == ReverseValidation()(tagger, on_bert)
    assert len(read) == 2  # the second run finds them in memory
    word_features.cache_clear()
    assert value == ReverseValidation()(tagger, on_bert)
    assert len(read) == 4
    assert all(torch.equal(before[name], tensor) for name, tensor in tagger.state_dict().items())


def test_teaching_back_on_a_pre_trained_encoder_draws_nothing(build: Callable[..., Tagger], on_bert: Material) -> None:
    tagger = build("bert")
    before = torch.get_rng_state()
    assert ReverseValidation()(tagger, on_bert) is not None
    assert torch.equal(torch.get_rng_state(), before)


def test_the_linear_layer_is_that_of_many_small_steps() -> None:
    dice = torch.Generator().manual_seed(0)
    points, others = (torch.randn(size, 3, dtype=torch.float64, generator=dice) for size in (60, 300))
    tags = (points @ torch.randn(3, 4, dtype=torch.float64, generator=dice)).argmax(1)
    tags[:9] = 0  # nothing is ever clear
    scaled = (points - points.mean(0)) / points.std(0, correction=0)
    weight = torch.zeros(4, 4, dtype=torch.float64)  # the last row: the bias
    wide = torch.cat([scaled, torch.ones(60, 1, dtype=torch.float64)], 1)
    for _ in range(5_000):
        away = (wide @ weight).softmax(1) - torch.nn.functional.one_hot(tags, 4)
        slope = wide.T @ away / 60
        slope[:3] += selectors.STRENGTH * weight[:3]
        weight -= 0.5 * slope
    expected = ((others - points.mean(0)) / points.std(0, correction=0) @ weight[:3] + weight[3]).argmax(1)
    found = tags_by_linear_layer(points, tags, others)
    assert (found != expected).sum() <= 1  # one may lie on the border
    assert len(found.unique()) == 4


@pytest.mark.parametrize("name", SELECTORS)
def test_nothing_to_look_at_is_no_number_and_no_crash(trained: Tagger, material: Material, name: str) -> None:
    empty = Material(Corpus(()), None, None, TAGGER, TRAINING)
    assert SELECTORS[name](trained, empty) is None


def test_target_labels_are_refused(tweets: Corpus) -> None:
    with pytest.raises(ValueError, match="was given some"):
        Material(tweets, None, None, TAGGER, TRAINING)


def result(recipe: str, value: float | None) -> RunResult:
    return RunResult(recipe, 1, "", None, None, None, None, 1, 1.0, 1.0, False, "", (), {"it": value})


def test_of_equal_runs_the_first_is_chosen_and_silence_is_counted() -> None:
    runs = [result("a", None), result("b", 2.0), result("c", 2.0), result("d", math.nan)]
    found = choose("it", runs)
    assert found is not None
    assert (found.recipe, found.silent, found.tied, found.regret) == ("b", 2, 1, None)
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
