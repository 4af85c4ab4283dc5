"""Guesses with scores: how they are read, pooled, mapped, divided and written."""

import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.mapping import LabelMap, map_labels, typeless
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus, stream_corpus
from acclimate.data.soft_labels import (
    ScoredSpan,
    coherent,
    likeliest_tags,
    rows_in_scheme,
    rows_of_spans,
    softened,
    spans_of_rows,
)
from acclimate.data.sources import join_sources, mix_sources
from acclimate.data.subsets import split, take_sentences
from acclimate.data.votes import Answers, answers_of, pool, reliabilities, trust_of, truth_of
from acclimate.data.writing import write_corpus
from acclimate.evaluation.scores import score


def span(start: int, end: int, label: str, score: float | None = None, annotator: str | None = None) -> dict[str, Any]:
    fields = {"start": start, "end": end, "label": label, "score": score, "annotator": annotator}
    return {name: value for name, value in fields.items() if value is not None}


def read(tmp_path: Path, *records: dict[str, Any], **options: Any) -> Corpus:
    file = tmp_path / "guesses.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return read_corpus(file, **options)


def refusal(tmp_path: Path, *records: dict[str, Any]) -> str:
    with pytest.raises(InputError) as refused:
        read(tmp_path, *records)
    return str(refused.value)


def rows_of(sentence: Sentence) -> list[dict[str, float]]:
    return [{tag: pytest.approx(p) for tag, p in row} for row in sentence.probabilities or ()]


def test_a_score_is_the_probability_of_its_span_and_the_rest_is_o(tmp_path: Path) -> None:
    words = ["Anna", "Bell", "left"]
    corpus = read(tmp_path, {"words": words, "spans": [span(0, 2, "PER", 0.8), span(2, 3, "LOC", 0.1)]})
    (sentence,) = corpus
    assert sentence.tags == ("B-PER", "I-PER", "O")
    assert rows_of(sentence) == [{"B-PER": 0.8, "O": 0.2}, {"I-PER": 0.8, "O": 0.2}, {"B-LOC": 0.1, "O": 0.9}]
    assert (corpus.kind, corpus.labels.names, corpus.soft_word_count) == ("spans", ("LOC", "PER"), 3)
    assert (corpus.label_counts["PER"], corpus.label_counts["LOC"]) == (1, 0)


def test_guesses_of_one_annotator_that_overlap_are_alternatives(tmp_path: Path) -> None:
    words = ["Paris", "Hilton"]
    (sentence,) = read(tmp_path, {"words": words, "spans": [span(0, 2, "PER", 0.6), span(0, 1, "LOC", 0.3)]})
    assert rows_of(sentence) == [{"B-PER": 0.6, "B-LOC": 0.3, "O": 0.1}, {"I-PER": 0.6, "O": 0.4}]
    said = refusal(tmp_path, {"words": words, "spans": [span(0, 2, "PER", 0.8), span(0, 1, "LOC", 0.3)]})
    assert "guesses.jsonl, line 1: the guesses at word 0 have scores of 1.1 together" in said


def test_a_certain_guess_is_still_a_guess(tmp_path: Path) -> None:
    sure = {"words": ["Anna", "left"], "spans": [span(0, 1, "PER", 1)]}
    corpus = read(tmp_path, sure, {"words": ["Nobody"], "spans": []}, {"words": ["Unread"]})
    assert [one.tags for one in corpus] == [("B-PER", "O"), ("O",), None]
    assert (corpus.guess_count, corpus.soft_word_count) == (2, 0)
    assert rows_of(corpus[0]) == [{"B-PER": 1}, {"O": 1}]
    file = tmp_path / "gold.jsonl"  # without any score or name, spans are gold
    file.write_text('{"words": ["Nobody"], "spans": []}\n', encoding="utf-8")
    assert (read_corpus(file)[0].tags, read_corpus(file).guess_count) == (("O",), 0)


