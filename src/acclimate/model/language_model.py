"""Masked language models: the head, the learner of pre-training, loading and saving."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field
from torch import Tensor, nn

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Sentence
from acclimate.model.encoders.pretrained import load_masked_language_model, load_tokenizer, longest_row, quietly
from acclimate.model.encoders.shipped import SHIPPED, shipped_encoder_path
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.learner import Learner, TextView
from acclimate.model.storage import atomic_folder, write_json
from acclimate.settings import Settings, UsageError

_HEADS = ("cls", "lm_head", "predictions")  # of BERT, RoBERTa and ALBERT


class MlmHead(nn.Module):
    """The head of a masked language model, without its encoder. It may share the table of pieces with the encoder."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    @classmethod
    def of(cls, model: Any) -> MlmHead:
        """The head of an `AutoModelForMaskedLM`."""
        for name in _HEADS:
            if hasattr(model, name):
                return cls(getattr(model, name))
        if hasattr(model, "head") and hasattr(model, "decoder"):  # ModernBERT
            return cls(nn.Sequential(model.head, model.decoder))
        if hasattr(model, "vocab_transform"):  # DistilBERT
            layers = (model.vocab_transform, model.activation, model.vocab_layer_norm, model.vocab_projector)
            return cls(nn.Sequential(*layers))
        if hasattr(model, "generator_predictions"):  # ELECTRA
            return cls(nn.Sequential(model.generator_predictions, model.generator_lm_head))
        raise ValueError(
            f"{type(model).__name__} keeps its language-model head in a way that Acclimate does not know. "
            f"Known: {', '.join(_HEADS)}, ModernBERT's, DistilBERT's and ELECTRA's."
        )

    def forward(self, states: Tensor) -> Tensor:
        """States of any leading shape → scores of all pieces."""
        scores: Tensor = self.head(states)
        return scores


class MaskedLanguageModel(Learner):
    """A masked language model; it reads full rows of pieces, or sentences without tags."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """`model` is an `AutoModelForMaskedLM`, whose parts are shared."""
        super().__init__()
        self._model = (model,)  # in a tuple, as its parts are registered already
        self.encoder: Transformer = Transformer(TransformerSettings(dropout=0.0), model.base_model, tokenizer)
        self.mlm_head = MlmHead.of(model)

    @property
    def model(self) -> Any:
        """The model of `transformers`, to be saved."""
        return self._model[0]

    def view(self, part: Tensor | Sequence[Sentence], domain: str = SOURCE) -> TextView:
        inputs = {"pieces": part} if isinstance(part, Tensor) else self.encoder.tensorize(part)
        if "attention" in inputs and inputs["attention"].all():
            del inputs["attention"]  # full rows need no mask, and are faster without
        if self.device.type == "cuda":  # or the copy waits for the GPU
            inputs = {name: tensor.pin_memory() for name, tensor in inputs.items()}
        moved = {name: tensor.to(self.device, non_blocking=True) for name, tensor in inputs.items()}
        view = TextView(self.encoder, moved)
        view.mlm_head = self.mlm_head
        if not isinstance(part, Tensor):
            view.originals = part
        return view


_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")
_NAMES = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
_OF_CONFIG = dict(zip(("layers", "width", "heads", "inner"), _NAMES, strict=True))


class SizeSettings(Settings):
    """The sizes of the encoder, a BERT."""

    layers: int = Field(6, ge=1)
    """Number of encoder layers."""
    width: int = Field(384, ge=8)
    """Hidden size of the encoder."""
    heads: int = Field(6, ge=1)
    """Number of attention heads per layer."""
    inner: int | None = Field(None, ge=8)
    """Size of the feed-forward layers; null: four times the hidden size."""
    row: int = Field(128, ge=16)
    """Maximum number of word pieces in one input, including [CLS] and [SEP]."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout inside the encoder, also used when the encoder is fine-tuned later."""


def new_language_model(sizes: SizeSettings, tokenizer: Any) -> Any:
    """A BERT with random weights."""
    from transformers import BertConfig, BertForMaskedLM

    make: Any = BertConfig
    build: Any = BertForMaskedLM
    own = {theirs: getattr(sizes, name) for name, theirs in _OF_CONFIG.items()}
    own["intermediate_size"] = sizes.inner or 4 * sizes.width
    dropout = dict.fromkeys(_DROPOUTS[:2], sizes.dropout)
    more = {"max_position_embeddings": sizes.row, "pad_token_id": tokenizer.pad_token_id}
    return build(make(vocab_size=len(tokenizer), **own, **dropout, **more))


def language_model_to_go_on_from(start: str | Path, wanted: SizeSettings) -> tuple[Any, SizeSettings]:
    """A trained language model and its sizes; rows may be shorter than before, and the dropout another."""
    model = load_masked_language_model(start)
    config = model.config
    sizes = {name: getattr(config, theirs) for name, theirs in _OF_CONFIG.items() if getattr(config, theirs, None)}
    for name, size in sizes.items():
        if name in wanted.model_fields_set and getattr(wanted, name) not in (None, size):
            raise UsageError(
                f"encoder.{name} is {getattr(wanted, name)}, but {start} has {size}: sizes cannot change on the way. "
                f"Leave encoder.{name} out."
            )
    room = longest_row(None, model)
    if wanted.row > room:
        raise UsageError(f"encoder.row is {wanted.row}, but {start} reads at most {room} pieces at once.")
    dropouts = [name for name in _DROPOUTS if isinstance(getattr(config, name, None), int | float)]
    if "dropout" in wanted.model_fields_set:
        model = load_masked_language_model(start, **dict.fromkeys(dropouts, wanted.dropout))
        sizes["dropout"] = wanted.dropout
    elif dropouts:
        sizes["dropout"] = getattr(config, dropouts[0])
    return model, wanted.model_copy(update=sizes)


def mlm_head_for(encoder: Transformer) -> MlmHead:
    """The language-model head of the model that the encoder was taken from, tied to the encoder's table as in it."""
    origin = encoder.origin or _shipped_origin(encoder)
    if origin is None:
        raise UsageError(
            "This tagger's encoder has lost its language-model head, which is needed here. Begin with the masked "
            "language model itself: Tagger.build(NAME_OR_FOLDER, ...)."
        )
    model = load_masked_language_model(origin)
    ours: Any = encoder.model
    if model.get_output_embeddings().weight is model.get_input_embeddings().weight:
        model.get_output_embeddings().weight = ours.get_input_embeddings().weight
    return MlmHead.of(model)


def _shipped_origin(encoder: Transformer) -> str | None:
    """The shipped language model with the same pieces and sizes, as a saved tagger does not name its origin."""
    config: Any = encoder.model.config
    for name in SHIPPED:
        from transformers import AutoConfig

        theirs: Any = AutoConfig.from_pretrained(shipped_encoder_path(name))
        if all(getattr(config, size, None) == getattr(theirs, size) for size in ("vocab_size", *_OF_CONFIG.values())):
            pieces = load_tokenizer(name).get_vocab()
            if pieces == encoder.pieces.tokenizer.get_vocab():
                return name
    return None


def save_language_model(
    model: Any, tokenizer: Any, folder: Path, half: bool, report: dict[str, Any], documents: dict[str, str]
) -> None:
    """Save weights, tokenizer, a report, and texts by file name."""
    model = model.cpu()
    with atomic_folder(folder) as aside:
        quietly((model.half() if half else model).save_pretrained, str(aside))
        tokenizer.save_pretrained(aside)
        write_json(aside / "report.json", report)
        for name, text in documents.items():
            (aside / name).write_text(text, encoding="utf-8")
