"""Which labels both sides have, how often, and which of the target's entities the source has shown already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.label_names import alike
from acclimate.data.mapping import LabelMap, fitting_map, shared_labels
from acclimate.evaluation.tally import ratio
from acclimate.evaluation.unseen import surface


@dataclass(frozen=True, slots=True)
class TargetLabels:
    """Labelled target sentences against the source. Figures of entities are None where tags are plain."""

    corpus: str
    sentences: int
    kind: str
    counts: dict[str, int]
    both: tuple[str, ...]
    only_source: tuple[str, ...]
    only_target: tuple[str, ...]
    mentions_seen: float | None  # share of the target's mentions whose string is an entity of the source
    mentions_same: float | None  # and under the same label, names mapped as suggested
    common: tuple[str, ...]  # the most frequent of these strings
    entity_length: float | None  # words
    alike: dict[str, str]  # a target label that only looks different, and the source's name for it
    bundled_map: str | None  # one that makes all target labels those of the source

    @property
    def own_names(self) -> dict[str, list[str]]:
        """The target's labels by the names that the source has for them; one that it has none for, by its own."""
        names = _names(self.alike, self.bundled_map)
        found: dict[str, list[str]] = {}
        for label in self.counts:
            found.setdefault(names.get(label) or label, []).append(label)
        return found

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LabelSupport:
    """The source's labels, and the target's where labelled sentences are at hand."""

    source: dict[str, int]
    kind: str
    sentences: int  # of the source, that carry tags
    entity_length: float | None
    target: TargetLabels | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def label_support(source: Corpus, target: Corpus | None) -> LabelSupport:
    """`target`: labelled sentences of it, if there are any."""
    counts = dict(source.label_counts.most_common())
    found = None if target is None or not target.is_labelled else _of_target(source, target)
    return LabelSupport(counts, source.kind, len(source.labelled()), _entity_length(source), found)


def _of_target(source: Corpus, target: Corpus) -> TargetLabels:
    shared = shared_labels(source, target)
    lookalikes = alike(shared.only_target, source.labels)
    fitting = fitting_map(target, source.labels) if shared.only_target and target.kind == source.kind else None
    names = _names(lookalikes, fitting)
    mentions, known = _mentions(target), _mentions(source)
    strings = {string for string, _ in known}
    total = mentions.total()
    seen: Counter[str] = Counter()
    for (string, _), count in mentions.items():
        seen[string] += count if string in strings else 0
    seen = +seen
    same = sum(count for (string, label), count in mentions.items() if (string, names.get(label, label)) in known)
    return TargetLabels(
        corpus=target.name,
        sentences=len(target.labelled()),
        kind=target.kind,
        counts=dict(target.label_counts.most_common()),
        both=shared.both,
        only_source=shared.only_source,
        only_target=shared.only_target,
        mentions_seen=ratio(seen.total(), total) if total else None,
        mentions_same=ratio(same, total) if total else None,
        common=tuple(string for string, _ in seen.most_common(5)),
        entity_length=_entity_length(target),
        alike=lookalikes,
        bundled_map=fitting,
    )


def _names(lookalikes: Mapping[str, str], bundled_map: str | None) -> Mapping[str, str | None]:
    return lookalikes if bundled_map is None else LabelMap.load(bundled_map)


def _mentions(corpus: Corpus) -> Counter[tuple[str, str]]:
    """How often each string is an entity of each label."""
    if corpus.kind == "plain":
        return Counter()
    return Counter((surface(sentence.words, span), span.label) for sentence in corpus for span in sentence.spans)


def _entity_length(corpus: Corpus) -> float | None:
    spans = [] if corpus.kind == "plain" else [span for sentence in corpus for span in sentence.spans]
    return ratio(sum(span.end - span.start for span in spans), len(spans)) if spans else None
