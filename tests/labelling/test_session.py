"""A session: what its answers make, what undo takes back, who is told of a conflict, and that a replay is the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import LABELS, TEXT, answer, begin, ids, span, tags

from acclimate.data.answers import Answer, Guide
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.data.writing import write_corpus
from acclimate.evaluation.agreement import cohens_kappa
from acclimate.labelling.session import Conflict, Session
from acclimate.layout import ANSWERS
from acclimate.settings import UsageError

PER = "PER"


def test_done_sentences_are_o_elsewhere_and_parts_are_open_elsewhere(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 0, span(2, 3), span(0, 1, PER)))
        session.answer(answer(session, 3, span(2, 3), status="part"))
        session.answer(answer(session, 6, status="skipped"))
        session.answer(answer(session, 7, status="flagged", note="what is this?"))
        assert tags(session) == ["B-PER O B-LOC", "O|* O|* B-LOC O|* O|*"]
        assert session.corpus().annotates == LABELS


def test_open_spans_stay_open_and_a_rejected_type_is_not_there(tmp_path: Path) -> None:
    with begin(tmp_path / "s", labels=("LOC", "PER", "ORG")) as session:
        session.answer(answer(session, 0, span(2, 3), open=(span(0, 1, PER),)))
        session.answer(answer(session, 3, status="part", rejected=(span(0, 1, PER), span(2, 3, "LOC"))))
        session.answer(answer(session, 1, rejected=(span(0, 1, PER),)))
        both = (span(0, 1, PER),)
        session.answer(answer(session, 5, span(0, 2), status="part", rejected=(span(3, 5),), open=both))
        assert tags(session) == [
            "O|* O B-LOC",
            "O O",
            "O|LOC|ORG O|* O|ORG|PER O|* O|*",
            "B-LOC I-LOC O|* O|ORG|PER O|ORG|PER",
        ]


def test_undo_and_redo_go_through_the_whole_session_and_a_new_answer_ends_what_was_undone(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        states = [tags(session)]
        for place in range(4):
            session.answer(answer(session, place, *([span(0, 1)] if place % 2 else [])))
            states.append(tags(session))
        session.change_guide(Guide((*LABELS, "ORG"), guidelines="names"), "anna")
        assert session.undo("anna") == []
        assert session.guide.labels == LABELS
        for place in reversed(range(4)):
            assert session.undo("anna") == [ids(session)[place]]
            assert tags(session) == states[place]
        assert session.undo("anna") == []
        assert session.redo("anna") == [ids(session)[0]]
        assert tags(session) == states[1]
        session.answer(answer(session, 5))
        assert session.redo("anna") == []


def test_an_undone_change_of_an_answer_brings_the_former_one_back(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 1, span(0, 1)))
        session.answer(answer(session, 1, span(0, 1, PER)))
        assert tags(session) == ["B-PER O"]
        session.undo("anna")
        assert tags(session) == ["B-LOC O"]


def test_nobody_undoes_what_another_did(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 1, span(0, 1)))
        session.answer(answer(session, 0, by="bo"))
        assert session.undo("anna") == [ids(session)[1]]
        assert session.undo("anna") == []
        assert session.state.answer(ids(session)[0], "bo") is not None


def test_two_tabs_do_not_overwrite_each_other(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        one = answer(session, 1, span(0, 1))
        other = answer(session, 1, span(0, 1, PER))
        versions = session.answer(one)
        with pytest.raises(Conflict) as conflict:
            session.answer(other)
        assert conflict.value.current == one
        assert conflict.value.version == versions[one.sentence] == session.version(one.sentence, "anna")
        assert tags(session) == ["B-LOC O"]
        session.undo("anna")
        with pytest.raises(Conflict):  # undone is changed, too
            session.answer(other)
        with pytest.raises(Conflict):
            session.change_guide(Guide(("X",)), "anna", seen=99)
        assert len(session.state.undoable["anna"]) == 0


def test_a_step_of_several_answers_is_saved_or_refused_as_one(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 0))
        stale = Answer(ids(session)[0], "anna")
        with pytest.raises(Conflict):
            session.answer(answer(session, 1), stale)
        assert len(session.corpus()) == 1
        session.answer(answer(session, 1), answer(session, 2))
        assert len(session.corpus()) == 3
        assert session.undo("anna") == [ids(session)[1], ids(session)[2]]
        assert len(session.corpus()) == 1


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"spans": (span(0, 9),)}, "does not fit"),
        ({"spans": (span(0, 2), span(1, 3))}, "overlap"),
        ({"spans": (span(0, 1, "CITY"),)}, "Add it to the labels"),
        ({"rejected": (span(2, 2),)}, "does not fit"),
        ({"open": (span(0, 1, "X"),)}, "Add it"),
        ({"seconds": -1.0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"note": "\0"}, "NUL"),
        ({"sentence": "nope"}, "no sentence"),
        ({"annotator": " "}, "name"),
    ],
)
def test_an_answer_that_cannot_be_is_refused_and_not_written(
    tmp_path: Path, fields: dict[str, Any], problem: str
) -> None:
    with begin(tmp_path / "s") as session:
        given: dict[str, Any] = {"sentence": ids(session)[0], "annotator": "anna", **fields}
        with pytest.raises(InputError, match=problem):
            session.answer(Answer(**given))
        assert session.state.number == 0
        session.answer(answer(session, 0))


def test_what_a_page_sends_is_checked(tmp_path: Path) -> None:
    sent = {"sentence": "x", "status": "done", "spans": [[0, 1, "LOC"]], "seen": 3}
    assert Answer.of(sent, "anna") == Answer("x", "anna", spans=(span(0, 1),), seen=3)
    for wrong in ({"status": "finished"}, {"spans": [[0, 1]]}, {"spans": 3}, {"seconds": "long"}, {"seen": None}):
        with pytest.raises(InputError):
            Answer.of({**sent, **wrong}, "anna")
    with pytest.raises(InputError):
        Answer.of({}, "anna")


@pytest.mark.parametrize("labels", [(), ("A", "A"), ("A|B",), ("*",), (" A",), ("",)])
def test_labels_that_no_tag_can_say_are_refused(tmp_path: Path, labels: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        begin(tmp_path / "s", labels=labels)
    assert not (tmp_path / "s").exists()


def test_a_label_in_use_stays_and_new_ones_get_a_colour_of_their_own(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 1, span(0, 1)))
        with pytest.raises(InputError, match="LOC is in use"):
            session.change_guide(Guide(("PER",)), "anna")
        with pytest.raises(InputError, match="colour"):
            session.change_guide(Guide(LABELS, {"LOC": "red"}), "anna")
        many = (*LABELS, *(f"L{number}" for number in range(12)))
        session.change_guide(Guide(many, {"LOC": "#000000"}), "anna")
        assert session.guide.colours["LOC"] == "#000000"
        assert list(session.guide.colours) == list(many)
        assert len(set(list(session.guide.colours.values())[:11])) == 11


def test_where_annotators_differ_words_are_open_and_who_did_not_look_decides_nothing(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 0, span(2, 3), span(0, 1, PER)))
        session.answer(answer(session, 0, span(2, 3), by="bo"))
        session.answer(answer(session, 3, span(2, 3), status="part"))
        session.answer(answer(session, 3, span(4, 5), by="bo", status="part"))
        session.answer(answer(session, 1, status="part"))
        session.answer(answer(session, 1, by="bo"))
        session.answer(answer(session, 5, span(0, 2)))
        session.answer(answer(session, 5, span(0, 1), by="bo"))
        assert tags(session) == ["O|* O B-LOC", "O O", "O|* O|* B-LOC O|* B-LOC", "O|* O|* O O O"]
        assert tags(session, annotator="bo")[0] == "O O B-LOC"


def test_agreement_is_counted_by_hand_on_sentences_that_both_have_done(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 0, span(2, 3), span(0, 1, PER)))
        session.answer(answer(session, 0, span(2, 3), by="bo"))
        session.answer(answer(session, 1, span(0, 1)))
        session.answer(answer(session, 1, span(0, 1), by="bo", open=(span(1, 2),)))
        session.answer(answer(session, 2, status="part"))
        session.answer(answer(session, 2, by="bo"))
        session.answer(answer(session, 4))
        found = session.agreement("anna", "bo")
        assert (found.sentences, found.words) == (2, 4)
        assert (found.spans.gold, found.spans.predicted, found.spans.correct) == (3, 2, 2)
        assert found.spans.f1 == pytest.approx(0.8)
        # words: PER/O, O/O, LOC/LOC, LOC/LOC: agreed 3 of 4; by chance (1*0 + 1*2 + 2*2) / 16
        assert found.kappa == pytest.approx((3 / 4 - 6 / 16) / (1 - 6 / 16))
        assert session.agreement("anna", "cy").kappa is None


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    one, other = list("AABBCCAOOO"), list("ABBBCAAOOC")
    pairs: dict[tuple[str, str], int] = {}
    for pair in zip(one, other, strict=True):
        pairs[pair] = pairs.get(pair, 0) + 1
    assert cohens_kappa(pairs) == pytest.approx(metrics.cohen_kappa_score(one, other))
    assert cohens_kappa({("O", "O"): 5}) is None
    assert cohens_kappa({}) is None


def test_progress_counts_sentences_words_spans_and_minutes(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 0, span(2, 3), seconds=30.0))
        session.answer(answer(session, 3, span(2, 3), status="part", seconds=10.0))
        session.answer(answer(session, 6, status="skipped", by="bo", seconds=5.0))
        session.answer(answer(session, 0, by="bo", status="flagged", seconds=5.0))
        session.undo("anna")
        mine, all_of_us = session.progress("anna"), session.progress()
        assert (mine.done, mine.part, mine.words, mine.spans, mine.seconds) == (1, 0, 3, 1, 40.0)
        assert (all_of_us.done, all_of_us.skipped, all_of_us.flagged) == (1, 1, 0)
        assert all_of_us.seconds == 50.0
        assert all_of_us.sentences == len(TEXT)


def test_what_is_held_back_is_the_same_by_seed_never_learnt_and_keeps_near_duplicates_together(tmp_path: Path) -> None:
    words = [["word", chr(97 + number % 26), chr(97 + number // 26), "and", "more"] for number in range(200)]
    text = Corpus.of_texts([*words, *words])
    with begin(tmp_path / "a", text, held_back=0.3) as session:
        stored = list(session.sentences.values())
        assert 35 <= sum(one.held_back for one in stored[:200]) <= 85
        assert [one.held_back for one in stored[:200]] == [one.held_back for one in stored[200:]]
        assert all(one.like is None for one in stored[:200])
        assert [one.like for one in stored[200:]] == [one.id for one in stored[:200]]
        for place in range(200):
            session.answer(answer(session, place))
        assert len(session.corpus()) + len(session.corpus(held_back=True)) == 200
        learnt = {sentence.words for sentence in session.corpus()}
        assert learnt.isdisjoint(sentence.words for sentence in session.corpus(held_back=True))
    with (
        begin(tmp_path / "b", text, held_back=0.3) as again,
        begin(tmp_path / "c", text, held_back=0.3, seed=2) as other,
    ):
        sides = [[one.held_back for one in each.sentences.values()] for each in (again, other)]
    assert sides[0] == [one.held_back for one in stored]
    assert sides[1] != sides[0]


def test_a_session_has_one_folder_and_goes_on_in_it(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 1, span(0, 1)))
        with pytest.raises(UsageError, match="in use"):
            Session.open(tmp_path / "s")
    with pytest.raises(UsageError, match="holds a session already"):
        begin(tmp_path / "s")
    with Session.open(tmp_path / "s") as session:
        assert tags(session) == ["B-LOC O"]
        assert session.settings.held_back == 0.0
    with pytest.raises(InputError, match="holds no session"):
        Session.open(tmp_path)
    with pytest.raises(UsageError, match="closed"):
        session.answer(answer(session, 2))


def test_several_threads_answer_and_every_answer_is_there(tmp_path: Path) -> None:
    words = [[f"word{chr(97 + number % 26)}{chr(97 + number // 26)}"] for number in range(60)]
    with begin(tmp_path / "s", Corpus.of_texts(words)) as session:

        def work(name: str) -> None:
            for place in range(60):
                session.answer(answer(session, place, by=name))
                if place % 7 == 0:
                    session.undo(name)
                    session.redo(name)

        threads = [threading.Thread(target=work, args=(f"annotator {number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.state.number == 4 * (60 + 2 * 9)
    with Session.open(tmp_path / "s") as again:
        assert all(len(again.state.answers(identifier)) == 4 for identifier in again.sentences)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["answer", "answer", "answer", "undo", "redo", "guide"]),
        st.sampled_from(["anna", "bo"]),
        st.integers(0, len(TEXT) - 1),
        st.sampled_from(["done", "part", "skipped", "flagged"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=14,
)


def snapshot(session: Session) -> dict[str, Any]:
    state = session.state
    names = ["anna", "bo"]
    return {
        "corpus": [(one.words, one.tags) for one in session.corpus()],
        "each": [[(one.words, one.tags) for one in session.corpus(annotator=name)] for name in names],
        "answers": {key: [one.as_dict() for one in state.answers(key)] for key in session.sentences},
        "versions": {(key, name): state.version(key, name) for key in session.sentences for name in names},
        "undoable": {name: list(state.undoable[name]) for name in names},
        "redoable": {name: list(state.redoable[name]) for name in names},
        "guide": session.guide.as_dict(),
        "progress": session.progress().as_dict(),
        "number": state.number,
    }


def act(session: Session, step: tuple[str, str, int, Any, bool, bool]) -> None:
    what, name, place, status, marks, leaves = step
    if what == "answer":
        spans = [span(0, 1, "PER")] if marks else []
        others = {"open": (span(1, 2),)} if leaves else {"rejected": (span(1, 2),)}
        session.answer(answer(session, place, *spans, by=name, status=status, seconds=1.5, **others))
    elif what == "guide":
        session.change_guide(Guide((*LABELS, f"L{place}")), name)
    else:
        getattr(session, what)(name)


@settings(max_examples=25)
@given(STEPS, st.data())
def test_any_prefix_of_the_log_cut_at_any_byte_replays_to_the_state_that_was_then(
    steps: list[tuple[str, str, int, Any, bool, bool]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "s"
        with begin(folder) as session:
            states = [snapshot(session)]
            for step in steps:
                before = session.state.number
                act(session, step)
                if session.state.number > before:
                    states.append(snapshot(session))
        whole = (folder / ANSWERS).read_bytes()
        ends = [0, *(place + 1 for place, byte in enumerate(whole) if byte == ord("\n"))]
        assert len(ends) == len(states)
        for cut in {len(whole), data.draw(st.integers(0, len(whole))), data.draw(st.sampled_from(ends))}:
            (folder / ANSWERS).write_bytes(whole[:cut])
            with Session.open(folder, warn=lambda message: None) as again:
                assert snapshot(again) == states[sum(end <= cut for end in ends) - 1]


def test_undone_and_done_again_gives_the_state_as_if_nothing_had_been_undone(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        for place in range(5):
            session.answer(answer(session, place, span(0, 1)))
        before = tags(session)
        for _ in range(5):
            session.undo("anna")
        for _ in range(5):
            session.redo("anna")
        assert tags(session) == before


def test_the_corpus_is_written_in_the_formats_that_hold_open_words_and_read_as_it_was(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 0, span(2, 3), span(0, 1, PER), open=(span(1, 2),)))
        session.answer(answer(session, 3, span(2, 3), status="part"))
        for name in ("out.conll", "out.jsonl", "out.csv"):
            write_corpus(session.corpus(), tmp_path / name)
            again = read_corpus(tmp_path / name)
            assert [one.tags for one in again] == [one.tags for one in session.corpus()]
        with pytest.raises(InputError, match="may hide"):
            write_corpus(session.corpus(), tmp_path / "out.json")


def test_the_folder_is_read_as_a_corpus_also_while_the_session_is_open(
    tmp_path: Path, make_corpus: Callable[..., Corpus]
) -> None:
    with begin(tmp_path / "s", make_corpus(60), labels=("LOC", "ORG", "PER"), held_back=0.5) as session:
        with pytest.raises(InputError, match="labelled here yet"):
            read_corpus(tmp_path / "s")
        for place, identifier in enumerate(ids(session)):
            session.answer(Answer(identifier, "anna", "part" if place % 3 else "done", (span(0, 1),)))
        for held_back, folder in ((False, tmp_path / "s"), (True, tmp_path / "s" / "held-back")):
            found, own = read_corpus(folder), session.corpus(held_back)
            assert [(one.words, one.tags) for one in found] == [(one.words, one.tags) for one in own]
            assert found.annotates == ("LOC", "ORG", "PER")
            assert found.notes.format == "labelling"
        assert not any(one.is_open for one in read_corpus(tmp_path / "s" / "held-back"))


def test_a_torn_line_is_left_out_by_a_reader_that_says_so(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 1, span(0, 1)))
        session.answer(answer(session, 2))
    log = tmp_path / "s" / ANSWERS
    log.write_bytes(log.read_bytes()[:-5])
    found = read_corpus(tmp_path / "s")
    assert len(found) == 1
    assert "never acknowledged" in found.notes.remarks[0]


def test_damage_in_the_folder_is_told_with_its_file(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        session.answer(answer(session, 1, span(0, 1)))
    for name, content in (("labelling.json", "{}"), ("sentences.jsonl", '{"id": 1}\n'), ("sentences.jsonl", "")):
        file = tmp_path / "s" / name
        before = file.read_text()
        file.write_text(content)
        with pytest.raises(InputError) as problem:
            read_corpus(tmp_path / "s")
        assert str(tmp_path / "s") in str(problem.value)
        file.write_text(before)
    (tmp_path / "s" / "sentences.jsonl").unlink()
    with pytest.raises(InputError, match="no such file"):
        read_corpus(tmp_path / "s")


def test_offsets_point_into_the_stretch_of_the_text_that_a_sentence_covers(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Anna left. Oslo is cold!\n")
    text = read_corpus(tmp_path / "text.txt", paragraphs=True)
    with begin(tmp_path / "s", text) as session:
        for place in range(len(text)):
            session.answer(answer(session, place))
        for one in session.corpus():
            assert one.text is not None
            assert one.offsets is not None
            assert [one.text[start:end] for start, end in one.offsets] == list(one.words)
        assert json.loads((tmp_path / "s" / "sentences.jsonl").read_text().splitlines()[1])["text"] == "Oslo is cold!"
