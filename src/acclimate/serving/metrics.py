"""Counters and histograms in the text format that Prometheus reads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What a server counts. Several threads count at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[Labels, int] = defaultdict(int)
        self._words: dict[Labels, int] = defaultdict(int)
        self._seconds, self._sizes = Histogram(SECONDS), Histogram(SIZES)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[("route", route), ("method", method), ("status", str(status))] += 1
            self._seconds.add((("route", route),), seconds)

    def batch(self, model: str, texts: int, words: int) -> None:
        labels = (("model", model),)
        with self._lock:
            self._sizes.add(labels, texts)
            self._words[labels] += words

    def render(self, waiting: Mapping[str, tuple[int, int]]) -> str:
        """All of them; `waiting` are the texts and words in each tagger's queue at this moment."""
        texts: dict[Labels, int] = {(("model", model),): count for model, (count, _) in waiting.items()}
        words: dict[Labels, int] = {(("model", model),): count for model, (_, count) in waiting.items()}
        with self._lock:
            lines = [
                *_lines("acclimate_requests_total", "counter", "Requests answered.", self._requests),
                *_head("acclimate_request_seconds", "histogram", "Time from request to answer."),
                *self._seconds.lines("acclimate_request_seconds"),
                *_head("acclimate_batch_texts", "histogram", "Texts in a batch."),
                *self._sizes.lines("acclimate_batch_texts"),
                *_lines("acclimate_words_total", "counter", "Words tagged.", self._words),
                *_lines("acclimate_queue_texts", "gauge", "Texts that wait for a tagger.", texts),
                *_lines("acclimate_queue_words", "gauge", "Words that wait for a tagger.", words),
            ]
        return "".join(f"{line}\n" for line in lines)


class Histogram:
    """How many values are at most as large as each border, for each combination of labels."""

    def __init__(self, borders: Sequence[float]) -> None:
        self.borders = borders
        self._counts: dict[Labels, list[int]] = defaultdict(lambda: [0] * (len(borders) + 1))
        self._sums: dict[Labels, float] = defaultdict(float)

    def add(self, labels: Labels, value: float) -> None:
        self._counts[labels][bisect_left(self.borders, value)] += 1
        self._sums[labels] += value

    def lines(self, name: str) -> Iterator[str]:
        for labels, counts in self._counts.items():
            total = 0
            for border, count in zip([f"{border:g}" for border in self.borders] + ["+Inf"], counts, strict=True):
                total += count
                yield f"{name}_bucket{_spelled((*labels, ('le', border)))} {total}"
            yield f"{name}_sum{_spelled(labels)} {self._sums[labels]:.6f}"
            yield f"{name}_count{_spelled(labels)} {total}"


def _lines(name: str, kind: str, about: str, values: Mapping[Labels, int]) -> Iterator[str]:
    yield from _head(name, kind, about)
    for labels, value in values.items():
        yield f"{name}{_spelled(labels)} {value}"


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _spelled(labels: Labels) -> str:
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return "{" + ",".join(f'{name}="{value.translate(escapes)}"' for name, value in labels) + "}"
