"""CoNLL columns, and tags at the door."""

from __future__ import annotations

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus


@pytest.fixture
def read(tmp_path):
    def reader(content, name="a.conll", **options):
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
        return read_corpus(tmp_path / name, options.pop("format", "conll"), **options)

    return reader


@pytest.mark.parametrize(
    "line", ["EU B-ORG", "EU NNP B-ORG", "EU NNP B-NP B-ORG", "EU  NNP\u0020 B-ORG ", "EU\tNNP\tx\ty\tB-ORG"]
)
def test_the_last_of_any_number_of_columns_is_the_tag(read, line):
    corpus = read(f"{line}\n\n{line}\n")
    assert [(one.words, one.tags) for one in corpus] == [(("EU",), ("B-ORG",))] * 2


def test_other_columns_can_be_chosen(read):
    content = "NNP EU B-NP B-ORG\n"
    assert read(content, column=2, words_column=1)[0].tags == ("B-NP",)
    assert read(content, column=0, words_column=1)[0].words == ("EU",)
    assert read(content, column=-2)[0].words == ("NNP",)


@pytest.mark.parametrize("option", [{"column": 4}, {"words_column": -3}, {"column": "ner"}, {"column": 0}])
def test_columns_that_are_not_there_are_refused(read, option):
    with pytest.raises(InputError, match=r"columns|same column"):
        read("EU O\n", **option)


def test_one_column_is_words_without_labels(read):
    corpus = read("Anna\nran\n\nok\n")
    assert [one.words for one in corpus] == [("Anna", "ran"), ("ok",)]
    assert not corpus.is_labelled


def test_document_starts_are_borders_and_not_sentences(read):
    corpus = read("-DOCSTART- -X- O O\n\nEU NNP x O\n\n-DOCSTART- -X- O O\nran VB x O\n")
    assert [(one.words, one.document) for one in corpus] == [(("EU",), "1"), (("ran",), "2")]


def test_a_hashtag_is_a_word(read):
    assert read("#NYC\tB-LOC\n#\tO\n# \tO\n")[0].words == ("#NYC", "#", "#")


def test_comments_are_read_over_only_when_asked(read):
    content = "# id 7 domain=en\nEU B-ORG\n#NYC B-LOC\n"
    assert read(content, comments=True)[0].words == ("EU", "#NYC")
    with pytest.raises(InputError, match="pass comments=True"):
        read(content)


def test_comments_that_look_like_words_are_hinted_at(read):
    with pytest.raises(InputError, match=r"line 1: tag 'domain=en' .*pass comments=True"):
        read("# id 7 domain=en\nEU _ _ B-ORG\nand _ _ I-ORG\n")


def test_a_word_may_hold_blanks_where_tabs_separate(read):
    assert read("10 000\tO\neuros\tO\n")[0].words == ("10 000", "euros")


def test_blanks_around_a_word_are_cut_off_and_counted(read):
    corpus = read("EU \tO\n ran\tO\n")
    assert corpus[0].words == ("EU", "ran")
    assert corpus.notes.remarks == ("2 words had blanks around them, which were cut off",)


def test_lines_of_blanks_end_a_sentence(read):
    assert len(read("a O\n  \nb O\n\t\n")) == 2


def test_the_commonest_number_of_columns_is_the_files(read):
    with pytest.raises(InputError, match=r"line 1: 1 column where the file has 2 \(separated by blanks\)"):
        read("EU\na O\nb O\n")


def test_places_are_lines(read):
    corpus = read("\n\na O\nb O\n\nc O\n")
    assert [one.place.line for one in corpus] == [3, 6]


@pytest.mark.parametrize("bad", ["b", "b O O", "\tO", "b\t"])
def test_a_bad_line_takes_its_whole_sentence_with_it(read, bad):
    corpus = read(f"a\tO\n\nx\tO\n{bad}\ny\tO\n\nc\tO\n", skip_bad=True)
    assert [one.words for one in corpus] == [("a",), ("c",)]
    assert [(skipped.place.line, skipped.text) for skipped in corpus.notes.skipped] == [(4, bad)]


def test_when_all_is_bad_that_is_an_error(read):
    with pytest.raises(InputError, match="every sentence was skipped"):
        read("a\tO\n\tO\n", skip_bad=True)


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("B-A I-A B-A O", "IOB2"),
        ("I-A I-A B-A O", "IOB1"),
        ("B-A E-A S-A O", "BIOES"),
        ("B-A L-A U-A O", "BIOES"),
        ("B_A I_A B_A O", "IOB2"),
    ],
)
def test_every_scheme_becomes_iob2_and_neighbours_stay_apart(read, tags, scheme):
    corpus = read("".join(f"w {tag}\n" for tag in tags.split()))
    assert corpus[0].tags == ("B-A", "I-A", "B-A", "O")
    assert (corpus.notes.scheme, corpus.notes.repaired, corpus.kind) == (scheme, 0, "spans")


def test_io_joins_neighbours_because_it_cannot_tell(read):
    corpus = read("a I-A\nb I-A\nc I-B\n")
    assert (corpus[0].tags, corpus.notes.scheme) == (("B-A", "I-A", "B-B"), "IO")


def test_broken_moves_are_read_leniently_and_counted(read):
    corpus = read("a B-A\nb I-A\n\nc O\nd I-A\n\ne B-A\nf I-B\n\ng B-A\n")
    assert [one.tags for one in corpus] == [("B-A", "I-A"), ("O", "B-A"), ("B-A", "B-B"), ("B-A",)]
    assert (corpus.notes.scheme, corpus.notes.repaired) == ("IOB2", 2)


def test_parts_of_speech_are_plain_tags(read):
    corpus = read("the DT\ncat NN\n. .\n\nit PRP\nO O\n")
    assert (corpus.kind, corpus.notes.scheme) == ("plain", None)
    assert corpus[1].tags == ("PRP", "O")


def test_single_letters_are_plain_tags_among_others(read):
    assert read("il R\ncane S\ncorre V\ne B\n").kind == "plain"


def test_single_letters_alone_are_spans(read):
    assert read("a B\nb I\nc O\n")[0].tags == ("B-ENTITY", "I-ENTITY", "O")


def test_an_odd_tag_among_span_tags_is_a_bad_line(read):
    with pytest.raises(InputError, match=r"line 3: tag 'PER' fits no span scheme.*The text there: 'c\\tPER'"):
        read("a B-PER\nb O\nc PER\n\nd B-LOC\n")


def test_the_kind_of_tags_can_be_forced(read):
    assert read("a B-PER\nb PER\n", labels="plain").kind == "plain"
    with pytest.raises(InputError, match="fits no span scheme"):
        read("a NN\n", labels="spans")


def test_labels_may_hold_hyphens(read):
    assert read("a B-geo-loc\n").label_counts == {"geo-loc": 1}


SWAPPED = "O\tshow\nB-Dish\tthai\nI-Dish\tcurry\n\nO\tnear\nB-Place\tOslo\n"


def test_tags_in_the_place_of_words_are_refused_with_the_options_that_turn_them(read):
    with pytest.raises(InputError, match=r"column 0 seems to hold tags \('B-Dish'\).*words_column=1 and column=0"):
        read(SWAPPED)
    corpus = read(SWAPPED, words_column=1, column=0)
    assert corpus[0].words == ("show", "thai", "curry")
    assert corpus[0].tags == ("O", "B-Dish", "I-Dish")
    with pytest.raises(InputError, match="column 1 seems to hold tags"):  # what was meant for another file
        read("\n".join("\t".join(line.split("\t")[::-1]) for line in SWAPPED.split("\n")), words_column=1, column=0)
