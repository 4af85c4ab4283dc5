"""CoNLL-U: plain tags in UPOS, span tags in MISC as `NER=…`; what is not known is `_`."""

from __future__ import annotations

from collections.abc import Iterator

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.writers.saving import encoded
from acclimate.data.writers.spelling import check_all_or_none, check_labels, check_words, covered_text, spelled_tags


def write_conllu(corpus: Corpus, scheme: Scheme) -> bytes:
    check_all_or_none(corpus, "conllu")
    check_labels(corpus.labels.names, "\t\r\n" if corpus.kind == "plain" else "|\t\r\n", "conllu")
    if "_" in corpus.labels and corpus.kind == "plain":
        raise InputError("the label '_' means 'unknown' in conllu. Rename it, or write conll.")
    parts = [
        part for number, sentence in enumerate(corpus, start=1) for part in _lines(number, sentence, corpus, scheme)
    ]
    return encoded("".join(parts))


def _lines(number: int, sentence: Sentence, corpus: Corpus, scheme: Scheme) -> Iterator[str]:
    check_words(sentence, "\t\r\n", "conllu")
    if not all(word.strip(" ") for word in sentence.words):
        raise InputError(
            "a word is only blanks; conllu cannot hold it.", file=sentence.place.file, line=sentence.place.line
        )
    yield f"# sent_id = {number}\n"
    text = _text(sentence)
    if text is not None:
        yield f"# text = {text}\n"
    tags = spelled_tags(sentence, corpus, scheme)
    for position, word in enumerate(sentence.words, start=1):
        tag = "_" if tags is None else tags[position - 1]
        upos, misc = (tag, "_") if corpus.kind == "plain" or tags is None else ("_", f"NER={tag}")
        yield f"{position}\t{word}\t_\t{upos}\t_\t_\t_\t_\t_\t{misc}\n"
    yield "\n"


def _text(sentence: Sentence) -> str | None:
    """The stretch of the text that the sentence covers, unless a line end inside it would break the comment."""
    text = covered_text(sentence)
    return None if text is None or "\n" in text or "\r" in text else text
