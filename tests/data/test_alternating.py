"""Batches of one domain each: every sentence in its turn, the tail at the end, and an order that the seed decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from math import ceil, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.batches import Alternating, Batch, Batches, plan
from acclimate.data.corpus import Corpus, Sentence


def corpus_of(count: int, name: str, length: int = 5) -> Corpus:
    return Corpus.of((Sentence((f"{name}{number}", *["w"] * (length - 1))) for number in range(count)), name)


def alternating(source: int, target: int, **settings: Any) -> Alternating:
    """Sentences of five words, each a batch to itself."""
    corpora = {"source": corpus_of(source, "s"), "target": corpus_of(target, "t")}
    return Alternating(corpora, words_per_batch=5, **settings)


def first(stream: Alternating, count: int, start: int = 0) -> list[Batch]:
    return list(islice(stream.starting_at(start), count))


def domains(batches: list[Batch]) -> str:
    """The first letters of the domains, in a row."""
    return "".join(name[0] for batch in batches for name in batch)


def sentences(batches: list[Batch], name: str) -> list[Sentence]:
    return [sentence for batch in batches for sentence in batch.get(name, [])]


def epochs(stream: Alternating) -> Iterator[list[Batch]]:
    """Where all epochs are of one length."""
    walk = stream.starting_at(0)
    while True:
        yield list(islice(walk, stream.epoch_length))


@pytest.mark.parametrize(("source", "target"), [(30, 7), (7, 30), (1, 1), (1, 12), (12, 1)])
def test_an_epoch_holds_every_sentence_of_each_corpus_once(source: int, target: int) -> None:
    stream = alternating(source, target)
    assert stream.epoch_length == source + target
    for epoch in islice(epochs(stream), 4):
        for name, corpus in stream.corpora.items():
            assert Counter(sentences(epoch, name)) == Counter(corpus.sentences)


def test_a_batch_holds_one_domain_and_the_domains_are_mixed() -> None:
    batches = first(alternating(30, 10), 80)
    assert all(len(batch) == 1 for batch in batches)
    assert domains(batches[:40]) != domains(batches[40:])
    assert sum(here != there for here, there in pairwise(domains(batches))) > 5


lengths_lists = st.lists(st.integers(1, 30), min_size=1, max_size=25)


@given(st.lists(lengths_lists, min_size=1, max_size=4), st.integers(5, 60), st.integers(0, 99))
def test_passes_that_differ_in_length_keep_every_sentence_once_per_epoch(sizes, words, seed) -> None:
    corpora = {
        f"task{task}": Corpus.of(Sentence((f"{task}-{number}", *["w"] * (n - 1))) for number, n in enumerate(lengths))
        for task, lengths in enumerate(sizes)
    }
    plans = Batches(corpora, words, seed=seed)
    stream = Alternating(corpora, words, seed=seed)
    start = 0
    for which in range(4):
        end = sum(plans.start_of(name, which + 1) for name in corpora)
        batches = first(stream, end - start, start)
        for name, corpus in corpora.items():
            assert Counter(sentences(batches, name)) == Counter(corpus.sentences)
        start = end


def test_tasks_have_their_turns_in_proportion_to_their_size() -> None:
    corpora = {name: corpus_of(count, name) for name, count in {"ner": 60, "chunks": 30, "pos": 10}.items()}
    stream = Alternating(corpora, words_per_batch=5)
    turns = Counter(name for batch in first(stream, 100) for name in batch)
    assert stream.epoch_length == 100
    assert turns == {"ner": 60, "chunks": 30, "pos": 10}


def test_the_turns_are_mixed_evenly_all_through_the_epoch() -> None:
    """The mean place of the source's turns, over 200 epochs, within four standard errors of the middle."""
    stream = alternating(6, 4)
    places = [place for epoch in islice(epochs(stream), 200) for place, d in enumerate(domains(epoch)) if d == "s"]
    variance = (10 + 1) * (10 - 6) / (12 * 6)  # of the mean of 6 of 10 places, drawn without return
    assert abs(sum(places) / len(places) - 4.5) < 4 * sqrt(variance / 200)