def test_a_text_is_split_into_words_and_sentences_around_its_guesses(tmp_path: Path) -> None:
    text = "Anna-Bell left.\nShe met New\nYork."
    spans = [span(0, 4, "PER", 0.7), span(24, 32, "LOC", 0.9), span(28, 32, "LOC", 0.05)]
    corpus = read(tmp_path, {"text": text, "spans": spans, "id": 7})
    assert corpus.notes.format == "jsonl"
    assert [one.words for one in corpus] == [("Anna", "-Bell", "left", "."), ("She", "met", "New", "York", ".")]
    assert rows_of(corpus[0])[:2] == [{"B-PER": 0.7, "O": 0.3}, {"O": 1.0}]
    assert rows_of(corpus[1])[2:4] == [{"B-LOC": 0.9, "O": 0.1}, {"I-LOC": 0.9, "B-LOC": 0.05, "O": 0.05}]
    assert [one.document for one in corpus] == ["7", "7"]
    assert [miss.label for miss in corpus.notes.border_misses] == ["PER"]
    assert all(one.text == text and one.offsets is not None for one in corpus)


def test_silence_counts_of_those_who_looked(tmp_path: Path) -> None:
    words = ["Anna", "left"]
    corpus = read(
        tmp_path,
        {"words": words, "spans": [span(0, 1, "PER", None, "a")], "annotators": ["a", "b"]},
        {"words": words, "spans": [span(0, 1, "PER", None, "a")]},
        {"words": words, "annotators": ["b"]},
        {"words": words, "spans": []},
    )
    assert rows_of(corpus[0])[0].keys() == {"B-PER", "O"}
    assert [one.tags for one in corpus[1:]] == [("B-PER", "O"), ("O", "O"), None]
    assert (corpus.guess_count, corpus.soft_word_count) == (3, 1)
    assert "1 records name nobody who looked, and count as not annotated" in corpus.notes.remarks


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"words": ["a"], "spans": [span(0, 1, "A", 1.5)]}, "a score should be a number from 0 to 1, but is 1.5"),
        ({"words": ["a"], "spans": [{**span(0, 1, "A"), "score": "high"}]}, 'but is "high"'),
        ({"words": ["a"], "spans": [span(0, 2, "A", 0.5)]}, "span A (0:2) does not fit into 1 words"),
        ({"text": "a b", "spans": [span(0, 9, "A", 0.5)]}, "span A (0:9) does not fit into its text of 3 characters"),
        ({"words": ["a"], "text": "a", "spans": [span(0, 1, "A", 0.5)]}, "do the spans count words, or characters"),
        ({"words": ["a"], "tags": ["O"], "spans": [span(0, 1, "A", 0.5)]}, "has guesses and 'tags'. Remove one"),
        (
            {"words": ["a"], "spans": [span(0, 1, "A", 0.5, "x"), span(0, 1, "B", 0.5)]},
            "Name one for each, or for none",
        ),
        (
            {"words": ["a"], "spans": [span(0, 1, "A", 0.5, "x")], "annotators": ["y", "z"]},
            "the annotator 'x' of a span does not fit to 'annotators' (y, z)",
        ),
        ({"words": ["a"], "spans": [span(0, 1, "A", 0.5)], "annotators": ["y", "z"]}, "a span without an annotator"),
        ({"words": ["a"], "spans": [{"start": 0, "end": 1, "score": 0.5}]}, "the span has no 'label'"),
    ],
)
def test_bad_guesses_are_refused_with_their_line(tmp_path: Path, record: dict[str, Any], said: str) -> None:
    message = refusal(tmp_path, {"words": ["b"], "spans": [span(0, 1, "A", 0.5)]}, record)
    assert "guesses.jsonl, line 2: " in message
    assert said in message
    kept = read(tmp_path, {"words": ["b"], "spans": [span(0, 1, "A", 0.5)]}, record, skip_bad=True)
    assert (len(kept), len(kept.notes.skipped)) == (1, 1)


def test_records_of_prodigy_stay_records_of_prodigy(tmp_path: Path) -> None:
    corpus = read(tmp_path, {"text": "Anna left", "spans": [span(0, 4, "PER", 0.5)], "answer": "accept"})
    assert (corpus.notes.format, corpus.soft_word_count) == ("prodigy", 0)


def test_guesses_as_text_lose_their_tags_when_streamed(tmp_path: Path) -> None:
    read(tmp_path, {"words": ["Anna", "left"], "spans": [span(0, 1, "PER", 0.5)]})
    (part,) = stream_corpus(tmp_path / "guesses.jsonl")
    assert [(one.tags, one.probabilities) for one in part] == [(None, None)]


