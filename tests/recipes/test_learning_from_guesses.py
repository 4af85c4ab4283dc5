"""Every recipe learns from guesses with scores, and a student becomes as unsure as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch
from test_every_recipe import QUICK, encoder_for, losses_of

from acclimate.data.corpus import Corpus
from acclimate.data.soft_labels import ScoredSpan as Guess
from acclimate.data.soft_labels import rows_of_spans, softened
from acclimate.inference.predict import guess
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import RECIPES
from acclimate.runs.train import adapt


def guessed(corpus: Corpus, scores: Iterable[float] = (0.9, 0.6, 0.4)) -> Corpus:
    """The corpus with a score for each span."""
    scores = tuple(scores)

    def doubted(number: int) -> list[Guess]:
        spans = corpus[number].spans
        return [Guess(one.start, one.end, one.label, scores[place % len(scores)]) for place, one in enumerate(spans)]

    return Corpus.of(
        (softened(one, rows_of_spans(doubted(number), len(one))) for number, one in enumerate(corpus)), "guesses"
    )


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_recipe_runs_on_guesses(build: Callable[..., Tagger], news: Corpus, tweets: Corpus, recipe: str) -> None:
    source = guessed(news)
    tagger = build(encoder_for(recipe), labels=source.labels)
    assert losses_of(tagger, source, tweets[2:].unlabelled(), recipe, few=guessed(tweets[:2])).all_finite


def test_certain_guesses_train_the_tagger_that_gold_does(build: Callable[..., Tagger], news: Corpus) -> None:
    weights = []
    for source in (news, guessed(news, [1.0])):
        tagger = build(labels=news.labels)
        adapt(tagger, source, None, "source-only", training=QUICK, select="last")
        weights.append(torch.cat([tensor.flatten() for tensor in tagger.state_dict().values()]))
    torch.testing.assert_close(*weights)


def test_a_resumed_run_notices_that_scores_have_changed(news: Corpus) -> None:
    assert guessed(news).fingerprint != guessed(news, [0.9, 0.6, 0.41]).fingerprint != news.fingerprint


def test_a_student_becomes_as_unsure_as_its_guesses(build: Callable[..., Tagger], news: Corpus) -> None:
    source = guessed(news, [0.7])
    tagger = build(labels=news.labels, dropout=0.0, head="softmax")
    training = {"updates": 300, "words_per_batch": 60, "learning_rate": 0.05}
    adapt(tagger, source, None, "source-only", training=training, select="last")
    begun = [
        dict(row).get(tag, 0.0)
        for own, right in zip(guess(tagger, news), news, strict=True)
        for row, tag in zip(own.probabilities or (), right.tags or (), strict=True)
        if tag.startswith("B-")
    ]
    assert sum(begun) / len(begun) == pytest.approx(0.7, abs=0.1)
