"""Counters and histograms in the text format that Prometheus reads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, ...]


class Metrics:
    """What a server counts. Several threads count at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests = Counter("acclimate_requests_total", "Requests answered.", ("route", "method", "status"))
        self._seconds = Histogram("acclimate_request_seconds", "Time from request to answer.", ("route",), SECONDS)
        self._sizes = Histogram("acclimate_batch_texts", "Texts in a batch.", ("model",), SIZES)
        self._words = Counter("acclimate_words_total", "Words tagged.", ("model",))
        self._own = (self._requests, self._seconds, self._sizes, self._words)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests.add((route, method, str(status)))
            self._seconds.add((route,), seconds)

    def batch(self, model: str, texts: int, words: int) -> None:
        with self._lock:
            self._sizes.add((model,), texts)
            self._words.add((model,), words)

    def render(self, waiting: dict[str, tuple[int, int]]) -> str:
        """All of them; `waiting` are the texts and words in each tagger's queue at this moment."""
        texts = Counter("acclimate_queue_texts", "Texts that wait for a tagger.", ("model",), "gauge")
        words = Counter("acclimate_queue_words", "Words that wait for a tagger.", ("model",), "gauge")
        for model, (count, size) in waiting.items():
            texts.add((model,), count)
            words.add((model,), size)
        with self._lock:
            return "".join(f"{line}\n" for metric in (*self._own, texts, words) for line in metric.lines())


class Counter:
    """A number for each combination of labels."""

    def __init__(self, name: str, about: str, labels: Sequence[str], kind: str = "counter") -> None:
        self.name, self.about, self.labels, self.kind = name, about, labels, kind
        self._values: dict[Labels, int] = {}

    def add(self, labels: Labels, amount: int = 1) -> None:
        self._values[labels] = self._values.get(labels, 0) + amount

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.about, self.kind)
        for labels, value in self._values.items():
            yield f"{self.name}{_spelled(zip(self.labels, labels, strict=True))} {value}"


class Histogram:
    """How many values are at most as large as each border, for each combination of labels."""

    def __init__(self, name: str, about: str, labels: Sequence[str], borders: Sequence[float]) -> None:
        self.name, self.about, self.labels, self.borders = name, about, labels, borders
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def add(self, labels: Labels, value: float) -> None:
        counts = self._counts.setdefault(labels, [0] * (len(self.borders) + 1))
        counts[bisect_left(self.borders, value)] += 1
        self._sums[labels] = self._sums.get(labels, 0.0) + value

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.about, "histogram")
        for labels, counts in self._counts.items():
            own = list(zip(self.labels, labels, strict=True))
            total = 0
            for border, count in zip([f"{border:g}" for border in self.borders] + ["+Inf"], counts, strict=True):
                total += count
                yield f"{self.name}_bucket{_spelled([*own, ('le', border)])} {total}"
            yield f"{self.name}_sum{_spelled(own)} {self._sums[labels]:.6f}"
            yield f"{self.name}_count{_spelled(own)} {total}"


def _head(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _spelled(labels: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