def random_spans(dice: Random, length: int) -> list[ScoredSpan]:
    """Guesses of which no word has more than 1."""
    left, spans = [1.0] * length, []
    for _ in range(dice.randrange(6)):
        start = dice.randrange(length)
        end = dice.randrange(start + 1, length + 1)
        score = round(dice.random() * min(left[start:end]), 3)
        if score:
            spans.append(ScoredSpan(start, end, dice.choice("AB"), score))
            left[start:end] = [each - score for each in left[start:end]]
    return spans


def test_distributions_become_spans_that_give_them_again() -> None:
    for seed in range(300):
        rows = rows_of_spans(random_spans(Random(seed), 5), 5)
        again = rows_of_spans(spans_of_rows(rows), 5)
        for row, other in zip(rows, again, strict=True):
            for tag in row.keys() | other.keys():
                assert row.get(tag, 0) == pytest.approx(other.get(tag, 0), abs=1e-7)


def test_the_likeliest_tags_are_the_best_of_all_that_spell_spans() -> None:
    for seed in range(100):
        rows = rows_of_spans(random_spans(Random(seed), 4), 4)
        best = 0.0
        for path in itertools.product(["O", "B-A", "I-A", "B-B", "I-B"], repeat=4):
            fits = all(tag[0] != "I" or before[2:] == tag[2:] for before, tag in itertools.pairwise(("O", *path)))
            best = max(best, sum(row.get(tag, 0) for row, tag in zip(rows, path, strict=True)) if fits else 0)
        found = likeliest_tags(rows)
        assert sum(row.get(tag, 0) for row, tag in zip(rows, found, strict=True)) == pytest.approx(best)
        assert all(tag[0] != "I" or before[2:] == tag[2:] for before, tag in itertools.pairwise(("O", *found)))
    assert likeliest_tags(rows_of_spans([ScoredSpan(0, 1, "A", 0.5)], 1)) == ("O",)


def test_what_goes_on_with_nothing_begins_a_span() -> None:
    rows = coherent([{"I-A": 0.4, "O": 0.6}, {"I-A": 0.7, "B-B": 0.02, "O": 0.28}], least=0.1)
    assert [{tag: round(p, 6) for tag, p in row.items()} for row in rows] == [
        {"B-A": 0.4, "O": 0.6},
        {"I-A": 0.4, "B-A": 0.3, "O": 0.3},
    ]
    rows_in_scheme(softened(Sentence(("a", "b")), rows), "BIOES")  # refuses what is not coherent


# pooling


def slow_truth(answers: Answers, trust: list[float]) -> np.ndarray:
    """The posterior of the true tags by the joint probability of every assignment to all words."""
    words, annotators, tags = answers.shape
    shares = np.zeros((words, tags))
    for truth in itertools.product(range(tags), repeat=words):
        joint = 1.0
        for word, right in enumerate(truth):
            for annotator in range(annotators):
                for tag in range(tags):  # a score counts as that part of an answer
                    chance = trust[annotator] if tag == right else (1 - trust[annotator]) / (tags - 1)
                    joint *= chance ** answers[word, annotator, tag]
        for word, right in enumerate(truth):
            shares[word, right] += joint
    return shares / shares.sum(1, keepdims=True)


def test_a_step_of_pooling_is_that_of_every_assignment_of_true_tags() -> None:
    dice = np.random.default_rng(1)
    answers = dice.dirichlet([0.5, 0.5, 0.5], size=(3, 3))
    answers[1, 2] = 0  # did not look
    trust = [0.9, 0.6, 0.4]
    slow = slow_truth(answers, trust)
    np.testing.assert_allclose(truth_of(answers, np.array(trust)), slow)
    agreed = [
        (1 + sum(answers[w, a, t] * slow[w, t] for w in range(3) for t in range(3))) / (2 + answers[:, a].sum())
        for a in range(3)
    ]
    np.testing.assert_allclose(trust_of(answers, slow), agreed)


def test_pooling_ends_where_another_step_changes_nothing() -> None:
    answers = np.random.default_rng(2).dirichlet([0.3, 0.3, 0.3], size=(3, 3))
    found = reliabilities(answers)
    again = trust_of(answers, slow_truth(answers, found.tolist()))
    np.testing.assert_allclose(found, again, atol=1e-5)


