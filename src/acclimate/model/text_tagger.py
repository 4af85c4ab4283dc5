"""What every tagger offers to programs: text in, entities out. Without torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus, LabelSet, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import OUTSIDE, Scheme, Span, convert_tags, spans_from_tags
from acclimate.data.soft_labels import ScoredSpan
from acclimate.data.words import find_sentences, find_words, grouped
from acclimate.evaluation.seen import Vocabulary as SeenWords
from acclimate.model.heads.legal_chain import TagChain
from acclimate.model.hub import OnTheHub
from acclimate.model.parts import WORDS_PER_BATCH, Progress

What = Literal["tags", "confidences", "probabilities", "decisions"]
Frame = TypeVar("Frame")
_KINDS = (np.int64, np.str_, np.str_, np.int64, np.int64, np.float64)  # of the columns of a frame
_BATCH = 256  # texts that are read at once
_COLOURS = ("#8dd3c7", "#ffed6f", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5")


@dataclass(frozen=True, slots=True)
class Entity:
    """A span of a text, `text[start:end]`, with the probability that exactly this span has this label."""

    label: str
    text: str
    start: int
    end: int
    score: float


class Entities(list[Entity]):
    """The entities of one text; a notebook shows them highlighted."""

    def __init__(self, text: str, entities: Iterable[Entity] = ()) -> None:
        super().__init__(entities)
        self.text = text

    def _repr_html_(self) -> str:
        labels = sorted({entity.label for entity in self})
        shown, end = [], 0
        for entity in self:
            colour = _COLOURS[labels.index(entity.label) % len(_COLOURS)]
            style = f"background:{colour};color:#111;padding:0.1em 0.25em;border-radius:0.25em"
            label = f"<small><b>{escape(entity.label)}</b> {entity.score:.2f}</small>"
            shown.append(
                f'{escape(self.text[end : entity.start])}<mark style="{style}">{escape(entity.text)} {label}</mark>'
            )
            end = entity.end
        return f'<div style="white-space:pre-wrap">{"".join(shown)}{escape(self.text[end:])}</div>'


class TextTagger(OnTheHub):
    """A tagger of text, however it computes."""

    labels: LabelSet
    tags: tuple[str, ...]
    scheme: Scheme
    seen: SeenWords | None

    @property
    def on_gpu(self) -> bool:
        return False

    def read(
        self, corpus: Corpus, what: What, words_per_batch: int = WORDS_PER_BATCH, progress: Progress | None = None
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Sentence numbers, and for each word its tag's number (word,), its tag's probability (word,), or all tags'
        (word, tag). `decisions`: its tag, the probability of its type, the scores of `chain`, (word, 2 + tag)."""
        raise NotImplementedError

    def chain(self) -> TagChain:
        """The scores of moves from tag to tag."""
        raise NotImplementedError

    def spell(self, numbers: Sequence[int]) -> list[str]:
        """Tag numbers as tags of a corpus (IOB2, or plain)."""
        tags = [self.tags[number] for number in numbers]
        return tags if self.labels.kind == "plain" else convert_tags(tags, "IOB2")

    @overload  # a string is an iterable of strings, too
    def __call__(self, texts: str) -> Entities: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, texts: Iterable[str]) -> list[Entities]: ...
    def __call__(self, texts: str | Iterable[str]) -> Entities | list[Entities]:
        """The entities of a text, or of each of several texts. Plain tags: each word is an entity."""
        if isinstance(texts, str):
            return next(self.pipe([texts]))
        return list(self.pipe(texts))

    def pipe(self, texts: Iterable[str], batch_size: int = _BATCH) -> Iterator[Entities]:
        """The entities of one text after the other; `batch_size` texts are in memory at a time."""
        if batch_size < 1:
            raise InputError(f"batch_size {batch_size}: a batch needs at least one text.")
        waiting, first = iter(texts), 0
        while some := list(islice(waiting, batch_size)):
            yield from self._entities_of(some, first)
            first += len(some)

    def frame(self, frame: Frame, column: str = "text") -> Frame:
        """The entities in a column of a pandas or polars frame, as such a frame, with their `row`. A missing text has
        none."""
        table: Any = frame
        texts = ["" if _is_missing(text) else text for text in table[column]]
        rows = list(table.index) if hasattr(table, "index") else range(len(texts))
        pairs = [(row, each) for row, entities in zip(rows, self.pipe(texts), strict=True) for each in entities]
        columns: dict[str, Any] = {"row": [row for row, _ in pairs]}
        for name in ("label", "text", "start", "end", "score"):
            columns[name] = [getattr(entity, name) for _, entity in pairs]
        if not pairs:  # or nobody would know what the columns hold
            columns = {name: np.array([], kind) for name, kind in zip(columns, _KINDS, strict=True)}
        made: Frame = type(table)(columns)
        return made

    def _entities_of(self, texts: Sequence[str], first: int) -> list[Entities]:
        sentences: list[Sentence] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                kind = type(text).__name__
                raise InputError(f"text number {first + number} (counted from 0) is no text but {kind}: {text!r}.")
            words = find_words(text)
            for begin, end in grouped(words, find_sentences(text)):
                offsets = tuple(words[begin:end])
                sentences.append(Sentence(tuple(text[one:other] for one, other in offsets), None, text, offsets))
                owners.append(number)
        result = [Entities(text) for text in texts]
        for owner, sentence, spans in zip(owners, sentences, self.spans(Corpus.of(sentences)), strict=True):
            result[owner].extend(_entity(sentence, span) for span in spans)
        return result

    def spans(self, corpus: Corpus) -> list[list[ScoredSpan]]:
        """The spans of each sentence, each with the probability that exactly this span has this label. Plain tags: each
        word is a span."""
        found: list[list[ScoredSpan]] = [[] for _ in corpus]
        chain = self.chain()
        for number, answer in self.read(corpus, "decisions"):
            found[number] = self._spans_in(answer, chain)
        return found

    def scored_words(self, corpus: Corpus) -> Iterator[tuple[int, list[ScoredSpan], list[float]]]:
        """Sentence numbers with their spans, and of each word the probability that it is in any span."""
        chain = self.chain()
        outside = chain.tags.index(OUTSIDE)
        for number, answer in self.read(corpus, "decisions"):
            yield number, self._spans_in(answer, chain), (1 - chain.marginals(answer[:, 2:])[:, outside]).tolist()

    def _spans_in(self, answer: NDArray[Any], chain: TagChain) -> list[ScoredSpan]:
        numbers, shares, scores = answer[:, 0].astype(np.int64), answer[:, 1], answer[:, 2:]
        tags = self.spell(numbers.tolist())
        if self.labels.kind == "plain":
            spans = [Span(word, word + 1, tag) for word, tag in enumerate(tags)]
            marginals = chain.marginals(scores)
            probabilities = [float(marginals[word, number]) for word, number in enumerate(numbers)]
        else:
            spans = spans_from_tags(tags)
            # where types have a head of their own, the chain knows bare spans
            bare = None if chain.tags == self.tags else chain.tags[-1].partition("-")[2]
            probabilities = chain.span_probabilities(scores, [Span(s.start, s.end, bare or s.label) for s in spans])
        pairs = zip(spans, probabilities, strict=True)
        return [ScoredSpan(s.start, s.end, s.label, share * float(shares[s.start])) for s, share in pairs]


def _is_missing(value: Any) -> bool:
    """None, or how numpy and pandas say it."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _entity(sentence: Sentence, span: ScoredSpan) -> Entity:
    assert sentence.text is not None
    assert sentence.offsets is not None
    start, end = sentence.offsets[span.start][0], sentence.offsets[span.end - 1][1]
    return Entity(span.label, sentence.text[start:end], start, end, span.score)
