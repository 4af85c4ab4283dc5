"""Exports of annotation tools: texts with marked spans, from doccano, Label Studio, Prodigy, brat and spaCy.

doccano: JSONL, `{"text", "label": [[start, end, name], …]}`, or `entities` with offsets and labels.
Label Studio: JSON. Of several annotations of a task the first that was not cancelled is read.
Prodigy: JSONL with the tool's own tokens. Only records with the answer `accept` are read.
brat: NAME.txt and NAME.ann, or a folder of such pairs. Only text-bound annotations (`T1  PER 0 5  Paris`) are read. A
span with gaps (`0 5;9 12`) counts as one that cuts a word. A bad line spoils its whole document.
spaCy's DocBin (extra `spacy`): the entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from acclimate.data.character_spans import CharacterSpan, in_characters, sentences_of_text
from acclimate.data.problems import InputError, Place, optional_library, shorten
from acclimate.data.readers.records import (
    Fields,
    Record,
    as_json,
    expect,
    identifier,
    json_records,
    label_name,
    require,
    sentences_of_records,
    span_of,
)
from acclimate.data.readers.source import RawSentence, ReadingLog, Source, inner_name
from acclimate.data.schemes import Span
from acclimate.data.words import Offsets

_LABEL_FIELDS = ("entities", "label", "labels")  # of doccano
_ENTITY: dict[str, type[object]] = {"start_offset": int, "end_offset": int, "label": str}


def read_doccano(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    records = list(json_records(source, log))
    labelled = any(name in record.fields for record in records for name in _LABEL_FIELDS)
    for record in records:
        with log.refusing(source.name, record.line, record.spelled):
            yield from _doccano_sentences(record, Place(source.name, record.line), labelled, log)


def _doccano_sentences(record: Record, place: Place, labelled: bool, log: ReadingLog) -> list[RawSentence]:
    text = require(record.fields, "text", str)
    spans = None
    name = _label_field(record.fields)
    if name is not None:
        spans = [_doccano_span(item, place) for item in expect(record.fields[name], list, f"{name!r}")]
        words = log.options.find_words(text)
        starts, ends = {start for start, _ in words}, {end for _, end in words}

        def fits(some: Sequence[CharacterSpan]) -> bool:
            return all(span.start in starts and span.end in ends for span in some)

        spans = in_characters(spans, text, fits, log)  # the words tell what the offsets count
    elif labelled:
        allowed = "'label' or 'entities'"
        raise InputError(f"the record has no {allowed}, but others have. Give an empty list if it has no span.")
    return sentences_of_text(text, spans, log, place, identifier(record.fields, "document", "id"))


def _label_field(fields: Fields) -> str | None:
    """The field with the labels. All other such fields must be empty."""
    given = [name for name in _LABEL_FIELDS if name in fields]
    filled = [name for name in given if fields[name]]
    if len(filled) > 1:
        both = " and ".join(map(repr, filled))
        raise InputError(f"the record has labels under {both}; which ones count? Remove the others.")
    return next(iter(filled or given), None)


def _doccano_span(item: object, place: Place) -> CharacterSpan:
    if isinstance(item, dict):
        start, end, label = (require(item, name, kind, "the entity") for name, kind in _ENTITY.items())
    elif isinstance(item, list) and len(item) == 3:
        start, end, label = item
    else:
        expected = f"[start, end, name] or an object with {', '.join(_ENTITY)}"
        raise InputError(f"a label should be {expected}, but is {as_json(item)}.")
    return CharacterSpan(expect(start, int, "a start"), expect(end, int, "an end"), label_name(label), place)


def read_label_studio(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    return sentences_of_records(source, log, _task_sentences)


def _task_sentences(record: Record, place: Place, log: ReadingLog) -> list[RawSentence]:
    task = record.fields
    if "data" not in task:
        raise InputError("the task has no 'data'. Export from Label Studio as JSON, not as JSON_MIN.")
    data, regions = require(task, "data", dict), _regions(task, log)
    text = _task_text(data)
    spans = None if regions is None else _checked_regions([_region(one, place) for one in regions], text, log)
    return sentences_of_text(text, spans, log, place, identifier(data, "document") or identifier(task, "id"))


def _task_text(data: Fields) -> str:
    """The field `text`, or else the only string: the project's configuration, which names it, is not in an export."""
    if "text" in data:
        return require(data, "text", str)
    strings = [name for name, value in data.items() if isinstance(value, str) and name != "document"]
    if len(strings) != 1:
        names = ", ".join(map(repr, data)) or "none"
        raise InputError(f"no field 'text' among the task's data ({names}). Rename the field.")
    return str(data[strings[0]])


