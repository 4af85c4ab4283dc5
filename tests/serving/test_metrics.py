"""Counters are right, and Prometheus can read them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from acclimate.serving.metrics import Metrics

LINE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (-?\d+(?:\.\d+)?)')
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Samples:
    """The samples, where every line must be of the format and every name must be declared before."""
    samples: Samples = {}
    declared: dict[str, str] = {}
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            declared[name] = kind
        elif not line.startswith("# HELP "):
            match = LINE.fullmatch(line)
            assert match, line
            name = re.sub("_(bucket|sum|count)$", "", match[1])
            assert (name if declared.get(name) == "histogram" else match[1]) in declared, line
            labels = tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', match[2]))
            assert (match[1], labels) not in samples
            samples[match[1], labels] = float(match[3])
    return samples


def value(samples: Samples, name: str, **labels: str) -> float:
    return sum(
        number for (own, given), number in samples.items() if own == name and labels.items() <= dict(given).items()
    )


def test_requests_words_and_batches_are_counted(client: TestClient) -> None:
    client.post("/v1/entities", json={"texts": ["Anna flew to Oslo.", "It rained"]})
    client.post("/v1/entities", json={"text": 3})
    client.get("/nowhere/at/all")
    client.get("/nor/here")
    samples = read(client.get("/metrics").text)
    assert value(samples, "acclimate_requests_total", route="/v1/entities", status="200", method="POST") == 1
    assert value(samples, "acclimate_requests_total", route="/v1/entities", status="422") == 1
    assert value(samples, "acclimate_requests_total", route="other", status="404") == 2
    assert value(samples, "acclimate_words_total", model="a") == 7
    assert value(samples, "acclimate_batch_texts_sum", model="a") == 2
    assert value(samples, "acclimate_queue_words", model="a") == 0
    assert value(samples, "acclimate_request_seconds_count", route="/v1/entities") == 2


@pytest.mark.parametrize("name", ['a"b', "a\\", "a\nb", "ä"])
def test_a_name_of_any_characters_stays_within_its_quotes(name: str) -> None:
    metrics = Metrics()
    metrics.batch(name, 1, 2)
    assert value(read(metrics.render({name: (3, 4)})), "acclimate_queue_texts") == 3


def test_buckets_are_cumulative() -> None:
    metrics = Metrics()
    for seconds in (0.0, 0.001, 0.0011, 3.0, 1000.0):
        metrics.request("/x", "GET", 200, seconds)
    samples = read(metrics.render({}))
    counts = {dict(labels)["le"]: count for (name, labels), count in samples.items() if name.endswith("seconds_bucket")}
    assert (counts["0.001"], counts["0.0025"], counts["2.5"], counts["5"], counts["60"], counts["+Inf"]) == (
        2,
        3,
        3,
        4,
        4,
        5,
    )
    assert list(counts.values()) == sorted(counts.values())
    assert value(samples, "acclimate_request_seconds_sum") == pytest.approx(1003.0021, abs=1e-4)


def test_an_unknown_method_makes_no_new_line(serving: Callable[..., TestClient]) -> None:
    client = serving()
    for number in range(5):
        client.request(f"BREW{number}", "/v1/models")
    samples = read(client.get("/metrics").text)
    assert value(samples, "acclimate_requests_total", method="other") == 5
