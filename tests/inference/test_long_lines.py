"""A line of any length is tagged in parts of one size, and as if it had been read at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.inference.predict import guess_terms, predict, word_confidences
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

KINDS = ["character-cnn-lstm", "bert", "frozen context"]


@pytest.fixture(params=KINDS)
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger], bert: str) -> Tagger:
    tagger = build(contextual={"encoder": bert}) if request.param == "frozen context" else build(request.param)
    with torch.no_grad():  # strong opinions: untrained, a tagger has the same tag for all words
        tagger.scores.weight.mul_(30)
        tagger.head.transitions.normal_(0, 1)
    return tagger.eval()


def long_sentence(corpus: Corpus, words: int) -> Sentence:
    joined = [(word, tag) for sentence in corpus for word, tag in zip(sentence.words, sentence.tags or (), strict=True)]
    rows = (joined * (words // len(joined) + 1))[:words]
    return Sentence(tuple(word for word, _ in rows), tuple(tag for _, tag in rows))


def at_once(tagger: Tagger, sentence: Sentence) -> View:
    """The slow way: the whole line in one view."""
    return View(tagger, tagger.tensorize([sentence]))


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many words there are in each batch that a tagger is shown."""
    seen: list[int] = []
    view = Tagger.view

    def watched(self: Tagger, part: list[Sentence], domain: str = "source") -> View:
        seen.append(sum(map(len, part)))
        return view(self, part, domain)

    monkeypatch.setattr(Tagger, "view", watched)
    return seen


def test_a_long_line_has_the_tags_of_the_slow_way(tagger: Tagger, news: Corpus, sizes: list[int]) -> None:
    sentence = long_sentence(news, 6000)
    (found,) = predict(tagger, Corpus.of([sentence]), words_per_batch=2048)
    assert found.words == sentence.words
    assert found.tags == tuple(tagger.spell(at_once(tagger, sentence).decoded[0].tolist()))
    assert len(set(found.tags)) > 2  # one tag throughout would show nothing
    assert max(sizes) <= 2048


def test_its_probabilities_are_those_of_the_slow_way(tagger: Tagger, news: Corpus, sizes: list[int]) -> None:
    sentence = long_sentence(news, 3000)
    corpus = Corpus.of([sentence])
    view = at_once(tagger, sentence)
    expected = view.marginals.gather(-1, view.decoded.unsqueeze(-1)).flatten().tolist()
    assert word_confidences(tagger, corpus)[0] == pytest.approx(expected, abs=1e-4)
    assert [guess.span for guess in guess_terms(tagger, corpus)] == sentence.spans
    assert max(sizes) <= 8192


def test_other_sentences_are_read_whole_and_all_keep_their_order(
    tagger: Tagger, news: Corpus, sizes: list[int]
) -> None:
    mixed = Corpus.of([*news[:3], long_sentence(news, 2500), *news[3:6]])
    found = predict(tagger, mixed)
    assert [sentence.words for sentence in found] == [sentence.words for sentence in mixed]
    short = predict(tagger, Corpus.of([*news[:3], *news[3:6]]))
    assert [found[place].tags for place in (0, 1, 2, 4, 5, 6)] == [sentence.tags for sentence in short]


def test_a_progress_bar_hears_of_a_long_line_once(tagger: Tagger, news: Corpus) -> None:
    heard: list[int] = []
    predict(tagger, Corpus.of([long_sentence(news, 2500)]), words_per_batch=1024, progress=heard.append)
    assert sum(heard) == 1