def _regions(task: Fields, log: ReadingLog) -> list[Fields] | None:
    """The labelled regions of a task's first annotation that was not cancelled; None without one."""
    name = "completions" if "completions" in task else "annotations"  # the older name
    annotations = [expect(one, dict, "an annotation") for one in expect(task.get(name, []), list, f"{name!r}")]
    good = [one for one in annotations if not one.get("was_cancelled")]
    if len(good) < len(annotations):
        log.count("cancelled annotations were passed over", len(annotations) - len(good))
    if not good:
        log.count("tasks have no annotation and were read as unlabelled")
        return None
    if len(good) > 1:
        log.count("tasks have several annotations, of which the first was taken")
    results = [expect(one, dict, "a result") for one in require(good[0], "result", list, "the annotation")]
    types = [str(one.get("type", "labels")) for one in results]
    if other := [type for type in types if type != "labels" and type.endswith("labels")]:
        problem = f"results of type {other[0]!r} mark something else than plain text, and would be lost."
        raise InputError(f"{problem} Annotate with <Labels> on a <Text>, or remove them.")
    marked = [one for one in results if one.get("type", "labels") == "labels"]
    if len(marked) < len(results):
        log.count("results that mark no text (choices, relations …) were passed over", len(results) - len(marked))
    return [require(one, "value", dict, "the result") for one in marked]


def _region(value: Fields, place: Place) -> tuple[CharacterSpan, str | None]:
    """A span, and the text that the export has for it."""
    labels = require(value, "labels", list, "the label's value")
    if len(labels) != 1:
        raise InputError(f"a span carries {len(labels)} labels ({as_json(labels)}); one tag per word can hold one.")
    start, end = (require(value, name, int, "the label's value") for name in ("start", "end"))
    text = expect(value["text"], str, "a label's 'text'") if value.get("text") is not None else None
    return CharacterSpan(start, end, label_name(labels[0]), place), text


def _checked_regions(
    regions: Sequence[tuple[CharacterSpan, str | None]], text: str, log: ReadingLog
) -> list[CharacterSpan]:
    """The spans by characters: older versions counted 16-bit units, which shows in the texts of the spans."""
    expected = [one for _, one in regions]

    def fits(some: Sequence[CharacterSpan]) -> bool:
        return all(_holds(span, text, one) for span, one in zip(some, expected, strict=True))

    spans = in_characters([span for span, _ in regions], text, fits, log)
    for span, one in zip(spans, expected, strict=True):
        if 0 <= span.start < span.end <= len(text) and not _holds(span, text, one):
            problem = f"span {span.describe(text)} should hold {shorten(one or '', 60)!r}, as the export says itself."
            advice = "The text was changed after it was annotated, or the offsets count something else."
            raise InputError(f"{problem} {advice}")
    return spans


def _holds(span: CharacterSpan, text: str, expected: str | None) -> bool:
    """Whether a span has this text, white space apart; Label Studio spells a line end as `\\n`."""
    if not 0 <= span.start < span.end <= len(text):
        return False
    words = text[span.start : span.end].split()
    return expected is None or words in (expected.split(), expected.replace("\\n", "\n").split())


