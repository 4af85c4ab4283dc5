"""What each format can hold, and the refusal of a corpus that holds more. Nothing is lost in silence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.source import check_characters
from acclimate.spelling import either


@dataclass(frozen=True, slots=True)
class Limits:
    """What a format has room for, and the characters that words and labels may not hold because it uses them itself."""

    plain_tags: bool = True
    open_tags: bool = True
    untagged: bool = False  # sentences without tags among tagged ones
    scores: bool = False
    in_words: str = ""
    in_labels: str = ""


_CELL = "\t\r\n"
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
LIMITS = {
    "conll": Limits(in_words=_CELL, in_labels=_CELL),
    "conllu": Limits(open_tags=False, in_words=_CELL, in_labels=_CELL),
    "jsonl": Limits(untagged=True, scores=True),
    "doccano": Limits(plain_tags=False, open_tags=False),
    "label_studio": Limits(plain_tags=False, open_tags=False, untagged=True),
    "prodigy": Limits(plain_tags=False, open_tags=False, untagged=True),
    "docbin": Limits(plain_tags=False, open_tags=False),
    "csv": Limits(in_words="\r\n"),
    "tsv": Limits(in_words=_CELL, in_labels=_CELL),
    "parquet": Limits(untagged=True),
    "text": Limits(untagged=True, scores=True),  # it asks for no tags at all
    "brat": Limits(plain_tags=False, open_tags=False, in_labels=_BLANKS),
}


def check_fits(corpus: Corpus, format: str, path: str | Path) -> None:
    """Refuse a corpus that the format cannot hold, with the sentence at fault and the formats that can."""
    limits = LIMITS[format]
    if corpus.guess_count and not limits.scores:
        likeliest = either("write corpus.likeliest()", "take the likeliest tags: acclimate data convert")
        problem = f"{corpus.name} holds guesses with scores, which {format} cannot. Name the file .jsonl, or"
        raise InputError(f"{problem} {likeliest}.", file=path)
    _check_characters(corpus)
    if corpus.is_labelled:
        _check_tags(corpus, format, limits)
    if corpus.is_labelled and corpus.kind == "plain" and not limits.plain_tags:
        others = ", ".join(name for name, other in LIMITS.items() if other.plain_tags and name != "text")
        raise InputError(f"{format} marks spans of text, but {corpus.name} has plain tags. Write one of {others}.")
    check_labels(corpus, limits.in_labels, format)
    for sentence in corpus:
        check_words(sentence, limits.in_words, format)


def _check_characters(corpus: Corpus) -> None:
    """Refuse NUL and half of an emoji, which no reader would accept."""
    previous: str | None = None
    for sentence in corpus:
        text = None if sentence.text is previous else sentence.text  # a document's sentences share it
        previous = sentence.text
        try:
            check_characters("\n".join((*sentence.words, *(sentence.tags or ()), text or "")))
        except InputError as error:
            raise InputError(error.problem, place=sentence.place, text=" ".join(sentence.words)) from error


def _check_tags(corpus: Corpus, format: str, limits: Limits) -> None:
    for sentence in corpus:
        problem = None
        if sentence.tags is None and not limits.untagged:
            advice = either(
                "Write corpus.labelled() or corpus.unlabelled(), or use jsonl or parquet.",
                "Leave out the sentences without tags (acclimate data convert --labelled-only), or write jsonl or "
                "parquet.",
            )
            problem = f"this sentence has no tags, but others have, which {format} cannot tell from a sentence without"
            problem += f" spans. {advice}"
        elif sentence.is_open and corpus.kind == "spans" and not limits.open_tags:
            others = ", ".join(name for name, other in LIMITS.items() if other.open_tags and name != "text")
            problem = f"words of this sentence may hide a label that nobody looked for, which {format} cannot say."
            problem += f" Write one of {others}, which keep such tags (O|LOC)."
        if problem is not None:
            raise InputError(problem, place=sentence.place, text=" ".join(sentence.words))


def check_words(sentence: Sentence, forbidden: str, format: str) -> None:
    """No word may be empty, or hold a character that the format uses itself."""
    for word in sentence.words:
        if not word or any(character in forbidden for character in word):
            what = "is empty" if not word else "holds a character that separates words or lines"
            advice = "Mend it." if format == "jsonl" else "Mend it, or write jsonl."
            raise InputError(f"the word {word!r} {what}; {format} cannot hold it. {advice}", place=sentence.place)


def check_labels(corpus: Corpus, forbidden: str, format: str) -> None:
    """No label may hold a character that the format uses itself."""
    for name in corpus.labels if forbidden else ():
        if bad := next((character for character in name if character in forbidden), None):
            problem = f"the label {name!r} holds {bad!r}, which {format} uses itself. Rename it, or write jsonl."
            raise InputError(problem)
