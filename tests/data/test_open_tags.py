"""Words whose labels nobody looked for: how they are spelled, read, written, mapped, joined and scored."""

from pathlib import Path

import pytest

from acclimate.data.checks import check_corpora
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.mapping import LabelMap, fitting_map, map_labels, typeless
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.data.schemes import (
    Span,
    convert_tags,
    detect_scheme,
    hidden_labels,
    may_agree,
    open_tag,
    spans_from_tags,
)
from acclimate.data.subsets import split, take_sentences
from acclimate.data.writing import write_corpus
from acclimate.evaluation.agreement import Agreement
from acclimate.evaluation.errors import report_errors
from acclimate.evaluation.scores import score
from acclimate.evaluation.significance import compare_seeds
from acclimate.methods.augmentation.anchors import augment_with_anchors, replace_entities


def corpus_of(*rows: str, annotates: tuple[str, ...] | None = None) -> Corpus:
    sentences = [
        Sentence(tuple(f"w{number}" for number, _ in enumerate(row.split())), tuple(row.split())) for row in rows
    ]
    return Corpus(tuple(sentences), annotates=annotates)


def rows_of(corpus: Corpus) -> list[str]:
    return [" ".join(sentence.tags or ()) for sentence in corpus]


def test_an_open_tag_names_what_it_may_hide_and_marks_no_span() -> None:
    assert open_tag(["PER", "LOC", "PER"]) == "O|LOC|PER"
    assert hidden_labels("O|LOC|PER") == ("LOC", "PER")
    assert hidden_labels("B-PER") == hidden_labels("O") == ()
    assert open_tag(()) == "O"
    assert spans_from_tags(["B-PER", "O|LOC", "I-PER"]) == [Span(0, 1, "PER"), Span(2, 3, "PER")]
    assert detect_scheme([["B-PER", "I-PER", "O|LOC"]]) == "IOB2"
    assert convert_tags(["B-PER", "O|LOC"], "BIOES") == ["S-PER", "O|LOC"]


@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.csv"])
def test_open_tags_are_written_and_read_again(tmp_path: Path, name: str) -> None:
    corpus = corpus_of("B-PER I-PER O|LOC O", "O|* O B-LOC")
    write_corpus(corpus, tmp_path / name)
    again = read_corpus(tmp_path / name)
    assert rows_of(again) == rows_of(corpus)
    assert again.kind == "spans"


def test_a_corpus_opens_its_words_to_the_labels_of_a_task_that_it_does_not_annotate() -> None:
    corpus = corpus_of("B-PER O O", annotates=("LOC", "PER"))
    assert rows_of(corpus.open_to(["LOC", "MISC", "ORG", "PER"])) == ["B-PER O|MISC|ORG O|MISC|ORG"]
    assert rows_of(corpus.open_to(["LOC", "PER"])) == ["B-PER O O"]
    assert corpus_of("B-PER O").open_to(["LOC", "PER"]) == corpus_of("B-PER O")
    plain = Corpus((Sentence(("a",), ("NOUN",)),), kind="plain", annotates=("NOUN",))
    assert rows_of(plain.open_to(["NOUN", "VERB"])) == ["NOUN"]


def test_joined_corpora_that_annotate_different_labels_say_word_by_word_what_is_known() -> None:
    joined = corpus_of("B-PER O", annotates=("PER",)) + corpus_of("B-LOC O")
    assert rows_of(joined) == ["B-PER O|LOC", "B-LOC O"]
    assert joined.annotates is None
    alike = corpus_of("B-PER O", annotates=("PER",)) + corpus_of("O O", annotates=("PER",))
    assert (rows_of(alike), alike.annotates) == (["B-PER O", "O O"], ("PER",))


def test_a_map_says_what_was_annotated_and_which_labels_may_mean_something(tmp_path: Path) -> None:
    file = tmp_path / "gum.yaml"
    file.write_text("labels:\n  person: PER\n  abstract: O|MISC\n  time: O\nannotates: [PER, LOC]\n", encoding="utf-8")
    mapped = map_labels(corpus_of("B-person I-person O", "B-abstract I-abstract B-time", "O|time|person O O"), file)
    assert rows_of(mapped) == ["B-PER I-PER O", "O|MISC O|MISC O", "O|PER O O"]
    assert mapped.annotates == ("LOC", "PER")
    assert LabelMap.load(file).results == ("LOC", "PER")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("labels:\n  a: A\nannotates: A\n", "line 3: `annotates` needs a list"),
        ("labels:\n  a: A\nannotates: []\n", "line 3: `annotates` needs a list"),
        ("labels:\n  a: O|\n", "line 2: 'a': 'O|' lacks a name"),
    ],
)
def test_a_map_that_says_it_wrongly_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refusal:
        LabelMap.load(file)
    assert said in str(refusal.value)


