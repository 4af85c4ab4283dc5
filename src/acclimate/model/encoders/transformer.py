"""Any Hugging Face encoder, by name or folder: one feature vector per word, from its first piece."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import Pieces
from acclimate.model.encoders.encoder import Embeddings, Encoder, Inputs
from acclimate.model.encoders.pretrained import load_backbone, load_tokenizer, longest_row, quietly
from acclimate.settings import Settings


class TransformerSettings(Settings):
    """How a pre-trained encoder is used."""

    dropout: float = 0.1  # on the features, before the tag scores
    longest_row: int | None = None  # pieces read together; the encoder's own limit when not given


class Transformer(Encoder):
    """A pre-trained encoder; over-long sentences are read through overlapping windows."""

    def __init__(self, settings: TransformerSettings, model: nn.Module, tokenizer: Any) -> None:
        super().__init__()
        self.settings, self.model = settings, model
        config: Any = model.config
        limit = longest_row(tokenizer, model)
        self.pieces = Pieces(tokenizer, min(limit, settings.longest_row or limit))
        self.dropout = nn.Dropout(settings.dropout)
        self.width = int(config.hidden_size)

    @classmethod
    def build(cls, name: str, settings: TransformerSettings) -> Transformer:
        return cls(settings, load_backbone(name), load_tokenizer(name))

    def number(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        return self.pieces.number([sentence.words for sentence in sentences])

    def embed(self, inputs: Inputs) -> dict[str, Tensor]:
        """The piece table's rows; positions and the layer norm come after, inside the encoder."""
        model: Any = self.model
        return {"pieces": model.get_input_embeddings()(inputs["pieces"])}

    def encode(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        output: Any = self.model(inputs_embeds=embeddings["pieces"], attention_mask=inputs["attention"].long())
        states: Tensor = output.last_hidden_state
        features: Tensor = self.dropout(states.flatten(0, 1)[inputs["first"]])  # (sentence, word, feature)
        return features

    def description(self) -> dict[str, Any]:
        return {"settings": self.settings.model_dump(mode="json")}

    @classmethod
    def from_description(cls, description: dict[str, Any], folder: Path) -> Transformer:
        return cls.build(str(folder), TransformerSettings.model_validate(description["settings"]))

    def save_extras(self, folder: Path) -> None:
        self.pieces.tokenizer.save_pretrained(folder)


def save_as_token_classifier(folder: Path, encoder: Transformer, scores: nn.Linear, tags: Sequence[str]) -> None:
    """Write encoder and score layer the way plain `transformers` saves a token classifier, so that it opens there."""
    from transformers import AutoModelForTokenClassification

    backbone: Any = encoder.model
    config = copy.deepcopy(backbone.config)
    config.id2label = dict(enumerate(tags))
    config.label2id = {tag: number for number, tag in enumerate(tags)}
    config.dtype = "float32"
    # building the shell draws random weights: the run's own stream of random numbers must not notice a save
    with torch.random.fork_rng(devices=[]):
        factory: Any = AutoModelForTokenClassification
        shell = factory.from_config(config)
    shell.base_model.load_state_dict(backbone.state_dict())
    classifier_of(shell).load_state_dict(scores.state_dict())
    quietly(shell.save_pretrained, str(folder))


def load_classifier(folder: Path) -> dict[str, Tensor]:
    """The score layer of a folder that `save_as_token_classifier` wrote."""
    from transformers import AutoModelForTokenClassification

    shell: Any = quietly(AutoModelForTokenClassification.from_pretrained, str(folder), dtype=torch.float32)
    state: dict[str, Tensor] = classifier_of(shell).state_dict()
    return state


def classifier_of(shell: Any) -> nn.Linear:
    """The one linear layer that a token classifier of `transformers` puts on its encoder."""
    inside = set(shell.base_model.modules())
    found = [module for module in shell.modules() if isinstance(module, nn.Linear) and module not in inside]
    if len(found) != 1:
        raise ValueError(f"{type(shell).__name__} has {len(found)} linear layers on its encoder; expected one.")
    return found[0]
