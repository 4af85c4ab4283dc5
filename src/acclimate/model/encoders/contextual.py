"""Frozen contextual features: a pre-trained encoder's layers, mixed with fixed or learned weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import Pieces
from acclimate.model.encoders.encoder import Inputs
from acclimate.model.encoders.pretrained import load_backbone, load_tokenizer, longest_row, quietly
from acclimate.model.encoders.shipped import SHIPPED, shipped_encoder_path
from acclimate.model.storage import StorageError
from acclimate.settings import Settings


class ContextualSettings(Settings):
    """Which frozen encoder to read, and how to mix its layers."""

    encoder: str
    """Name or folder of a Hugging Face model."""
    layers: int | None = Field(None, ge=0)
    """Number of lower layers to run, which saves time; null: all."""
    pieces: Literal["first", "ends"] = "first"
    """Features of a word with several pieces: its first piece, or its first and last concatenated (ends)."""
    width: int | None = Field(None, ge=1)
    """Size of a learned linear projection of the features; null: no projection."""
    mix: Literal["fixed", "learned"] = "fixed"
    """Whether the weights for averaging the layers are fixed or learned."""
    weights: tuple[float, ...] | None = None
    """One weight per layer, the embedding layer first; null: equal weights."""


class FrozenContext(nn.Module):
    """One vector per word: a weighted sum of the layers of an encoder that is not trained. `learned` weights are those
    of ELMo: a softmax over the layers, and a scale."""

    model: Any  # of `transformers`

    def __init__(self, settings: ContextualSettings, model: nn.Module, tokenizer: Any) -> None:
        super().__init__()
        self.settings = settings
        self.model = model.requires_grad_(False)
        self.pieces = Pieces(tokenizer, longest_row(tokenizer, model))
        width = int(self.model.config.hidden_size) * (2 if settings.pieces == "ends" else 1)
        self.squeeze = nn.Identity() if settings.width is None else nn.Linear(width, settings.width)
        self.width = settings.width or width
        count = int(self.model.config.num_hidden_layers) + 1
        weights = settings.weights or (1 / count,) * count
        if len(weights) != count:
            raise ValueError(f"{settings.encoder} has {count} layers (embeddings included), not {len(weights)}.")
        shares = torch.tensor(weights)
        if settings.mix == "learned":
            self.mixing = nn.Parameter(shares.clamp_min(1e-6).log())
            self.scale = nn.Parameter(torch.ones(()))
        else:
            self.register_buffer("mixing", shares)
            self.register_buffer("scale", torch.ones(()))

    @classmethod
    def load(
        cls, settings: ContextualSettings, folder: Path | None = None, shipped: str | None = None
    ) -> FrozenContext:
        """By the encoder's own name, or what a tagger saved: a copy in `folder`, or the checksum of a shipped one."""
        if shipped is not None and shipped != _digest(settings.encoder):
            raise StorageError(
                f"{folder and folder.parent}: trained on another {settings.encoder} than the one of this installation. "
                "Use it with the version of the package that it was trained with, or train it again."
            )
        copy = folder if shipped is None else None
        place = copy or settings.encoder
        backbone = load_backbone(place, settings.layers, is_verified=copy is not None)
        return cls(settings, backbone, load_tokenizer(place, is_verified=True))

    @property
    def shipped(self) -> str | None:
        """The SHA-256 of the weights of an encoder that comes with the package; None for any other."""
        return _digest(self.settings.encoder) if self.settings.encoder in SHIPPED else None

    def train(self, mode: bool = True) -> FrozenContext:
        """The frozen encoder stays in evaluation mode."""
        super().train(mode)
        self.model.eval()
        return self

    @property
    def hidden_word(self) -> str:
        """What stands for a word that must not be read."""
        tokenizer = self.pieces.tokenizer
        return str(tokenizer.mask_token or tokenizer.unk_token or "")

    def tensorize(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        numbered = self.pieces.tensorize([sentence.words for sentence in sentences])
        if self.settings.pieces == "ends":
            numbered["last"] = self._last_places(sentences, numbered["first"])
        return {f"context_{name}": tensor for name, tensor in numbered.items()}

    def forward(self, inputs: Inputs) -> Tensor:
        with torch.no_grad():
            states = self.model(
                input_ids=inputs["context_pieces"],
                attention_mask=inputs["context_attention"].long(),
                output_hidden_states=True,
            )
        shares = self.scale * (self.mixing.softmax(0) if self.settings.mix == "learned" else self.mixing)
        # without any layer the output is the embeddings
        layers = zip(shares, states.hidden_states or (states.last_hidden_state,), strict=True)
        mixed = torch.stack([share * layer.to(share.dtype) for share, layer in layers]).sum(0).flatten(0, 1)
        places = [inputs[name] for name in ("context_first", "context_last") if name in inputs]
        squeezed: Tensor = self.squeeze(torch.cat([mixed[place] for place in places], -1))  # (sentence, word, size)
        return squeezed

    def _last_places(self, sentences: Sequence[Sentence], first: Tensor) -> Tensor:
        """The place of each word's last piece: after its first, in the same row."""
        words = list(chain.from_iterable(sentence.words for sentence in sentences))
        more = np.fromiter(map(len, self.pieces.of_words(words)), np.int64, len(words)) - 1
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        inside = torch.arange(first.size(1)) < lengths.unsqueeze(1)
        return first + torch.zeros_like(first).masked_scatter_(inside, torch.from_numpy(more))

    def save(self, folder: Path) -> None:
        """Save a copy, unless the encoder comes with the package."""
        if self.settings.encoder in SHIPPED:
            return
        quietly(self.model.save_pretrained, str(folder))
        self.pieces.tokenizer.save_pretrained(folder)


def _digest(name: str) -> str:
    with (shipped_encoder_path(name) / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
