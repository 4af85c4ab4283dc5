"""What is written down along training: how sure the tagger is of the right tags of a few sentences."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt
from acclimate.training.stage import Confidence

QUICK = {"updates": 6, "evaluate_every": 2, "words_per_batch": 60, "learning_rate": 0.02, "device": "cpu"}
Build = Callable[..., Tagger]
WATCHED = Corpus.of(
    [
        Sentence(("Anna", "left", "Oslo"), ("B-PER", "O", "B-LOC")),
        Sentence(("Bob", "Stone"), ("B-PER", "I-PER")),
        Sentence(("ok",), ("O",)),
    ],
    "watched",
)


def brute_force(tagger: Tagger, sentence: Sentence) -> tuple[float, list[float]]:
    """The share of the right path among all paths written out, and that of the paths with each word's right tag."""
    tagger.eval()
    with torch.no_grad():
        view = View(tagger, tagger.tensorize([sentence]))
        scores, gold = view.scores[0].double(), tuple(view.sentences.tags[0].tolist())
    moves = getattr(tagger.head, "transitions", torch.zeros(len(tagger.tags), len(tagger.tags))).detach().double()
    paths = list(itertools.product(range(len(tagger.tags)), repeat=len(sentence)))
    weights = [
        math.exp(
            sum(float(scores[place, tag]) for place, tag in enumerate(path))
            + sum(float(moves[left, right]) for left, right in itertools.pairwise(path))
        )
        for path in paths
    ]
    whole = sum(weights)
    by_word = [
        sum(weight for path, weight in zip(paths, weights, strict=True) if path[place] == tag) / whole
        for place, tag in enumerate(gold)
    ]
    return weights[paths.index(gold)] / whole, by_word


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_confidence_is_the_share_of_the_right_path_among_all_paths(build: Build, encoder: str, head: str) -> None:
    tagger = build(encoder, labels=["LOC", "PER"], head=head, scheme="IOB2")
    if head == "crf":
        torch.nn.init.normal_(tagger.head.transitions)
    rows = Confidence(WATCHED, tagger)(tagger)["sentences"]
    assert [row["words"] for row in rows] == ["Anna left Oslo", "Bob Stone", "ok"]
    for row, sentence in zip(rows, WATCHED, strict=True):
        probability, marginals = brute_force(tagger, sentence)
        assert row["probability"] == pytest.approx(probability, rel=1e-4)
        assert row["marginals"] == pytest.approx(marginals, abs=2e-6)
        if head == "softmax":
            assert row["probability"] == pytest.approx(math.prod(row["marginals"]), rel=1e-3)


def test_looking_leaves_no_trace(build: Build, bert: str) -> None:
    """No random number is drawn, no gradient kept, and what slept through training sleeps on."""
    tagger = build(contextual={"encoder": bert}, dropout=0.5).train()
    tagger.encoder.filters.eval()
    modes = [module.training for module in tagger.modules()]
    before = torch.get_rng_state()
    first = Confidence(WATCHED[:1], tagger)(tagger)
    assert torch.equal(torch.get_rng_state(), before)
    assert [module.training for module in tagger.modules()] == modes
    assert first == Confidence(WATCHED[:1], tagger.eval())(tagger)  # without dropout, that is
    assert all(parameter.grad is None for parameter in tagger.parameters())


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [
        {"recipe": place.parent.name, **row}
        for place in sorted((out / "training").glob("*/records.jsonl"))
        for row in map(json.loads, place.read_text().splitlines())
        if row["kind"] == "confidence"
    ]


@pytest.mark.parametrize(("recipe", "first"), [("mat", "source-only"), ("datnet", "target-only")])
def test_it_is_written_down_at_every_look_of_the_baseline_and_of_the_recipe(
    build: Build, news, tweets, tmp_path: Path, recipe: str, first: str
) -> None:
    few = tweets[:4] if recipe == "datnet" else None
    tagger = build(text=tweets[:4] if few else news, labels=news.labels)
    adapt(tagger, news, recipe=recipe, target_labelled=few, watch=WATCHED, select="last", training=QUICK, out=tmp_path)
    rows = rows_of(tmp_path)
    assert sorted({(row["recipe"], row["update"]) for row in rows}) == sorted(
        (name, update) for name in (first, recipe) for update in (2, 4, 6)
    )
    assert all(0 < sentence["probability"] < 1 for row in rows for sentence in row["sentences"])
    last = next(row for row in rows if (row["recipe"], row["update"]) == (recipe, 6))
    assert last["sentences"] == Confidence(WATCHED, tagger)(tagger)["sentences"]  # the state that is kept


def test_watching_changes_nothing(build: Build, news: Corpus, same_weights) -> None:
    taggers = [build(), build()]
    for tagger, watch in zip(taggers, (WATCHED, None), strict=True):
        adapt(tagger, news, recipe="mat", watch=watch, select="last", training=QUICK, rate=0.5)
    assert same_weights(*taggers)


def test_confidence_grows_while_it_learns(build: Build, news: Corpus, tmp_path: Path) -> None:
    training = QUICK | {"updates": 60, "evaluate_every": 20}
    adapt(build(dropout=0.0), news, watch=news[:3], select="last", training=training, out=tmp_path)
    sure = [sum(math.log(each["probability"]) for each in row["sentences"]) for row in rows_of(tmp_path)]
    assert sure == sorted(sure)
    assert sure[0] < sure[-1] - 1


@pytest.mark.parametrize(
    ("watch", "words"),
    [
        (WATCHED.unlabelled(), "watched has no tags to compare with"),
        (Corpus.of([Sentence(("flu",), ("B-DISEASE",))], "clinical"), "does not know: DISEASE"),
    ],
)
def test_sentences_that_cannot_be_watched_are_refused(build: Build, news: Corpus, watch: Corpus, words: str) -> None:
    with pytest.raises(InputError, match=words):
        adapt(build(), news, watch=watch, training=QUICK)
