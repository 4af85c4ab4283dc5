"""Answers are those of the tagger, and every refusal names what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import TEXTS
from starlette.testclient import TestClient

from acclimate.inference.predict import predict
from acclimate.serving.taggers import ServedTagger, load_taggers
from acclimate.settings import UsageError


def as_sent(entities: list[Any]) -> list[tuple[Any, ...]]:
    return [(each.label, each.text, each.start, each.end) for each in entities]


def as_got(entities: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["label"], each["text"], each["start"], each["end"]) for each in entities]


def refusal(response: Any, status: int) -> dict[str, str]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    (error,) = response.json().values()
    assert set(error) == {"code", "message"}
    return error


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_a_text_has_the_entities_that_the_tagger_finds(
    client: TestClient, taggers: list[ServedTagger], number: int
) -> None:
    expected = taggers[0].tagger(TEXTS[number])
    got = client.post("/v1/entities", json={"text": TEXTS[number]}).json()
    assert got["model"] == "a"
    assert as_got(got["entities"]) == as_sent(expected)
    assert [each["score"] for each in got["entities"]] == pytest.approx([each.score for each in expected], abs=1e-4)


def test_some_texts_have_entities_and_the_two_taggers_differ(taggers: list[ServedTagger]) -> None:
    after, before = ([as_sent(one.tagger(text)) for text in TEXTS] for one in taggers)
    assert sum(map(len, after)) > 5
    assert after != before


def test_several_texts_have_a_list_each_and_offsets_count_code_points(
    client: TestClient, taggers: list[ServedTagger]
) -> None:
    got = client.post("/v1/entities", json={"texts": TEXTS, "model": "a/before"}).json()
    assert got["model"] == "a/before"
    assert [as_got(each) for each in got["entities"]] == [as_sent(taggers[1].tagger(text)) for text in TEXTS]
    for text, entities in zip(TEXTS, got["entities"], strict=True):
        assert all(text[each["start"] : each["end"]] == each["text"] for each in entities)


def test_words_that_are_split_already_have_a_tag_each(client: TestClient, taggers: list[ServedTagger]) -> None:
    sentences = [["Anna", "flew", "to", "New York"], ["\u200b", " ", "x" * 300], ["Don't", "go."]]
    expected = [list(each.tags or ()) for each in predict(taggers[0].tagger, sentences)]
    one = client.post("/v1/tags", json={"words": sentences[0]}).json()
    assert one == {"model": "a", "tags": expected[0]}
    many = client.post("/v1/tags", json={"sentences": [sentences[0], [], *sentences[1:]]}).json()
    assert many["tags"] == [expected[0], [], *expected[1:]]


def test_no_texts_have_no_answers(client: TestClient) -> None:
    assert client.post("/v1/entities", json={"texts": []}).json()["entities"] == []
    assert client.post("/v1/tags", json={"words": []}).json()["tags"] == []


def test_the_taggers_are_listed_with_what_their_folders_say(client: TestClient) -> None:
    after, before = client.get("/v1/models").json()["models"]
    assert after == {
        "name": "a",
        "labels": ["LOC", "ORG", "PER"],
        "kind": "spans",
        "form": "torch",
        "before": "a/before",
    }
    assert (before["name"], before["before"]) == ("a/before", None)


BAD = [
    (b"", 400, "invalid_json", "line 1"),
    (b'{"text": "a"', 400, "invalid_json", "line 1, column 13"),
    (b'{"text": NaN}', 400, "invalid_json", "NaN"),
    (b"[" * 50_000, 400, "invalid_json", "no JSON"),
    (b'{"text": ' + b"1" * 5000 + b"}", 400, "invalid_json", "no JSON"),
    (b'\xff{"text": "a"}', 400, "invalid_json", "byte 0"),
    (b'["a"]', 422, "invalid_request", "body"),
    (b"null", 422, "invalid_request", "body"),
    (b"{}", 422, "invalid_request", "text or texts"),
    (b'{"text": "a", "texts": ["b"]}', 422, "invalid_request", "text or texts"),
    (b'{"text": 3}', 422, "invalid_request", "text:"),
    (b'{"text": null}', 422, "invalid_request", "text:"),
    (b'{"texts": "ab"}', 422, "invalid_request", "texts:"),
    (b'{"texts": ["a", 1]}', 422, "invalid_request", "texts.1:"),
    (b'{"text": "a", "modle": "a"}', 422, "invalid_request", "modle: there is no such field"),
    (b'{"text": "a", "model": 1}', 422, "invalid_request", "model:"),
    (b'{"text": "\\ud83d"}', 422, "invalid_request", "ud83d"),
    (b'{"\\udfff": "\\ud83d\\ude00"}', 422, "invalid_request", "udfff"),
    (b'{"text": "a", "model": "b"}', 404, "unknown_model", "'b'"),
]


@pytest.mark.parametrize(("body", "status", "code", "named"), BAD)
def test_a_bad_body_is_refused_with_its_place(
    client: TestClient, body: bytes, status: int, code: str, named: str
) -> None:
    error = refusal(client.post("/v1/entities", content=body, headers={"content-type": "application/json"}), status)
    assert error["code"] == code
    assert named in error["message"]


def test_an_escaped_pair_of_halves_is_one_character(client: TestClient) -> None:
    body = b'{"text": "Anna \\ud83d\\ude00 Oslo"}'
    got = client.post("/v1/entities", content=body, headers={"content-type": "application/json"}).json()
    assert got == client.post("/v1/entities", json={"text": "Anna 😀 Oslo"}).json()


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_form_of_another_site_could_send_is_refused(client: TestClient, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    response = client.post("/v1/entities", content=b'{"text": "a"}', headers=headers)
    assert refusal(response, 415)["code"] == "wrong_content_type"
    assert "access-control-allow-origin" not in response.headers


def test_no_other_site_may_ask_first(client: TestClient) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    response = client.options("/v1/entities", headers=asked)
    assert refusal(response, 405)["code"] == "wrong_method"
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_unknown_routes_and_methods_are_refused_as_json(client: TestClient) -> None:
    assert refusal(client.get("/v2/entities"), 404)["code"] == "no_such_route"
    wrong = client.get("/v1/entities")
    assert refusal(wrong, 405)["code"] == "wrong_method"
    assert wrong.headers["allow"] == "POST"
    assert refusal(client.get("/assets/../settings.py"), 404)


def test_a_fault_of_the_server_is_an_answer_that_tells_no_secrets(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(settings: object) -> None:
        raise RuntimeError("secret path")

    monkeypatch.setattr("acclimate.serving.app.describe", fail)
    assert "secret" not in refusal(client.get("/openapi.json"), 500)["message"]


WORD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(st.lists(WORD, max_size=6), max_size=4))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_word_of_any_request_gets_one_tag(client: TestClient, sentences: list[list[str]]) -> None:
    response = client.post("/v1/tags", json={"sentences": sentences})
    assert response.status_code == 200
    assert [len(tags) for tags in response.json()["tags"]] == [len(words) for words in sentences]


def test_names_of_taggers_come_from_folders_or_are_given(run_folder: Path) -> None:
    named = load_taggers([str(run_folder), f"other={run_folder}"], "cpu", before=False)
    assert [one.name for one in named] == ["a", "other"]
    with pytest.raises(UsageError, match=r"would both be called a\. Give one another name"):
        load_taggers([str(run_folder), f"a={run_folder}"], "cpu")


def test_a_folder_with_an_equals_sign_is_a_folder(run_folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "x=1").symlink_to(run_folder)
    monkeypatch.chdir(tmp_path)
    (one,) = load_taggers(["x=1"], "cpu", before=False)
    assert one.form == "torch"


def test_answers_are_compact_json_in_utf_8(client: TestClient) -> None:
    response = client.post("/v1/entities", json={"text": "東京"})
    assert json.loads(response.content.decode("utf-8")) == response.json()


@pytest.mark.parametrize("path", ["/", "/v1/models", "/nowhere"])
def test_every_answer_has_the_headers_that_bind_a_browser(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"


def test_the_page_has_no_inline_script_and_nothing_from_outside(client: TestClient) -> None:
    page = client.get("/").text
    assert "<style" not in page
    assert " style=" not in page
    assert not re.search(r"<[^>]*\son\w+=", page)
    assert page.count("<script") == 1
    assert "://" not in page
    for name in ("style.css", "script.js", "icon.svg"):
        assert client.get(f"/assets/{name}").status_code == 200
    assert "innerHTML" not in client.get("/assets/script.js").text


def make_token(serving: Callable[..., TestClient]) -> TestClient:
    return serving(token="sesame-å")


@pytest.mark.parametrize(
    "given", ["Bearer sesame", "Bearer ", "sesame-å", "Basic !!!", "Basic eDp5", "Bearer sesame-åx"]
)
def test_a_wrong_token_is_refused(serving: Callable[..., TestClient], given: str) -> None:
    headers = {"authorization": given.encode("utf-8")}
    response = make_token(serving).post("/v1/entities", json={"text": "a"}, headers=headers)
    assert refusal(response, 401)["code"] == "wrong_token"
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("given", ["Bearer sesame-å", "bearer sesame-å", "Basic eDpzZXNhbWUtw6U="])
def test_the_right_token_is_let_in(serving: Callable[..., TestClient], given: str) -> None:
    headers = {"authorization": given.encode("utf-8")}
    assert make_token(serving).post("/v1/entities", json={"text": "a"}, headers=headers).status_code == 200


def test_with_a_token_only_what_holds_no_text_is_open(serving: Callable[..., TestClient]) -> None:
    client = make_token(serving)
    assert all(client.get(path).status_code == 200 for path in ("/", "/health", "/openapi.json", "/assets/script.js"))
    assert all(client.get(path).status_code == 401 for path in ("/v1/models", "/metrics", "/nowhere"))
    assert all(client.post(path, json={}).status_code == 401 for path in ("/v1/tags", "/predict", "/setup", "/webhook"))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "localhost.evil.example", "", "[::2]", "[::1]x"])
def test_another_host_name_is_refused(serving: Callable[..., TestClient], host: str) -> None:
    client = serving(hosts=("localhost", "127.0.0.1", "[::1]"))
    assert refusal(client.get("/v1/models", headers={"host": host}), 400)["code"] == "wrong_host"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:8000", "[::1]"])
def test_its_own_host_names_are_answered(serving: Callable[..., TestClient], host: str) -> None:
    client = serving(hosts=("localhost", "127.0.0.1", "[::1]"))
    assert client.get("/v1/models", headers={"host": host}).status_code == 200
