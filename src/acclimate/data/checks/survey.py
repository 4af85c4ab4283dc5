"""One corpus, counted through once for all the checks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property

from acclimate.data.checks.report import Summary
from acclimate.data.checks.wording import share
from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span, looks_like_span_tag
from acclimate.data.subsets import bare_text

_ROLES = {
    "training": {"train", "training", "source"},
    "held out": {"dev", "devel", "development", "val", "valid", "validation", "eval", "test", "testa", "testb"},
}


class Survey:
    """Counts and sets of one corpus. Its role is read from its name; what it is not asked for is not counted."""

    def __init__(self, name: str, corpus: Corpus):
        self.name, self.corpus, self.size = name, corpus, len(corpus)
        parts = set(re.split(r"[^a-z]+", name.lower()))
        self.role = next((role for role, names in _ROLES.items() if parts & names), "other")
        tags = {tag for sentence in corpus for tag in sentence.tags or ()}
        self.misfits = sorted(tag for tag in tags if not looks_like_span_tag(tag)) if corpus.kind == "spans" else []
        self.kind = "plain" if self.misfits else corpus.kind  # a corpus that says it has spans may be mistaken
        self.tagged = sum(sentence.tags is not None for sentence in corpus)
        self.texts = [bare_text(sentence.words) for sentence in corpus]
        self.exact_set, self.text_set = {sentence.words for sentence in corpus}, set(self.texts)

    @cached_property
    def spans(self) -> list[list[Span]]:
        return [sentence.spans if self.kind == "spans" else [] for sentence in self.corpus]

    @cached_property
    def labels(self) -> Counter[str]:
        """How often each label occurs; not `corpus.label_counts`, which would find all the spans again."""
        if self.kind == "plain":
            return Counter(tag for sentence in self.corpus for tag in sentence.tags or ())
        return Counter(span.label for spans in self.spans for span in spans)

    @cached_property
    def mentions(self) -> dict[str, Counter[str]]:
        """The text of each span, and how often it has which label."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for words, label in self.each_span():
            found[" ".join(words)][label] += 1
        return found

    def each_span(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Its words and its label."""
        for sentence, spans in zip(self.corpus, self.spans, strict=True):
            for span in spans:
                yield sentence.words[span.start : span.end], span.label

    @property
    def span_count(self) -> int:
        return self.labels.total() if self.kind == "spans" else 0

    @cached_property
    def without_spans(self) -> int:
        """Tagged sentences in which nothing is labelled."""
        tagged_bare = sum(not spans for spans in self.spans) - (self.size - self.tagged)
        return tagged_bare if self.kind == "spans" else 0

    @property
    def summary(self) -> Summary:
        notes = self.corpus.notes
        return Summary(
            name=self.name,
            sentences=self.size,
            words=self.corpus.word_count,
            kind=self.kind if self.tagged else "no tags",
            labels=dict(self.labels.most_common()),
            without_tags=share(self.size - self.tagged, self.size),
            without_spans=share(self.without_spans, self.size),
            scheme=notes.scheme,
            repaired=notes.repaired,
            skipped=len(notes.skipped),
            border_misses=len(notes.border_misses),
        )
