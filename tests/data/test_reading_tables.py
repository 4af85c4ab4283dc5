"""Tables: CSV, TSV, Parquet, and the layouts they come in."""

from __future__ import annotations

import json

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus

TWO = [(("Anna", "ran"), ("B-PER", "O")), (("ok",), ("O",))]


@pytest.fixture
def read(tmp_path):
    def reader(content, name="a.csv", **options):
        (tmp_path / name).write_text(content, encoding="utf-8")
        return read_corpus(tmp_path / name, **options)

    return reader


def pairs(corpus):
    return [(one.words, one.tags) for one in corpus]


@pytest.mark.parametrize(
    "content",
    [
        "sentence_id,word,tag\n1,Anna,B-PER\n1,ran,O\n2,ok,O\n",
        "Sentence #,Word,POS,Tag\nSentence: 1,Anna,NN,B-PER\n,ran,VB,O\nSentence: 2,ok,UH,O\n",
        "Sentence #;Word;Tag\n1;Anna;B-PER\n1;ran;O\n2;ok;O\n",
        "token,label\nAnna,B-PER\nran,O\n\nok,O\n",
        "token,label\nAnna,B-PER\nran,O\n,\nok,O\n",
        "words,tags\nAnna ran,B-PER O\nok,O\n",
        "sentence,tags\nAnna ran,B-PER O\nok,O\n",
        "tokens,ner_tags\n\"['Anna', 'ran']\",\"['B-PER', 'O']\"\n['ok'],['O']\n",
        'tokens,ner_tags\n"[""Anna"", ""ran""]","[""B-PER"", ""O""]"\n[\'ok\'],[\'O\']\n',
        "Sentence #,Sentence,Tag\n1,Anna ran,\"['B-PER', 'O']\"\n2,ok,['O']\n",
    ],
)
def test_both_layouts_are_known_by_their_names(read, content):
    assert pairs(read(content)) == TWO


def test_a_tsv_knows_no_quotes(read):
    assert read('word\ttag\n"\tO\nx\tO\n', "a.tsv")[0].words == ('"', "x")


def test_columns_can_be_chosen_by_name_and_number(read):
    content = "w,a,b\nAnna,B-PER,NN\n"
    assert read(content, words_column="w", column="b")[0].tags == ("NN",)
    assert read(content, words_column=0, column=1)[0].tags == ("B-PER",)


def test_an_unknown_column_is_answered_with_its_like(read):
    with pytest.raises(InputError, match=r"no such column\. There are 'word', 'label'\. Did you mean 'label'"):
        read("word,label\na,O\n", column="labels")


def test_a_table_without_words_is_refused(read):
    with pytest.raises(InputError, match=r"line 1: no column of words.*'a', 'b'"):
        read("a,b\n1,2\n")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("2,x", "2 cells, but the first line names 3"),
        ("2,x,O,O", "4 cells"),
        ("2,,O", "the word should be a string"),
        ("2,x,", "the tag should be a string"),
        ('2,"x"y,O', "cannot be read"),
    ],
)
def test_bad_rows_are_refused_or_skipped_with_their_sentence(read, bad, said):
    content = f"sentence_id,word,tag\n1,a,O\n2,w,O\n{bad}\n2,y,O\n3,z,O\n"
    with pytest.raises(InputError, match=rf"a\.csv, line 4: .*{said}"):
        read(content)
    assert [one.words for one in read(content, skip_bad=True)] == [("a",), ("z",)]


def test_a_sentence_that_comes_back_is_refused(read):
    with pytest.raises(InputError, match="line 4: sentence '1' comes back after others"):
        read("sentence_id,word,tag\n1,a,O\n2,b,O\n1,c,O\n")


def test_lists_as_numpy_prints_them_are_refused_and_not_glued(read):
    with pytest.raises(InputError, match="expected strings in quotes with commas"):
        read("tokens,tags\n['a' 'b'],['O' 'O']\n")


@pytest.mark.parametrize("row", ["Anna ran,O", "\"['a', 'b']\",['O']"])
def test_words_and_tags_must_be_as_many(read, row):
    with pytest.raises(InputError, match="line 2: 2 words but 1 tags"):
        read(f"words,tags\n{row}\n")


def test_a_table_without_tags_is_unlabelled(read):
    assert not read("sentence_id,word\n1,a\n").is_labelled


def parquet(path, columns, metadata=None):
    arrow = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(arrow.table(columns).replace_schema_metadata(metadata), path)


def test_parquet_has_lists_of_words_and_tags(tmp_path):
    parquet(tmp_path / "a.parquet", {"tokens": [["Anna", "ran"], ["ok"]], "ner_tags": [["B-PER", "O"], ["O"]]})
    assert pairs(read_corpus(tmp_path / "a.parquet")) == TWO


def test_parquet_may_have_a_word_per_row(tmp_path):
    parquet(
        tmp_path / "a.parquet", {"sentence_id": [1, 1, 2], "word": ["Anna", "ran", "ok"], "tag": ["B-PER", "O", "O"]}
    )
    assert pairs(read_corpus(tmp_path / "a.parquet")) == TWO


