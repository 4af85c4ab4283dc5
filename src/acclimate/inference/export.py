"""Exports a tagger as a compact one, after a comparison on real sentences."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import acclimate
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.scores import score
from acclimate.inference.compact import DESCRIPTION, MODEL, PARITY, SEEN, TOKENIZER, CompactDescription, CompactTagger
from acclimate.inference.predict import predict
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import eval_mode
from acclimate.model.storage import atomic_folder, write_json
from acclimate.model.tagger import Tagger
from acclimate.model.text_tagger import TextTagger
from acclimate.settings import UsageError

_LEAST_EQUAL = {"float32": 0.999, "int8": 0.99}  # share of tags; below, the export is refused
MOST_COMPARED = 1000  # sentences


@dataclass(frozen=True)
class Parity:
    """How the tags of an export compare with the original's."""

    text: str
    sentences: int
    words: int
    equal_tags: float  # share of words
    different_tags: int  # words
    f1: float | None  # of the export's spans against the original's; None without spans
    least_equal_tags: float = 0.0  # the minimum

    @classmethod
    def of(cls, text: str, original: Corpus, export: Corpus, least_equal_tags: float = 0.0) -> Parity:
        """Compare the tags of the same sentences by both."""
        pairs = zip(original, export, strict=True)
        equal = sum(a == b for one, other in pairs for a, b in zip(one.tags or (), other.tags or (), strict=True))
        words = original.word_count
        f1 = score(original, export).span.f1 if original.kind == "spans" and len(original.labels) else None
        return cls(text, len(original), words, equal / words, words - equal, f1, least_equal_tags)

    def __str__(self) -> str:
        f1 = "" if self.f1 is None else f", F1 {100 * self.f1:.2f} against the original's spans"
        words = f"{self.words:,} words of {self.text} ({self.different_tags:,} differ)"
        return f"{100 * self.equal_tags:.2f} % of tags equal on {words}{f1}"


def export_onnx(
    tagger: Tagger,
    folder: str | Path,
    text: Corpus,
    *,
    int8: bool = False,
    card: str | None = None,
    original: str | None = None,
) -> Parity:
    """Write a tagger on a pre-trained encoder as a compact one for `CompactTagger.load`.

    Both are compared on up to 1,000 sentences of `text`; below 99.9 % equal tags (99 % with `int8`) nothing is written.
    `int8` stores weights in 8 bits: smaller and faster. `card` is that of the tagger, kept as ORIGINAL.md,
    and `original` its version: a form in the folder of another version is not used.
    """
    encoder = _encoder_of(tagger)
    if not len(text):
        raise InputError(f"{text.name} has no sentences to compare the export on.")
    weights = "int8" if int8 else "float32"
    with atomic_folder(folder) as aside:
        _write_graph(tagger, encoder, aside / MODEL, int8)
        encoder.pieces.tokenizer.backend_tokenizer.save(str(aside / TOKENIZER))
        write_json(aside / DESCRIPTION, _description(tagger, encoder, weights) | {"original": original})
        if tagger.seen is not None:
            write_json(aside / SEEN, tagger.seen.as_dict())
        parity = compare(tagger, CompactTagger.of(aside), text, _LEAST_EQUAL[weights])
        write_json(aside / PARITY, asdict(parity))
        if card is not None:
            (aside / "ORIGINAL.md").write_text(card, encoding="utf-8")
        (aside / "README.md").write_text(_card(tagger, weights, parity), encoding="utf-8")
        if parity.equal_tags < parity.least_equal_tags:
            advice = "Export it without --int8." if int8 else "Use the tagger as it is, and report this."
            least = f"{100 * parity.least_equal_tags:.1f} %"
            raise InputError(f"the export was not written: {parity}, and at least {least} are asked for. {advice}")
    return parity


def compare(original: TextTagger, export: TextTagger, text: Corpus, least_equal_tags: float = 0.0) -> Parity:
    """Compare the tags of both on the first sentences of a text."""
    text = text[:MOST_COMPARED].unlabelled()
    return Parity.of(text.name, predict(original, text), predict(export, text), least_equal_tags)


def _encoder_of(tagger: Tagger) -> Transformer:
    if not isinstance(tagger.encoder, Transformer):
        raise InputError("only a tagger on a pre-trained encoder can be exported, and this one is an LSTM.")
    if tagger.entities is not None:
        raise InputError("a tagger with entity heads cannot be exported: only one layer of scores can.")
    return tagger.encoder


