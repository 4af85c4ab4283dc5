"""What a server allows, and how long it waits."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from acclimate.settings import Settings


class AccessSettings(Settings):
    """Who may ask a server, and for how much: what all servers share."""

    max_body_bytes: int = Field(1_000_000, ge=1)
    """Greatest size of a request's body in bytes."""
    body_seconds: float = Field(20.0, gt=0)
    """Longest time in which the body of a request has to arrive, in seconds."""
    max_connections: int = Field(500, ge=1)
    """Greatest number of open connections; further ones are refused."""
    stop_seconds: float = Field(20.0, ge=0)
    """Longest time that a stopping server gives to the requests that it has, in seconds."""
    token_file: Path | None = None
    """File with the token that clients must show; null: the variable ACCLIMATE_TOKEN, or else no token."""
    hosts: tuple[str, ...] = ()
    """Host names that requests may ask for; empty: local names on a local address, and any name elsewhere."""


class ServerSettings(AccessSettings):
    """Bounds of one server. What is beyond them is refused with an answer that says so."""

    max_words: int = Field(20_000, ge=1)
    """Greatest number of words in a request, over all its texts."""
    max_texts: int = Field(1_000, ge=1)
    """Greatest number of texts, sentences or tasks in a request."""
    queue_words: int = Field(100_000, ge=1)
    """Greatest number of words that may wait for one tagger; further requests are asked to come again."""
    batch_words: int = Field(2_048, ge=1)
    """Number of words at which a batch is full; a longer text is a batch of its own; 1: every text is."""
    batch_wait_ms: float = Field(2.0, ge=0, le=1_000)
    """Longest time that a batch waits for further requests, in milliseconds."""
    request_seconds: float = Field(60.0, gt=0)
    """Longest time from the arrival of a request to its answer, in seconds."""
    before: bool = True
    """Whether the tagger before adaptation is served beside the adapted one of the same run."""


class ServeSettings(Settings):
    """The settings of `acclimate serve`."""

    serve: ServerSettings = ServerSettings()
    """Bounds of the server."""
