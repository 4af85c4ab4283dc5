"""Batches of texts from concurrent requests: one queue and one thread for each tagger.

A text is the unit: a request's texts may be in several batches, and a batch may hold texts of several requests. The
thread runs the tagger; the event loop only puts texts in and takes answers out.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from acclimate.serving.bodies import Refusal, internal, stopping
from acclimate.serving.metrics import Metrics
from acclimate.serving.settings import ServerSettings
from acclimate.serving.taggers import ServedTagger

log = logging.getLogger("acclimate.serving")
Ask = Callable[[Sequence[Any]], Sequence[Any]]  # inputs → an answer for each


@dataclass(eq=False, slots=True)
class Waiting:
    """An input, and where its answer is awaited."""

    ask: Ask
    content: Any
    words: int
    answer: asyncio.Future[Any]
    since: float

    @property
    def is_wanted(self) -> bool:
        return not self.answer.done()  # nobody waits any more once it is cancelled or refused

    def tell(self, answer: Any) -> None:
        """From the worker's thread."""
        try:
            self.answer.get_loop().call_soon_threadsafe(_settle, self.answer, answer)
        except RuntimeError:  # the loop is closed, and so nobody waits
            log.debug("an answer came after the server had stopped")


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():
        return
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)


class Batcher:
    """The queue of one tagger, and the thread that empties it."""

    def __init__(self, tagger: ServedTagger, settings: ServerSettings, metrics: Metrics) -> None:
        self.name, self.settings, self.metrics = tagger.name, settings, metrics
        self._most = 1 if tagger.reads_alone else settings.batch_words
        self._queue: deque[Waiting] = deque()
        self._words = 0  # that wait
        self._in_work: list[Waiting] = []
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name=f"tagger {self.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def ask(self, ask: Ask, contents: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
        """The answer for each input. All inputs are taken in, or none."""
        future, now = asyncio.get_running_loop().create_future, time.monotonic()
        pairs = zip(contents, sizes, strict=True)
        asked = [Waiting(ask, one, max(1, size), future(), now) for one, size in pairs]
        self._put(asked)
        try:
            return list(await asyncio.gather(*(one.answer for one in asked)))
        except BaseException:  # a failure, or the request was given up
            self._forget(asked)
            raise

    @property
    def waiting(self) -> tuple[int, int]:
        """How many texts wait, and their words."""
        with self._changed:
            return len(self._queue), self._words

    def _put(self, asked: list[Waiting]) -> None:
        words = sum(one.words for one in asked)
        with self._changed:
            if self._is_closed:
                raise stopping()
            most = self.settings.queue_words
            if self._words and self._words + words > most:  # a long request alone is bounded by max_words
                message = f"{self._words:,} words wait for {self.name} already, and at most {most:,} may."
                raise Refusal(429, "queue_full", message, {"Retry-After": "1"})
            self._queue.extend(asked)
            self._words += words
            self._changed.notify()

    def _forget(self, asked: list[Waiting]) -> None:
        """Nobody waits for these any more: let them take no place in the queue."""
        for one in asked:
            one.answer.cancel()
        with self._changed:
            self._queue = deque(one for one in self._queue if one.is_wanted)
            self._words = sum(one.words for one in self._queue)

    def abandon(self) -> None:
        """Refuse whatever still waits or is in work; from the thread of the event loop."""
        with self._changed:
            self._is_closed = True
            left = [*self._queue, *self._in_work]
            self._queue.clear()
            self._words = 0
            self._changed.notify()
        for one in left:
            _settle(one.answer, stopping())

    def join(self, seconds: float) -> bool:
        """Whether the thread has ended within the time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while batch := self._next():
            self.metrics.batch(self.name, len(batch), sum(one.words for one in batch))
            try:
                self._answer(batch)
            finally:
                with self._changed:
                    self._in_work = []

    def _next(self) -> list[Waiting]:
        """The next batch; none when the queue is closed."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._queue or self._is_closed)
                if not self._queue:
                    return []
                self._wait_for_more()
                if batch := self._taken():
                    self._in_work = batch
                    return batch

    def _wait_for_more(self) -> None:
        end = self._queue[0].since + self.settings.batch_wait_ms / 1000
        while self._words < self._most and not self._is_closed:
            left = end - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                return

    def _taken(self) -> list[Waiting]:
        """The first in the queue, and those behind it that ask the same and still fit in."""
        batch: list[Waiting] = []
        words = 0
        while self._queue:
            first = self._queue[0]
            if batch and first.is_wanted and (words + first.words > self._most or first.ask != batch[0].ask):
                break
            self._queue.popleft()
            self._words -= first.words
            if first.is_wanted:
                batch.append(first)
                words += first.words
        return batch

    def _answer(self, batch: list[Waiting]) -> None:
        try:
            answers = batch[0].ask([one.content for one in batch])
        except Exception as failure:
            if len(batch) == 1:
                log.error("%s could not tag a text of %d words", self.name, batch[0].words, exc_info=failure)
                batch[0].tell(internal())
                return
            for one in batch:  # one bad text must not spoil the answers of others
                self._answer([one])
            return
        for one, answer in zip(batch, answers, strict=True):
            one.tell(answer)
