"""Two corpora through an encoder: losses, features, and what is said where something cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from acclimate.analysis.features import domain_separability, feature_points
from acclimate.analysis.inspection import facts as encoder_view
from acclimate.analysis.inspection.facts import look_through
from acclimate.data.corpus import Corpus
from acclimate.model.language_model import mlm_head_for
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import perplexity
from acclimate.settings import UsageError


def test_the_figures_are_those_of_the_tools_they_come_from(bert: str, news: Corpus, tweets: Corpus) -> None:
    found = look_through(bert, (news, tweets))
    tagger = Tagger.build(bert, labels=news.labels, seed=0)
    mlm_head = mlm_head_for(tagger.encoder)  # type: ignore[arg-type]
    losses = [perplexity(tagger.encoder, mlm_head, text) for text in (news, tweets)]  # type: ignore[arg-type]
    assert found.losses is not None
    assert [loss.loss for loss in found.losses] == pytest.approx([loss.loss for loss in losses])
    assert found.loss_gap == pytest.approx(losses[1].loss - losses[0].loss)
    points = feature_points(tagger, {"source": news, "target": tweets}, "sentence")
    assert found.separability == domain_separability(points)
    assert found.remarks == ()


def test_tags_change_nothing(bert: str, news: Corpus, tweets: Corpus) -> None:
    assert look_through(bert, (news, tweets)) == look_through(bert, (news, tweets.unlabelled()))


def test_progress_ends_where_it_was_said_to(bert: str, news: Corpus, tweets: Corpus) -> None:
    heard: list[tuple[int, int]] = []
    look_through(bert, (news, tweets), lambda done, of: heard.append((done, of)))
    assert heard[-1] == (10 + 10 + 24 + 10, 54)  # features of as many of each, losses of all
    assert heard == sorted(heard)


def test_no_more_is_read_than_was_said(bert: str, news: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_view, "LOSS_WORDS", 20)
    monkeypatch.setattr(encoder_view, "FEATURE_WORDS", 60)
    found = look_through(bert, (news, news))
    assert found.losses is not None
    assert found.separability is not None
    assert found.losses[0].sentences < 5
    assert found.separability.points < 24


def test_too_few_sentences_are_told_of(bert: str, news: Corpus, tweets: Corpus) -> None:
    found = look_through(bert, (news, tweets[:2]))
    assert found.separability is None
    assert "4 different sentences of each" in found.remarks[0]


def test_an_encoder_without_its_guesser_gives_features_only(
    bert: str, news: Corpus, tweets: Corpus, tmp_path: Path
) -> None:
    from transformers import AutoModel, AutoTokenizer

    AutoModel.from_pretrained(bert).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(bert).save_pretrained(tmp_path)
    found = look_through(str(tmp_path), (news, tweets))
    assert found.losses is None
    assert found.loss_gap is None
    assert found.separability is not None
    assert "No loss on hidden words" in found.remarks[0]


def test_an_encoder_that_was_never_trained_is_refused(news: Corpus) -> None:
    with pytest.raises(UsageError, match="knows nothing before it is trained"):
        look_through("character-cnn-lstm", (news, news))