def noisy(right: list[str], error: float, dice: Random) -> list[dict[str, float]]:
    return [{dice.choice(["O", "B-A", "B-B"]) if dice.random() < error else tag: 1.0} for tag in right]


def test_a_perfect_annotator_among_noisy_ones_weighs_most() -> None:
    dice = Random(5)
    sentences, truth = [], []
    for _ in range(60):
        right = [dice.choice(["O", "B-A", "B-B"]) for _ in range(4)]
        truth.append(right)
        errors = {"anna": 0.0, "bob": 0.5, "carl": 0.5, "dora": 0.5}
        sentences.append({name: noisy(right, error, dice) for name, error in errors.items()})
    pooled, notes = pool(sentences)
    weights = {note.name: note.weight for note in notes}
    assert weights["anna"] > 2 * max(weights[name] for name in ("bob", "carl", "dora"))
    assert {note.name: note.sentences for note in notes} == dict.fromkeys(weights, 60)
    assert all(sum(row.values()) == pytest.approx(1) for rows in pooled for row in rows)

    def hits(guesses: list[Any]) -> int:
        pairs = [pair for rows, right in zip(guesses, truth, strict=True) for pair in zip(rows, right, strict=True)]
        return sum(max(row, key=row.get) == tag for row, tag in pairs)

    assert hits(pooled) > hits([sentence["bob"] for sentence in sentences])


def test_two_annotators_who_disagree_weigh_alike_and_one_alone_keeps_his_scores() -> None:
    one, other = rows_of_spans([ScoredSpan(0, 1, "A", 0.8)], 1), rows_of_spans([], 1)
    pooled, notes = pool([{"a": one, "b": other}, {"a": one}])
    assert notes[0].weight == pytest.approx(notes[1].weight)
    assert pooled[0][0] == {"B-A": pytest.approx(0.4), "O": pytest.approx(0.6)}
    assert pooled[1][0] == {"B-A": pytest.approx(0.8), "O": pytest.approx(0.2)}
    assert answers_of([{"a": other, "b": other}], ["a", "b"]).shape[0] == 0  # that nobody names anything tells nothing


def test_a_file_of_several_annotators_says_how_they_agree(tmp_path: Path) -> None:
    records = [
        {
            "words": ["Anna", "left"],
            "spans": [span(0, 1, "PER", None, "a"), span(0, 1, "PER", 0.9, "b"), span(1, 2, "ORG", 1, "c")],
        }
        for _ in range(9)
    ]
    corpus = read(tmp_path, *records)
    reliable = {note.name: note.reliability for note in corpus.notes.annotators}
    assert reliable["a"] > reliable["b"] > reliable["c"]
    assert corpus.notes.remarks[0].startswith("3 annotators were pooled. By their agreement they are right")
    assert corpus[0].tags == ("B-PER", "O")


# what becomes of soft labels


def soft_corpus() -> Corpus:
    spans = [
        [ScoredSpan(0, 2, "PER", 0.6), ScoredSpan(0, 1, "LOC", 0.3)],
        [ScoredSpan(1, 3, "LOC", 0.7)],
        [],
        [ScoredSpan(2, 3, "PER", 0.25)],
    ]
    sentences = [
        softened(Sentence((f"w{number}", "x", "y")), rows_of_spans(row, 3)) for number, row in enumerate(spans * 10)
    ]
    return Corpus.of(sentences, "guesses")


