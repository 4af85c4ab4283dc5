"""What tables and records call their columns, and which one is which."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from acclimate.data.problems import InputError
from acclimate.data.readers.ledger import Request

# one word per row …
ONE_WORD = ("word", "token", "form")
ONE_TAG = ("tag", "ner_tag", "ner", "label", "entity", "bio", "iob", "chunk_tag", "chunk", "upos", "pos_tag", "pos")
SENTENCE = ("sentence_id", "sentence_number", "sentence_no", "sent_id", "sentence_idx", "sent", "sentence")
# … or one sentence per row, split into words or, in a column of such a name, perhaps not
RAW_TEXT = ("sentence", "text", "content", "body", "message", "tweet", "post", "comment")
ALL_WORDS = ("words", "tokens", *RAW_TEXT)
DOCUMENT = ("document", "document_id", "doc_id", "id")
ALL_TAGS = ("tags", "ner_tags", "ner", "labels", "tag", "label", "chunk_tags", "pos_tags", "upos", "pos")


def plain_name(name: str) -> str:
    """`Sentence #` → `sentence_number`, `NER Tag` → `ner_tag`."""
    return re.sub(r"[\W_]+", "_", name.lower().replace("#", " number ")).strip("_")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column holds what (counted from zero), and whether a row is a word or a whole sentence."""

    word_per_row: bool
    words: int  # the column of the words, or of the raw text
    tags: int | None
    sentence: int | None = None
    text: int | None = None
    offsets: int | None = None
    document: int | None = None
    perhaps_raw: bool = False  # whether the words may be raw text, by the column's name


def find_layout(header: Sequence[str], request: Request, file: str) -> Layout:
    """Read a header. Singular names (`word`, `tag`) mean one word per row, plural ones one sentence per row."""
    names = [plain_name(name) for name in header]
    words = _wanted(request.words_column, header, "words_column", file)
    single = words if words is not None and names[words] not in ALL_WORDS else None
    if words is None:
        single = _first(ONE_WORD, names)
        words = single if single is not None else _first(ALL_WORDS, names)
    if words is None:
        expected = ", ".join((*ONE_WORD, *ALL_WORDS[:4]))
        problem = f"no column of words. The first line must name the columns, one of them {expected}; it names"
        raise InputError(
            f"{problem} {', '.join(map(repr, header))}. Name it so, or pass words_column=.", file=file, line=1
        )
    tags = _wanted(request.column, header, "column", file)
    if tags is None:
        tags = _first(ONE_TAG if single is not None else ALL_TAGS, names)
    if tags == words:
        raise InputError(f"column {header[words]!r} cannot hold both the words and the tags.", file=file, line=1)
    if single is not None:
        return Layout(True, words, tags, _first(SENTENCE, names), document=_first(("document",), names))
    text, offsets = _first(("text",), names), _first(("offsets",), names)
    known = text is not None and text != words and offsets is not None
    return Layout(
        False,
        words,
        tags,
        text=text if known else None,
        offsets=offsets if known else None,
        document=_first(DOCUMENT, names),
        perhaps_raw=names[words] in RAW_TEXT,
    )


def _first(wanted: Sequence[str], names: Sequence[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


def _wanted(column: int | str | None, header: Sequence[str], option: str, file: str) -> int | None:
    """The column that the user names or numbers."""
    if column is None:
        return None
    if isinstance(column, str) and column in header:
        return header.index(column)
    try:
        index = int(column)
    except ValueError:
        close = difflib.get_close_matches(str(column), header, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        has = ", ".join(map(repr, header))
        raise InputError(
            f"{option}={column!r}: there is no such column.{hint} There are {has}.", file=file, line=1
        ) from None
    if not -len(header) <= index < len(header):
        raise InputError(f"{option}={index}, but there are {len(header)} columns (numbered from 0).", file=file, line=1)
    return index % len(header)
