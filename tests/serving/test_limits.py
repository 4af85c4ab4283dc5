"""Batches from concurrent requests, bounds, and what happens when there is too much."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from served import TEXTS
from starlette.testclient import TestClient

from acclimate.serving.batching import Batcher
from acclimate.serving.bodies import Refusal
from acclimate.serving.metrics import Metrics
from acclimate.serving.settings import ServerSettings


class Gate:
    """Stands for a tagger: answers with what it was asked, once it is let."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()
        self.threads: set[int] = set()

    def ask(self, contents: Sequence[Any]) -> list[Any]:
        self.threads.add(threading.get_ident())
        self.batches.append(list(contents))
        self.has_begun.set()
        assert self.may_go_on.wait(60)
        if "bad" in contents:
            raise RuntimeError("cannot tag it")
        return [f"answer to {one}" for one in contents]


def batcher_of(alone: bool = False, **settings: object) -> Batcher:
    tagger: Any = SimpleNamespace(name="a", reads_alone=alone)
    return Batcher(tagger, ServerSettings(**settings), Metrics())  # type: ignore[arg-type]


async def behind_a_first(batcher: Batcher, gate: Gate, asked: Sequence[tuple[str, int]]) -> list[Any]:
    """Answers to what came while a first text was in work."""
    first = asyncio.create_task(batcher.ask(gate.ask, ["first"], [1]))
    assert await asyncio.to_thread(gate.has_begun.wait, 60)
    others = [asyncio.create_task(batcher.ask(gate.ask, [text], [size])) for text, size in asked]
    await asyncio.sleep(0)
    gate.may_go_on.set()
    assert await first == ["answer to first"]
    return await asyncio.gather(*others, return_exceptions=True)


def test_what_waits_shares_batches_up_to_the_bound_in_its_order() -> None:
    gate, batcher = Gate(), batcher_of(batch_words=10)
    asked = [("b", 4), ("c", 6), ("d", 1), ("e", 30), ("f", 9), ("g", 1)]
    got = asyncio.run(behind_a_first(batcher, gate, asked))
    assert got == [[f"answer to {text}"] for text, _ in asked]
    assert gate.batches == [["first"], ["b", "c"], ["d"], ["e"], ["f", "g"]]
    assert len(gate.threads) == 1
    assert threading.get_ident() not in gate.threads


@pytest.mark.parametrize("how", [{"batch_words": 1}, {"alone": True}])
def test_without_batching_every_text_is_alone(how: dict[str, Any]) -> None:
    gate, batcher = Gate(), batcher_of(**how)
    asyncio.run(behind_a_first(batcher, gate, [("b", 1), ("c", 1)]))
    assert gate.batches == [["first"], ["b"], ["c"]]


def test_one_bad_text_spoils_no_other_answer() -> None:
    gate, batcher = Gate(), batcher_of()
    good, bad, other = asyncio.run(behind_a_first(batcher, gate, [("b", 1), ("bad", 1), ("c", 1)]))
    assert (good, other) == (["answer to b"], ["answer to c"])
    assert isinstance(bad, Refusal)
    assert (bad.status, bad.code) == (500, "internal")


def test_questions_of_two_kinds_share_no_batch() -> None:
    gate, batcher = Gate(), batcher_of()
    gate.may_go_on.set()

    def other(contents: Sequence[Any]) -> list[Any]:
        return [one.upper() for one in contents]

    async def both() -> list[Any]:
        kinds = [gate.ask, other] * 4
        return await asyncio.gather(*(batcher.ask(kind, [f"t{n}"], [1]) for n, kind in enumerate(kinds)))

    assert asyncio.run(both()) == [[f"T{n}"] if n % 2 else [f"answer to t{n}"] for n in range(8)]


def test_what_nobody_waits_for_any_more_is_not_tagged() -> None:
    gate, batcher = Gate(), batcher_of(queue_words=5)

    async def leave() -> None:
        first = asyncio.create_task(batcher.ask(gate.ask, ["first"], [1]))
        assert await asyncio.to_thread(gate.has_begun.wait, 60)
        leaving = asyncio.create_task(batcher.ask(gate.ask, ["left"], [5]))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.sleep(0)
        gate.may_go_on.set()
        await first
        assert await batcher.ask(gate.ask, ["last"], [1]) == ["answer to last"]

    asyncio.run(leave())
    assert gate.batches == [["first"], ["last"]]
    assert batcher.waiting == (0, 0)


