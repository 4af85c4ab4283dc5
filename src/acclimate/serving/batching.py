"""Batches of texts from concurrent requests: one queue and one thread for each tagger.

A text is the unit: a request's texts may be in several batches, and a batch may hold texts of several requests. The
thread only runs the tagger; everything else happens in the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
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
        if self.is_wanted and isinstance(answer, Refusal):
            self.answer.set_exception(answer)
        elif self.is_wanted:
            self.answer.set_result(answer)


class Batcher:
    """The queue of one tagger, and the thread in which it works."""

    def __init__(self, tagger: ServedTagger, settings: ServerSettings, metrics: Metrics) -> None:
        self.name, self.settings, self.metrics = tagger.name, settings, metrics
        self._most = 1 if tagger.reads_alone else settings.batch_words
        self._queue: deque[Waiting] = deque()
        self._words = 0  # that wait
        self._in_work: list[Waiting] = []
        self._arrived = asyncio.Event()
        self._is_closed = False
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, f"tagger {self.name}")
        self._call: Future[Sequence[Any]] | None = None  # the last one of the tagger

    async def ask(self, ask: Ask, contents: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
        """The answer for each input. All inputs are taken in, or none."""
        if self._is_closed:
            raise stopping()
        loop, most = asyncio.get_running_loop(), self.settings.queue_words
        pairs = zip(contents, sizes, strict=True)
        asked = [Waiting(ask, one, max(1, size), loop.create_future(), loop.time()) for one, size in pairs]
        words = sum(one.words for one in asked)
        if self._words and self._words + words > most:  # a long request alone is bounded by max_words
            message = f"{self._words:,} words wait for {self.name} already, and at most {most:,} may."
            raise Refusal(429, "queue_full", message, {"Retry-After": "1"})
        self._queue.extend(asked)
        self._words += words
        self._arrived.set()
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        try:
            return list(await asyncio.gather(*(one.answer for one in asked)))
        except BaseException:  # a failure, or the request was given up
            self._forget(asked)
            raise

    @property
    def waiting(self) -> tuple[int, int]:
        """How many texts wait, and their words."""
        return len(self._queue), self._words

    def _forget(self, asked: list[Waiting]) -> None:
        """Nobody waits for these any more: let them take no place in the queue."""
        for one in asked:
            one.answer.cancel()
        self._queue = deque(one for one in self._queue if one.is_wanted)
        self._words = sum(one.words for one in self._queue)

    def abandon(self) -> None:
        """Refuse whatever still waits or is in work."""
        self._is_closed = True
        for one in (*self._queue, *self._in_work):
            one.tell(stopping())
        self._queue.clear()
        self._words = 0

    def join(self, seconds: float) -> bool:
        """Whether the thread has ended within the time."""
        self._thread.shutdown(wait=False)
        return self._call is None or not wait([self._call], seconds).not_done

    async def _work(self) -> None:
        while True:
            self._in_work = batch = await self._next()
            self.metrics.batch(self.name, len(batch), sum(one.words for one in batch))
            for one, answer in zip(batch, await self._answers(batch), strict=True):
                one.tell(answer)
            self._in_work = []

    async def _next(self) -> list[Waiting]:
        while True:
            await self._arrival(lambda: bool(self._queue))
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._queue[0].since + self.settings.batch_wait_ms / 1000):
                    await self._arrival(lambda: self._words >= self._most)
            if batch := self._taken():
                return batch

    async def _arrival(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough():
            self._arrived.clear()
            await self._arrived.wait()

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

    async def _answers(self, batch: list[Waiting]) -> Sequence[Any]:
        """An answer for each, or a refusal."""
        try:
            self._call = self._thread.submit(batch[0].ask, [one.content for one in batch])
            return await asyncio.wrap_future(self._call)
        except Exception as failure:
            if len(batch) > 1:  # one bad text must not spoil the answers of others
                return [answer for one in batch for answer in await self._answers([one])]
            log.error("%s could not tag a text of %d words", self.name, batch[0].words, exc_info=failure)
            return [internal()]
