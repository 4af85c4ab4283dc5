"""One sentence given as fields: a list of words, one of tags, and perhaps the text they stand in.

Shared by our own JSONL, by tables with one sentence per row, and by the Hugging Face hub.
"""

from __future__ import annotations

from collections.abc import Sequence

from acclimate.data.problems import InputError
from acclimate.data.readers.ledger import Found
from acclimate.data.readers.marked_text import check_characters
from acclimate.data.readers.records import as_json, expect, expect_strings


def sentence_of_fields(
    words: object,
    tags: object,
    text: object = None,
    offsets: object = None,
    document: object = None,
    *,
    line: int | None = None,
    names: Sequence[str] | None = None,
) -> Found:
    """Check the fields and make them a sentence. `names`: what the numbers mean where the tags are numbers."""
    word_list = expect_strings(words, "the words")
    if not word_list:
        raise InputError("the list of words is empty. A sentence needs at least one word.")
    for number, word in enumerate(word_list):
        check_characters(word)
        if not word:
            raise InputError(f"word {number} is empty.")
    tag_list = None if tags is None else _tags(tags, names)
    if tag_list is not None and len(tag_list) != len(word_list):
        raise InputError(f"{len(word_list)} words but {len(tag_list)} tags. Every word needs one tag.")
    found = Found(word_list, tag_list, lines=[line] * len(word_list) if line is not None else ())
    if text is not None:
        found.text = expect(text, str, "the text")
        check_characters(found.text)
    if offsets is not None:
        found.offsets = _offsets(offsets, found.text, word_list)
    if document is not None:
        found.document = expect(document, str, "the document")
    return found


def _tags(tags: object, names: Sequence[str] | None) -> list[str]:
    items = expect(tags, list, "the tags")
    if items and all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        if names is None:
            raise InputError(
                "the tags are numbers, and nothing says what they mean. Write the tags by name (B-PER, O)."
            )
        if bad := [item for item in items if not 0 <= item < len(names)]:
            raise InputError(
                f"tag {bad[0]} has no name; the names given are {', '.join(names)} (0 to {len(names) - 1})."
            )
        return [names[item] for item in items]
    strings = expect_strings(tags, "the tags")
    for number, tag in enumerate(strings):
        check_characters(tag)
        if not tag.strip():
            raise InputError(f"tag {number} is empty. Write O for a word outside of all spans.")
    return strings


def _offsets(offsets: object, text: str | None, words: list[str]) -> list[tuple[int, int]]:
    """Offsets must point at the words: everything that is shown or written later relies on it."""
    if text is None:
        raise InputError("there are offsets, but no text that they point into.")
    pairs = [expect(pair, list, "an offset") for pair in expect(offsets, list, "the offsets")]
    if len(pairs) != len(words):
        raise InputError(f"{len(words)} words but {len(pairs)} offsets. Every word needs its start and end.")
    checked: list[tuple[int, int]] = []
    for pair, word in zip(pairs, words, strict=True):
        if len(pair) != 2:
            raise InputError(f"an offset should be [start, end], but is {as_json(pair)}.")
        start, end = (expect(number, int, "an offset's number") for number in pair)
        reached = checked[-1][1] if checked else 0
        if not reached <= start < end <= len(text) or text[start:end] != word:
            raise InputError(
                f"the offsets [{start}, {end}] do not point at {word!r} in the text, behind the word before."
            )
        checked.append((start, end))
    return checked
