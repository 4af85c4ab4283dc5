"""Findings of the data check and their report; counts of one corpus that all checks share."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from acclimate.data.corpus import Corpus
from acclimate.data.schemes import Span, looks_like_span_tag
from acclimate.data.words import bare_text
from acclimate.spelling import argument, count, either


def share(count: int, total: int) -> float:
    return count / total if total else 0.0


def percent(count: int, total: int) -> str:
    return f"{100 * share(count, total):.1f} %"


def out_of(count: int, total: int) -> str:
    return f"{count:,} ({percent(count, total)})"


def listed(counts: Mapping[str, int]) -> str:
    return named([f"{name} {count:,}" for name, count in counts.items()])


def named(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


Severity = Literal["error", "warning", "fact"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "fact")  # the worst first

ADVICE = {
    "empty": "Look at the file and at how it was read.",
    "no-labels": "Is it the right tag column?",
    "partly-tagged": "Only those with tags are learnt from; the others may serve as unlabelled text.",
    "repaired-tags": "A few are slips of annotation; many mean that the scheme was guessed wrong: name it.",
    "skipped-lines": "Mend them in the file.",
    "border-misses": "Where they are many, check the offsets of the export.",
    "no-span-tags": "Read it with {plain}, or choose another tag column.",
    "span-tags": "Read it with {spans}.",
    "parts-of-speech": "Right for part-of-speech tagging; if entities were meant, choose another tag column.",
    "kinds-differ": "They are two tasks: keep them apart, or read both from the same column.",
    "duplicates": "They count double in training and in scores; split() keeps equal sentences in one part.",
    "tagged-unlike": "One of the annotations at most can be right.",
    "open-words": "They teach nothing of these labels, and no score blames a tagger for what it finds there.",
    "very-few-examples": "Too few to learn from or to score: annotate more, join labels with a map, or drop them.",
    "few-examples": "Their scores will swing from seed to seed: annotate more, or join labels with a map.",
    "no-empty-sentence": "A tagger learns to find something everywhere: add sentences without, as the text of use has.",
    "long-sentences": "Often a sentence break is missing. They are read in windows, which costs memory and context.",
    "one-word-sentences": "Headings teach little; very many may mean that blank lines stand between the words.",
    "mentions-at-odds": "Some names are ambiguous, the rest are slips of annotation: read the examples.",
    "odd-borders": "Exact-match scores hang on borders: decide on a rule and keep to it.",
    "long-spans": "Read them: often two spans in one, or a missing O.",
    "io-tags": "Names in a row are glued together: compare scores with other corpora with care.",
    "perhaps-io-tags": "In IO tags names in a row are one span: look at the original, compare scores with care.",
    "glued-tags": "A separator is missing in the file: mend the line.",
    "invisible-characters": "Remove or normalise them: to a model they make another word of the same letters.",
    "broken-encoding": "The text was decoded wrongly at some time: read it as UTF-8, or get another copy.",
    "long-words": "Is a blank missing?",
    "urls": "One placeholder for all of them makes the vocabulary smaller.",
    "lower-cased": "Capitals are a strong sign of names: use an uncased model, or train on text of the same case.",
    "upper-cased": "Capitals say nothing here: use an uncased model, or train on text of the same case.",
    "shared-sentences": "Scores on them measure memory: take them out of the other text, or score the rest apart.",
    "labels-missing-in-training": "They cannot be learned and always count as missed: map the labels by name "
    "({map}), or compare spans alone ({typeless}).",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. `code` is stable, for scripts; `numbers` are the figures of the message."""

    severity: Severity
    code: str
    about: str
    message: str
    examples: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def advice(self) -> str:
        """What to do about it; empty where there is nothing to be done."""
        return ADVICE.get(self.code, "").format(
            plain=argument("labels", "plain"),
            spans=argument("labels", "spans"),
            map=either("map_labels", argument("map", ...)),
            typeless=either("typeless", argument("typeless", True)),
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """One corpus in figures. `without_tags` and `without_spans` are shares of its sentences."""

    name: str
    sentences: int
    words: int
    kind: str
    labels: Mapping[str, int]
    without_tags: float
    without_spans: float
    scheme: str | None
    repaired: int
    skipped: int
    border_misses: int


@dataclass(frozen=True, slots=True)
class Report:
    """What `check_corpora` found, the worst first."""

    corpora: tuple[Summary, ...]
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Severity | None:
        return self.findings[0].severity if self.findings else None

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries and numbers, ready for JSON."""
        findings = [{**asdict(finding), "advice": finding.advice} for finding in self.findings]
        return {"worst": self.worst, "corpora": [asdict(one) for one in self.corpora], "findings": findings}

    def render(self) -> str:
        """The report as text for people: figures, then the findings by kind, the worst first."""
        counts = Counter(finding.severity for finding in self.findings)
        lines = [
            f"Data check: {', '.join(count(counts[name], name) for name in SEVERITIES)}",
            "",
            *_table(self.corpora),
        ]
        for severity in SEVERITIES:
            lines += ["", f"{severity.upper()}S"] if counts[severity] else []
            by_code: dict[str, list[Finding]] = {}
            for finding in self.findings:
                if finding.severity == severity:
                    by_code.setdefault(finding.code, []).append(finding)
            lines += [line for same in by_code.values() for line in _paragraph(same)]
        return "\n".join(lines)


def _table(summaries: Iterable[Summary]) -> list[str]:
    rows = [("corpus", "sentences", "words", "spans", "no span", "no tags", "scheme", "repaired", "skipped", "missed")]
    labels = []
    for one in summaries:
        spans = (f"{sum(one.labels.values()):,}", f"{one.without_spans:.0%}") if one.kind == "spans" else ("-", "-")
        notes = (one.scheme or "-", f"{one.repaired:,}", f"{one.skipped:,}", f"{one.border_misses:,}")
        rows.append((one.name, f"{one.sentences:,}", f"{one.words:,}", *spans, f"{one.without_tags:.0%}", *notes))
        labels.append(f"  {one.name}: {listed(one.labels) or 'none'}")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return [lines[0], "─" * len(lines[0]), *lines[1:], "", "LABELS", *labels]


def _paragraph(findings: Sequence[Finding]) -> Iterator[str]:
    """Findings of one code, with the advice once."""
    yield f"  {findings[0].code}" + (f" → {findings[0].advice}" if findings[0].advice else "")
    for finding in findings:
        yield f"    • {finding.about}: {finding.message}"
        if finding.examples:
            yield f"        {' | '.join(finding.examples)}"


_ROLES = {
    "training": {"train", "training", "source"},
    "held out": {"dev", "devel", "development", "val", "valid", "validation", "eval", "test", "testa", "testb"},
}


class CorpusStatistics:
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
        if self.kind == "plain":
            return Counter(tag for sentence in self.corpus for tag in sentence.tags or ())
        return Counter(span.label for spans in self.spans for span in spans)

    @cached_property
    def mentions(self) -> dict[str, Counter[str]]:
        """The text of each span, and how often it has which label."""
        mentions: dict[str, Counter[str]] = defaultdict(Counter)
        for words, label in self.each_span():
            mentions[" ".join(words)][label] += 1
        return mentions

    def each_span(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Its words and its label."""
        for sentence, spans in zip(self.corpus, self.spans, strict=True):
            for span in spans:
                yield sentence.words[span.start : span.end], span.label

    @property
    def severity_of_few(self) -> Severity:
        """How bad too few examples are."""
        return "fact" if self.role == "held out" else "warning"

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
