"""Annotation tools: doccano, Label Studio, Prodigy; and our own JSONL."""

from __future__ import annotations

import json

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus

TEXT = "Anna met Bob in Oslo."
SPANS = ("B-PER", "O", "B-PER", "O", "B-LOC", "O")


@pytest.fixture
def read(tmp_path):
    def reader(*records, array=False, **options):
        content = json.dumps(records, indent=1) if array else "\n".join(map(json.dumps, records))
        (tmp_path / "a.json").write_text(content, encoding="utf-8")
        return read_corpus(tmp_path / "a.json", **options)

    return reader


def label_studio(*values, text=TEXT, **more):
    results = [{"type": "labels", "value": value} for value in values]
    return {"id": 3, "data": {"text": text}, "annotations": [{"result": results}], **more}


def value(start, end, label="PER", **more):
    return {"start": start, "end": end, "labels": [label], **more}


MARKED = [(9, 12, "PER"), (0, 4, "PER"), (16, 20, "LOC")]
OLD = {"text": TEXT, "label": [list(mark) for mark in MARKED]}
NEW = {
    "text": TEXT,
    "entities": [{"start_offset": start, "end_offset": end, "label": label} for start, end, label in MARKED],
    "relations": [],
}
STUDIO = label_studio(value(0, 4, text="Anna"), value(9, 12), value(16, 20, "LOC"))
WORDS = ("Anna", "met", "Bob", "in", "Oslo", ".")
TOKENS = [{"text": word, "start": TEXT.index(word), "end": TEXT.index(word) + len(word)} for word in WORDS]
PRODIGY = {
    "text": TEXT,
    "tokens": TOKENS,
    "spans": [{"start": start, "end": end, "label": label} for start, end, label in MARKED],
    "answer": "accept",
}
TOOLS = {"old": OLD, "new": NEW, "studio": STUDIO, "prodigy": PRODIGY}


@pytest.mark.parametrize("record", TOOLS.values(), ids=TOOLS.keys())
@pytest.mark.parametrize("array", [False, True])
def test_every_tool_gives_the_same_sentence(read, record, array):
    corpus = read(record, array=array)
    assert [(one.words, one.tags) for one in corpus] == [(WORDS, SPANS)]
    assert (corpus[0].text, corpus.notes.scheme) == (TEXT, "character spans")


@pytest.mark.parametrize("record", [OLD, STUDIO, PRODIGY])
def test_offsets_point_at_the_words(read, record):
    sentence = read(record)[0]
    assert [TEXT[start:end] for start, end in sentence.offsets] == list(sentence.words)


def test_records_of_an_array_are_named_by_their_lines(read):
    with pytest.raises(InputError, match=r"a\.json, line 16: .*does not fit into its text"):
        read(
            {"text": "ok", "label": []},
            {"text": "ok", "label": [[0, 2, "X"]]},
            {"text": "ok", "label": [[0, 3, "X"]]},
            array=True,
        )


def test_each_line_of_a_text_is_a_sentence(read):
    corpus = read({"id": "d", "text": "Anna ran. Fast.\r\n\nBob too.", "label": []})
    assert [len(one) for one in corpus] == [5, 3]
    assert {one.document for one in corpus} == {"d"}


def test_paragraphs_are_split_into_sentences(read):
    corpus = read({"text": "Anna ran. Fast.\nBob too.", "label": [[16, 19, "PER"]]}, paragraphs=True)
    assert [(len(one), len(one.spans)) for one in corpus] == [(3, 0), (2, 0), (3, 1)]


def test_text_that_was_split_already_can_be_left_so(read):
    assert read({"text": "do n't :-/ x", "label": []}, tokenize="blanks")[0].words == ("do", "n't", ":-/", "x")


def test_texts_without_labels_are_unlabelled(read):
    assert not read({"text": "one"}, {"text": "two"}).is_labelled


def test_a_record_that_alone_lacks_labels_is_refused(read):
    with pytest.raises(InputError, match="line 2: the record has no 'label'"):
        read({"text": "one", "label": []}, {"text": "two", "lable": []})


