"""A tagger that learns more labels: it answers as before until it has learnt them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.predict import predict
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt

Build = Callable[..., Tagger]


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
@pytest.mark.parametrize("head", [{"head": "softmax"}, {}, {"boundary_scores": True}])
def test_it_answers_as_before(build: Build, news: Corpus, make_corpus, scheme: str, head: dict) -> None:
    """After some training, so that there is something to keep."""
    tagger = build(scheme=scheme, dropout=0.0, **head)
    training = {"updates": 60, "learning_rate": 0.05, "words_per_batch": 100}
    adapt(tagger, news, recipe="source-only", select="last", training=training)
    more = tagger.with_labels(["AAA", "ZZZ"])
    assert list(more.labels) == ["AAA", "LOC", "ORG", "PER", "ZZZ"]
    text = make_corpus(40, seed=9)
    answers = predict(tagger, text)
    assert sum(len(sentence.spans) for sentence in answers) > 10
    assert predict(more, text).sentences == answers.sentences


def test_what_it_knows_keeps_its_scores_and_new_tags_are_within_reach(build: Build, news: Corpus) -> None:
    tagger = build().eval()
    more = tagger.with_labels(["GENE"])
    one, other = tagger.view(news[:2].sentences).scores, more.view(news[:2].sentences).scores
    places = [more.tags.index(tag) for tag in tagger.tags]
    torch.testing.assert_close(other[..., places], one)
    gene = other[..., more.tags.index("B-GENE")]
    assert ((one[..., 0] - gene) > 0).all()
    assert ((one[..., 0] - gene) < 5).all()


def test_the_tagger_itself_stays_as_it_was_and_shares_nothing(build: Build) -> None:
    tagger = build()
    for labels in (["PER"], ["GENE"]):
        more = tagger.with_labels(labels)
        assert not {id(weight) for weight in more.parameters()} & {id(weight) for weight in tagger.parameters()}
    assert list(tagger.labels) == ["LOC", "ORG", "PER"]


def test_it_can_be_saved_and_loaded(build: Build, tmp_path, same_weights) -> None:
    more = build().with_labels(["GENE"])
    more.save(tmp_path / "a")
    assert same_weights(Tagger.load(tmp_path / "a"), more)


def test_heads_that_cannot_be_extended_say_so(build: Build, part_of_speech: Corpus) -> None:
    with pytest.raises(InputError, match="tags of every word cannot learn new labels"):
        build(labels=part_of_speech.labels).with_labels(["X"])
    tagger = build("bert")
    tagger.find_entities(EntitySettings())
    with pytest.raises(InputError, match="find entities first cannot learn new labels"):
        tagger.with_labels(["X"])
