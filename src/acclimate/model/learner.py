"""Whatever a stage can train: a tagger, or an encoder that only reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from acclimate.model.encoders.encoder import Encoder
from acclimate.model.view import TextView


class Learner(nn.Module):
    """An encoder and what stands on it. The loop asks for no more than this."""

    encoder: Encoder

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def view(self, part: Any, domain: str = "source") -> TextView:
        """One domain's part of a batch as this learner sees it, on its own device."""
        raise NotImplementedError