def test_overlapping_spans_are_refused_or_skipped(read):
    overlap = {"text": TEXT, "label": [[0, 8, "A"], [5, 12, "B"]]}
    with pytest.raises(InputError, match=r"line 1: spans A 'Anna met' \(0:8\) and B 'met Bob' \(5:12\) overlap"):
        read(overlap)
    assert len(read(OLD, overlap, skip_bad=True).notes.skipped) == 1


def test_cancelled_annotations_are_passed_over(read):
    task = label_studio(value(0, 4))
    task["annotations"] = [{"was_cancelled": True, "result": []}, *task["annotations"], {"result": []}]
    corpus = read(task)
    assert corpus.label_counts == {"PER": 1}
    assert corpus.notes.remarks == (
        "1 cancelled annotations were passed over",
        "1 tasks have several annotations, of which the first was taken",
    )


def test_tasks_without_annotation_are_unlabelled_and_said_to_be(read):
    corpus = read(STUDIO, {"data": {"text": "Ann"}, "annotations": []})
    assert corpus[1].tags is None
    assert corpus.notes.remarks == ("1 tasks have no annotation and were read as unlabelled",)


def test_results_that_mark_no_text_are_counted(read):
    task = label_studio(value(0, 4))
    task["annotations"][0]["result"].append({"type": "choices", "value": {"choices": ["good"]}})
    assert "1 results that mark no text" in read(task).notes.remarks[0]


def test_marks_on_anything_but_plain_text_are_not_lost_in_silence(read):
    task = label_studio(value(0, 4))
    task["annotations"][0]["result"].append({"type": "hypertextlabels", "value": {"hypertextlabels": ["PER"]}})
    with pytest.raises(InputError, match="'hypertextlabels' mark something else than plain text"):
        read(task)


def test_the_text_field_may_have_another_name(read):
    task = label_studio(value(0, 4))
    task["data"] = {"tweet": TEXT, "n": 3}
    assert read(task)[0].text == TEXT


def test_a_task_without_text_is_refused(read):
    with pytest.raises(InputError, match="no field 'text' among the task's data"):
        read(STUDIO | {"data": {"a": "x", "b": "y"}})


def test_the_short_export_of_label_studio_is_answered_with_the_long_one(read):
    with pytest.raises(InputError, match="Export from Label Studio as JSON, not as JSON_MIN"):
        read({"text": TEXT, "id": 1, "annotation_id": 7, "label": [value(0, 4)]})


def test_a_span_that_does_not_hold_its_noted_text_is_refused(read):
    with pytest.raises(InputError, match="should hold 'Bob'"):
        read(label_studio(value(0, 4, text="Bob")))


def test_a_span_with_two_labels_is_refused(read):
    with pytest.raises(InputError, match="carries 2 labels"):
        read(label_studio({"start": 0, "end": 4, "labels": ["PER", "ORG"]}))


def test_offsets_in_16_bit_units_are_recognised_by_the_noted_text(read):
    corpus = read(label_studio(value(13, 23, text="annotation"), text="💩This is an annotation."))
    assert [corpus[0].words[span.start] for span in corpus[0].spans] == ["annotation"]
    assert "16-bit units" in corpus.notes.remarks[0]


def test_offsets_in_16_bit_units_are_recognised_by_the_words(read):
    corpus = read({"text": "👨🏻🚒 firemen drive firetrucks", "label": [[21, 31, "X"]]})
    assert [corpus[0].words[span.start] for span in corpus[0].spans] == ["firetrucks"]


def test_offsets_in_characters_stay_as_they_are(read):
    corpus = read({"text": "😀😀 Bob Bobby", "label": [[3, 6, "X"]]})
    assert corpus[0].spans[0].start == 2
    assert corpus.notes.remarks == ()


def test_prodigys_own_tokens_are_kept_less_white_space(read):
    tokens = [{"start": 0, "end": 2}, {"start": 2, "end": 4}, {"start": 4, "end": 5}, {"start": 5, "end": 6}]
    corpus = read({"text": "abcd\nx", "tokens": tokens, "spans": [{"start": 0, "end": 2, "label": "X"}]})
    assert [one.words for one in corpus] == [("ab", "cd"), ("x",)]


