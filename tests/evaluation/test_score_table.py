"""The table that people read."""

from rich.cells import cell_len
from tag_sequences import corpus_of

from acclimate.evaluation.counts import Tally
from acclimate.evaluation.scores import score
from acclimate.evaluation.seen import Vocabulary
from acclimate.evaluation.table import render, row

GOLD = corpus_of("B-PER I-PER O B-LOC O B-ORG I-ORG I-ORG")
PREDICTED = corpus_of("B-PER I-PER I-PER B-LOC O B-LOC I-LOC I-LOC")


def line(table: str, start: str) -> list[str]:
    (found,) = [line for line in table.splitlines() if line.strip().startswith(start)]
    return found.strip().removeprefix(start).split()


def test_the_table_names_the_scorer_and_the_size_of_the_test_set():
    first, second, *_ = render(score(GOLD, PREDICTED)).splitlines()
    assert first == "acclimate span F1, lenient reading (= conlleval, seqeval default)"
    assert second == "1 sentence, 8 words; precision, recall and F1 in percent"


def test_figures_are_percentages_with_two_decimals():
    table = render(score(GOLD, PREDICTED))
    assert line(table, "all spans (micro)") == ["33.33", "33.33", "33.33", "3", "3", "1"]
    assert line(table, "LOC") == ["50.00", "100.00", "66.67", "1", "2", "1"]


def test_columns_end_below_their_heads():
    table = render(score(GOLD, PREDICTED, seen=GOLD)).splitlines()
    end = table[3].index("F1") + 2
    assert all(row[end - 3] == "." for row in table[4:] if row.count(".") >= 3 and "accuracy" not in row)


def test_labels_in_wide_letters_keep_the_columns():
    scores = score(corpus_of("B-人名 O B-PER"), corpus_of("B-人名 O B-PER"))
    rows = [row for row in render(scores).splitlines() if row.startswith(("  人名", "  PER"))]
    assert len({cell_len(row) for row in rows}) == 1


def test_unseen_words_are_shown_when_they_are_known():
    assert "unseen words" not in render(score(GOLD, PREDICTED))
    table = render(score(GOLD, PREDICTED, seen=Vocabulary.of(GOLD[:0], lower_cased=True)))
    assert "by what training had (lower-cased)" in table
    assert line(table, "unseen words")[-3:] == ["6", "7", "3"]


def test_labels_taken_for_others_are_named():
    assert "most confused (gold > predicted): ORG > LOC 1" in render(score(GOLD, PREDICTED))


def test_the_table_of_plain_tags_speaks_of_words():
    corpus = corpus_of("DET NOUN", kind="plain")
    table = render(score(corpus, corpus))
    assert line(table, "all words (micro)")[:3] == ["100.00", "100.00", "100.00"]
    assert "typeless" not in table


def test_an_empty_corpus_has_a_table_too():
    assert line(render(score(corpus_of(), corpus_of())), "all spans (micro)")[:3] == ["-", "-", "-"]


def test_a_group_without_anything_shows_no_figure() -> None:
    assert list(row("unseen", Tally()))[1:4] == ["-", "-", "-"]
    assert list(row("unseen", Tally(0, 1, 0)))[1:4] == ["0.00", "0.00", "0.00"]  # a false alarm is one