def test_other_spans_and_other_words_keep_open_words_open() -> None:
    sentence = corpus_of("B-PER O O|LOC")[0]
    assert sentence.with_spans([Span(0, 2, "PER")]).tags == ("B-PER", "I-PER", "O|LOC")
    longer = replace_entities(sentence, {Span(0, 1, "PER"): ("Anna", "Bell")})
    assert (longer.words, longer.tags) == (("Anna", "Bell", "w1", "w2"), ("B-PER", "I-PER", "O", "O|LOC"))


def test_a_prediction_is_not_blamed_for_what_nobody_looked_for() -> None:
    gold = corpus_of("B-PER O O O", annotates=("PER",))
    guess = corpus_of("B-PER O B-LOC I-LOC")
    assert (score(gold, guess).span.precision, score(gold, guess).span.recall) == (1.0, 1.0)
    assert score(gold, guess).token.accuracy == 1.0
    wrong = corpus_of("B-PER B-PER O O")
    assert score(gold, wrong).span.precision == 0.5
    # a span that overlaps a known one is wrong, whatever else it covers
    overlapping = corpus_of("B-LOC I-LOC O O")
    assert (score(gold, overlapping).span.precision, score(gold, overlapping).span.recall) == (0.0, 0.0)


def test_a_corpus_keeps_what_it_annotates_through_every_change() -> None:
    corpus = corpus_of("B-PER O", "O O", annotates=("PER",))
    for changed in (corpus[:1], corpus.filter(len), corpus.select([1]), corpus.renamed("b"), corpus.labelled()):
        assert changed.annotates == ("PER",)


def test_an_open_tag_has_said_already_what_a_word_may_hide() -> None:
    rejected_as_a_place = corpus_of("B-PER O|TITLE O|* O", annotates=("PER",))
    assert rows_of(rejected_as_a_place.open_to(["LOC", "PER", "TITLE"])) == ["B-PER O|TITLE O|* O|LOC|TITLE"]


def test_a_corpus_in_which_nothing_was_looked_for_is_open_to_everything() -> None:
    assert rows_of(corpus_of("B-PER O", annotates=()).open_to(["LOC", "PER"])) == ["B-PER O|LOC|PER"]


def test_a_corpus_tells_how_many_words_may_hide_what() -> None:
    corpus = corpus_of("B-PER O|LOC O|*", "O|LOC|ORG", "O")
    assert corpus.open_words == {"LOC": 2, "ORG": 1, "*": 1}
    assert corpus.hidden_labels.names == ("LOC", "ORG")


def test_a_map_must_name_what_words_may_hide() -> None:
    with pytest.raises(InputError, match=r"does not name: city \(may hide\)"):
        map_labels(corpus_of("B-person O|city"), {"person": "PER"})
    assert rows_of(map_labels(corpus_of("B-person O|city"), {"person": "PER", "city": None})) == ["B-PER O"]


def test_without_types_a_word_that_may_hide_any_label_may_hide_an_entity() -> None:
    assert rows_of(typeless(corpus_of("B-PER O|LOC O"))) == ["B-ENTITY O|ENTITY O"]
    marked_here_and_there = corpus_of("B-PER B-LOC O", annotates=("PER",))
    assert rows_of(typeless(marked_here_and_there)) == ["B-ENTITY B-ENTITY O|ENTITY"]
    whole = corpus_of("B-PER O", annotates=("PER",))
    assert rows_of(typeless(whole)) == ["B-ENTITY O"]
    assert rows_of(typeless(whole, ["LOC", "PER"])) == ["B-ENTITY O|ENTITY"]


@pytest.mark.parametrize("scheme", ["IOB2", "IOB1", "BIOES"])
@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.csv", "a.tsv"])
def test_open_tags_come_back_in_every_scheme(tmp_path: Path, name: str, scheme: str) -> None:
    corpus = corpus_of("B-PER B-PER O|LOC O", "O|PER B-PER I-PER O|*", "O|*", "O O|LOC")
    write_corpus(corpus, tmp_path / name, scheme=scheme)
    assert rows_of(read_corpus(tmp_path / name)) == rows_of(corpus)