def test_rejected_answers_are_left_out_and_counted(read):
    corpus = read(PRODIGY, PRODIGY | {"answer": "reject"})
    assert len(corpus) == 1
    assert corpus.notes.remarks == ("1 records were rejected or ignored by the annotator and left out",)


def test_text_outside_of_all_tokens_is_refused(read):
    with pytest.raises(InputError, match=r"'Bob' \(8:13\) belongs to no token"):
        read(PRODIGY | {"tokens": TOKENS[:2] + TOKENS[3:], "spans": []})


def test_a_miss_is_measured_against_the_tools_own_tokens(read):
    with pytest.raises(InputError, match="misses word borders: it cuts 'Anna'"):
        read(PRODIGY | {"spans": [{"start": 0, "end": 3, "label": "X"}]}, borders="error")


@pytest.mark.parametrize(
    "record",
    [{"words": ["Anna", "ran"], "tags": ["B-PER", "O"]}, {"tokens": ["Anna", "ran"], "ner_tags": ["B-PER", "O"]}],
)
def test_our_own_jsonl_has_words_and_tags(read, record):
    assert [(one.words, one.tags) for one in read(record)] == [(("Anna", "ran"), ("B-PER", "O"))]


def test_our_own_jsonl_can_have_spans_instead_of_tags(read):
    record = {"words": ["Anna", "ran"], "text": "Anna ran", "offsets": [[0, 4], [5, 8]]}
    assert read(record | {"spans": [{"start": 0, "end": 4, "label": "PER"}]})[0].tags == ("B-PER", "O")


def test_tags_and_spans_must_agree(read):
    record = {"words": ["Anna"], "tags": ["O"], "text": "Anna", "offsets": [[0, 4]]}
    with pytest.raises(InputError, match="tags and spans disagree"):
        read(record | {"spans": [{"start": 0, "end": 4, "label": "PER"}]})


def test_null_tags_are_a_sentence_without_tags(read):
    corpus = read({"words": ["a"], "tags": ["O"]}, {"words": ["b"], "tags": None})
    assert [one.tags for one in corpus] == [("O",), None]


def test_numbers_for_tags_are_refused(read):
    with pytest.raises(InputError, match="the tags are numbers, and nothing says what they mean"):
        read({"words": ["a"], "tags": [3]})


def test_another_field_can_hold_the_tags(read):
    assert read({"words": ["a"], "tags": ["O"], "pos": ["NN"]}, column="pos").kind == "plain"


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d of it"])
def test_characters_that_no_file_can_hold_are_refused(read, text):
    with pytest.raises(InputError, match=r"line 1: (a NUL|half of a surrogate)"):
        read({"text": text, "label": []})


def test_texts_without_a_word_are_left_out_and_counted(read):
    corpus = read(OLD, {"text": " \n", "label": []})
    assert len(corpus) == 1
    assert corpus.notes.remarks == ("1 texts hold no word and were left out",)


@pytest.mark.parametrize("second", ['[{"text": "Bob"}]', '{"text": "Bob"}', "]", "x"])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_nothing_behind_an_array_is_left_out_in_silence(tmp_path, second, skip_bad):
    (tmp_path / "a.json").write_text(f'[{{"text": "Anna", "label": []}}]\n\n{second}\n')
    with pytest.raises(InputError, match=r"a\.json, line 3: something follows behind the end"):
        read_corpus(tmp_path / "a.json", "doccano", skip_bad=skip_bad)


def test_a_record_that_breaks_an_array_is_never_skipped_with_all_behind_it(tmp_path):
    (tmp_path / "a.json").write_text('[{"text": "Anna", "label": []},\n{"text": "x" "label": []},\n{"text": "Bob"}]')
    with pytest.raises(InputError, match=r"a\.json, line 2: this is no JSON"):
        read_corpus(tmp_path / "a.json", "doccano", skip_bad=True)


def test_an_empty_list_of_doccano_hides_no_labels(read):
    record = {"text": "Anna ran", "entities": [], "label": [[0, 4, "PER"]]}
    assert read(record, format="doccano")[0].tags == ("B-PER", "O")
    with pytest.raises(InputError, match="labels under 'entities' and 'label'"):
        read(record | {"entities": [{"start_offset": 5, "end_offset": 8, "label": "X"}]}, format="doccano")
