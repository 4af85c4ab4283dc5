"""CoNLL-U: ten columns of Universal Dependencies. The tag is UPOS, or `column="xpos"`, `"deprel"`, `"ner"` …

Named entities live in the last column, MISC, as `NER=B-PER` (or `name=`); `column="misc.KEY"` reads any key of it.
Words are the syntactic ones: multi-word ranges (`3-4`) and empty nodes (`3.1`) are left out. `# text` is kept, with
offsets, for sentences whose words are all found in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from acclimate.data.problems import InputError
from acclimate.data.readers.source import RawSentence, ReadingLog, Source
from acclimate.spelling import argument

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_ENTITY_KEYS = ("NER", "name", "ner", "Name")
_UNKNOWN = "_"
_WORD_ID, _LEFT_OUT_ID = re.compile(r"[0-9]+"), re.compile(r"[0-9]+[-.][0-9]+")
_COMMENT = re.compile(r"#[ \t]*(text|sent_id|newdoc id|newdoc)[ \t]*(?:=[ \t]*(.*))?$")


@dataclass(slots=True)
class _Block:
    """The lines between two blank ones."""

    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    text: str | None = None
    sentence: str | None = None
    bad: bool = False


def read_conllu(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    blocks = list(_blocks(source, log))
    column = _column(log, [block for _, block in blocks], source.name)
    if column.startswith("misc."):
        log.kind = None if column != "misc.NER" else "spans"
    else:
        log.kind = "plain"
    for document, block in blocks:
        raw = _sentence(block, column, document, log, source.name)
        if raw is not None:
            yield raw


def _blocks(source: Source, log: ReadingLog) -> Iterator[tuple[str | None, _Block]]:
    """The sentences of a file, each with the document it belongs to."""
    document: str | None = None
    block = _Block()
    lines = source.checked_lines(log)
    for number, line in enumerate([*lines, ""], start=1):
        if not line.strip(" \t"):
            if block.rows and not block.bad:
                yield document, block
            block = _Block()
        elif comment := _COMMENT.match(line):
            name, value = comment.group(1), (comment.group(2) or "").rstrip(" ")
            block.text = value if name == "text" else block.text
            block.sentence = value if name == "sent_id" else block.sentence
            document = (value or None) if name.startswith("newdoc") else document
        elif not line.startswith("#") and not block.bad:
            try:
                if number in source.faults:
                    raise source.faults[number]
                if cells := _word_cells(line):
                    block.rows.append((number, cells))
            except InputError as error:
                block.bad = True
                log.refuse(error, file=source.name, line=number, text=line)


def _word_cells(line: str) -> list[str] | None:
    """The ten cells of a word; None for a line that is no syntactic word."""
    cells = line.split("\t")
    if len(cells) != len(COLUMNS):
        raise InputError(f"{len(cells)} columns; CoNLL-U has {len(COLUMNS)}, separated by tabs.")
    if _LEFT_OUT_ID.fullmatch(cells[0]):
        return None
    if not _WORD_ID.fullmatch(cells[0]):
        raise InputError(f"the id is {cells[0]!r}; expected a number, a range (3-4) or an empty node (3.1).")
    if not cells[1].strip(" "):
        raise InputError("the word (second column) is empty.")
    return cells


def _column(log: ReadingLog, blocks: list[_Block], file: str) -> str:
    """The column to read, by its lower-case name. Without a wish: UPOS, or the entities of a file that has no UPOS."""
    wanted = log.options.column
    if wanted is None:
        cells = [cells for block in blocks for _, cells in block.rows]
        if any(one[3] != _UNKNOWN for one in cells):
            return "upos"
        key = next((key for key in _ENTITY_KEYS if any(_misc(one[9], key) for one in cells)), None)
        return f"misc.{key}" if key else "upos"
    if isinstance(wanted, str) and wanted.lower().startswith("misc."):
        return f"misc.{wanted[5:]}"
    if wanted == "ner":
        keys = [key for key in _ENTITY_KEYS for block in blocks for _, one in block.rows if _misc(one[9], key)]
        return f"misc.{keys[0] if keys else 'NER'}"
    if isinstance(wanted, str) and wanted.lower() in COLUMNS[2:]:
        return wanted.lower()
    if isinstance(wanted, int) and wanted % len(COLUMNS) >= 2:
        return COLUMNS[wanted % len(COLUMNS)]
    names = ", ".join((*COLUMNS[2:], "ner", "misc.KEY"))
    raise InputError(f"{argument('column', wanted)}: CoNLL-U has the columns {names}.", file=file)


def _misc(cell: str, key: str) -> str | None:
    return next((part[len(key) + 1 :] for part in cell.split("|") if part.startswith(f"{key}=")), None)


def _sentence(block: _Block, column: str, document: str | None, log: ReadingLog, file: str) -> RawSentence | None:
    words = [cells[1] for _, cells in block.rows]
    tags: list[str] | None = [_tag(cells, column) for _, cells in block.rows]
    if tags is not None and all(tag == _UNKNOWN for tag in tags):
        tags = None
    elif tags is not None and _UNKNOWN in tags:
        number, cells = block.rows[tags.index(_UNKNOWN)]
        problem = (
            f"the word has no {column.upper()}, but others of its sentence have. Give it one, or choose another "
            f"column ({argument('column', ...)})."
        )
        log.refuse(InputError(problem), file=file, line=number, text="\t".join(cells))
        return None
    offsets = None if block.text is None else _find_in_text(words, block.text)
    if block.text is not None and offsets is None:
        log.count("sentences have words that are not in their `# text` (multi-word tokens); it was not kept")
    return RawSentence(
        words,
        tags,
        lines=[number for number, _ in block.rows],
        text=None if offsets is None else block.text,
        offsets=offsets,
        document=document or block.sentence,
    )


def _tag(cells: list[str], column: str) -> str:
    if column.startswith("misc."):
        return _misc(cells[9], column[5:]) or "O"
    return cells[COLUMNS.index(column)].strip(" ") or _UNKNOWN


def _find_in_text(words: list[str], text: str) -> list[tuple[int, int]] | None:
    """Where the words stand in the text, one after the other with only white space between; None if they do not."""
    offsets: list[tuple[int, int]] = []
    reached = 0
    for word in words:
        start = text.find(word, reached)
        if start < 0 or text[reached:start].strip():
            return None
        reached = start + len(word)
        offsets.append((start, reached))
    return None if text[reached:].strip() else offsets
