"""What the page asks the server: answers that are on the disk, conflicts, bounds, and attacks."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from desks import POSTS, client_of, client_on
from sessions import answer, begin, ids, span
from starlette.testclient import TestClient

from acclimate.data.answers import Answer
from acclimate.data.corpus import Corpus
from acclimate.data.readers.labelling import read_session
from acclimate.data.reading import read_corpus
from acclimate.labelling.desk import OPERATIONS
from acclimate.labelling.log import Log
from acclimate.labelling.queue import Order

Given = dict[str, Any]


def ask(client: TestClient, path: str, by: str = "anna", **body: Any) -> Any:
    response = client.post(f"/v1/{path}", json={"annotator": by, **body})
    assert response.status_code == 200, response.text
    return response.json()


def done(item: Given, *spans: list[Any], **fields: Any) -> Given:
    return {"sentence": item["id"], "status": "done", "spans": list(spans), "seen": item["version"], **fields}


def test_what_is_acknowledged_is_in_the_log_and_the_next_sentence_comes_along(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    first = ask(client, "next")
    given = done(first["item"], [0, 1, "PER"], seconds=2.5)
    found = ask(client, "answers", answers=[given], show=first["ahead"]["id"])
    saved = read_session(tmp_path / "s").state.answer(first["item"]["id"], "anna")
    assert saved == Answer(first["item"]["id"], "anna", "done", (span(0, 1, "PER"),), seconds=2.5)
    assert found["versions"] == {first["item"]["id"]: 1}
    assert found["item"]["id"] == first["ahead"]["id"]
    assert ask(client, "next")["item"] == found["item"]
    assert ask(client, "progress")["mine"]["done"] == 1
    assert session.progress().seconds == 2.5


def test_what_is_ready_ahead_is_what_comes_next_in_any_mixture(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s", held_back=0.4)
    ahead, seen = None, []
    while (found := ask(client, "next"))["item"] is not None:
        item = found["item"]
        assert ahead in (None, item["id"])
        seen.append(item["id"])
        ahead = found["ahead"] and found["ahead"]["id"]
        ask(client, "answers", answers=[done(item)])
    assert ahead is None
    assert sorted(seen) == sorted(ids(session))


def test_a_sentence_ready_ahead_is_kept_from_others(tmp_path: Path) -> None:
    _, client = client_on(tmp_path / "s")
    mine, theirs = ask(client, "next"), ask(client, "next", by="bo")
    shown = [found[name]["id"] for found in (mine, theirs) for name in ("item", "ahead")]
    assert len(set(shown)) == 4


def test_an_answer_to_an_old_version_is_a_conflict_and_shows_what_is_there(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    item = ask(client, "next")["item"]
    ask(client, "answers", answers=[done(item, [0, 1, "PER"])])
    late = client.post("/v1/answers", json={"annotator": "anna", "answers": [done(item, [1, 2, "LOC"])]})
    assert late.status_code == 409
    assert late.json()["error"]["code"] == "conflict"
    assert late.json()["version"] == 1
    assert late.json()["current"]["spans"] == [[0, 1, "PER"]]
    assert session.state.number == 1
    again = done(item, [1, 2, "LOC"]) | {"seen": late.json()["version"]}
    assert ask(client, "answers", answers=[again])["versions"] == {item["id"]: 2}


def test_an_answer_that_comes_twice_is_saved_once(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    given = done(ask(client, "next")["item"], [0, 1, "PER"], note="sure?", seconds=1.5)
    first, second = (ask(client, "answers", answers=[given])["versions"] for _ in range(2))
    assert first == second == {given["sentence"]: 1}
    assert session.state.number == 1
    assert session.progress().seconds == 1.5


def test_a_full_disk_saves_nothing_and_the_same_answer_is_taken_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, client = client_on(tmp_path / "s")
    given = {"annotator": "anna", "answers": [done(ask(client, "next")["item"])]}

    def full(log: Log, event: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Log, "append", full)
        refused = client.post("/v1/answers", json=given)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "not_saved")
    assert "No space left" in refused.json()["error"]["message"]
    assert session.state.answered == []
    assert client.post("/v1/answers", json=given).status_code == 200


def test_undo_shows_the_sentence_again_and_redo_goes_on(tmp_path: Path) -> None:
    _, client = client_on(tmp_path / "s")
    first = ask(client, "next")["item"]
    second = ask(client, "answers", answers=[done(first, [0, 1, "PER"])])["item"]
    back = ask(client, "undo")
    assert (back["isChanged"], back["sentences"], back["item"]["id"]) == (True, [first["id"]], first["id"])
    assert back["item"]["answer"] is None
    assert ask(client, "undo")["isChanged"] is False
    assert ask(client, "next")["item"]["id"] == first["id"]
    on = ask(client, "redo")
    assert on["isChanged"]
    assert on["item"]["id"] == second["id"]


def test_skipped_comes_again_and_flagged_does_not(tmp_path: Path) -> None:
    _, client = client_on(tmp_path / "s")
    shown = []
    for status in ["skipped", "flagged", *["done"] * 10]:
        item = ask(client, "next")["item"]
        shown.append(item["id"])
        ask(client, "answers", answers=[done(item) | {"status": status, "note": "odd <b>"}])
    assert len(set(shown)) == 12
    last = ask(client, "next")["item"]
    assert (last["id"], last["answer"]["note"]) == (shown[0], "odd <b>")


def test_what_was_labelled_in_part_comes_again_when_nothing_else_is_left(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    session.answer(answer(session, 5, span(2, 3, "PER"), status="part"))  # nobody has looked at all of it
    shown = []
    for status in ["part", *["done"] * 11]:
        item = ask(client, "next")["item"]
        shown.append(item["id"])
        ask(client, "answers", answers=[done(item) | {"status": status}])
    assert sorted(shown) == sorted(ids(session))
    assert ask(client, "next")["item"]["id"] == shown[0]


def test_the_same_words_elsewhere_are_shown_and_labelled_in_one_step(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    places = ask(client, "elsewhere", words=["rome"])["places"]
    assert [(one["before"], one["words"], one["after"]) for one in places] == [
        (["Bob", "Stone", "left"], ["Rome"], []),
        ([], ["Rome"], ["is", "cold", "today"]),
        (["Oslo", "and", "Lima", "and"], ["Rome"], []),
        (["Clara", "likes"], ["Rome"], ["very", "much"]),
    ]
    wanted = [one["place"] for one in places[1:]]
    session.answer(answer(session, 4, span(0, 1, "PER"), by="bo"))  # and meanwhile somebody labels one of them
    found = ask(client, "elsewhere/label", words=["rome"], label="LOC", places=wanted)
    assert (found["places"], found["left"]) == (2, 1)
    assert [session.state.answer(each, "anna").status for each in found["sentences"]] == ["part", "part"]  # type: ignore[union-attr]
    ask(client, "undo")
    assert session.state.answered == [ids(session)[4]]


def test_search_finds_sentences_with_what_was_answered(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    session.answer(answer(session, 10))
    hits = ask(client, "search", text="CLARA")["hits"]
    assert [(hit["words"][0], hit["status"]) for hit in hits] == [("from", None), ("she", None), ("Clara", "done")]
    shown = ask(client, "next", show=hits[1]["id"])["item"]
    assert shown["words"] == hits[1]["words"]
    assert ask(client, "search", text="  ")["hits"] == []


def test_the_guide_is_changed_and_an_old_one_is_a_conflict(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    guide = {"labels": ["LOC", "PER", "TEAM"], "colours": {"TEAM": "#112233"}, "guidelines": "Teams, too. <i>"}
    changed = ask(client, "guide", **guide, seen=0)
    assert changed["guide"]["labels"] == guide["labels"]
    assert set(changed["guide"]["colours"]) == set(guide["labels"])
    assert session.guide.guidelines == "Teams, too. <i>"
    late = client.post("/v1/guide", json={"annotator": "bo", **guide, "seen": 0})
    assert late.status_code == 409
    assert ask(client, "undo")["guide"]["labels"] == ["LOC", "PER"]


def test_two_people_see_how_far_they_agree(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s", held_back=0.99)
    for by, label in (("anna", "PER"), ("bo", "LOC")):
        session.answer(answer(session, 0, span(0, 1, "PER"), by=by), answer(session, 1, span(0, 1, label), by=by))
    found = ask(client, "progress")
    assert found["annotators"] == ["anna", "bo"]
    (agreement,) = found["agreement"]
    assert (agreement["with"], agreement["sentences"], agreement["f1"]) == ("bo", 2, 0.5)
    assert agreement == {"with": "bo", **session.agreement("anna", "bo").as_dict()}


def test_a_round_that_arrives_is_told_and_changes_no_sentence_on_a_screen(tmp_path: Path) -> None:
    session = begin(tmp_path / "s", POSTS)
    client = client_of(session)
    shown = ask(client, "next")["item"]
    client.app.service.queue.take(  # type: ignore[attr-defined]
        Order(3, ids(session)[::-1])
    )
    assert ask(client, "progress", sentence=shown["id"])["round"] == 3
    assert ask(client, "next")["item"]["id"] == shown["id"]
    first = next(each for each in reversed(ids(session)) if each != shown["id"])
    assert ask(client, "answers", answers=[done(shown)])["item"]["id"] == first


def test_what_is_labelled_comes_as_a_file(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    session.answer(answer(session, 0, span(0, 1, "PER")))
    session.answer(answer(session, 3, span(1, 2), status="part"))
    file = tmp_path / "got.jsonl"
    file.write_bytes(client.post("/v1/corpus", json={"annotator": "anna"}).content)
    assert [one.tags for one in read_corpus(file)] == [one.tags for one in session.corpus()]


BAD: list[tuple[str, Given]] = [
    ("answers", {}),
    ("answers", {"answers": []}),
    ("answers", {"answers": [{"sentence": "none", "status": "done", "seen": 0}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done"}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "great", "seen": 0}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "spans": [[0, 99, "PER"]]}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "spans": [[2, 1, "PER"]]}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "spans": [[-1, 1, "PER"]]}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "spans": [[0, 1, "NEW"]]}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "spans": [["a", 1, "PER"]]}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "spans": [[0, 1]]}]}),
    (
        "answers",
        {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "spans": [[0, 2, "PER"], [1, 2, "LOC"]]}]},
    ),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "seconds": -1}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "note": "\x00"}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0, "more": 1}]}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0}] * 2}),
    ("answers", {"answers": [{"sentence": "{id}", "status": "done", "seen": 0}], "show": "none"}),
    ("next", {"annotator": ""}),
    ("next", {"annotator": "a" * 101}),
    ("next", {"show": "none"}),
    ("progress", {"sentence": "none"}),
    ("elsewhere", {"words": []}),
    ("elsewhere/label", {"words": ["Rome"], "label": "LOC", "places": [["x", "y", "z"]]}),
    ("elsewhere/label", {"words": ["Rome"], "label": "LOC", "places": [["x", 0, "1"]]}),
    ("guide", {"labels": [], "colours": {}, "guidelines": "", "seen": 0}),
    ("guide", {"labels": ["A", "A"], "colours": {}, "guidelines": "", "seen": 0}),
    ("guide", {"labels": ["A"], "colours": {"A": "red; background: url(x)"}, "guidelines": "", "seen": 0}),
    ("corpus", {"format": "conll"}),
]


@pytest.mark.parametrize(("path", "body"), BAD)
def test_what_cannot_be_is_refused_by_name_and_nothing_is_written(tmp_path: Path, path: str, body: Given) -> None:
    session, client = client_on(tmp_path / "s")
    given = json.loads(json.dumps({"annotator": "anna", **body}).replace("{id}", ids(session)[0]))
    response = client.post(f"/v1/{path}", json=given)
    assert response.status_code == 422, response.text
    assert len(response.json()["error"]["message"]) > 10
    assert session.state.number == 0
    assert (tmp_path / "s" / "answers.jsonl").read_bytes() == b""


def test_another_site_reaches_nothing(tmp_path: Path) -> None:
    session, _ = client_on(tmp_path / "s")
    client = client_of(session, hosts=("localhost",))
    local = {"Host": "localhost:8100"}
    body = json.dumps({"annotator": "anna"})
    for path in [each.path for each in OPERATIONS if each.request is not None]:
        for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            sent = client.post(path, content=body, headers={**local, "Content-Type": media})
            assert sent.status_code == 415
        assert client.get(path, headers=local).status_code == 405
        rebound = client.post(path, json={"annotator": "anna"}, headers={"Host": "evil.example"})
        assert rebound.status_code == 400
        preflight = client.options(path, headers={**local, "Origin": "https://evil.example"})
        assert preflight.status_code == 405
        assert not [name for name in preflight.headers if name.startswith("access-control")]
    assert session.state.number == 0


def test_without_the_token_there_is_a_page_and_no_text(tmp_path: Path) -> None:
    session, _ = client_on(tmp_path / "s")
    client = client_of(session, token="sesame")
    for each in OPERATIONS:
        given = None if each.request is None else {"annotator": "anna"}
        response = client.request(each.methods[0], each.path, json=given)
        assert response.status_code == (200 if each.request is None else 401)
        assert "Oslo" not in response.text
    allowed = client.post("/v1/next", json={"annotator": "anna"}, headers={"Authorization": "Bearer sesame"})
    assert allowed.status_code == 200


def test_a_huge_body_is_refused(tmp_path: Path) -> None:
    session, client = client_on(tmp_path / "s")
    given = done(ask(client, "next")["item"], note="x" * 1_100_000)
    assert client.post("/v1/answers", json={"annotator": "anna", "answers": [given]}).status_code == 413
    assert session.state.number == 0


def test_the_page_takes_nothing_from_elsewhere_and_lets_no_script_in(tmp_path: Path) -> None:
    text = Corpus.of_texts([["<script>alert(1)</script>", "</script>", "&amp;"]], name='<img src=x onerror="a()">')
    client = client_of(begin(tmp_path / "s", text, labels=("<b>A</b>",)))
    for each in OPERATIONS:
        if each.request is None:
            found = client.get(each.path)
            assert "http://" not in found.text.replace("http://www.w3.org/", "")
            assert "https://" not in found.text
            policy = found.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
    assert "alert(1)" not in client.get("/").text
    found = ask(client, "begin")
    assert found["guide"]["labels"] == ["<b>A</b>"]
