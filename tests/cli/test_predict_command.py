"""`acclimate predict`: one tag for every word, from any kind of text."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command_line import Answer, Files, acclimate

from acclimate.data.reading import read_corpus

ODD = [
    "zero\u200bwidth and \u00a0no-break",
    "👩‍👩‍👧 family 🇳🇴",
    "e\u0301tude ﷽ 𝒳",
    "שלום עולם",
    "東京に行く。",
    "line\u2028separator \x0c feed \x85 nel",
    "a\u0300\u0301\u0302 b",
]


def blocks(answer: Answer) -> list[list[tuple[str, str]]]:
    """conll output: sentences of (word, tag)."""
    assert answer.out.endswith("\n\n")
    rows = [[tuple(line.split("\t")) for line in block.split("\n")] for block in answer.out[:-2].split("\n\n")]
    assert all(len(row) == 2 and all(row) for block in rows for row in block)
    return rows  # type: ignore[return-value]


def words(answer: Answer) -> list[list[str]]:
    return [[word for word, _ in block] for block in blocks(answer)]


def records(answer: Answer) -> list[dict]:
    return [json.loads(line) for line in answer.out.rstrip("\n").split("\n")]


def test_raw_text_becomes_word_and_tag(tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Anna flew to New York.\n\nDon't!\n", encoding="utf-8")
    answer = acclimate("predict", tagger, tmp_path / "a.txt")
    assert words(answer) == [["Anna", "flew", "to", "New", "York", "."], ["Do", "n't", "!"]]
    allowed = {"O", *(f"{prefix}-{label}" for prefix in "BI" for label in ("LOC", "ORG", "PER"))}
    assert {tag for block in blocks(answer) for _, tag in block} <= allowed


def test_pre_split_words_stay_as_they_are(tagger: Path) -> None:
    answer = acclimate("predict", tagger, "-", "--set", "reading.pre_split=true", stdin="Don't go. Now\n")
    assert words(answer) == [["Don't", "go.", "Now"]]


def test_column_files_keep_their_words_and_lose_their_tags(tagger: Path, files: Files) -> None:
    answer = acclimate("predict", tagger, files.gold)
    assert words(answer) == [list(sentence.words) for sentence in read_corpus(files.gold)]


def test_tags_in_the_input_play_no_part(tagger: Path, files: Files, tmp_path: Path) -> None:
    bare = "\n\n".join("\n".join(f"{word}\tO" for word in s.words) for s in read_corpus(files.gold))
    (tmp_path / "bare.conll").write_text(bare + "\n", encoding="utf-8")
    assert acclimate("predict", tagger, tmp_path / "bare.conll").out == acclimate("predict", tagger, files.gold).out


def test_standard_input_is_the_same_as_a_file(tagger: Path, files: Files) -> None:
    given = files.tweets.read_bytes()
    assert acclimate("predict", tagger, "-", stdin=given).out == acclimate("predict", tagger, files.tweets).out


def test_compressed_text_is_read_too(tagger: Path, files: Files, tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(files.tweets.read_bytes()))
    assert acclimate("predict", tagger, tmp_path / "a.txt.gz").out == acclimate("predict", tagger, files.tweets).out


def test_jsonl_points_into_the_text(tagger: Path) -> None:
    lines = ["Anna flew to  New York 😀.", " Oslo, again!"]
    found = records(acclimate("predict", tagger, "-", "--format", "jsonl", stdin="\n".join(lines)))
    assert [record["text"] for record in found] == lines
    for record in found:
        assert [record["text"][start:end] for start, end in record["offsets"]] == record["words"]
        assert len(record["tags"]) == len(record["words"])
        for span in record["spans"]:
            assert record["text"][span["start"] : span["end"]] == span["text"]


def test_some_span_is_found_and_agrees_with_its_tags(tagger: Path, files: Files) -> None:
    text = "\n".join(" ".join(sentence.words) for sentence in read_corpus(files.news))
    found = records(acclimate("predict", tagger, "-", "--format", "jsonl", stdin=text))
    spans = [span for record in found for span in record["spans"]]
    assert spans
    assert len(spans) == sum(tag.startswith("B-") for record in found for tag in record["tags"])


def test_paragraphs_are_cut_into_sentences(tagger: Path) -> None:
    text = "Dr. Lund left Oslo. It rained! Was it late?\n"
    assert len(words(acclimate("predict", tagger, "-", stdin=text))) == 1
    answer = acclimate("predict", tagger, "-", "--set", "reading.paragraphs=true", "--format", "jsonl", stdin=text)
    starts = [record["offsets"][0][0] for record in records(answer)]
    assert [text[start:].split()[0] for start in starts] == ["Dr.", "It", "Was"]


@pytest.mark.parametrize("line", ODD)
def test_no_character_is_lost(tagger: Path, line: str) -> None:
    found = words(acclimate("predict", tagger, "-", "--set", "reading.pre_split=true", stdin=f"{line}\n"))
    assert found == [[word for word in line.replace("\t", " ").split(" ") if word]]
    found = records(acclimate("predict", tagger, "-", "--format", "jsonl", stdin=f"{line}\n"))
    assert "".join("".join(record["words"]) for record in found) == "".join(line.split())


def test_blank_lines_are_no_sentences(tagger: Path) -> None:
    assert words(acclimate("predict", tagger, "-", stdin="\n\n  \nok\n\t\n\nyes\n\n\n")) == [["ok"], ["yes"]]


def test_a_very_long_line_gets_all_its_tags(tagger: Path) -> None:
    line = " ".join(f"word{number}" for number in range(2000))
    assert words(acclimate("predict", tagger, "-", stdin=f"{line}\n")) == [line.split()]


@pytest.mark.parametrize("given", ["", "\n \n"])
def test_nothing_to_tag_is_an_error(tagger: Path, given: str) -> None:
    answer = acclimate("predict", tagger, "-", stdin=given, code=1)
    assert answer.out == ""
    assert ("<stdin>: the file holds blank lines only" if given else "<stdin>: the file is empty") in answer.err


def test_bytes_that_are_no_text_are_refused_or_skipped(tagger: Path) -> None:
    given = "Z\xfcrich\n".encode("latin-1") + b"Oslo\n"
    assert "<stdin>, line 1: byte 0xfc is not UTF-8" in acclimate("predict", tagger, "-", stdin=given, code=1).err
    answer = acclimate("predict", tagger, "-", "--set", "reading.skip_bad=true", "--quiet", stdin=given)
    assert words(answer) == [["Oslo"]]
    assert "stdin: 1 bad line skipped." in answer.err


def test_out_is_written_in_the_format_of_its_name(tagger: Path, files: Files, tmp_path: Path) -> None:
    for name in ("said.conll", "said.jsonl", "said.txt", "said.conll.gz", "said.csv"):
        answer = acclimate("predict", tagger, files.tweets, "--out", tmp_path / "new" / name)
        assert answer.out == ""
        said = read_corpus(tmp_path / "new" / name)
        assert said.notes.format == {".jsonl": "jsonl", ".csv": "csv"}.get(Path(name).suffix, "conll")
        assert said.is_labelled
    assert (tmp_path / "new" / "said.conll").read_text(encoding="utf-8") == acclimate(
        "predict", tagger, files.tweets
    ).out


def test_the_format_asked_for_wins_over_the_name(tagger: Path, files: Files, tmp_path: Path) -> None:
    acclimate("predict", tagger, files.tweets, "--out", tmp_path / "said.conll", "--format", "jsonl")
    assert (tmp_path / "said.conll").read_text(encoding="utf-8").startswith('{"words"')


def test_spans_that_miss_words_in_the_input_do_not_matter(tagger: Path, tmp_path: Path) -> None:
    record = {"text": "Annabel left .", "label": [[0, 4, "PER"]]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    answer = acclimate("predict", tagger, tmp_path / "a.jsonl")
    assert words(answer) == [["Annabel", "left", "."]]
    assert answer.err == f"{tmp_path / 'a.jsonl'}, read as doccano\n1 sentence, 3 words\n"


def test_two_runs_say_the_same(tagger: Path, files: Files) -> None:
    assert acclimate("predict", tagger, files.news).out == acclimate("predict", tagger, files.news).out


def test_text_that_ends_in_a_lone_letter_is_text(tagger: Path) -> None:
    answer = acclimate("predict", tagger, "-", stdin="Anna bought a Tesla Model S\n")
    assert words(answer) == [["Anna", "bought", "a", "Tesla", "Model", "S"]]
    assert "read as text" in answer.err


def test_columns_on_standard_input_are_told_even_quietly(tagger: Path) -> None:
    answer = acclimate("predict", tagger, "-", "--quiet", stdin="Anna\tB-PER\nleft\tO\n")
    assert words(answer) == [["Anna", "left"]]
    assert "read as conll" in answer.err
    assert "--set reading.format=text" in answer.err
    raw = acclimate("predict", tagger, "-", "--quiet", "--set", "reading.format=text", stdin="Anna\tB-PER\nleft\tO\n")
    assert words(raw) == [["Anna", "B-PER"], ["left", "O"]]
    assert not raw.err


def test_a_table_of_raw_text_keeps_text_offsets_and_id(tagger: Path, tmp_path: Path) -> None:
    text = "Just landed in Berlin, with Anna Kern."
    (tmp_path / "a.csv").write_text(f'id,text\n7,"{text}"\n', encoding="utf-8")
    (tmp_path / "b.csv").write_text(f'number,what\n7,"{text}"\n', encoding="utf-8")
    [found] = records(acclimate("predict", tagger, tmp_path / "a.csv", "--format", "jsonl"))
    assert (found["text"], found["document"]) == (text, "7")
    assert [text[start:end] for start, end in found["offsets"]] == found["words"]
    assert found["words"][3:5] == ["Berlin", ","]
    assert "spans" in found
    [named] = records(
        acclimate("predict", tagger, tmp_path / "b.csv", "--format", "jsonl", "--set", "reading.words_column=what")
    )
    assert named["words"] == found["words"]


MANY = "".join(f"Line {number}: Anna flew to Oslo with {number} others .\n" for number in range(4000))  # several parts


def test_what_is_tagged_is_written_before_the_rest_is_read(tagger: Path) -> None:
    command = [sys.executable, "-m", "acclimate", "predict", tagger, "-", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        rescue = threading.Timer(120, running.kill)  # it would wait for ever
        rescue.start()
        running.stdin.write(MANY.encode())
        running.stdin.flush()
        assert running.stdout.readline().startswith(b"Line\t")  # and the input has not ended
        rescue.cancel()
        rest, _ = running.communicate(b"The end\n")
    assert [line.split(b"\t")[0] for line in rest.split(b"\n")[-4:]] == [b"The", b"end", b"", b""]


def test_parts_make_no_difference(tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = acclimate("predict", tagger, "-", stdin=MANY)
    tagged = parts.out.count("\t")
    assert parts.err.splitlines() == ["-, read as text", f"4,000 sentences, {tagged:,} words"]
    monkeypatch.setattr("acclimate.inference.predict.WORDS_OF_PIPE", 1 << 30)
    assert acclimate("predict", tagger, "-", stdin=MANY).out == parts.out


def test_a_bad_line_far_behind_leaves_no_file(tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(2 * MANY.encode() + b"\xff\n")
    answer = acclimate("predict", tagger, tmp_path / "a.txt", "--out", tmp_path / "said.conll", code=1)
    assert "line 8001: byte" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    answer = acclimate("predict", tagger, tmp_path / "a.txt", code=1)
    assert answer.out.startswith("Line\t")  # standard output has what was tagged before


def test_what_cannot_be_read_or_written_in_parts_is_told(tagger: Path, files: Files, tmp_path: Path) -> None:
    told = acclimate("predict", tagger, files.gold).err
    assert "read as conll: all of it is in memory, as conll cannot be read in parts" in told
    told = acclimate("predict", tagger, files.tweets, "--out", tmp_path / "a.csv").err
    assert "read as text: all of it is kept in memory, as csv cannot be written in parts" in told
