"""Streams side by side: a domain's part from several corpora."""

from __future__ import annotations

from itertools import islice

import pytest

from acclimate.data.batches import Batches, Joined
from acclimate.data.corpus import Corpus


def joined(news: Corpus, tweets: Corpus) -> Joined:
    few, text = tweets[:2], tweets[2:].unlabelled()
    return Joined(
        {
            "source": [Batches({"source": news}, 40)],
            "target": [Batches({"target": few}, 20), Batches({"target": text}, 20)],
        }
    )


def test_every_batch_has_some_of_each(news: Corpus, tweets: Corpus) -> None:
    stream = joined(news, tweets)
    for number in range(20):
        target = stream.batch(number)["target"]
        assert {sentence.tags is None for sentence in target} == {True, False}


def test_each_part_is_what_its_own_stream_has(news: Corpus, tweets: Corpus) -> None:
    stream = joined(news, tweets)
    few, text = stream.parts["target"]
    for number in (0, 7):
        assert stream.batch(number) == {
            "source": stream.parts["source"][0].part("source", number),
            "target": few.part("target", number) + text.part("target", number),
        }


def test_it_starts_anywhere_and_shares_among_processes(news: Corpus, tweets: Corpus) -> None:
    stream = joined(news, tweets)
    assert list(islice(stream.starting_at(3, 2), 3)) == [joined(news, tweets).batch(number) for number in (3, 5, 7)]


def test_an_epoch_is_one_of_the_first_stream_and_a_size_counts_words(news: Corpus, tweets: Corpus) -> None:
    stream = joined(news, tweets)
    assert stream.epoch_length == Batches({"source": news}, 40).epoch_length
    batch = stream.batch(0)
    assert stream.size(batch) == sum(len(sentence) for part in batch.values() for sentence in part)


def test_a_stream_without_the_domain_is_refused(news: Corpus) -> None:
    for streams in ([], [Batches({"source": news})]):
        with pytest.raises(ValueError, match="must have a corpus of that name"):
            Joined({"target": streams})
