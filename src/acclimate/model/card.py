"""The README.md of a tagger's folder: what stands there, and how to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acclimate.model.encoders.transformer import Transformer

if TYPE_CHECKING:
    from acclimate.model.tagger import Tagger


def tagger_card(tagger: Tagger) -> str:
    labels = ", ".join(f"`{label}`" for label in tagger.labels)
    kind = "a tag for each word" if tagger.labels.kind == "plain" else "spans of words"
    elsewhere = _elsewhere(tagger.encoder) if isinstance(tagger.encoder, Transformer) else ""
    return f"""# A tagger of Acclimate

- **Finds**: {kind}. Labels: {labels}.
- **Head**: {tagger.head_name}. {_HEADS[tagger.head_name]}

## Use it

```sh
acclimate predict THIS_FOLDER text.txt
```

```python
from acclimate import Tagger, predict, read_corpus

tagger = Tagger.load("THIS_FOLDER")
tagged = predict(tagger, read_corpus("text.txt"))
```

Acclimate checks every file against `manifest.json` before it uses any. The folder holds safetensors, JSON and text:
opening it runs no code.
{elsewhere}"""


_HEADS = {
    "crf": "A CRF chooses the tags of a sentence together, by scores for each move from tag to tag.",
    "softmax": "Each word's tag is chosen by itself.",
}


def _elsewhere(encoder: Transformer) -> str:
    return f"""
## Other tools give other answers

`transformers.pipeline` refuses this folder, and that is meant: it would tag other spans. `encoder/` opens in
`transformers`, as an encoder alone. A pipeline on it warns that its classifier is new, and its answers are random.

Whoever rebuilds the tagger elsewhere has to keep all three of these, or some answers change:

- **Words.** Acclimate splits text into words first. The scores of a word are read at its first piece. A pipeline tags
  pieces.
- **The head.** The layer of scores and the head stand in `weights.safetensors`. The best tag of each piece is not what
  a CRF chooses.
- **Long sentences.** The encoder reads at most {encoder.pieces.longest} pieces at once. Acclimate reads a longer
  sentence through overlapping windows. A pipeline cuts it off, unless it is given a `stride`.
"""
