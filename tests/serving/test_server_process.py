"""`acclimate serve` as a process: its start, its end, and many clients at once."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import TEXTS, started
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.serving.taggers import ServedTagger


def entities(url: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/entities", json=body, timeout=60)


def rounded(found: list[Any]) -> list[Any]:
    return [{**each, "score": round(each["score"], 3)} for each in found]


def test_many_clients_have_their_own_answers_and_batches_are_shared(
    compact_folder: Path, taggers: list[ServedTagger]
) -> None:
    expected = [
        [
            {"label": e.label, "text": e.text, "start": e.start, "end": e.end, "score": round(e.score, 3)}
            for e in taggers[0].tagger(text)
        ]
        for text in TEXTS
    ]
    numbers = [turn % len(TEXTS) for turn in range(240)]
    with started(compact_folder, "--set", "serve.batch_wait_ms=20") as server, httpx.Client(timeout=60) as client:

        def ask(number: int) -> Any:
            body = {"text": TEXTS[number], "model": "a"}
            return rounded(client.post(f"{server.url}/v1/entities", json=body).json()["entities"])

        with ThreadPoolExecutor(24) as pool:
            found = list(pool.map(ask, numbers))
        counted = httpx.get(f"{server.url}/metrics").text
        assert server.stop() == 0
    assert found == [expected[number] for number in numbers]
    (batches,) = [line for line in counted.splitlines() if line.startswith('acclimate_batch_texts_count{model="a"}')]
    assert int(batches.split()[-1]) < len(numbers)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_work_is_finished_when_the_server_stops(compact_folder: Path, number: int) -> None:
    """A batch waits for a second here, so the request is surely there when the signal comes."""
    with started(compact_folder, "--set", "serve.batch_wait_ms=1000") as server:
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(entities(server.url, text="Anna flew to Oslo.")))
        asking.start()
        while 'acclimate_queue_texts{model="a"} 1' not in httpx.get(f"{server.url}/metrics").text:
            time.sleep(0.01)
        assert server.stop(number) == 0
        asking.join(60)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/health")
    assert answers[0].status_code == 200
    assert answers[0].json()["entities"]


def test_what_cannot_be_finished_in_time_is_refused_and_the_exit_code_is_still_zero(compact_folder: Path) -> None:
    long = " ".join(["Anna flew to Oslo ."] * 40_000)
    wide = "--set", "serve.max_words=1000000", "--set", "serve.max_body_bytes=9000000"
    with started(
        compact_folder, *wide, "--set", "serve.stop_seconds=0", "--set", "serve.queue_words=1000000"
    ) as server:
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(entities(server.url, text=long)))
        asking.start()
        while "acclimate_batch_texts_count" not in httpx.get(f"{server.url}/metrics", timeout=60).text:
            time.sleep(0.02)
        assert server.stop() == 0
        asking.join(60)
    assert (answers[0].status_code, answers[0].json()["error"]["code"]) == (503, "stopping")


def test_a_port_in_use_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["serve", str(tmp_path / "nothing-here"), "--port", str(port)])
    assert result.exit_code == 1
    assert f"127.0.0.1:{port}" in result.stderr
    assert "--port" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["general", "--host", "no.such.host.invalid"], "no address of this machine"),
        (["general", "--set", "serve.max_wrods=3"], "Did you mean serve.max_words"),
        (["general", "--set", "serve.max_words=0"], "greater than or equal to 1"),
        (["general", "--set", "serve.token_file=/no/such/file"], "/no/such/file"),
        (["general", "general", "--port", "0"], "would both be called general"),
        (["/no/such/run", "--port", "0"], "no such folder"),
    ],
)
def test_a_mistake_in_the_command_is_one_sentence(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["serve", *words])
    assert result.exit_code in (1, 2)
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_without_the_extra_it_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from typer.testing import CliRunner\n"
        "from acclimate.cli.main import app\n"
        "result = CliRunner().invoke(app, ['serve', 'general'])\n"
        "print(result.exit_code, result.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("2 ")
    assert "pip install 'acclimate[serve]'" in done.stdout


def test_the_token_comes_from_the_environment_or_a_file_which_wins(compact_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-the-file\n")
    given = f"serve.token_file={tmp_path / 'token'}"
    with started(compact_folder, "--set", given, "--set", "serve.before=false", ACCLIMATE_TOKEN="other") as server:
        statuses = [
            httpx.get(f"{server.url}/v1/models", headers={"Authorization": f"Bearer {token}"}).status_code
            for token in ("other", "from-the-file")
        ]
        assert statuses == [401, 200]
        assert [
            one["name"]
            for one in httpx.get(f"{server.url}/v1/models", headers={"Authorization": "Bearer from-the-file"}).json()[
                "models"
            ]
        ] == ["a"]


def test_an_open_address_without_a_token_is_warned_of_and_takes_any_host_name(compact_folder: Path) -> None:
    with started(compact_folder, "--host", "0.0.0.0") as server:
        port = server.url.rpartition(":")[2]
        named = httpx.get(f"http://127.0.0.1:{port}/health", headers={"Host": "acclimate.example"})
        assert named.status_code == 200
        assert server.stop() == 0
        assert server.process.stderr is not None
        assert "ACCLIMATE_TOKEN" in server.process.stderr.read()


def test_a_local_address_answers_to_local_names_alone(compact_folder: Path) -> None:
    with started(compact_folder) as server:
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert httpx.get(f"{server.url}/health", headers={"Host": "evil.example"}).status_code == 400


def test_a_client_that_sends_nonsense_or_leaves_harms_nobody(compact_folder: Path) -> None:
    with started(compact_folder, "--set", "serve.body_seconds=0.2") as server:
        host, port = server.url.removeprefix("http://").split(":")
        for sent in (
            b"\x00\xff nonsense\r\n\r\n",
            b"POST /v1/entities HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        ):
            with socket.create_connection((host, int(port))) as wire:
                wire.sendall(sent)
        head = b"POST /v1/entities HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port)), timeout=60) as wire:
            wire.sendall(head + b"Content-Length: 99\r\n\r\n{")  # and then nothing
            assert b"408" in wire.recv(100)
        assert entities(server.url, text="Anna flew to Oslo.").status_code == 200
        assert server.stop() == 0


def test_a_connection_too_many_is_told_so_and_one_that_says_nothing_makes_room(compact_folder: Path) -> None:
    bounds = ("--set", "serve.max_connections=2", "--set", "serve.body_seconds=1")
    with started(compact_folder, *bounds) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))), httpx.Client() as client:
            assert client.get(f"{server.url}/health").status_code == 200
            refused = httpx.get(f"{server.url}/health")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_connections")
            assert (refused.headers["retry-after"], refused.headers["connection"]) == ("1", "close")
            time.sleep(1.2)
            assert httpx.get(f"{server.url}/health").status_code == 200
            assert client.get(f"{server.url}/health").status_code == 200