@pytest.mark.parametrize(
    ("tail", "mixed"), [(0.2, 8), (0.8, 2), (0.3, 7), (0.5, 5), (0.9, 1), (1.0, 0), (0.0, 10), (0.55, 4)]
)
def test_the_tail_is_target_only_and_the_rest_is_mixed(tail: float, mixed: int) -> None:
    stream = alternating(20, 10, tail=tail)
    for epoch in islice(epochs(stream), 5):
        begin, end = domains(epoch[: 20 + mixed]), domains(epoch[20 + mixed :])
        assert Counter(begin) == Counter(s=20, t=mixed)
        assert end == "t" * (10 - mixed)
        assert Counter(sentences(epoch, "target")) == Counter(stream.corpora["target"].sentences)


def test_each_epoch_keeps_other_sentences_for_its_tail() -> None:
    tails = [sentences(epoch[-5:], "target") for epoch in islice(epochs(alternating(3, 10, tail=0.5)), 3)]
    assert tails[0] != tails[1] != tails[2]


@pytest.mark.parametrize(("rate", "count"), [(0.3, 6), (0.29, 5), (0.01, 1), (0.5, 10), (1.0, 20), (2.5, 50)])
def test_the_mix_rate_is_the_share_of_the_source_in_an_epoch(rate: float, count: int) -> None:
    stream = alternating(20, 8, mix_rate=rate)
    assert stream.epoch_length == count + 8
    for epoch in islice(epochs(stream), 4):
        assert Counter(domains(epoch)) == Counter(s=count, t=8)


def test_a_share_that_a_computer_cannot_write_exactly_is_not_rounded_to_less() -> None:
    assert 0.29 * 100 < 29
    assert alternating(100, 1, mix_rate=0.29).epoch_length == 30


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.3, 0.5, 0.7])
def test_epochs_go_on_through_the_source_until_all_of_it_was_seen(rate: float) -> None:
    stream = alternating(20, 3, mix_rate=rate)
    walked = sentences(first(stream, 23 * 30), "source")
    for start in range(0, len(walked) - 20, 20):
        assert Counter(walked[start : start + 20]) == Counter(stream.corpora["source"].sentences)
    enough = ceil(20 / (stream.epoch_length - 3))  # one over the mix rate, or the next whole number
    assert set(sentences(first(stream, enough * stream.epoch_length), "source")) == set(stream.corpora["source"])


@pytest.mark.parametrize(
    ("source", "target", "count"), [(64, 4, 4 * 32), (4, 64, 1), (36, 4, 54), (9, 9, 4), (8, 3, 6)]
)
def test_square_root_balance_follows_its_formula(source: int, target: int, count: int) -> None:
    stream = alternating(source, target, mix_rate=0.5, balance="square-root")
    assert count == max(1, int(source * 0.5 * sqrt(source) / sqrt(target)))
    for epoch in islice(epochs(stream), 3):
        assert Counter(domains(epoch)) == Counter(s=count, t=target)


EVERYTHING: list[dict[str, Any]] = [
    {},
    {"mix_rate": 0.3, "tail": 0.2},
    {"mix_rate": 0.3, "tail": 0.5, "balance": "square-root"},
]


def uneven(**settings: Any) -> Alternating:
    corpora = {
        name: Corpus.of(Sentence((f"{name}{n}", *["w"] * (n % 17))) for n in range(count))
        for name, count in {"source": 60, "target": 25}.items()
    }
    return Alternating(corpora, words_per_batch=30, **settings)


def test_the_uneven_corpora_of_these_tests_have_epochs_of_unlike_length() -> None:
    plans = uneven()._batches
    ends = [plans.start_of("source", which) for which in range(9)]
    assert len({end - start for start, end in pairwise(ends)}) > 1


