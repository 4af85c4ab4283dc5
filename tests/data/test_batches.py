"""Batches: every sentence once per epoch, little padding, and an order that the seed alone decides."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.batches import Batches, plan
from acclimate.data.corpus import Corpus, Sentence

lengths_lists = st.lists(st.integers(1, 40), min_size=1, max_size=60)


def corpus_of_lengths(*lengths: int, name: str = "corpus") -> Corpus:
    return Corpus.of((Sentence((f"{name}{number}", *["w"] * (n - 1))) for number, n in enumerate(lengths)), name)


def dice(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(lengths_lists, st.integers(1, 90), st.one_of(st.none(), st.integers(1, 5)), st.booleans())
def test_a_plan_holds_every_sentence_exactly_once(lengths, words, sentences, shuffled) -> None:
    batches = plan(lengths, words, dice() if shuffled else None, sentences)
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))


@given(lengths_lists, st.integers(1, 90), st.booleans())
def test_a_batch_with_its_padding_stays_within_its_words_unless_it_is_one_long_sentence(lengths, words, shuffled):
    for batch in plan(lengths, words, dice() if shuffled else None):
        assert len(batch) == 1 or len(batch) * max(lengths[number] for number in batch) <= words


@given(lengths_lists, st.integers(1, 5))
def test_a_batch_never_has_more_sentences_than_allowed(lengths, sentences) -> None:
    assert max(map(len, plan(lengths, 10_000, dice(), sentences))) <= sentences


def test_without_dice_the_plan_goes_from_short_to_long() -> None:
    assert plan([5, 1, 3, 2], words_per_batch=6) == [[1, 3], [2], [0]]


def test_padding_stays_small_though_the_order_is_random() -> None:
    lengths = torch.randint(1, 60, (500,)).tolist()
    batches = plan(lengths, 512, dice())
    padded = sum(len(batch) * max(lengths[number] for number in batch) for batch in batches)
    assert padded < 1.35 * sum(lengths)


def test_the_plan_depends_on_the_dice_and_on_nothing_else() -> None:
    lengths = [3, 5, 2, 8, 4, 4, 6, 7] * 4
    assert plan(lengths, 20, dice(1)) == plan(lengths, 20, dice(1)) != plan(lengths, 20, dice(2))


def test_a_batch_is_the_same_whether_walked_to_or_jumped_to() -> None:
    corpus = corpus_of_lengths(*range(1, 20))
    walked = list(islice(Batches({"source": corpus}, words_per_batch=30, seed=3).starting_at(0), 60))
    for number in (59, 0, 31, 7):
        assert Batches({"source": corpus}, words_per_batch=30, seed=3).batch(number) == walked[number]


def test_batches_can_be_asked_for_in_any_order() -> None:
    batches = Batches({"source": corpus_of_lengths(*range(1, 20))}, words_per_batch=30)
    forwards = [batches.batch(number) for number in range(40)]
    assert [batches.batch(number) for number in reversed(range(40))] == forwards[::-1]


def test_each_epoch_holds_each_sentence_once_and_in_another_order() -> None:
    corpus = corpus_of_lengths(*[4] * 30)
    batches = Batches({"source": corpus}, words_per_batch=40)
    epochs = [[s for n in range(3) for s in batches.batch(3 * epoch + n)["source"]] for epoch in range(3)]
    assert all(Counter(epoch) == Counter(corpus.sentences) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


@pytest.mark.parametrize(("source", "target"), [(40, 3), (3, 40), (7, 1)])
def test_domains_of_unlike_size_walk_side_by_side_and_the_smaller_goes_round(source: int, target: int) -> None:
    corpora = {
        "source": corpus_of_lengths(*[5] * source, name="s"),
        "target": corpus_of_lengths(*[5] * target, name="t"),
    }
    batches = Batches(corpora, words_per_batch=5)
    assert batches.epoch_length == source
    walked = list(islice(batches.starting_at(0), source * target))
    for name, corpus in corpora.items():
        seen = Counter(sentence for batch in walked for sentence in batch[name])
        assert seen == Counter({sentence: source * target // len(corpus) for sentence in corpus})


def test_processes_that_share_a_stream_see_every_batch_once() -> None:
    batches = Batches({"source": corpus_of_lengths(*range(1, 12))}, words_per_batch=12)
    shares = [list(islice(batches.starting_at(rank, step=2), 5)) for rank in range(2)]
    assert [batch for pair in zip(*shares, strict=True) for batch in pair] == [batches.batch(n) for n in range(10)]


def test_the_number_of_sentences_per_batch_can_be_fixed() -> None:
    batches = Batches({"source": corpus_of_lengths(*[2] * 10)}, words_per_batch=999, sentences_per_batch=5)
    assert [len(batches.batch(number)["source"]) for number in range(4)] == [5, 5, 5, 5]


def test_asking_for_the_length_of_an_epoch_does_not_make_later_epochs_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("acclimate.data.batches.plan", lambda *given: made.append(1) or plan(*given))
    batches = Batches({"source": corpus_of_lengths(*[5] * 20)}, words_per_batch=5)
    for number in range(20, 40):
        assert batches.epoch_length == 20
        batches.batch(number)
    assert len(made) <= 3


def test_a_corpus_without_sentences_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="target corpus 'tweets' has no sentences"):
        Batches({"source": corpus_of_lengths(3), "target": Corpus((), "tweets")})


def sides(seed: int = 0, **settings: int) -> Batches:
    lengths = torch.randint(1, 60, (900,), generator=dice(4)).tolist()
    corpora = {"source": corpus_of_lengths(*lengths[:600]), "target": corpus_of_lengths(*lengths[600:], name="t")}
    return Batches(corpora, 200, seed=seed, **settings)


def mean_length(sentences: list[Sentence]) -> float:
    return sum(map(len, sentences)) / len(sentences)


def test_sentences_that_stand_side_by_side_are_of_like_length() -> None:
    batches = sides()
    parts = [[mean_length(part) for part in batches.batch(number).values()] for number in range(300)]
    unlike = sum(abs(one - other) for one, other in parts) / len(parts)
    assert unlike < 3  # 17 where each corpus is shuffled for itself
    assert len({round(one) for one, _ in parts}) > 20  # and short ones and long ones still come in turns


def test_matched_batches_still_hold_each_sentence_once_in_a_pass() -> None:
    batches = sides()
    target = batches.corpora["target"]
    for which in range(3):
        numbers = range(batches.start_of("target", which), batches.start_of("target", which + 1))
        seen = Counter(sentence for number in numbers for sentence in batches.batch(number)["target"])
        assert seen == Counter(target.sentences)


def test_matched_batches_are_the_same_whether_walked_to_or_jumped_to() -> None:
    walked = list(islice(sides(3).starting_at(0), 250))
    for number in (249, 0, 131, 7, 64):
        assert sides(3).batch(number) == walked[number]


def test_a_stream_can_be_matched_with_another_one() -> None:
    whole = sides()
    source = Batches({"source": whole.corpora["source"]}, 200, seed=1)
    target = Batches({"target": whole.corpora["target"]}, 100, seed=1, beside=source)
    pairs = [(source.part("source", n), target.part("target", n)) for n in range(200)]
    assert sum(abs(mean_length(one) - mean_length(other)) for one, other in pairs) / len(pairs) < 4


def test_a_discrepancy_of_two_halves_of_one_text_does_not_see_how_batches_are_made() -> None:
    from acclimate.methods.alignment.mmd import MEDIANS, squared_mmd

    def unlike(one: list[Sentence], other: list[Sentence]) -> float:
        points = [torch.tensor([[float(len(sentence))] for sentence in part]) for part in (one, other)]
        return float(squared_mmd(*points, MEDIANS))

    batches = sides()
    source, target = batches.corpora.values()
    matched = [unlike(*batches.batch(number).values()) for number in range(150)]
    drawn = []
    for number in range(150):
        sizes = [len(part) for part in batches.batch(number).values()]
        picked = [
            torch.randperm(len(corpus), generator=dice(number))[:size]
            for corpus, size in zip((source, target), sizes, strict=True)
        ]
        drawn.append(unlike([source[int(n)] for n in picked[0]], [target[int(n)] for n in picked[1]]))
    assert sum(matched) < 1.1 * sum(drawn)
