"""What a recipe is compared with: a tagger of the same make, so that the change measures the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.tagger import Tagger
from acclimate.runs.result import Outcome
from acclimate.runs.train import adapt

QUICK = {"updates": 2, "words_per_batch": 60, "learning_rate": 0.02, "device": "cpu"}
STILL = {"dropout": 0.0, "forget_rare": 0.0}
NO_NOISE = {"rate": 0, "radius": {"words": 0, "characters": 0, "pieces": 0}, "weight": 0}
MAT_STAGE = {"name": "learn", "objectives": {"mat": {}}}
Build = Callable[..., Tagger]


def adapted(tagger: Tagger, recipe: str, source: Corpus, **given: Any) -> tuple[dict[str, Tagger], Outcome]:
    """The taggers before and after."""
    seen: dict[str, Tagger] = {}

    def look(when: str, shown: Tagger, siblings: Any) -> None:
        seen[when] = shown

    outcome = adapt(tagger, source, recipe=recipe, look=look, training=QUICK, select="last", **given)
    return seen, outcome


def make_of(tagger: Tagger) -> dict[str, Any]:
    """All that is not a weight."""
    shapes = {name: tuple(tensor.shape) for name, tensor in tagger.state_dict().items()}
    settings = tagger.encoder.settings.model_dump() if isinstance(tagger.encoder, CharacterCnnLstm) else {}
    return {"shapes": shapes, "entities": tagger.entities, **settings}


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("mat", {}),
        ("datnet", {}),
        ("acclimate", {}),
        ("compose", {"stages": [MAT_STAGE]}),
    ],
)
def test_tables_are_normalised_before_where_the_recipe_normalises_them(
    build: Build, news: Corpus, tweets: Corpus, recipe: str, options: dict[str, Any]
) -> None:
    seen, outcome = adapted(build(), recipe, news, target=tweets.unlabelled(), **options)
    assert make_of(seen["before"]) == make_of(seen["after"])
    assert make_of(seen["before"])["normalise"] == "weighted"
    assert outcome.make == ("normalised word and letter tables (tagger.lstm.normalise=weighted)",)
    assert any(
        "The tagger before is of the same make, to compare fairly: it has normalised word" in remark
        for remark in outcome.remarks
    )


@pytest.mark.parametrize("options", [{"form": "P"}, {"shared_width": 3}])
def test_the_encoder_is_divided_before_as_datnet_divides_it(
    build: Build, news: Corpus, tweets: Corpus, options: dict[str, Any]
) -> None:
    few = tweets[:4]
    tagger = build(text=few, labels=news.labels)
    letters = {letter for sentence in few for word in sentence.words for letter in word}
    source = news.filter(lambda sentence: set("".join(sentence.words)) <= letters)  # none that only DATNet would add
    seen, outcome = adapted(tagger, "datnet", source, target_labelled=few, **options)
    assert make_of(seen["before"]) == make_of(seen["after"])
    assert len(outcome.make) == 2


@pytest.mark.parametrize("recipe", ["mslm", "compose"])
def test_entities_are_found_before_by_the_heads_that_mslm_builds(build: Build, news: Corpus, recipe: str) -> None:
    options = {} if recipe == "mslm" else {"stages": [{"name": "all", "mslm": {}}]}
    seen, outcome = adapted(build("bert"), recipe, news, **options)
    assert seen["before"].entities is not None
    assert make_of(seen["before"]) == make_of(seen["after"])
    assert "heads that find entities" in outcome.make[0]


def test_without_its_method_a_recipe_changes_nothing(
    build: Build, news: Corpus, same_weights: Callable[[Any, Any], bool]
) -> None:
    """MAT without noise and masks is plain training: a difference could only be one of make."""
    seen, _ = adapted(build(**STILL), "mat", news, **NO_NOISE)
    assert same_weights(seen["before"], seen["after"])


def test_a_tagger_that_is_of_that_make_already_is_left_as_it_is(build: Build, news: Corpus) -> None:
    seen, outcome = adapted(build(normalise="weighted"), "mat", news)
    assert make_of(seen["before"]) == make_of(seen["after"])
    assert outcome.make == ()
    assert not any("same make" in remark for remark in outcome.remarks)