class _Scores(nn.Module):
    """The exported graph: pieces and attention (row, piece) → scores (row, piece, tag)."""

    def __init__(self, tagger: Tagger, encoder: Transformer) -> None:
        super().__init__()
        self.scores, self.encoder = tagger.scores, encoder

    def forward(self, pieces: Tensor, attention: Tensor) -> Tensor:
        states = self.encoder.plain_states(pieces, attention)
        every = torch.arange(pieces.numel(), device=pieces.device).view_as(pieces)
        scores: Tensor = self.scores(self.encoder.features_of(states, {"first": every}))
        return scores


def _write_graph(tagger: Tagger, encoder: Transformer, file: Path, int8: bool) -> None:
    rows, width = torch.export.Dim("rows"), torch.export.Dim("width", max=encoder.pieces.longest)
    pieces = torch.full((2, min(7, encoder.pieces.longest)), encoder.pieces.padding)
    attention = torch.ones_like(pieces)
    attention[1, -1] = 0
    plain = file.with_name("float32.onnx") if int8 else file
    device = tagger.device
    try:
        with eval_mode(tagger), _in_silence():
            shapes = {"pieces": {0: rows, 1: width}, "attention": {0: rows, 1: width}}
            torch.onnx.export(
                _Scores(tagger.cpu(), encoder),
                (pieces, attention),
                str(plain),
                input_names=["pieces", "attention"],
                output_names=["scores"],
                dynamic_shapes=shapes,
                dynamo=True,
                external_data=False,
                verbose=False,
            )
            if int8:
                from onnxruntime.quantization import QuantType, quantize_dynamic

                how: dict[str, Any] = {"per_channel": True, "weight_type": QuantType.QInt8}
                quantize_dynamic(plain, file, nodes_to_exclude=_kept_exact(plain), **how)
    except ImportError as missing:
        needed = f"an export needs onnx, onnxscript and onnxruntime ({missing}). pip install 'acclimate[fast]'"
        raise UsageError(needed) from None
    finally:
        tagger.to(device)
        if int8:
            plain.unlink(missing_ok=True)


def _kept_exact(file: Path) -> list[str]:
    """The matrix that leads out of the first feed-forward layer. What it multiplies has outliers, which 8 bits cannot
    hold: in the tagger `general` it alone causes nearly half of all tags that differ, and its speed hardly counts."""
    import onnx

    graph = onnx.load(file).graph
    shapes = {weight.name: tuple(weight.dims) for weight in graph.initializer}
    for node in graph.node:
        sizes = [shapes[name] for name in node.input if name in shapes]
        if node.op_type == "MatMul" and sizes and len(sizes[0]) == 2 and sizes[0][0] > sizes[0][1] > 1:
            return [node.name]
    return []


@contextmanager
def _in_silence() -> Iterator[None]:
    """Without the exporter's messages on standard output."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _description(tagger: Tagger, encoder: Transformer, weights: str) -> dict[str, Any]:
    pieces, count, is_crf = encoder.pieces, len(tagger.tags), tagger.head_name == "crf"
    head: Any = tagger.head
    moves = head.transitions if is_crf else torch.zeros(count, count)
    ends = (head.start, head.end) if is_crf else (None, None)
    start, end = (torch.zeros(count) if scores is None else scores for scores in ends)
    return CompactDescription(
        acclimate=acclimate.__version__,
        labels=tagger.labels.names,
        kind=tagger.labels.kind,
        scheme=tagger.scheme,
        start=tuple(start.tolist()),
        moves=tuple(map(tuple, moves.tolist())),
        end=tuple(end.tolist()),
        legal_marginals=is_crf and tagger.crf["constrain_training"],
        longest_row=pieces.longest,
        padding=pieces.padding,
        unknown=pieces.tokenizer.unk_token_id,
        weights="int8" if weights == "int8" else "float32",
    ).model_dump(mode="json")


def _card(tagger: Tagger, weights: str, parity: Parity) -> str:
    return f"""# A compact tagger of Acclimate

- **Labels**: {", ".join(f"`{label}`" for label in tagger.labels)}.
- **Weights**: {weights}, as an ONNX graph. The head is in `{DESCRIPTION}`.
- **Beside the original**: {parity}.

## Use it

```sh
pip install 'acclimate[fast]'
acclimate predict THIS_FOLDER text.txt
```

```python
from acclimate import CompactTagger

tagger = CompactTagger.load("THIS_FOLDER")
for entity in tagger("Anna flew to Oslo."):
    print(entity.label, entity.text, entity.score)
```

The graph gives scores for each piece of text. Whoever runs it without Acclimate has to read each word at its first
piece, choose tags by the moves in `{DESCRIPTION}`, and read long sentences in windows that overlap.
"""
