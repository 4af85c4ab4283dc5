"""Findings of the data check, what to do about each, and their report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from acclimate.spelling import argument, count, either

_MOST_NAMED = 12


def share(count: int, total: int) -> float:
    return count / total if total else 0.0


def out_of(count: int, total: int) -> str:
    return f"{count:,} ({100 * share(count, total):.1f} %)"


def listed(counts: Mapping[str, int]) -> str:
    return named([f"{name} {count:,}" for name, count in counts.items()])


def named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


Severity = Literal["error", "warning", "fact"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "fact")  # the worst first

ADVICE = {
    "empty": "Look at the file and at how it was read.",
    "no-labels": "Is it the right tag column?",
    "partly-tagged": "Only those with tags are learnt from; the others may serve as unlabelled text.",
    "repaired-tags": "A few are slips of annotation; many mean that another column holds the tags.",
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
    "long-sentences": "Often a sentence break is missing. They are read in windows, which costs memory and context.",
    "mentions-at-odds": "Some names are ambiguous, the rest are slips of annotation: read the examples.",
    "long-spans": "Read them: often two spans in one, or a missing O.",
    "io-tags": "Names in a row are glued together: compare scores with other corpora with care.",
    "perhaps-io-tags": "In IO tags names in a row are one span: look at the original, compare scores with care.",
    "glued-tags": "A separator is missing in the file: mend the line.",
    "invisible-characters": "Remove or normalise them: to a model they make another word of the same letters.",
    "broken-encoding": "The text was decoded wrongly at some time: read it as UTF-8, or get another copy.",
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
            found = [finding for finding in self.findings if finding.severity == severity]
            for code in dict.fromkeys(finding.code for finding in found):
                lines += _paragraph([finding for finding in found if finding.code == code])
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
