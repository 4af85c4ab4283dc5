"""Batches in which a domain's part comes from several corpora: a few labelled sentences beside much unlabelled text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acclimate.data.batches import Batch, Batches


@dataclass(frozen=True)
class Joined:
    """An endless stream whose batch number n has, for each domain, what its own streams have there, one after the
    other. So a hundred labelled sentences are in every batch, however many unlabelled ones there are. An epoch is one
    of the first stream of all."""

    parts: Mapping[str, Sequence[Batches]]  # by domain; each stream has that domain

    def __post_init__(self) -> None:
        for domain, streams in self.parts.items():
            if not streams or any(domain not in stream.corpora for stream in streams):
                raise ValueError(f"Every stream that is joined for {domain!r} must have a corpus of that name.")

    @property
    def epoch_length(self) -> int:
        return next(iter(self.parts.values()))[0].epoch_length

    def batch(self, number: int) -> Batch:
        """Batch number n of the endless stream."""
        return {
            domain: [sentence for stream in streams for sentence in stream.part(domain, number)]
            for domain, streams in self.parts.items()
        }

    def starting_at(self, number: int, step: int = 1) -> Iterator[Batch]:
        while True:
            yield self.batch(number)
            number += step

    def size(self, batch: Batch) -> int:
        """Words in a batch."""
        return sum(len(sentence) for sentences in batch.values() for sentence in sentences)
