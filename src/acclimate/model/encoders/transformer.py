"""Any Hugging Face encoder, by name or folder: one feature vector per word, from its first piece."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import Pieces
from acclimate.data.problems import InputError
from acclimate.model.encoders.encoder import Change, Embeddings, Encoder, Inputs, Rows, accelerated
from acclimate.model.encoders.pretrained import ENCODER, load_backbone, load_tokenizer, longest_row, quietly
from acclimate.settings import Settings

_LIKE_BERT = ("bert", "roberta", "xlm-roberta", "camembert", "data2vec-text", "ernie", "roc_bert", "electra")


class TransformerSettings(Settings):
    """How a pre-trained encoder is used."""

    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the encoder's output, before the tag scores."""
    longest_row: int | None = Field(None, ge=8)
    """Maximum number of word pieces in one input; null: the encoder's own limit."""
    feed_forward: int = Field(0, ge=0)
    """Size of a hidden layer between the encoder and the tag scores; 0: none."""
    private_width: int = Field(0, ge=0)
    """Size of a domain-private layer beside the shared one (DATNet-P); 0: none."""


class Transformer(Encoder):
    """A pre-trained encoder; over-long sentences are read through overlapping windows."""

    pieces: Pieces
    model: Any  # of `transformers`

    def __init__(self, settings: TransformerSettings, model: nn.Module, tokenizer: Any) -> None:
        super().__init__()
        self.settings, self.model = settings, model
        limit = longest_row(tokenizer, model)
        self.pieces = Pieces(tokenizer, min(limit, settings.longest_row or limit))
        self.dropout = nn.Dropout(settings.dropout)
        self.state_width = int(self.model.config.hidden_size)
        self.feed_forward, self.private = self._layers()
        self.origin: str | None = None  # name or folder of the model that it was taken from

    @classmethod
    def build(cls, encoder: str | Path, settings: TransformerSettings) -> Transformer:
        built = cls(settings, load_backbone(encoder), load_tokenizer(encoder, is_verified=True))
        built.origin = str(encoder)
        return built

    @property
    def width(self) -> int:  # type: ignore[override]
        return (self.settings.feed_forward or self.state_width) + self.settings.private_width

    @property
    def vocabulary_size(self) -> int:  # type: ignore[override]
        return int(self.model.get_input_embeddings().num_embeddings)

    @property
    def layer_count(self) -> int:
        return int(self.model.config.num_hidden_layers)

    def keep_layers(self, number: int) -> tuple[int, ...]:
        """Keep so many layers, evenly spaced from the first to the last. Returns their numbers, counted from 0."""
        before = self.layer_count
        places = [name for name, part in self.model.named_modules() if _is_stack(part, before)]
        if len(places) != 1 or any(
            isinstance(value, list) and len(value) == before for value in vars(self.model.config).values()
        ):
            kind = self.model.config.model_type
            raise InputError(f"the layers of an encoder of type {kind} cannot be taken out one by one.")
        kept = tuple(round(place * (before - 1) / max(1, number - 1)) for place in range(number))
        stack = self.model.get_submodule(places[0])
        self.model.set_submodule(places[0], nn.ModuleList([stack[place] for place in kept]))
        self.model.config.num_hidden_layers = number
        return kept

    def split(self, shared: int | None = None, private: int | None = None) -> None:
        """Two feed-forward layers side by side on the encoder, half its width each unless told otherwise."""
        half = max(1, self.state_width // 2)
        sizes = {"feed_forward": shared or half, "private_width": half if private is None else private}
        self.settings = self.settings.model_copy(update=sizes)
        self.feed_forward, self.private = self._layers()
        self.to(next(self.model.parameters()).device)

    def sibling(self, text: Iterable[Sentence], vectors: str | None = None) -> Transformer:
        """The same encoder, with a private layer of its own where there is one. Its pieces serve any words."""
        if vectors is not None:
            raise ValueError("A pre-trained encoder reads no word vectors.")
        other = Transformer(self.settings, self.model, self.pieces.tokenizer)
        other.pieces, other.feed_forward, other.origin = self.pieces, self.feed_forward, self.origin
        return other.to(next(self.model.parameters()).device)

    def _layers(self) -> tuple[nn.Module, nn.Module | None]:
        def layer(width: int) -> nn.Module:
            return nn.Sequential(nn.Linear(self.state_width, width), nn.GELU(), nn.Dropout(self.settings.dropout))

        settings = self.settings
        private = layer(settings.private_width) if settings.private_width else None
        return layer(settings.feed_forward) if settings.feed_forward else nn.Identity(), private

    def tensorize(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        return self.pieces.tensorize([sentence.words for sentence in sentences])

    def embed(self, inputs: Inputs, but: Collection[str] = ()) -> dict[str, Tensor]:
        """The piece table's rows; positions and the layer norm come later."""
        return {"pieces": self.model.get_input_embeddings()(inputs["pieces"])}

    def embedding_parameters(self) -> list[nn.Parameter]:
        return list(self.model.get_input_embeddings().parameters())

    def last_layer(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        """At every piece, (row, piece, feature)."""
        return self.states_of(embeddings["pieces"], inputs["attention"])

    def features_of(self, states: Tensor, inputs: Inputs) -> Tensor:
        words: Tensor = self.dropout(states.flatten(0, 1)[inputs["first"]])  # (sentence, word, feature)
        features: Tensor = self.feed_forward(words)
        return features if self.private is None else torch.cat([self.private(words), features], dim=-1)

    def sentence_vectors(self, states: Tensor, inputs: Inputs) -> Tensor:
        """The last layer at [CLS], or the mean of a row without [CLS]; the mean over windows of a long sentence."""
        if self.pieces.before:
            rows = states[:, 0]  # (row, feature)
        else:
            inside = inputs["attention"].to(states.dtype).unsqueeze(1)  # (row, 1, piece)
            rows = ((inside @ states) / inside.sum(-1, keepdim=True)).squeeze(1)
        if len(rows) == len(inputs["first"]):
            return rows
        numbers = torch.arange(len(inputs["first"]), device=states.device).unsqueeze(1)
        owned = (numbers == inputs["sentences"]).to(states.dtype)  # (sentence, row)
        return (owned / owned.sum(1, keepdim=True)) @ rows

    @property
    def sentence_width(self) -> int:
        return self.state_width

    @property
    def shared_width(self) -> int:  # type: ignore[override]
        return self.width - self.settings.private_width

    def embedding_rows(self, inputs: Inputs) -> dict[str, Rows]:
        return {"pieces": Rows(inputs["sentences"], inputs["attention"].bool())}

    def replaced(self, inputs: Inputs, changes: Sequence[Change], originals: Sequence[Sentence] = ()) -> Inputs:
        """Every piece of a hidden word becomes the mask; another word must have as many pieces."""
        pieces, words = inputs["pieces"], inputs["words"]
        mask = self.pieces.tokenizer.mask_token_id
        hidden = self.pieces.tokenizer.unk_token_id if mask is None else mask
        for change in changes:
            inside = words == change.number  # (row, piece); twice where two windows hold the word
            others = [hidden] if change.by is None else self.pieces.of_words([change.by])[0]
            row = torch.tensor(others, device=pieces.device)
            place = (inside.cumsum(1) - 1).clamp(0, len(others) - 1)
            pieces = torch.where(inside, row[place], pieces)
        return {**inputs, "pieces": pieces}

    def vectors_of(self, words: Sequence[str]) -> Tensor:
        """The mean of a word's pieces."""
        table = self.model.get_input_embeddings().weight
        rows = self.pieces.of_words(words)
        counts = torch.tensor([len(row) for row in rows])
        flat = torch.tensor([piece for row in rows for piece in row], device=table.device)
        starts = (counts.cumsum(0) - counts).to(table.device)
        return nn.functional.embedding_bag(flat, table, starts, mode="mean")

    def sizes_of(self, words: Sequence[str]) -> list[int]:
        return [len(row) for row in self.pieces.of_words(words)]

    def rows_of(self, words: Sequence[str]) -> list[int | None]:
        """A word with a special piece in it, such as [UNK], is unknown."""
        special = frozenset(self.pieces.tokenizer.all_special_ids)
        numbers: dict[tuple[int, ...], int] = {}
        rows = map(tuple, self.pieces.of_words(words))
        return [numbers.setdefault(row, len(numbers)) if special.isdisjoint(row) else None for row in rows]

    def states(self, pieces: Tensor, attention: Tensor | None = None) -> Tensor:
        """The last layer at every piece (row, piece, feature). Without attention the rows must be full."""
        return accelerated(self, self.plain_states, pieces, attention)

    def states_of(self, embeddings: Tensor, attention: Tensor | None = None) -> Tensor:
        """The last layer (row, piece, feature) from the output of `embed` (row, piece, width)."""
        return accelerated(self, self._states_of, embeddings, attention)

    def plain_states(self, pieces: Tensor, attention: Tensor | None) -> Tensor:
        """`states` without any acceleration."""
        if attention is None and embeds_then_encodes(self.model):
            # as a whole, some versions make a mask of ones, which rules out the fast attention kernels
            output = self.model.encoder(self.model.embeddings(input_ids=pieces))
        else:
            output = self.model(input_ids=pieces, attention_mask=None if attention is None else attention.long())
        states: Tensor = output.last_hidden_state
        return states

    def _states_of(self, embeddings: Tensor, attention: Tensor | None) -> Tensor:
        output = self.model(inputs_embeds=embeddings, attention_mask=None if attention is None else attention.long())
        states: Tensor = output.last_hidden_state
        return states

    def description(self) -> dict[str, Any]:
        return {"settings": self.settings.model_dump(mode="json")}

    def save_extras(self, folder: Path) -> None:
        """In a folder of its own, which `transformers` opens as an encoder."""
        quietly(self.model.save_pretrained, str(folder / ENCODER))
        self.pieces.tokenizer.save_pretrained(folder / ENCODER)

    @classmethod
    def from_description(cls, description: dict[str, Any], folder: Path) -> Callable[[], Transformer]:
        """What `save_extras` wrote, read once."""
        settings = TransformerSettings.model_validate(description["settings"])
        place = folder / ENCODER
        model, tokenizer = load_backbone(place, is_verified=True), load_tokenizer(place, is_verified=True)
        return lambda: cls(settings, model, tokenizer)


def _is_stack(part: nn.Module, layers: int) -> bool:
    """Whether these are the layers of an encoder, one after the other."""
    return isinstance(part, nn.ModuleList) and len(part) == layers and len({type(layer) for layer in part}) == 1


def embeds_then_encodes(model: Any) -> bool:
    """Whether the model is nothing but embeddings and then layers."""
    kind = getattr(getattr(model, "config", None), "model_type", None)
    return kind in _LIKE_BERT and not hasattr(model, "embeddings_project")
