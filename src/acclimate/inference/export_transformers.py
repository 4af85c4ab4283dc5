"""Exports a tagger as a plain folder of `transformers`: the scores of each piece, without the head."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.compact import PARITY
from acclimate.inference.export import MOST_COMPARED, Parity
from acclimate.model.card import codes, escaped, front_matter
from acclimate.model.encoders.pretrained import quietly
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import eval_mode
from acclimate.model.storage import atomic_folder, write_json
from acclimate.model.tagger import Tagger

_CHECKED = 16  # sentences whose scores are compared
_CLOSE = 1e-3  # how far scores may differ


def export_transformers(tagger: Tagger, folder: str | Path, text: Corpus, *, card: str | None = None) -> Parity:
    """Write a tagger on a pre-trained encoder as a folder for `AutoModelForTokenClassification`.

    A CRF has no place in it: each piece gets the tag with the best score. How many tags that changes is counted on up
    to 1,000 sentences of `text`. `card` is that of the tagger, kept as ORIGINAL.md.
    """
    encoder = _encoder_of(tagger)
    if not len(text):
        raise InputError(f"{text.name} has no sentences to compare the export on.")
    text = text[:MOST_COMPARED].unlabelled()
    with eval_mode(tagger), atomic_folder(folder) as aside:
        model, tokenizer = _model(tagger, encoder), _tokenizer(encoder)
        _require_equal_scores(tagger, encoder, model, text)
        quietly(model.save_pretrained, str(aside))
        tokenizer.save_pretrained(aside)
        parity = _compare(tagger, text)
        write_json(aside / PARITY, asdict(parity))
        if card is not None:
            (aside / "ORIGINAL.md").write_text(card, encoding="utf-8")
        (aside / "README.md").write_text(_card(tagger, encoder, parity, card), encoding="utf-8")
    return parity


def _encoder_of(tagger: Tagger) -> Transformer:
    encoder = tagger.encoder
    problem = ""
    if not isinstance(encoder, Transformer):
        problem = "only a tagger on a pre-trained encoder has one, and this one is an LSTM."
    elif tagger.entities is not None:
        problem = "a tagger with entity heads finds entities first and types them then: one layer of scores cannot."
    elif encoder.settings.private_width:
        problem = "the encoder is split into a shared and a private layer, which transformers does not know."
    elif encoder.settings.feed_forward:
        problem = "there is a hidden layer between encoder and scores (feed_forward), which transformers does not know."
    if problem or not isinstance(encoder, Transformer):
        raise InputError(f"this tagger cannot be written as a plain transformers folder: {problem} Try --to onnx.")
    return encoder


def _model(tagger: Tagger, encoder: Transformer) -> Any:
    """The encoder with one linear layer on it, as the library builds token classifiers."""
    from transformers import AutoModelForTokenClassification

    backbone: Any = encoder.model
    config = copy.deepcopy(backbone.config)
    names = plain_tags(tagger)
    config.num_labels = len(names)
    config.id2label, config.label2id = dict(enumerate(names)), {name: number for number, name in enumerate(names)}
    with torch.random.fork_rng(devices=[]):
        build: Any = AutoModelForTokenClassification.from_config
        model: Any = build(config).float().eval()
    model.base_model.load_state_dict(backbone.state_dict())
    layer = _layer_of_scores(model)
    with torch.no_grad():
        layer.load_state_dict(tagger.scores.state_dict())
    return model


def plain_tags(tagger: Tagger) -> list[str]:
    """The tags in their order, spelled with B and I, which is all that a pipeline knows."""
    if tagger.labels.kind == "plain":
        return list(tagger.tags)
    letters = {"S": "B", "E": "I"}
    return [letters.get(tag[0], tag[0]) + tag[1:] for tag in tagger.tags]


def _layer_of_scores(model: Any) -> nn.Linear:
    """The one layer that stands on the encoder; others would change the features."""
    inside = f"{model.base_model_prefix}."
    outside = {name.rpartition(".")[0] for name, _ in model.named_parameters() if not name.startswith(inside)}
    layer = model.get_submodule(outside.pop()) if len(outside) == 1 else None
    if not isinstance(layer, nn.Linear) or layer.bias is None:
        raise InputError(
            f"this tagger cannot be written as a plain transformers folder: {type(model).__name__} has more than one "
            "linear layer on its encoder, and the tagger has one. Try --to onnx."
        )
    return layer


def _tokenizer(encoder: Transformer) -> Any:
    """The tokenizer, which knows how long a row may be: a pipeline asks it."""
    tokenizer = copy.deepcopy(encoder.pieces.tokenizer)
    tokenizer.model_max_length = encoder.pieces.longest
    return tokenizer


@torch.inference_mode()
def _require_equal_scores(tagger: Tagger, encoder: Transformer, model: Any, text: Corpus) -> None:
    """Refuse an export whose scores are not those of the tagger."""
    some = list(text[:_CHECKED])
    inputs: Mapping[str, Tensor] = encoder.tensorize(some)
    logits = model(input_ids=inputs["pieces"], attention_mask=inputs["attention"].long()).logits
    theirs = logits.flatten(0, 1)[inputs["first"]]  # (sentence, word, tag)
    sentences = tagger.tensorize(some)
    off = (theirs - tagger.view(some).scores.cpu())[sentences.mask].abs().max()
    if not off <= _CLOSE:
        raise InputError(f"the export was not written: its scores differ by {float(off):.4f}. Report this.")


def _compare(tagger: Tagger, text: Corpus) -> Parity:
    """How the best tag of each word compares with the tags that the tagger's head chooses."""
    best: list[list[str]] = [[] for _ in text]
    chosen: list[list[str]] = [[] for _ in text]
    for number, answer in tagger.read(text, "decisions"):
        chosen[number] = tagger.spell(answer[:, 0].astype(int).tolist())
        best[number] = tagger.spell(answer[:, 2:].argmax(-1).tolist())
    tagged, plain = (Corpus(text.with_tags(tags).sentences, text.name, tagger.labels.kind) for tags in (chosen, best))
    return Parity.of(text.name, tagged, plain)


