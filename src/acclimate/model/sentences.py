"""Sentences as one tagger numbers them: tensors, ready to travel to a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from acclimate.data.corpus import Sentence


@dataclass(frozen=True)
class Sentences:
    """A batch of one domain. `tags` hold 0 where there is no word or no tag; `labelled` says which rows have tags."""

    originals: tuple[Sentence, ...]
    inputs: dict[str, Tensor]
    mask: Tensor  # (sentence, word), True on words
    tags: Tensor  # (sentence, word)
    labelled: Tensor  # (sentence)
    numbers: Tensor  # the tags on the CPU (sentence, word), -1 where there is no word or no tag

    def __len__(self) -> int:
        return len(self.originals)

    def reading(self, inputs: Mapping[str, Tensor]) -> Sentences:
        """The same sentences, read otherwise."""
        return replace(self, inputs=dict(inputs))

    def to(self, device: torch.device | str) -> Sentences:
        """Everything on the device, but `lengths` and `numbers`: reading them there would make the CPU wait."""
        inputs = {
            name: tensor if name == "lengths" else tensor.to(device, non_blocking=True)
            for name, tensor in self.inputs.items()
        }
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in ("mask", "tags", "labelled")}
        return replace(self, inputs=inputs, **moved)