def test_a_full_queue_asks_to_come_again_and_takes_all_of_a_request_or_nothing() -> None:
    gate, batcher = Gate(), batcher_of(queue_words=5)
    got = asyncio.run(behind_a_first(batcher, gate, [("b", 3), ("c", 3), ("d", 2)]))
    assert got[0] == ["answer to b"]
    assert isinstance(got[1], Refusal)
    assert (got[1].status, got[1].code, got[1].headers["Retry-After"]) == (429, "queue_full", "1")
    assert got[2] == ["answer to d"]


def test_who_is_left_when_the_server_gives_up_is_told_so() -> None:
    gate, batcher = Gate(), batcher_of()

    async def abandoned() -> list[Any]:
        asked = [asyncio.create_task(batcher.ask(gate.ask, [text], [1])) for text in ("first", "b")]
        assert await asyncio.to_thread(gate.has_begun.wait, 60)
        batcher.abandon()
        with pytest.raises(Refusal, match="stopping"):
            await batcher.ask(gate.ask, ["late"], [1])
        return await asyncio.gather(*asked, return_exceptions=True)

    for refusal in asyncio.run(abandoned()):
        assert isinstance(refusal, Refusal)
        assert (refusal.status, refusal.code) == (503, "stopping")
    gate.may_go_on.set()
    assert batcher.join(60)


def error_of(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_a_body_at_the_bound_is_read_and_one_byte_more_is_refused(serving: Callable[..., TestClient]) -> None:
    client, headers = serving(max_body_bytes=30), {"content-type": "application/json"}
    body = b'{"text": "Anna"}'
    assert client.post("/v1/entities", content=body.ljust(30), headers=headers).status_code == 200
    assert error_of(client.post("/v1/entities", content=body.ljust(31), headers=headers)) == (413, "body_too_long")
    parts = (body.ljust(16) for _ in range(40))  # without a length in front
    assert error_of(client.post("/v1/entities", content=parts, headers=headers)) == (413, "body_too_long")


@pytest.mark.parametrize(
    ("path", "fitting", "more"),
    [
        ("/v1/entities", {"text": "Don't go"}, {"text": "Don't go."}),
        ("/v1/entities", {"texts": ["a b", "c"]}, {"texts": ["a b", "c d"]}),
        ("/v1/tags", {"sentences": [["a", "b"], ["c"]]}, {"sentences": [["a", "b"], ["c", "d"]]}),
    ],
)
def test_words_are_counted_over_all_of_a_request(
    serving: Callable[..., TestClient], path: str, fitting: Any, more: Any
) -> None:
    client = serving(max_words=3)
    assert client.post(path, json=fitting).status_code == 200
    assert error_of(client.post(path, json=more)) == (413, "too_many_words")


def test_texts_without_words_are_bounded_too(serving: Callable[..., TestClient]) -> None:
    client = serving(max_texts=3)
    assert client.post("/v1/entities", json={"texts": [""] * 3}).status_code == 200
    assert error_of(client.post("/v1/entities", json={"texts": [""] * 4})) == (413, "too_many_texts")


def test_an_answer_that_takes_too_long_is_refused(
    serving: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, gate = serving(request_seconds=0.05), Gate()
    monkeypatch.setattr("acclimate.serving.taggers.ServedTagger.entities", lambda self, texts: gate.ask(texts))
    response = client.post("/v1/entities", json={"text": "a"})
    gate.may_go_on.set()
    assert error_of(response) == (503, "too_slow")
    assert response.headers["retry-after"]


def test_a_server_that_stops_takes_no_more_and_says_that_it_is_not_ready(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "UP", "model_class": "acclimate", "models": ["a", "a/before"]}
    client.service.begin_to_stop()  # type: ignore[attr-defined]
    assert error_of(client.post("/v1/entities", json={"text": "a"})) == (503, "stopping")
    health = client.get("/health")
    assert health.status_code == 503
    assert health.json()["error"]["code"] == "stopping"


def test_many_requests_at_once_have_their_own_answers(client: TestClient) -> None:
    """A hundred and sixty of mixed lengths, from sixteen threads."""
    expected = [client.post("/v1/entities", json={"text": text}).json()["entities"] for text in TEXTS]
    wrong: list[Any] = []

    def ask(thread: int) -> None:
        for turn in range(10):
            number = (3 * thread + 5 * turn) % len(TEXTS)
            got = client.post("/v1/entities", json={"text": TEXTS[number]}).json()["entities"]
            if [_bare(each) for each in got] != [_bare(each) for each in expected[number]]:
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def _bare(entity: dict[str, Any]) -> dict[str, Any]:
    return entity | {"score": round(entity["score"], 3)}
