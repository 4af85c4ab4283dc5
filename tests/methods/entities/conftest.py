"""A tiny masked tagger for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from acclimate.data.corpus import Corpus
from acclimate.methods.masking.catalogue import PolicyContext, PolicySettings, build_policy
from acclimate.methods.masking.masked_batch import Corruption
from acclimate.methods.mslm import JointMasking, MaskedTagger
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.language_model import mlm_head_for
from acclimate.model.tagger import Tagger


@pytest.fixture
def make(build: Callable[..., Tagger]) -> Callable[..., MaskedTagger]:
    """A masked tagger without dropout; `static` keeps each sentence's masks."""

    def maker(
        masking: JointMasking | None = None,
        static: bool = True,
        masked_by: str | None = None,
        text: Corpus | None = None,
        encoder: str = "bert",
        labels: Any = None,
        options: dict[str, Any] | None = None,
        **settings: Any,
    ) -> MaskedTagger:
        tagger = build(encoder, dropout=0.0, labels=labels, **(options or {}))
        tagger.find_entities(EntitySettings(**{"dropout": 0.0, **settings}))
        for module in tagger.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        reader = tagger.encoder
        assert isinstance(reader, Transformer)
        tokenizer = reader.pieces.tokenizer
        corruption = Corruption(tokenizer.mask_token_id, torch.arange(5, len(tokenizer)), 0.0, 0.0)
        policy = None
        if masked_by is not None:
            assert text is not None
            policy = build_policy(masked_by, PolicyContext(reader, text, text, PolicySettings()))
        seed = 1 if static and policy is None else None
        return MaskedTagger(tagger, mlm_head_for(reader), masking or JointMasking(0.5, 0.2), corruption, policy, seed)

    return maker
