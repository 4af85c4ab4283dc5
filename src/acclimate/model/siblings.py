"""Taggers that share parts: two domains (DATNet), or two tasks on one encoder (MAT)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Sentence
from acclimate.layout import SIBLINGS
from acclimate.model.encoders.encoder import Encoder
from acclimate.model.learner import Learner, View
from acclimate.model.tagger import Tagger


def save_siblings(folder: str | Path, taggers: Mapping[str, Tagger]) -> None:
    """Save each as a tagger of its own; those of an earlier run are removed."""
    shutil.rmtree(Path(folder) / SIBLINGS, ignore_errors=True)
    for name, tagger in taggers.items():
        tagger.save(Path(folder) / SIBLINGS / name)


def load_sibling(folder: str | Path, name: str, device: str | torch.device = "cpu") -> Tagger | None:
    place = Path(folder) / SIBLINGS / name
    return Tagger.load(place, device) if place.is_dir() else None


class Siblings(Learner):
    """One tagger per domain. What they share is the same module, and is saved once."""

    def __init__(self, taggers: Mapping[str, Tagger]) -> None:
        super().__init__()
        self.taggers = nn.ModuleDict(dict(taggers))
        hooks: Any = self
        hooks.register_state_dict_post_hook(_without_copies)
        hooks.register_load_state_dict_pre_hook(_with_copies)

    def __getitem__(self, domain: str) -> Tagger:
        tagger = self.taggers[domain]
        assert isinstance(tagger, Tagger)
        return tagger

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return next(iter(self)).encoder

    def __iter__(self) -> Iterator[Tagger]:
        return (self[domain] for domain in self.taggers)

    def view(self, part: Sequence[Sentence], domain: str = SOURCE) -> View:
        return self[domain].view(part)

    def copies(self) -> dict[str, str]:
        """The names of shared tensors → the name under which each is saved."""
        first: dict[int, str] = {}
        names: dict[str, str] = {}
        for kind in (self.named_parameters, self.named_buffers):
            for name, tensor in kind(remove_duplicate=False):
                if first.setdefault(id(tensor), name) != name:
                    names[name] = first[id(tensor)]
        return names


def _without_copies(learner: Any, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    for copy in learner.copies():
        state.pop(prefix + copy, None)


def _with_copies(learner: Any, state: dict[str, Any], prefix: str, *others: Any) -> None:
    for copy, name in learner.copies().items():
        if prefix + name in state:
            state[prefix + copy] = state[prefix + name]