def test_numbered_tags_take_their_names_from_the_file(tmp_path):
    features = {"tags": {"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    parquet(tmp_path / "a.parquet", {"tokens": [["Anna", "ran"], ["ok"]], "tags": [[1, 0], [0]]}, metadata)
    assert pairs(read_corpus(tmp_path / "a.parquet")) == TWO


def test_numbered_tags_without_names_are_refused_by_row(tmp_path):
    parquet(tmp_path / "a.parquet", {"tokens": [["a"]], "tags": [[1]]})
    with pytest.raises(InputError, match=r"a\.parquet, line 1: the tags are numbers"):
        read_corpus(tmp_path / "a.parquet")


@pytest.mark.parametrize("length", [3, 40, -1])
def test_a_truncated_parquet_file_is_a_clear_error(tmp_path, length):
    parquet(tmp_path / "a.parquet", {"tokens": [["a"]] * 9, "tags": [["O"]] * 9})
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:length])
    with pytest.raises(InputError, match="no whole Parquet file"):
        read_corpus(tmp_path / "a.parquet")


@pytest.mark.parametrize("mark", ['"', '"quoted'])
def test_a_quotation_mark_that_is_a_word_swallows_no_rows(read, mark):
    content = f"sentence_id,word,tag\n1,{mark},O\n1,Anna,B-PER\n1,{mark[::-1]},O\n2,ran,O\n3,Bob,B-PER\n"
    with pytest.raises(InputError, match=r"a\.csv, line 2: .*quotation mark"):
        read(content)
    corpus = read(content, skip_bad=True)
    assert [one.words for one in corpus] == [("ran",), ("Bob",)]
    assert [skipped.place.line for skipped in corpus.notes.skipped] == [2]


@pytest.mark.parametrize("bad", ['2,"Anna,B-PER', '"2,Anna,B-PER'])
def test_a_quotation_mark_left_open_spoils_its_sentence_alone(read, bad):
    corpus = read(f"sentence_id,word,tag\n1,ok,O\n{bad}\n2,ran,O\n3,Bob,B-PER\n4,slept,O\n", skip_bad=True)
    assert [one.words for one in corpus] == [("ok",), ("Bob",), ("slept",)]
    assert [skipped.place.line for skipped in corpus.notes.skipped] == [3]


def test_many_quotation_marks_left_open_take_no_more_than_linear_time(read):
    rows = "".join(f'{number},"word,O\n' for number in range(3000))
    corpus = read(f"sentence_id,word,tag\nfirst,ok,O\n{rows}last,ok,O\n", skip_bad=True)
    assert len(corpus) == 2
    assert len(corpus.notes.skipped) == 3000


def test_a_text_may_run_over_lines_and_that_is_told(read):
    corpus = read('id,text\n1,"One line.\nAnother, with a comma."\n2,Third.\n')
    assert [one.words[0] for one in corpus] == ["One", "Another", "Third"]
    assert "1 rows run over several lines" in corpus.notes.remarks[0]


@pytest.mark.parametrize("cell", ["['a', 'b\n']", r"['a', '\u12']", "a b\nc"])
def test_a_list_of_words_that_cannot_be_read_is_refused(read, cell):
    with pytest.raises(InputError, match=r"a\.csv, line 2: "):
        read(f'words,tags\n"{cell}",O O\n')


RAW = "Just landed in Berlin, with Anna Kern."
RAW_WORDS = ("Just", "landed", "in", "Berlin", ",", "with", "Anna", "Kern", ".")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f'id,text\n7,"{RAW}"\n'),
        ("a.csv", f'id;tweet\n7;"{RAW}"\n'),
        ("a.csv", f'id,text,label\n7,"{RAW}",positive\n'),
        ("a.tsv", f"id\ttext\n7\t{RAW}\n"),
        ("a.jsonl", json.dumps({"id": 7, "text": RAW})),
    ],
)
def test_raw_text_is_split_into_words_in_a_table_as_everywhere(read, name, content):
    [sentence] = read(content, name)
    assert (sentence.words, sentence.text, sentence.document) == (RAW_WORDS, RAW, "7")
    assert [RAW[start:end] for start, end in sentence.offsets] == list(RAW_WORDS)
    assert sentence.tags is None


def test_raw_text_stands_in_any_column_that_is_asked_for(read):
    assert read(f'a,b\nx,"{RAW}"\n', words_column="b")[0].words == RAW_WORDS


def test_raw_text_of_parquet_is_split_into_words(tmp_path):
    parquet(tmp_path / "a.parquet", {"id": [7, 8, 9], "text": [RAW, "[sic] [!]", None]})
    corpus = read_corpus(tmp_path / "a.parquet")
    assert [(one.words[0], one.document) for one in corpus] == [("Just", "7"), ("[", "8")]
    assert corpus.notes.remarks == ("1 texts hold no word and were left out",)


def test_labels_of_whole_texts_are_left_out_and_that_is_told(read):
    corpus = read("text,label\nAnna ran home.,good\nok,bad\nBob slept.,good\n")
    assert not corpus.is_labelled
    assert "such labels were not read" in corpus.notes.remarks[0]


def test_a_column_name_of_parquet_that_is_no_text_is_refused(tmp_path):
    parquet(tmp_path / "a.parquet", {"wordz": ["a"], "tag": ["O"]})
    stored = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(stored.replace(b"wordz", b"word\xff"))
    with pytest.raises(InputError, match=r"a\.parquet: .*(not UTF-8|Parquet)"):
        read_corpus(tmp_path / "a.parquet")