def _card(tagger: Tagger, encoder: Transformer, parity: Parity, card: str | None) -> str:
    original = (
        "\nThe card of the tagger, with the terms that hold for it: [ORIGINAL.md](ORIGINAL.md).\n" if card else ""
    )
    lost = _LOST_CRF if tagger.head_name == "crf" else _LOST_SOFTMAX
    longest = encoder.pieces.longest
    text = _PLAIN_USE if tagger.labels.kind == "plain" else _USE
    return f"""{front_matter(tagger, library="transformers")}# A token classifier for transformers

Acclimate wrote it from a tagger of its own.

- **Labels**: {codes(tagger.labels)}.
- **Rows**: at most {longest} pieces.

## Use it

{text.format(stride=longest // 4, longest=longest)}
## What is lost

{lost} Beside the tagger: {escaped(str(parity))}. The numbers stand in `{PARITY}`.

- **Words.** The tagger splits text into words by its own rules, and gives each the tag of its first piece. A pipeline
  splits by the rules of the tokenizer. Where they differ, so do the answers.
- **Scores.** The pipeline's score is that of single pieces. The tagger's is the probability of the whole span.
- **Long text.** The tagger reads it through windows of its own.
{original}"""


_LOST_CRF = (
    "The tagger chooses the tags of a sentence together, by a CRF. A token classifier has none: each piece gets its "
    "best tag, so that a span may begin in its middle or change its label."
)
_LOST_SOFTMAX = (
    "The tagger has no CRF, but chooses only among tags that may follow each other. A token classifier does not."
)
_USE = """```python
from transformers import pipeline

tag = pipeline("token-classification", model="THIS_FOLDER", aggregation_strategy="first", stride={stride})
for entity in tag("Anna flew to Oslo."):
    print(entity["entity_group"], entity["start"], entity["end"])
```

- **`aggregation_strategy="first"`** gives a word the tag of its first piece. The other pieces were never trained, so
  that `simple`, `average` and `max` are wrong.
- **`stride`** makes the pipeline read text of more than {longest} pieces through windows that overlap by so many of
  them. Without it the rest of the text is cut off, and nobody is told.
"""
_PLAIN_USE = """```python
from transformers import pipeline

tag = pipeline("token-classification", model="THIS_FOLDER", aggregation_strategy="none", ignore_labels=[])
for piece in tag("Anna flew to Oslo."):
    print(piece["word"], piece["entity"])
```

- **`aggregation_strategy="none"`** gives the tag of each piece. That of a word is the tag of its first piece; the
  others were never trained. Other strategies would join neighbours with the same tag.
- Text of more than {longest} pieces is cut off, and nobody is told: split it into sentences. A `stride` needs another
  strategy, such as `first`, and then neighbours are joined.
"""