def read_prodigy(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    return sentences_of_records(source, log, _prodigy_sentences)


def _prodigy_sentences(record: Record, place: Place, log: ReadingLog) -> list[RawSentence]:
    task = record.fields
    answer = task.get("answer", "accept")
    if answer not in ("accept", "reject", "ignore"):
        raise InputError(f"the answer is {as_json(answer)}; expected accept, reject or ignore.")
    if answer != "accept":
        log.count("records were rejected or ignored by the annotator and left out")
        return []
    text = require(task, "text", str)
    words = _token_words(expect(task["tokens"], list, "'tokens'"), text) if task.get("tokens") is not None else None
    spans: list[CharacterSpan] | None = [] if "answer" in task else None  # an answer without spans: there are none
    if task.get("spans") is not None:
        spans = [span_of(item, place) for item in expect(task["spans"], list, "'spans'")]
    document = identifier(task["meta"], "document") if isinstance(task.get("meta"), dict) else None
    return sentences_of_text(text, spans, log, place, document, words)


def _token_words(tokens: list[object], text: str) -> Offsets:
    """The tool's own tokens, less those that are white space: spaCy makes a token of every line end."""
    words: Offsets = []
    reached = 0
    for number, item in enumerate(tokens):
        token = expect(item, dict, f"token {number}")
        start, end = (require(token, name, int, f"token {number}") for name in ("start", "end"))
        if not reached <= start < end <= len(text):
            problem = f"token {number} ({start}:{end}) does not fit: it should begin at {reached} or later"
            raise InputError(f"{problem}, hold a character, and end at {len(text)} or earlier.")
        spelled = token.get("text", text[start:end])
        if spelled != text[start:end]:
            raise InputError(f"token {number} is {as_json(spelled)}, but its offsets point at {text[start:end]!r}.")
        _check_gap(text, reached, start)
        reached = end
        if not text[start:end].isspace():
            words.append((start, end))
    _check_gap(text, reached, len(text))
    return words


def _check_gap(text: str, start: int, end: int) -> None:
    if text[start:end].strip():
        raise InputError(f"{text[start:end].strip()!r} ({start}:{end}) belongs to no token; it would be lost.")


_NUMBERS = "[0-9]{1,15} [0-9]{1,15}"  # no text is longer
_BRAT_SPAN = re.compile(rf"(T[^\t]+)\t(\S+) ({_NUMBERS}(?:;{_NUMBERS})*)(?:\t(.*))?$")
_OTHER_KINDS = "REAMN#*"  # relations, events, attributes, modifications, normalizations, notes and equivalences


def read_brat(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    if source.is_stdin:
        problem = "brat keeps text and annotation in two files; they cannot come from standard input."
        raise InputError(problem, file=source.name)
    pairs = _pairs_in(source.path) if source.path.is_dir() else [_pair_of(source.path)]
    if not pairs:
        raise InputError("the folder has no .ann files. brat expects NAME.txt and NAME.ann.", file=source.name)
    for text_path, annotation_path in pairs:
        with log.refusing(str(annotation_path)):
            yield from _brat_document(text_path, annotation_path, log)


def _pairs_in(folder: Path) -> list[tuple[Path, Path]]:
    """All pairs of a folder, also those that lack a file; none without any annotation."""
    named = {path: inner_name(path.name) for path in folder.iterdir() if path.is_file()}
    if not any(name.endswith(".ann") for name in named.values()):
        return []
    return sorted({_pair_of(path) for path, name in named.items() if name.endswith((".ann", ".txt"))})


def _pair_of(path: Path) -> tuple[Path, Path]:
    """The text and the annotation that belong to either of them; each may be compressed."""
    stem = inner_name(path.name).removesuffix(".txt").removesuffix(".ann")
    pair: list[Path] = []
    for suffix in (".txt", ".ann"):
        candidates = [path.with_name(f"{stem}{suffix}{packed}") for packed in ("", ".gz", ".xz")]
        pair.append(next((one for one in candidates if one.exists()), candidates[0]))
    return pair[0], pair[1]


def _brat_document(text_path: Path, annotation_path: Path, log: ReadingLog) -> list[RawSentence]:
    text_source, annotation = Source(text_path), Source(annotation_path)
    for source, partner in ((text_source, annotation), (annotation, text_source)):
        if not source.path.exists():
            problem = f"the file is missing; {partner.path.name} needs it. (An .ann may be empty.)"
            raise InputError(problem, file=source.name)
        if source.faults:
            raise next(iter(source.faults.values()))
    text = text_source.text
    spans = []
    for number, line in enumerate(annotation.lines, start=1):
        place = Place(annotation.name, number)
        if not line.strip():
            continue
        if line[0] == "T":
            spans.append(_brat_span(line, text, place))
        elif line[0] in _OTHER_KINDS:
            log.count("brat relations, events, attributes and notes were passed over")
        else:
            problem = "this is no brat annotation: a line begins with T, R, E, A, M, N, # or *."
            raise InputError(problem, place=place, text=line)
    try:
        stem = inner_name(text_path.name).removesuffix(".txt")
        return sentences_of_text(text, spans, log, Place(text_source.name), stem, first_line=1)
    except InputError as error:  # the line that is at fault is one of the annotation's
        at = error.place.line
        shown = annotation.lines[at - 1] if at is not None else None
        raise InputError(error.problem, file=annotation.name, line=at, text=shown) from error


def _brat_span(line: str, text: str, place: Place) -> CharacterSpan:
    match = _BRAT_SPAN.match(line)
    if match is None:
        problem = "this is no text-bound annotation; expected T1<tab>LABEL START END<tab>TEXT."
        raise InputError(problem, place=place, text=line)
    pieces = [tuple(map(int, piece.split(" "))) for piece in match.group(3).split(";")]
    for start, end in pieces:
        if not start < end <= len(text):
            problem = f"{start} {end} does not fit into the text of {len(text)} characters (start before end)."
            raise InputError(problem, place=place, text=line)
    marked, expected = " ".join(text[start:end] for start, end in pieces), match.group(4)
    if expected is not None and marked.split() != expected.split():
        problem = f"the text there is {shorten(marked, 60)!r}: text and annotation do not belong together"
        raise InputError(f"{problem}, or the text's line ends were changed.", place=place, text=line)
    touching = all(before[1] == after[0] for before, after in pairwise(pieces))
    start, end = min(start for start, _ in pieces), max(end for _, end in pieces)
    return CharacterSpan(start, end, match.group(2), place, gaps=not touching)


def read_docbin(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    log.kind = "spans"
    for number, doc in enumerate(_docs(source), start=1):
        for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
            yield from _docbin_sentence(sentence, doc, number, log)


def _docs(source: Source) -> list[Any]:
    tokens = optional_library("spacy.tokens", "a DocBin needs spaCy: pip install 'acclimate[spacy]'.", source.name)
    import spacy

    try:
        return list(tokens.DocBin().from_bytes(source.data).get_docs(spacy.blank("xx").vocab))
    except Exception as error:  # whatever its parsers say of damaged bytes
        problem = f"this is no whole DocBin ({type(error).__name__}: {error}). Write or copy it again."
        raise InputError(problem, file=source.name) from error


def _docbin_sentence(sentence: Any, doc: Any, number: int, log: ReadingLog) -> Iterator[RawSentence]:
    tokens = [token for token in sentence if not token.is_space]
    if not tokens:
        log.count("documents or sentences hold no word and were left out")
        return
    yield RawSentence(
        words=[token.text for token in tokens],
        spans=_entities(sentence, tokens, log) if doc.has_annotation("ENT_IOB") else None,
        lines=[number] * len(tokens),  # of a binary file, the number of the document
        text=doc.text,
        offsets=[(token.idx, token.idx + len(token)) for token in tokens],
        document=str(number),
    )


def _entities(sentence: Any, tokens: list[Any], log: ReadingLog) -> list[Span]:
    position = {token.i: index for index, token in enumerate(tokens)}
    spans = []
    for entity in sentence.ents:
        covered = [position[token.i] for token in entity if token.i in position]
        if covered:
            spans.append(Span(covered[0], covered[-1] + 1, entity.label_ or "ENTITY"))
        else:
            log.count("entities cover no word and were left out")
    return spans
