"""Plain text, a sentence per line: as it stood in its text, or its words with blanks between. Tags are left out."""

from __future__ import annotations

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import Scheme
from acclimate.data.writers.saving import encoded
from acclimate.data.writers.spelling import check_words, covered_text


def write_text(corpus: Corpus, scheme: Scheme) -> bytes:
    return encoded("".join(f"{_line(sentence)}\n" for sentence in corpus))


def _line(sentence: Sentence) -> str:
    line = covered_text(sentence)
    if line is not None and "\n" not in line and "\r" not in line:
        return line
    check_words(sentence, "\r\n", "text")
    return " ".join(sentence.words)
