"""The card of a tagger, README.md in its folder: what it finds, how to use it, and the terms that hold for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from acclimate.model.encoders.shipped import SHIPPED
from acclimate.model.shipped import SHIPPED_TAGGERS

if TYPE_CHECKING:
    from acclimate.model.tagger import Tagger

CARD = "README.md"
_TITLE = "# A tagger of Acclimate\n"
_ORIGIN = "\n## Where it began\n\nIts training began with this tagger, whose terms hold for it, too.\n\n"
_FRONT = re.compile(r"\A---\n(.*?)^---\n+", re.DOTALL | re.MULTILINE)
_LICENCE = re.compile(r"^- \*\*Licence\*\*: ([\w.-]+)\.$", re.MULTILINE)
_LICENCE_OF_SHIPPED = "cc-by-sa-4.0"  # of all taggers that come with the package, as their cards say


@dataclass(frozen=True)
class About:
    """What a card says of the run that made the tagger, beside what the tagger itself tells."""

    summary: str = ""
    sections: str = ""  # Markdown, before the use
    ending: str = ""  # and after it


def tagger_card(tagger: Tagger, about: About | None = None) -> str:
    """The card of a tagger: its labels, its head, how to use it, what it began with."""
    about = about or About()
    kind = "a tag for each word" if tagger.labels.kind == "plain" else "spans of words"
    origin = "" if tagger.origin is None else f"{_ORIGIN}{tagger.origin}"
    return f"""{front_matter(tagger)}{_TITLE}
{f"{about.summary}{chr(10)}{chr(10)}" if about.summary else ""}- **Finds**: {kind}. Labels: {codes(tagger.labels)}.
- **Head**: {tagger.head_name}. {_HEADS[tagger.head_name]}
{about.sections}{_USE}{about.ending}{_other_tools(tagger)}{origin}"""


_HEADS = {
    "crf": "A CRF chooses the tags of a sentence together, by scores for each move from tag to tag.",
    "softmax": "Each word's tag is chosen by itself.",
}

_USE = """
## Use it

```sh
acclimate predict THIS_FOLDER text.txt
```

```python
from acclimate import Tagger, predict, read_corpus

tagger = Tagger.from_pretrained("THIS_FOLDER")  # or its name on the model hub
for entity in tagger("Anna flew to Oslo."):
    print(entity.label, entity.text, entity.score)
tagged = predict(tagger, read_corpus("text.txt"))
```

Acclimate checks every file against `manifest.json`. The folder holds safetensors, JSON and text: opening it runs no
code.
"""

_OTHER_TOOLS = """
## Other tools give other answers

`encoder/` opens in `transformers` as an encoder alone; `transformers.pipeline` refuses this folder, because its answers
would differ in three ways:

- **Words.** Acclimate reads the scores of a word at its first piece. A pipeline tags pieces.
- **The head.** `weights.safetensors` holds the layer of scores and the head. A CRF does not choose the best tag of each
  piece.
- **Long sentences.** Acclimate reads what is longer than {longest} pieces through overlapping windows. A pipeline cuts
  it off, unless it is given a `stride`.

`acclimate export THIS_FOLDER --to transformers` writes a folder for pipelines, and measures how much this changes.
"""


def _other_tools(tagger: Tagger) -> str:
    pieces = tagger.encoder.pieces
    return "" if pieces is None else _OTHER_TOOLS.format(longest=pieces.longest)


def front_matter(tagger: Tagger, library: str = "acclimate") -> str:
    """What a model hub reads, as YAML between two lines."""
    known: dict[str, Any] = {"library_name": library, "pipeline_tag": "token-classification"}
    licence = license_of(tagger.origin)
    if licence is not None:
        known["license"] = licence
    base = base_model(tagger)
    if base is not None:
        known["base_model"] = base
    known["tags"] = ["acclimate", "token-classification"]
    return f"---\n{yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=1000)}---\n\n"


def base_model(tagger: Tagger) -> str | None:
    """The name on the model hub of the encoder that it was built on; None where that is a folder, or unknown."""
    name: Any = getattr(tagger.encoder, "origin", None)
    is_name = isinstance(name, str) and re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", name)
    return str(name) if is_name and name not in SHIPPED and not Path(str(name)).exists() else None


def read_origin(card: str | None) -> str | None:
    """What a card says of where its tagger began: all of it, if somebody else wrote it."""
    front = _FRONT.match(card or "")
    own, _, origin = (card or "")[front.end() if front else 0 :].partition(_ORIGIN)
    if origin or not own:
        return origin or None
    licence = _license_in(front[1] if front else "")
    terms = "" if licence is None else f"- **Licence**: {licence}.\n"
    foreign = "" if own.startswith(_TITLE) else re.sub("^#", "##", own, flags=re.MULTILINE)
    return f"{terms}{foreign}" or None


def license_of(origin: str | None) -> str | None:
    """The licence that the tagger's beginning asks for, as model hubs name it; None where nobody knows."""
    if origin is None:
        return None
    named = _LICENCE.search(origin)
    shipped = any(re.match(rf"#+ {re.escape(name)}\n", origin) for name in SHIPPED_TAGGERS)
    return named[1] if named else _LICENCE_OF_SHIPPED if shipped else None


def _license_in(front: str) -> str | None:
    try:
        known = yaml.safe_load(front)
    except yaml.YAMLError:
        return None
    found = known.get("license") if isinstance(known, dict) else None
    return found if isinstance(found, str) and re.fullmatch(r"[\w.-]+", found) else None


def codes(names: Iterable[str]) -> str:
    return ", ".join(map(code, names))


def code(text: str) -> str:
    """Text of a user's own as code in Markdown, whatever it holds; also inside a table."""
    text = " ".join(text.split()) or " "
    if "|" in text:  # which a table takes for a border, also in code
        return escaped(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def escaped(text: str) -> str:
    """Text of a user's own as plain text in Markdown."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|~$>])", r"\\\1", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> str:
    """A Markdown table of cells that are Markdown; the last `right` columns hold numbers."""
    rule = ["---"] * (len(head) - right) + ["---:"] * right
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))