@pytest.mark.parametrize("settings", EVERYTHING)
def test_a_batch_is_the_same_whether_walked_to_or_jumped_to(settings: dict[str, Any]) -> None:
    walked = first(uneven(seed=3, **settings), 150)
    for number in (149, 0, 31, 77, 7):
        assert uneven(seed=3, **settings).batch(number) == walked[number]


@pytest.mark.parametrize("settings", EVERYTHING)
def test_batches_can_be_asked_for_in_any_order(settings: dict[str, Any]) -> None:
    stream = uneven(**settings)
    forwards = [stream.batch(number) for number in range(90)]
    assert [stream.batch(number) for number in reversed(range(90))] == forwards[::-1]


@pytest.mark.parametrize("settings", EVERYTHING)
def test_processes_that_share_a_stream_see_every_batch_once(settings: dict[str, Any]) -> None:
    whole = first(uneven(**settings), 90)
    for rank in range(3):
        assert list(islice(uneven(**settings).starting_at(rank, step=3), 30)) == whole[rank::3]


def test_another_seed_gives_another_order() -> None:
    one, other, again = (first(uneven(seed=seed), 40) for seed in (1, 2, 1))
    assert one == again != other
    assert domains(first(alternating(20, 20, seed=1), 40)) != domains(first(alternating(20, 20, seed=2), 40))


@pytest.mark.parametrize("settings", EVERYTHING)
def test_each_pass_is_planned_once(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]) -> None:
    made: list[int] = []
    monkeypatch.setattr("acclimate.data.batches.plan", lambda *given: made.append(1) or plan(*given))
    stream = alternating(20, 20, **settings)
    batches = first(stream, 400)
    passes = sum(len(sentences(batches, name)) // 20 + 1 for name in stream.corpora)
    assert stream.epoch_length
    assert len(made) <= passes + 2


def test_batches_are_planned_as_the_settings_say() -> None:
    corpora = {"source": corpus_of(12, "s", 2), "target": corpus_of(9, "t", 2)}
    stream = Alternating(corpora, words_per_batch=999, sentences_per_batch=3)
    assert stream.epoch_length == 4 + 3
    assert {len(part) for batch in first(stream, 20) for part in batch.values()} == {3}
    assert stream.size(stream.batch(0)) == 6


def test_costs_decide_which_sentences_are_alike() -> None:
    corpus = corpus_of(8, "s", 2)
    costs = {name: [100 if number % 2 else 1 for number in range(8)] for name in ("s", "t")}
    stream = Alternating({"source": corpus, "target": corpus_of(8, "t", 2)}, 8, costs=lambda c: costs[c.name])
    for batch in first(stream, 8):
        assert len({int(sentence.words[0][1:]) % 2 for part in batch.values() for sentence in part}) == 1


def test_a_single_corpus_gives_what_batches_gives() -> None:
    corpora = {"source": uneven().corpora["source"]}
    assert first(Alternating(corpora, 30, seed=4), 60) == list(islice(Batches(corpora, 30, seed=4).starting_at(0), 60))


def test_two_corpora_of_one_sentence_each_take_their_turns() -> None:
    assert set(domains(first(alternating(1, 1, mix_rate=0.1, tail=0.2), 8))[::2]) == {"s"}
    assert sorted(domains(first(alternating(1, 1), 8))) == list("sssstttt")


def test_a_corpus_without_sentences_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="target corpus 'tweets' has no sentences"):
        Alternating({"source": corpus_of(3, "s"), "target": Corpus((), "tweets")})


@pytest.mark.parametrize("settings", [{"tail": 0.2}, {"balance": "square-root"}])
@pytest.mark.parametrize("names", ["a", "abc"])
def test_a_tail_or_a_balance_is_between_two_corpora(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(ValueError, match=f"two corpora, a source and a target, not: {', '.join(names)}"):
        Alternating({name: corpus_of(2, name) for name in names}, **settings)


def test_no_corpus_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="no corpus to take turns"):
        Alternating({})
