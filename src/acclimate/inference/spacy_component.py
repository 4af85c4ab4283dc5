"""A tagger as a component of spaCy: `nlp.add_pipe("acclimate", config={"model": "runs/a"})`. It tags spaCy's own
tokens."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import srsly
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.words import find_sentences, grouped
from acclimate.inference.loading import load_tagger
from acclimate.inference.part_of_speech import UNIVERSAL
from acclimate.model.shipped import GENERAL
from acclimate.model.text_tagger import TextTagger
from acclimate.settings import UsageError

SCORE = "acclimate_score"  # of a span: `entity._.acclimate_score`
Attribute = Literal["auto", "ents", "spans", "pos", "tag"]
_CONFIG = {"model": GENERAL, "attribute": "auto", "overwrite_ents": False, "device": "auto"}
_BATCH = 128


@Language.factory("acclimate", default_config=_CONFIG, assigns=["doc.ents", "token.ent_iob", "token.ent_type"])
def make_component(
    nlp: Language, name: str, model: str, attribute: Attribute, overwrite_ents: bool, device: str
) -> AcclimateComponent:
    """`model`: the folder of a tagger, or `general`. `attribute`: what is set, `ents`, `spans` (in `doc.spans[name]`),
    `pos` or `tag`. `overwrite_ents`: whether new entities replace those that they overlap."""
    return AcclimateComponent(name, model, attribute, overwrite_ents, device)


class AcclimateComponent:
    """Tags documents. The tagger is read when it is first needed: a saved pipeline brings its own."""

    def __init__(
        self,
        name: str = "acclimate",
        model: str | Path = GENERAL,
        attribute: Attribute = "auto",
        overwrite_ents: bool = False,
        device: str = "auto",
    ) -> None:
        self.name, self.model, self.attribute, self.device = name, model, attribute, device
        self.overwrite_ents = overwrite_ents
        self._tagger: TextTagger | None = None
        self._home: TemporaryDirectory[str] | None = None  # of a tagger that came as bytes
        self._process = os.getpid()
        Span.set_extension(SCORE, default=None, force=True)

    @property
    def tagger(self) -> TextTagger:
        """Each process has its own: neither torch nor onnxruntime works on in a process that was forked meanwhile."""
        if os.getpid() != self._process:
            self._process, self._tagger = os.getpid(), None
            torch.set_num_threads(1)  # the processes share the cores
        if self._tagger is None:
            self._tagger = load_tagger(self.model, self.device)
        return self._tagger

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty until the tagger is read: spaCy asks before a saved pipeline has brought its own."""
        return () if self._tagger is None else self._tagger.labels.names

    @property
    def target(self) -> Attribute:
        """What is set: for plain tags `pos` if all are universal parts of speech, else `tag`."""
        labels = self.tagger.labels
        of_tagger: list[Attribute] = ["ents", "spans"] if labels.kind == "spans" else ["pos", "tag"]
        universal = set(labels) <= set(UNIVERSAL)
        if self.attribute == "auto":
            return "ents" if labels.kind == "spans" else "pos" if universal else "tag"
        if self.attribute not in of_tagger:
            kind = "spans" if labels.kind == "spans" else "a tag for each word"
            raise UsageError(f"attribute {self.attribute!r}: the tagger finds {kind}. Use {' or '.join(of_tagger)}.")
        if self.attribute == "pos" and not universal:
            raise UsageError("attribute 'pos': spaCy takes universal parts of speech only, and the tags are others.")
        return self.attribute

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = _BATCH) -> Iterator[Doc]:
        waiting = iter(stream)
        while docs := list(islice(waiting, batch_size)):
            self._tag(docs)
            yield from docs

    def _tag(self, docs: Sequence[Doc]) -> None:
        sentences: list[Sentence] = []
        owners: list[tuple[int, list[int]]] = []  # of each sentence its document, and the places of its words
        for number, doc in enumerate(docs):
            for places in _sentences(doc):
                sentences.append(Sentence(tuple(doc[place].text for place in places)))
                owners.append((number, places))
        found: list[list[tuple[Span, float]]] = [[] for _ in docs]
        answers = self.tagger.spans(Corpus.of(sentences, kind=self.tagger.labels.kind)) if sentences else []
        for (number, places), spans in zip(owners, answers, strict=True):
            for span in spans:
                start, end = places[span.start], places[span.end - 1] + 1
                found[number].append((Span(docs[number], start, end, label=span.label), span.score))
        for doc, spans_of_doc in zip(docs, found, strict=True):
            self._set(doc, spans_of_doc)

    def _set(self, doc: Doc, found: list[tuple[Span, float]]) -> None:
        target = self.target
        if target in ("pos", "tag"):
            _set_tags(doc, found, target)
            return
        for span, score in found:
            span._.set(SCORE, score)
        spans = [span for span, _ in found]
        if target == "spans":
            doc.spans[self.name] = spans
            doc.spans[self.name].attrs["scores"] = [score for _, score in found]
        elif self.overwrite_ents:
            doc.ents = [*_apart(doc.ents, spans), *spans]
        else:
            doc.ents = [*doc.ents, *_apart(spans, doc.ents)]

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """A copy of the tagger, without what else its run has left."""
        self.tagger.save_pretrained(path)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> AcclimateComponent:
        self.model, self._tagger = Path(path), None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        with TemporaryDirectory() as place:
            folder = Path(place) / "tagger"
            self.to_disk(folder)
            files = (file for file in folder.rglob("*") if file.is_file())
            packed: bytes = srsly.msgpack_dumps({str(file.relative_to(folder)): file.read_bytes() for file in files})
            return packed

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> AcclimateComponent:
        home = TemporaryDirectory()
        for name, content in srsly.msgpack_loads(data).items():
            file = Path(home.name, name)
            if not file.resolve().is_relative_to(Path(home.name).resolve()):
                raise UsageError(f"{name!r} would be written outside of the tagger's folder.")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        self._home = home
        return self.from_disk(home.name)

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self.name, self.model, self.attribute, self.overwrite_ents, self.device)
        return _unpickled, (options, self.to_bytes())


def _unpickled(options: tuple[Any, ...], data: bytes) -> AcclimateComponent:
    return AcclimateComponent(*options).from_bytes(data)


def _sentences(doc: Doc) -> Iterator[list[int]]:
    """The places of the words of each sentence, white space left out: spaCy's sentences, or else our own."""
    words = [token.i for token in doc if not token.is_space]
    if doc.has_annotation("SENT_START"):
        for sentence in doc.sents:
            if own := [token.i for token in sentence if not token.is_space]:
                yield own
        return
    offsets = [(doc[place].idx, doc[place].idx + len(doc[place])) for place in words]
    for begin, end in grouped(offsets, find_sentences(doc.text)):
        yield words[begin:end]


def _apart(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """The spans that share no token with others."""
    taken = {place for other in others for place in range(other.start, other.end)}
    return [span for span in spans if taken.isdisjoint(range(span.start, span.end))]


def _set_tags(doc: Doc, found: list[tuple[Span, float]], attribute: str) -> None:
    for token in doc:
        if token.is_space:
            setattr(token, f"{attribute}_", "SPACE" if attribute == "pos" else "_SP")
    for span, _ in found:
        setattr(span[0], f"{attribute}_", span.label_)
