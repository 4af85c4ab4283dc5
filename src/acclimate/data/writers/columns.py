"""CoNLL columns: `WORD<TAB>TAG`, a blank line after each sentence; words alone for an unlabelled corpus."""

from __future__ import annotations

from collections.abc import Iterator

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.writers.saving import encoded
from acclimate.data.writers.spelling import check_all_or_none, check_labels, check_words, spelled_tags


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