def same(one: Corpus, other: Corpus) -> bool:
    return [(a.words, a.tags, rows_of(a)) for a in one] == [
        (b.words, b.tags, [dict(row) for row in b.probabilities or ()]) for b in other
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_soft_labels_are_written_and_read_again(tmp_path: Path, name: str) -> None:
    corpus = soft_corpus()
    write_corpus(corpus, tmp_path / name)
    again = read_corpus(tmp_path / name)
    assert same(again, corpus)
    assert again.soft_word_count == corpus.soft_word_count > 0


def test_soft_labels_over_a_text_are_written_and_read_again(tmp_path: Path) -> None:
    corpus = read(
        tmp_path, {"text": "Anna Bell left.\nOslo", "spans": [span(0, 9, "PER", 0.8), span(0, 4, "LOC", 0.1)]}
    )
    write_corpus(corpus, tmp_path / "b.jsonl")
    again = read_corpus(tmp_path / "b.jsonl")
    assert same(again, corpus)
    assert [one.offsets for one in again] == [one.offsets for one in corpus]


def test_soft_labels_survive_being_chosen_divided_and_joined() -> None:
    corpus = soft_corpus()
    known = {(one.words, one.probabilities) for one in corpus}
    parts = split(corpus, {"a": 0.5, "b": 0.5}, by_document=False)
    gold = Corpus.of([Sentence(("z",), ("B-PER",)), Sentence(("z", "z"), ("B-LOC", "I-LOC"))], "gold")
    joined = join_sources([corpus, gold])
    mixed = mix_sources(joined, {"guesses": 1.0, "gold": 30.0}, 1.0, 0)
    for some in (
        take_sentences(corpus, 7),
        *parts.values(),
        corpus[:5],
        corpus.labelled(),
        corpus + gold,
        joined,
        mixed,
    ):
        assert some.soft_word_count
        assert {(one.words, one.probabilities) for one in some if one.words[0] != "z"} <= known
    assert corpus.unlabelled().soft_word_count == 0
    assert not corpus.unlabelled().is_labelled
    hard = corpus.likeliest()
    assert (hard.soft_word_count, [one.tags for one in hard]) == (0, [one.tags for one in corpus])
    assert hard.fingerprint != corpus.fingerprint


def test_other_words_under_the_same_tags_are_as_probable_and_other_tags_are_certain() -> None:
    sentence = soft_corpus()[0]
    assert sentence.with_words(("a", "b", "c"), sentence.tags).probabilities == sentence.probabilities
    assert sentence.with_tags(("O", "O", "O")).probabilities is None
    assert sentence.with_words(("a",), ("O",)).probabilities is None


def test_maps_apply_to_guesses() -> None:
    mapped = map_labels(soft_corpus()[:2], {"PER": "NAME", "LOC": "NAME"})
    assert mapped[0].tags == ("B-NAME", "I-NAME", "O")
    assert rows_of(mapped[0])[:2] == [{"B-NAME": 0.9, "O": 0.1}, {"I-NAME": 0.6, "O": 0.4}]
    dropped = map_labels(soft_corpus()[:2], {"PER": "PER", "LOC": "O"})
    assert rows_of(dropped[0])[0] == {"B-PER": 0.6, "O": 0.4}
    assert (dropped[1].tags, rows_of(dropped[1])) == (("O", "O", "O"), [{"O": 1}] * 3)
    assert typeless(soft_corpus()).labels.names == ("ENTITY",)
    with pytest.raises(InputError, match="labels that the map 'map' does not name: LOC"):
        map_labels(soft_corpus()[:1], {"PER": "PER"})  # LOC is never the likeliest, and must be named nevertheless


def test_guesses_cannot_be_open_to_labels() -> None:
    with pytest.raises(InputError, match=r"the map makes LOC mean O\|LOC, and guesses with scores cannot be open"):
        map_labels(soft_corpus(), LabelMap.of({"PER": "PER", "LOC": "O|LOC"}))
    more = Corpus.of([Sentence(("z",), ("B-MISC",))], "gold")
    with pytest.raises(InputError, match="guesses with scores cannot be open to labels, and nobody looked for MISC"):
        join_sources([soft_corpus(), more])
    assert join_sources([soft_corpus().likeliest(), more]).labels.names == ("LOC", "MISC", "PER")


@pytest.mark.parametrize("name", ["a.conll", "a.csv", "a.json", "a.conllu"])
def test_formats_of_one_tag_per_word_refuse_guesses_and_take_their_likeliest_tags(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="guesses holds guesses with scores, which"):
        write_corpus(soft_corpus(), tmp_path / name)
    write_corpus(soft_corpus().likeliest(), tmp_path / name)


def test_nothing_is_scored_against_guesses() -> None:
    corpus = soft_corpus()
    with pytest.raises(InputError, match="guesses holds guesses with scores, and what agrees with a guess need not"):
        score(corpus, corpus.likeliest())
    score(corpus.likeliest(), corpus)
