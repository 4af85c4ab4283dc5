"""What Label Studio asks of a backend, and attacks through its labelling interface."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from acclimate.serving.taggers import ServedTagger

CONFIG = """<View><Header value="Names"/>
  <Labels name="ner" toName="body">
    <Label value="Person" predicted_values="PER, HUMAN" background="red"/><Label value="loc"/>
  </Labels>
  <Text name="body" value="$text"/></View>"""
TEXT = "👋 Bob Stone and Clara left Blue Bank in New York. Anna flew to Oslo."


def ask(client: TestClient, tasks: list[Any], config: str = CONFIG) -> Any:
    more = {"project": "1.1700000000", "model_version": None, "params": {"login": None, "context": None}}
    return client.post("/predict", json={"tasks": tasks, "label_config": config, **more})


def message_of(response: Any) -> str:
    assert response.status_code == 422, response.text
    message: str = response.json()["error"]["message"]
    return message


def test_each_task_has_its_prediction_under_the_names_of_the_interface(
    client: TestClient, taggers: list[ServedTagger]
) -> None:
    found = taggers[0].tagger(TEXT)
    assert {each.label for each in found} == {"LOC", "ORG", "PER"}
    answer = ask(client, [{"id": 7, "data": {"text": TEXT}, "annotations": []}, {"id": 8, "data": {"text": ""}}]).json()
    first, second = answer["results"]
    kept = [each for each in found if each.label != "ORG"]
    names = {"PER": "Person", "LOC": "loc"}
    assert [
        (region["value"]["start"], region["value"]["end"], region["value"]["labels"]) for region in first["result"]
    ] == [(each.start, each.end, [names[each.label]]) for each in kept]
    for region, each in zip(first["result"], kept, strict=True):
        assert (region["from_name"], region["to_name"], region["type"]) == ("ner", "body", "labels")
        assert region["value"]["text"] == TEXT[each.start : each.end]
        assert region["score"] == region["value"]["score"] == pytest.approx(each.score, abs=1e-4)
    assert len({region["id"] for region in first["result"]}) == len(kept)
    assert first["score"] == pytest.approx(sum(each.score for each in kept) / len(kept), abs=1e-4)
    assert second == {"model_version": answer["model_version"], "score": 0.0, "result": []}
    assert answer["left_out"] == ["ORG"]
    assert answer["model_version"].endswith(": a")


def test_an_alias_is_what_label_studio_stores(client: TestClient) -> None:
    config = CONFIG.replace('<Label value="loc"/>', '<Label value="LOC" alias="L"/><Label value="ORG"/>')
    answer = ask(client, [{"data": {"text": TEXT}}], config).json()
    assert answer["left_out"] == []
    labels = {label for region in answer["results"][0]["result"] for label in region["value"]["labels"]}
    assert labels <= {"Person", "L", "ORG"}


def test_a_connection_is_set_up_before_and_after_the_project_has_an_interface(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"project": "1.17", "hostname": "http://localhost:8080", "access_token": "secret", "extra_params": None}
    assert client.post("/setup", json={**given, "schema": ""}).json()["left_out"] == []
    assert client.post("/setup", json={**given, "schema": CONFIG}).json()["left_out"] == ["ORG"]
    assert "no label for ORG" in caplog.text
    assert "secret" not in caplog.text


def test_events_are_heard_and_health_is_up(client: TestClient) -> None:
    event = {"action": "ANNOTATION_CREATED", "project": {"id": 1}, "task": {}}
    assert client.post("/webhook", json=event).json()["status"] == "ok"
    health = client.get("/health").json()
    assert (health["status"], health["model_class"]) == ("UP", "acclimate")


LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>' + CONFIG.replace("Names", "&b;")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (LAUGHS, "DOCTYPE"),
        (LAUGHS.replace("DOCTYPE", "doctype"), "DOCTYPE"),
        ('<!DOCTYPE v SYSTEM "file:///etc/passwd"><View/>', "DOCTYPE"),
        ("<View>" * 30_000, "no XML"),
        ("<View>" * 100_000, "longer than"),
        ("", "no XML"),
        ("<View", "no XML"),
        ("<View>&amp;&nbsp;</View>", "no XML"),
        ("<View/>", "<Labels"),
        (CONFIG.replace('toName="body"', 'toName="other"'), "<Labels"),
        (CONFIG.replace("$text", "text"), "variable"),
    ],
)
def test_an_interface_that_cannot_be_used_is_refused(client: TestClient, config: str, why: str) -> None:
    message = message_of(ask(client, [{"data": {"text": TEXT}}], config))
    assert message.startswith("label_config: ")
    assert why in message


def test_a_nested_variable_and_a_name_with_a_dot_are_found(client: TestClient) -> None:
    config = CONFIG.replace("$text", "$post.body")
    nested = ask(client, [{"data": {"post": {"body": TEXT}}}], config).json()
    assert nested["results"] == ask(client, [{"data": {"post.body": TEXT}}], config).json()["results"]


@pytest.mark.parametrize(
    ("data", "named"), [({}, "tasks.1.data.text"), ({"text": 3}, "tasks.1.data.text"), (3, "tasks.1.data")]
)
def test_a_task_without_its_text_is_named(client: TestClient, data: Any, named: str) -> None:
    assert named in message_of(ask(client, [{"data": {"text": TEXT}}, {"data": data}]))