@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.csv"])
def test_a_file_of_a_few_spans_among_open_words_has_span_tags(tmp_path: Path, name: str) -> None:
    for rows in (["O|* O|*", "O"], [*["O|* O|* O|*"] * 20, "B-PER O|*"]):
        write_corpus(corpus_of(*rows), tmp_path / name)
        again = read_corpus(tmp_path / name)
        assert (again.kind, rows_of(again)) == ("spans", rows)


@pytest.mark.parametrize("format", ["brat", "conllu", "doccano", "label_studio", "prodigy"])
def test_a_format_that_has_no_open_tags_refuses_them(tmp_path: Path, format: str) -> None:
    with pytest.raises(InputError, match=f"which {format} cannot say. Write one of conll, jsonl"):
        write_corpus(corpus_of("B-PER O|LOC"), tmp_path / "out.ann", format)


def test_a_file_keeps_of_what_was_looked_for_as_much_as_tags_can_say(tmp_path: Path) -> None:
    write_corpus(corpus_of("B-PER B-LOC O", annotates=("PER",)), tmp_path / "a.conll")
    assert rows_of(read_corpus(tmp_path / "a.conll")) == ["B-PER B-LOC O|LOC"]


def test_a_part_of_a_corpus_annotates_what_the_corpus_does() -> None:
    corpus = corpus_of(*("B-PER" + length * " O" for length in range(10)), annotates=("PER",))
    parts = [*split(corpus, {"train": 0.8, "dev": 0.2}).values(), take_sentences(corpus, 3)]
    assert [part.annotates for part in parts] == [("PER",)] * 3


def test_exchanged_entities_leave_the_words_around_them_open() -> None:
    people, places = (
        corpus_of("O B-PER O", annotates=("PER",)),
        Corpus((Sentence(("Anna", "saw", "Oslo"), ("B-PER", "O", "B-LOC")),), "places"),
    )
    found = augment_with_anchors(people, places).corpus
    assert sorted(rows_of(found)) == ["B-PER O B-LOC", "O|LOC B-PER O|LOC"]


def test_a_map_of_one_corpus_is_not_suggested_for_another() -> None:
    corpus = corpus_of("B-person B-place B-organization B-event")
    assert LabelMap.load("gum-to-conll").annotates is not None
    assert fitting_map(corpus, ["LOC", "MISC", "ORG", "PER"]) is None


def test_a_span_that_covers_a_word_known_to_be_O_is_wrong() -> None:
    gold = corpus_of("B-PER O O|LOC O|LOC")
    assert score(gold, corpus_of("B-PER O B-LOC I-LOC")).span.precision == 1.0
    assert score(gold, corpus_of("B-PER B-LOC I-LOC I-LOC")).span.precision == 0.5
    assert score(gold, corpus_of("B-PER O B-ORG I-ORG")).span.precision == 0.5


def test_no_part_of_an_evaluation_blames_what_nobody_looked_for() -> None:
    gold, guess = corpus_of("B-PER O O O", "O O", annotates=("PER",)), corpus_of("B-PER O B-LOC I-LOC", "B-LOC O")
    before = corpus_of("B-PER O O O", "O O")
    found = score(gold, guess)
    assert list(found.by_label) == ["PER"]
    assert found.confusion.spurious == {}
    assert (found.typeless, found.sentence_accuracy) == (found.span, 1.0)
    assert report_errors(gold, guess).mistakes == ()
    compared = compare_seeds(gold, [before], [guess], rounds=20)
    assert (compared.difference, compared.first) == (0, 1)
    agreement = Agreement()
    for right, other in zip(gold.open_to(["LOC"]), guess, strict=True):
        agreement.add(right, other)
    assert agreement.exact == found.span


def test_the_check_tells_open_words_and_finds_no_fault_in_what_may_agree() -> None:
    corpus = corpus_of("B-PER O O", "B-PER O|LOC O", "B-PER B-LOC O")
    found = {finding.code for finding in check_corpora({"a": corpus.select([1, 2])}).findings}
    assert "open-words" in found
    assert "tagged-unlike" not in found
    assert "tagged-unlike" in {finding.code for finding in check_corpora({"a": corpus.select([0, 2])}).findings}


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        *(("O", "O", True), ("O|LOC", "O", True), ("I-LOC", "O|LOC", True), ("O|*", "B-X", True)),
        *(("O|LOC", "O|ORG", True), ("O|LOC", "B-PER", False), ("O", "B-PER", False), ("B-PER", "I-PER", False)),
    ],
)
def test_tags_that_may_both_be_right_agree(one: str, other: str, agree: bool) -> None:
    assert may_agree(one, other) == may_agree(other, one) == agree
