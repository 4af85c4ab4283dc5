"""The whole look: what it holds, what it says, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from acclimate.analysis.inspection.facts import Given
from acclimate.analysis.inspection.inspection import Inspection, inspect_corpora, render, surface_table
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError


@pytest.fixture(scope="module")
def found(bert: str, news: Corpus, tweets: Corpus) -> Inspection:
    return inspect_corpora(news, tweets, encoder=bert)


def test_all_figures_are_in_the_dictionary(found: Inspection, news: Corpus, tweets: Corpus) -> None:
    told = json.loads(json.dumps(found.as_dict()))
    source, target = told["text"]["statistics"]
    assert (source["sentences"], target["words"]) == (len(news), tweets.word_count)
    assert told["surface"]["target"]["sentences: begin with a capital"] <= 1
    assert told["labels"]["source"] == dict(news.label_counts)
    assert told["labels"]["target"]["counts"] == dict(tweets.label_counts)
    assert told["encoder"]["masked_words"]["gap"] == found.facts.encoder.loss_gap
    assert told["given"]["target"] == "tweets"


def test_tags_of_the_target_tell_of_labels_and_of_nothing_else(
    bert: str, found: Inspection, news: Corpus, tweets: Corpus
) -> None:
    without = inspect_corpora(news, tweets.unlabelled(), encoder=bert)
    assert without.facts.labels.target is None
    assert without.facts.encoder == found.facts.encoder
    assert without.facts.text.overlap == found.facts.text.overlap
    assert without.facts.surface == found.facts.surface
    assert without.standings == found.standings
    assert without.notes == ()
    assert "looked at for the labels below, and for nothing else" in found.notes[0]


def test_labelled_sentences_come_before_tags_of_the_target(bert: str, news: Corpus, tweets: Corpus) -> None:
    few = inspect_corpora(news, tweets, target_labelled=tweets[:4].renamed("few"), encoder=bert)
    assert few.facts.labels.target is not None
    assert few.facts.labels.target.sentences == 4
    assert "not looked at" in few.notes[0]
    assert all(standing.lacks is None for standing in few.standings)


def test_the_text_says_what_was_found(found: Inspection) -> None:
    screen = render(found)
    assert screen.startswith("news → tweets\n")
    for said in (
        "pieces per word",
        "loss on hidden words",
        "proxy A-distance",
        "not target-only, la-dtl: each learns from",
    ):
        assert said in screen
    for suggestion in found.suggestions:
        assert suggestion.text in screen


def test_that_only_a_beginning_was_read_is_told(bert: str, news: Corpus, tweets: Corpus) -> None:
    assert "Only the beginning of the target text" in inspect_corpora(news, tweets, encoder=bert, is_cut=True).notes[0]


def test_commands_call_the_corpora_as_they_were_typed(bert: str, news: Corpus, tweets: Corpus) -> None:
    given = Given(("a b.conll",), "posts.txt")
    typed = inspect_corpora(news, tweets, given=given, encoder=bert)
    assert "--source 'a b.conll' --target posts.txt" in typed.facts.adapt("mat")


def test_a_source_without_tags_is_refused(bert: str, news: Corpus, tweets: Corpus) -> None:
    with pytest.raises(InputError, match="has no tags to learn from"):
        inspect_corpora(news.unlabelled(), tweets, encoder=bert)


def test_labelled_sentences_without_tags_are_refused(bert: str, news: Corpus, tweets: Corpus) -> None:
    with pytest.raises(InputError, match="is to be labelled target sentences"):
        inspect_corpora(news, tweets, target_labelled=tweets.unlabelled(), encoder=bert)


def test_nothing_is_refused(bert: str, news: Corpus) -> None:
    with pytest.raises(InputError, match="nobody has no sentences"):
        inspect_corpora(news, Corpus((), "nobody"), encoder=bert)


def test_one_short_sentence_is_enough_to_say_something(bert: str, news: Corpus, tweets: Corpus) -> None:
    tiny = inspect_corpora(news, tweets[:1].unlabelled(), encoder=bert)
    assert "No distance between features" in render(tiny)


def test_plain_tags_are_looked_over_too(bert: str, part_of_speech: Corpus) -> None:
    plain = inspect_corpora(part_of_speech, part_of_speech.unlabelled(), encoder=bert)
    assert "mslm: it hides entities, and plain tags have none" in render(plain)


def test_two_kinds_of_tags_are_two_tasks(bert: str, news: Corpus, part_of_speech: Corpus) -> None:
    other = inspect_corpora(news, part_of_speech.unlabelled(), target_labelled=part_of_speech, encoder=bert)
    assert other.facts.is_other_task
    able = {standing.recipe for standing in other.standings if standing.lacks is None}
    assert able == {"acclimate", "datnet", "target-only"}
    assert "datnet" in render(other)


def test_only_what_differs_on_the_surface_is_shown(found: Inspection) -> None:
    same = replace(found.facts, surface=({"words: odd": 0.5}, {"words: odd": 0.46}))
    assert "odd" not in "\n".join(surface_table(same))
    differing = replace(same, surface=({"words: odd": 0.5}, {"words: odd": 0.4}))
    assert "% of words: odd" in "\n".join(surface_table(differing))
