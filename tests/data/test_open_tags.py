"""Words whose labels nobody looked for: how they are spelled, read, written, mapped, joined and scored."""

from pathlib import Path

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.mapping import LabelMap, map_labels
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.data.schemes import Span, convert_tags, detect_scheme, hidden_labels, open_tag, spans_from_tags
from acclimate.data.writing import write_corpus
from acclimate.evaluation.scores import score
from acclimate.methods.augmentation.anchors import replace_entities


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
