"""The queue: what comes next, what stays on the screen, and the same words elsewhere."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sessions import LABELS, TEXT, answer, begin, ids, span, tags

from acclimate.data.answers import Answer
from acclimate.data.corpus import Corpus
from acclimate.data.soft_labels import ScoredSpan
from acclimate.labelling import queue as queue_module
from acclimate.labelling.queue import AWAY, Order, Place, Queue, order_of
from acclimate.labelling.session import Conflict, Session


def label(session: Session, queue: Queue, by: str = "anna", status: str = "done") -> str:
    """Answer the sentence on the screen."""
    item = queue.current(by)
    assert item is not None
    session.answer(Answer.of({"sentence": item.id, "status": status, "seen": item.version}, by))
    return item.id


def text_of(size: int) -> Corpus:
    letters = [chr(97 + number) for number in range(26)]
    return Corpus.of_texts(
        [[letters[n % 26] * 3, letters[n // 26 % 26] * 2, letters[n // 676] * 5] for n in range(size)]
    )


def test_the_order_of_a_round_is_followed_and_then_all_others_come_once(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        first = [ids(session)[place] for place in (5, 0, 3)]
        queue = Queue(session, Order(1, first))
        shown = [label(session, queue) for _ in TEXT]
        assert shown[:3] == first
        assert sorted(shown) == sorted(ids(session))
        assert queue.current("anna") is None


def test_a_new_order_does_not_change_the_sentence_on_the_screen(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        queue = Queue(session, Order(1, ids(session)))
        shown = queue.current("anna")
        assert shown is not None
        queue.take(Order(2, ids(session)[::-1], {shown.id: (ScoredSpan(0, 1, "LOC", 0.5),)}))
        again = queue.current("anna")
        assert again is not None
        assert again.id == shown.id == ids(session)[0]
        assert again.suggestions == (ScoredSpan(0, 1, "LOC", 0.5),)
        assert again.round == 2
        label(session, queue)
        assert label(session, queue) == ids(session)[-1]


def test_a_partial_answer_leaves_a_sentence_on_the_screen_and_undo_brings_one_back(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        queue = Queue(session, Order(1, ids(session)))
        assert queue.current("anna").id == ids(session)[0]  # type: ignore[union-attr]
        label(session, queue, status="part")
        assert queue.current("anna").id == ids(session)[0]  # type: ignore[union-attr]
        done = label(session, queue)
        queue.current("anna")
        (undone,) = session.undo("anna")
        assert undone == done
        assert queue.show(undone, "anna").answer.status == "part"  # type: ignore[union-attr]
        assert queue.current("anna").id == done  # type: ignore[union-attr]


def test_what_is_skipped_comes_last_and_the_first_skipped_first(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        queue = Queue(session, Order(1, ids(session)))
        skipped = [label(session, queue, status="skipped") for _ in range(2)]
        flagged = label(session, queue, status="flagged")
        rest = [label(session, queue) for _ in range(len(TEXT) - 3)]
        assert flagged not in rest
        assert label(session, queue, status="skipped") == skipped[0]
        assert queue.current("anna").id == skipped[1]  # type: ignore[union-attr]
        assert queue.current("anna").id == skipped[1]  # type: ignore[union-attr]
        label(session, queue)
        assert label(session, queue) == skipped[0]
        assert queue.current("anna") is None


def test_two_annotators_label_different_sentences_and_both_those_held_back(tmp_path: Path) -> None:
    with begin(tmp_path / "s", text_of(60), held_back=0.3) as session:
        queue = Queue(session)
        held_back = {one.id for one in session.sentences.values() if one.held_back}
        seen: dict[str, list[str]] = {"anna": [], "bo": []}
        on_screens = {name: queue.current(name).id for name in seen}  # type: ignore[union-attr]
        for _ in range(20):
            for name, own in seen.items():
                own.append(label(session, queue, by=name))
        assert on_screens["anna"] == seen["anna"][0]
        both = set(seen["anna"]) & set(seen["bo"])
        assert both == held_back & set(seen["anna"]) == held_back & set(seen["bo"])
        assert len(both) == 6
        assert session.agreement("anna", "bo").sentences == 6


def test_who_is_away_for_long_leaves_the_sentence_to_others_and_may_still_answer_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(queue_module, "monotonic", lambda: now)
    with begin(tmp_path / "s") as session:
        queue = Queue(session, Order(1, ids(session)))
        first, second, third = ids(session)[:3]
        assert [queue.current("anna").id, queue.ahead("anna").id] == [first, second]  # type: ignore[union-attr]
        now += AWAY
        assert queue.current("bo").id == third  # type: ignore[union-attr]
        queue.hear_of("anna")
        now += AWAY
        assert label(session, queue, by="bo") == third
        now += 1
        assert [label(session, queue, by="bo") for _ in range(2)] == [first, second]
        session.answer(answer(session, 0, span(2, 3)))  # anna's page still shows it
        assert tags(session)[0] == "O O O|*"
        session.undo("anna")
        queue.hear_of("anna")
        assert queue.current("anna").id == ids(session)[3]  # type: ignore[union-attr]


@given(st.floats(0.05, 0.6))
def test_those_held_back_come_in_a_steady_share(share: float) -> None:
    with tempfile.TemporaryDirectory() as place, begin(Path(place) / "s", text_of(80), held_back=share) as session:
        queue = Queue(session)
        there = sum(one.held_back for one in session.sentences.values())
        known = 0
        for number in range(1, 31):
            known += session.sentences[label(session, queue)].held_back
            if there > share * number + 1 and 80 - there > number:
                assert share * number <= known + 1e-9 <= share * number + 1 + 1e-6


def test_no_suggestion_is_shown_on_what_is_held_back(tmp_path: Path) -> None:
    spans = (ScoredSpan(0, 1, "LOC", 0.9), ScoredSpan(1, 2, "MISC", 0.9))
    with begin(tmp_path / "s", text_of(40), held_back=0.5) as session:
        queue = Queue(session, Order(1, (), dict.fromkeys(session.sentences, spans)))
        for one in session.sentences.values():
            shown = queue.item(one.id, "anna").suggestions
            assert shown == (() if one.held_back else spans[:1]), "MISC is no label here"


def test_near_duplicates_are_shown_once(tmp_path: Path) -> None:
    text = Corpus.of_texts([["see", "this", "12", "!"], ["something", "else"], ["See", "this", "99"]])
    with begin(tmp_path / "s", text) as session:
        queue = Queue(session)
        shown = [label(session, queue) for _ in range(2)]
        assert set(shown) == set(ids(session)[:2])
        assert queue.current("anna") is None


def test_the_same_words_elsewhere_are_all_places_that_a_slow_look_finds(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        queue = Queue(session)
        session.answer(answer(session, 0, span(2, 3)))  # done: not looked at any more
        session.answer(answer(session, 3, span(2, 3), status="part"))
        for words in (["Oslo"], ["new", "York"], ["rome"], ["it", "rained"], ["nowhere"], ["left", "Oslo", "for"]):
            slow = []
            for place, sentence in enumerate(TEXT):
                lower = [word.lower() for word in sentence.words]
                wanted = [word.lower() for word in words]
                for start in range(len(lower)):
                    inside = set(range(start, start + len(wanted)))
                    if place != 0 and lower[start : start + len(wanted)] == wanted and not (place == 3 and 2 in inside):
                        slow.append(Place(ids(session)[place], start, start + len(wanted)))
            assert queue.elsewhere(words, "anna") == slow, words
        assert queue.elsewhere([], "anna") == []


def test_words_are_labelled_elsewhere_in_one_step_which_leaves_the_rest_open(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        queue = Queue(session)
        session.answer(answer(session, 3, span(0, 1, "PER"), status="part", open=(span(2, 5),)))
        changed = queue.label_places(queue.elsewhere(["oslo"], "anna"), "LOC", "anna")
        assert changed == [ids(session)[0], ids(session)[3], ids(session)[4]]
        assert tags(session) == ["O|* O|* B-LOC", "B-PER O|* B-LOC O|* O|*", "B-LOC O|* O|*"]
        assert queue.elsewhere(["oslo"], "anna") == []
        assert session.undo("anna") == changed
        assert tags(session) == ["B-PER O|* O|* O|* O|*"]
        only = queue.elsewhere(["oslo"], "anna")[:1]
        assert queue.label_places(only, "LOC", "anna") == [ids(session)[0]]


def test_words_held_back_are_not_labelled_from_elsewhere(tmp_path: Path) -> None:
    text = Corpus.of_texts([["Oslo", chr(97 + number) * 3] for number in range(20)])
    with begin(tmp_path / "s", text, held_back=0.5) as session:
        queue = Queue(session)
        changed = {place.sentence for place in queue.elsewhere(["Oslo"], "anna")}
        assert changed == {one.id for one in session.sentences.values() if not one.held_back}


def test_an_answer_of_another_tab_stops_labelling_elsewhere_as_a_whole(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        queue = Queue(session)
        places = queue.elsewhere(["oslo"], "anna")
        stale = session.version

        def old(sentence: str, annotator: str) -> int:
            return stale(sentence, annotator) if sentence != ids(session)[3] else 99

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(queue, "_with_spans", lambda key, spans, by: Answer(key, by, seen=old(key, by)))
            with pytest.raises(Conflict):
                queue.label_places(places, "LOC", "anna")
        assert tags(session) == []


def test_search_finds_text_in_any_case_of_letters(tmp_path: Path) -> None:
    with begin(tmp_path / "s") as session:
        queue = Queue(session)
        assert queue.search("OSLO is") == [ids(session)[4]]
        assert queue.search("  ") == []
        assert len(queue.search("o", most=2)) == 2


def test_an_order_is_kept_as_json() -> None:
    order = Order(3, ("a", "b"), {"a": (ScoredSpan(0, 2, "LOC", 0.25),)})
    again = order_of(asdict(order))
    assert (again.round, tuple(again.first), dict(again.suggestions)) == (3, ("a", "b"), dict(order.suggestions))


def test_a_label_that_is_gone_is_not_suggested(tmp_path: Path) -> None:
    with begin(tmp_path / "s", labels=LABELS[:1]) as session:
        key = ids(session)[0]
        queue = Queue(session, Order(1, [key], {key: (ScoredSpan(0, 1, "PER", 1.0), ScoredSpan(2, 3, "LOC", 1.0))}))
        assert [one.label for one in queue.item(key, "anna").suggestions] == ["LOC"]


def test_what_is_looked_at_for_one_answer_does_not_grow_with_the_text(tmp_path: Path) -> None:
    with begin(tmp_path / "s", text_of(600)) as session:
        queue = Queue(session, Order(1, ids(session)))
        looked: list[str] = []
        asked = session.state.answer

        def count(sentence: str, annotator: str) -> Answer | None:
            looked.append(sentence)
            return asked(sentence, annotator)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session.state, "answer", count)
            queue.current("anna")
        assert len(looked) < 5
