"""spaCy's DocBin (extra `spacy`): entities for spans, fine-grained tags for plain ones, sentence borders set."""

from __future__ import annotations

from typing import Any

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme
from acclimate.data.writers.shared import check_all_or_none, check_no_open_words, points_at_words

_STORED = ["ORTH", "SPACY", "TAG", "ENT_IOB", "ENT_TYPE", "SENT_START"]


def write_docbin(corpus: Corpus, scheme: Scheme) -> bytes:
    check_all_or_none(corpus, "docbin")
    check_no_open_words(corpus, "docbin")
    try:
        import spacy
        from spacy.tokens import DocBin
    except ImportError as error:
        raise InputError("a DocBin needs spaCy: pip install 'acclimate[spacy]'.") from error
    vocab = spacy.blank("xx").vocab
    store = DocBin(attrs=_STORED)
    for sentence in corpus:
        store.add(_doc(sentence, corpus, vocab))
    return bytes(store.to_bytes())


def _doc(sentence: Sentence, corpus: Corpus, vocab: Any) -> Any:
    """One document per sentence: spaCy's own reader then gives the words back exactly."""
    from spacy.tokens import Doc, Span

    for word in sentence.words:
        if not word or word.isspace():
            problem = f"the word {word!r} is white space, which a DocBin does not count as a word. Write jsonl."
            raise InputError(problem, file=sentence.place.file, line=sentence.place.line)
    starts = [True] + [False] * (len(sentence) - 1)
    tags = list(sentence.tags) if corpus.kind == "plain" and sentence.tags is not None else None
    doc = Doc(vocab, words=list(sentence.words), spaces=_spaces(sentence), sent_starts=starts, tags=tags)
    if corpus.kind == "spans" and sentence.tags is not None:
        spans = [Span(doc, span.start, span.end, label=span.label) for span in sentence.spans]
        doc.set_ents(spans, default="outside")
    return doc


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether white space follows each word; words without a text are taken to have blanks between them."""
    if sentence.offsets is None or not points_at_words(sentence):
        return [True] * (len(sentence) - 1) + [False]
    ends, starts = [end for _, end in sentence.offsets], [start for start, _ in sentence.offsets]
    return [end < start for end, start in zip(ends, starts[1:], strict=False)] + [False]
