"""What a policy hides, against slow, obvious references."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mask_rows import TagsByRule, corpus, row

from acclimate.analysis.masks import (
    Compared,
    MaskStatistics,
    Yardsticks,
    mask_statistics,
    mask_tables,
    period_length,
)
from acclimate.analysis.run_records import MaskedRow, chance_to_be_drawn
from acclimate.analysis.text_comparison import DensityRatio
from acclimate.data.problems import InputError

NEWS, POSTS = corpus("the [Bank] rose", "the match"), corpus("the [bank] lol", "omg the loan", name="posts")


def mean(ratio: DensityRatio, words: list[str]) -> float:
    return sum(map(ratio, words)) / len(words)


def statistics(*rows: MaskedRow, every: int | None = None, **yardsticks: object) -> MaskStatistics:
    (found,) = mask_statistics({"a": rows}, Yardsticks(**yardsticks), every=every)  # type: ignore[arg-type]
    return found


def test_rows_words_and_hidden_words_are_counted() -> None:
    found = statistics(row("the [cat] sat"), row("[a] [b]", update=7)).everything
    assert (found.rows, found.words, found.hidden) == (2, 5, 3)


def test_what_has_no_yardstick_is_not_told() -> None:
    found = statistics(row("the [cat] sat")).everything
    assert (found.density_ratio, found.unseen, found.parts_of_speech) == (None,) * 3


def test_the_density_ratio_of_hidden_words_stands_beside_that_of_all() -> None:
    rows = [row("the [lol] rose"), row("omg the [bank]")]
    found = statistics(*rows, source=NEWS, target=POSTS).everything.density_ratio
    ratio = DensityRatio.of(NEWS, POSTS)
    assert found is not None
    assert found.hidden == pytest.approx(mean(ratio, ["lol", "bank"]))
    assert found.overall == pytest.approx(mean(ratio, ["the", "lol", "rose", "omg", "the", "bank"]))


WORDS = st.sampled_from(["the", "bank", "lol", "omg", "loan", "rose"])
ROWS = st.lists(
    st.builds(
        lambda words, update, by, seed: MaskedRow(
            update, "mix", tuple(words), tuple(n for n in range(len(words)) if seed >> n & 1), by
        ),
        st.lists(WORDS, max_size=6),
        st.integers(1, 30),
        st.sampled_from(["random", "adversarial"]),
        st.integers(0, 63),
    ),
    max_size=12,
)


@given(ROWS, st.integers(1, 12))
def test_periods_are_means_over_their_own_rows(rows: list[MaskedRow], every: int) -> None:
    (found,) = mask_statistics({"a": rows}, Yardsticks(NEWS, POSTS), every=every)
    ratio = DensityRatio.of(NEWS, POSTS)
    for period in found.everything.periods:
        inside = [row for row in rows if period.first <= row.update <= period.last]
        hidden = [word for row in inside for word in row.hidden_words]
        shown = None if period.density_ratio is None else period.density_ratio.hidden
        assert shown == (pytest.approx(mean(ratio, hidden)) if hidden else None)
        assert period.hidden == len(hidden)
        if period.density_ratio is not None:
            words = [word for row in inside for word in row.words]
            assert period.density_ratio.overall == pytest.approx(mean(ratio, words))
    assert sum(period.hidden for period in found.everything.periods) == found.everything.hidden


@given(ROWS)
def test_the_parts_of_a_mixture_add_up_to_the_whole(rows: list[MaskedRow]) -> None:
    (found,) = mask_statistics({"a": rows}, Yardsticks(NEWS, POSTS))
    assert found.everything.rows == len(rows)
    assert found.everything.hidden == sum(len(row.hidden) for row in rows)
    assert found.everything.words == sum(len(row.words) for row in rows)
    if found.by:
        assert found.everything.hidden == sum(part.hidden for part in found.by.values())


def test_a_period_without_rows_is_there_and_empty() -> None:
    found = statistics(row("[lol]", update=5), row("[bank]", update=25), every=10, source=NEWS, target=POSTS)
    spans = [(period.first, period.last, period.hidden) for period in found.everything.periods]
    assert spans == [(1, 10, 1), (11, 20, 0), (21, 30, 1)]
    assert found.everything.periods[1].density_ratio is None


def test_the_border_of_a_period_belongs_to_it() -> None:
    found = statistics(row("[a]", update=10), row("[b]", update=11), every=10)
    assert [period.hidden for period in found.everything.periods] == [1, 1]


@pytest.mark.parametrize(("updates", "length"), [(0, 1), (9, 1), (11, 2), (101, 20), (25_000, 2_500), (50_000, 5_000)])
def test_a_run_has_ten_periods_of_a_round_length(updates: int, length: int) -> None:
    assert period_length(updates) == length


def test_all_runs_have_periods_of_one_length() -> None:
    found = mask_statistics({"short": [row("[a]")], "long": [row("[a]", update=1000)]})
    assert [run.every for run in found] == [100, 100]


def test_a_period_of_no_updates_is_refused() -> None:
    with pytest.raises(InputError, match="one update at least, not 0"):
        mask_statistics({"a": []}, every=0)


def test_mixtures_are_split_by_who_chose() -> None:
    rows = [row("[a] b", policy="mix", by="adversarial"), row("a [b] [c]", policy="mix", by="random")]
    found = statistics(*rows)
    assert {name: group.hidden for name, group in found.groups.items()} == {"all": 3, "adversarial": 1, "random": 2}
    assert statistics(*rows[:1]).by == {}


def test_shares_of_unseen_words_are_told() -> None:
    found = statistics(row("the [LOL] [bank]"), source=NEWS).everything
    assert found.unseen == Compared(1 / 2, pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert statistics(row("[bank]"), source=NEWS, lower_case=False).everything.unseen == Compared(1.0, 1.0, 1.0)


TAGGER = {"cat": "NOUN", "sat": "VERB", "Anna": "PROPN", "the": "DET"}


def test_parts_of_speech_of_hidden_words_stand_beside_those_of_all() -> None:
    found = statistics(row("the [cat] [sat]"), row("[Anna] sat"), tagger=TagsByRule(TAGGER)).everything
    shares = found.parts_of_speech
    assert shares is not None
    assert shares["NOUN"] == Compared(pytest.approx(1 / 3), pytest.approx(1 / 5), pytest.approx(2 / 9))
    assert shares["others"] == Compared(0.0, pytest.approx(1 / 5), pytest.approx(2 / 9))
    assert sum(share.hidden for share in shares.values()) == pytest.approx(1)
    assert sum(share.overall for share in shares.values()) == pytest.approx(1)


def test_rows_without_words_or_without_hidden_ones_do_no_harm() -> None:
    empty = MaskedRow(1, "random", (), (), "random")
    found = statistics(empty, row("the cat"), source=NEWS, target=POSTS, tagger=TagsByRule(TAGGER))
    assert (found.everything.hidden, found.everything.density_ratio) == (0, None)
    assert found.everything.parts_of_speech is None


def test_a_sentence_is_tagged_once() -> None:
    tagger = TagsByRule(TAGGER)
    statistics(*[row("the [cat] sat", update=update) for update in range(1, 1500)], tagger=tagger)
    assert tagger.asked == 1


PIECES = {"a": 1, "the": 1, "bank": 2, "lol": 2, "omgomgomg": 5}  # of each word


def drawn_by_pieces(words: list[str], drawn: int, dice: random.Random) -> MaskedRow:
    """A row of which so many pieces are hidden by chance, and with them the words that they are pieces of."""
    places = tuple(PIECES[word] for word in words)
    owners = [number for number, count in enumerate(places) for _ in range(count)]
    hidden = sorted(set(dice.sample(owners, drawn)))
    return MaskedRow(1, "random", tuple(words), tuple(hidden), "random", places, drawn)


@pytest.mark.parametrize(
    ("count", "drawn", "total"), [(1, 2, 9), (3, 2, 9), (5, 4, 9), (9, 1, 9), (2, 8, 9), (0, 3, 9)]
)
def test_the_chance_of_a_word_is_that_of_all_draws_that_touch_it(count: int, drawn: int, total: int) -> None:
    draws = list(itertools.combinations(range(total), drawn))
    touching = sum(any(place < count for place in draw) for draw in draws)
    assert chance_to_be_drawn(count, drawn, total) == pytest.approx(touching / len(draws))


def test_the_blind_figures_are_those_of_pieces_drawn_by_chance() -> None:
    dice = random.Random(3)
    rows = [drawn_by_pieces(dice.choices(list(PIECES), k=dice.randint(2, 12)), 2, dice) for _ in range(20_000)]
    source, target = corpus("the a the bank"), corpus("omgomgomg lol the bank")
    found = statistics(*rows, source=source, target=target, tagger=TagsByRule(TAGGER)).everything
    assert found.density_ratio is not None
    assert found.unseen is not None
    assert found.parts_of_speech is not None
    for compared in (found.density_ratio, found.unseen, *found.parts_of_speech.values()):
        assert compared.hidden == pytest.approx(compared.blind, abs=0.01)
    assert found.unseen.blind > found.unseen.overall + 0.08  # long words are hidden more often


def test_no_run_gives_no_statistics() -> None:
    assert mask_statistics({}) == []


def test_rows_are_read_one_chunk_at_a_time() -> None:
    heard: list[int] = []
    mask_statistics({"a": (row("[a]") for _ in range(1000))}, progress=heard.append)
    assert heard == [512, 488]


def test_statistics_can_be_stored() -> None:
    rows = [row("the [cat]", policy="mix", by="adversarial"), row("[the] cat", policy="mix", by="random")]
    found = statistics(*rows, source=NEWS, target=POSTS, tagger=TagsByRule(TAGGER))
    stored = json.loads(json.dumps(found.as_dict()))
    assert stored["policy"] == "mix"
    assert stored["by"]["adversarial"]["parts_of_speech"]["NOUN"] == {"hidden": 1.0, "overall": 0.5, "blind": 0.5}


def test_statistics_are_flat_tables_too() -> None:
    found = statistics(row("the [lol]", update=3), source=NEWS, target=POSTS)
    tables = mask_tables([found])
    assert tables["overview"][0]["density_ratio"] == 1.0
    assert [line["last"] for line in tables["periods"]] == [1, 2, 3]
    assert tables["periods"][0]["density_ratio"] is None
    assert tables["parts-of-speech"] == []
