"""CoNLL (`WORD<TAB>TAG`), CoNLL-U (plain tags in UPOS, span tags in MISC as `NER=...`) and plain text.

A blank line follows each sentence of CoNLL and CoNLL-U. Plain text has one sentence per line, and no tags.
"""

from __future__ import annotations

from collections.abc import Iterator

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.writers.shared import (
    check_all_or_none,
    check_labels,
    check_no_open_words,
    check_words,
    covered_text,
    encoded,
    spelled_tags,
)


def write_columns(corpus: Corpus, scheme: Scheme) -> bytes:
    labelled = check_all_or_none(corpus, "conll")
    check_labels(corpus.labels.names, "\t\r\n", "conll")
    return encoded("".join(line for sentence in corpus for line in _lines(sentence, corpus, scheme, labelled)))


def _lines(sentence: Sentence, corpus: Corpus, scheme: Scheme, labelled: bool) -> Iterator[str]:
    # without a tab in the file, blanks separate columns
    check_words(sentence, "\t\r\n" if labelled else "\t\r\n ", "conll")
    for word in sentence.words:
        if word == "-DOCSTART-" or word.strip(" ") != word:
            fault = "marks a document's start" if word == "-DOCSTART-" else "begins or ends with a blank"
            problem = f"the word {word!r} {fault} and would be lost in conll. Mend it, or write jsonl."
            raise InputError(problem, file=sentence.place.file, line=sentence.place.line)
    tags = spelled_tags(sentence, corpus, scheme)
    if tags is None:
        yield from (f"{word}\n" for word in sentence.words)
    else:
        yield from (f"{word}\t{tag}\n" for word, tag in zip(sentence.words, tags, strict=True))
    yield "\n"


def write_conllu(corpus: Corpus, scheme: Scheme) -> bytes:
    check_all_or_none(corpus, "conllu")
    check_no_open_words(corpus, "conllu")
    check_labels(corpus.labels.names, "\t\r\n" if corpus.kind == "plain" else "|\t\r\n", "conllu")
    if "_" in corpus.labels and corpus.kind == "plain":
        raise InputError("the label '_' means 'unknown' in conllu. Rename it, or write conll.")
    parts = [
        part
        for number, sentence in enumerate(corpus, start=1)
        for part in _conllu_lines(number, sentence, corpus, scheme)
    ]
    return encoded("".join(parts))


def _conllu_lines(number: int, sentence: Sentence, corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    check_words(sentence, "\t\r\n", "conllu")
    if not all(word.strip(" ") for word in sentence.words):
        raise InputError(
            "a word is only blanks; conllu cannot hold it.", file=sentence.place.file, line=sentence.place.line
        )
    yield f"# sent_id = {number}\n"
    text = _text_on_one_line(sentence)
    if text is not None:
        yield f"# text = {text}\n"
    tags = spelled_tags(sentence, corpus, scheme)
    for position, word in enumerate(sentence.words, start=1):
        tag = "_" if tags is None else tags[position - 1]
        upos, misc = (tag, "_") if corpus.kind == "plain" or tags is None else ("_", f"NER={tag}")
        yield f"{position}\t{word}\t_\t{upos}\t_\t_\t_\t_\t_\t{misc}\n"
    yield "\n"


def _text_on_one_line(sentence: Sentence) -> str | None:
    """The stretch of the text that the sentence covers, unless a line end inside it would break the comment."""
    text = covered_text(sentence)
    return None if text is None or "\n" in text or "\r" in text else text


def write_text(corpus: Corpus, scheme: Scheme) -> bytes:
    return encoded("".join(f"{_text_line(sentence)}\n" for sentence in corpus))


def _text_line(sentence: Sentence) -> str:
    line = covered_text(sentence)
    if line is not None and "\n" not in line and "\r" not in line:
        return line
    check_words(sentence, "\r\n", "text")
    return " ".join(sentence.words)
