"""The facts that rules decide on: what was given, and what was measured with and without an encoder.

The encoder shows how well it predicts the words of both corpora, and how well it tells their sentences apart. The
labels show what both sides have, how often, and which of the target's entities the source has.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from acclimate.analysis.features import Separability, domain_separability, feature_points
from acclimate.analysis.inspection.measures import PieceFigures, Surface, WordFigures, compare_pieces, within
from acclimate.data.corpus import Corpus
from acclimate.data.mapping import LabelMap, fitting_map, shared_labels, similar_names_of
from acclimate.data.sources import sizes_of
from acclimate.evaluation.counts import ratio
from acclimate.evaluation.seen import surface
from acclimate.methods.alignment.mmd import squared_mmd
from acclimate.model.encoders.shipped import CNN_LSTM, SHIPPED, EncoderNotFound
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import mlm_head_for
from acclimate.model.tagger import DEFAULT_ENCODER, Tagger
from acclimate.recipes.domain_tuning import Perplexity, perplexity
from acclimate.settings import UsageError

FEATURE_WORDS = 4_000  # of each corpus that the encoder reads for its features: seconds on two cores
LOSS_WORDS = 3_000  # and for its loss: some 500 hidden pieces, so that the mean is good to about 0.2
FEWEST = 4  # different sentences of each, to tell domains apart at all
SOURCE, TARGET = "source", "target"
Progress = Callable[[int, int], None]  # sentences read, of how many


@dataclass(frozen=True, slots=True)
class EncoderFigures:
    """What could not be measured is None, and `remarks` say why."""

    encoder: str
    pieces: PieceFigures
    losses: tuple[Perplexity, Perplexity] | None  # source, target
    separability: Separability | None
    mmd: float | None  # squared and unbiased, on features of sentences
    mmd_within: float | None  # the same between two halves of the source: what chance makes of it
    remarks: tuple[str, ...]

    @property
    def loss_gap(self) -> float | None:
        """How much harder the target's words are to guess, in nats per piece."""
        return None if self.losses is None else self.losses[1].loss - self.losses[0].loss

    def as_dict(self) -> dict[str, Any]:
        losses: dict[str, Any] | None = None
        if self.losses is not None:
            losses = {SOURCE: self.losses[0].as_dict(), TARGET: self.losses[1].as_dict(), "gap": self.loss_gap}
        return {
            "encoder": self.encoder,
            "pieces": asdict(self.pieces),
            "masked_words": losses,
            "separability": self.separability and self.separability.as_dict(),
            "squared_mmd": self.mmd,
            "squared_mmd_within_source": self.mmd_within,
            "remarks": list(self.remarks),
        }


def look_through(
    encoder: str, source: Corpus, samples: tuple[Corpus, Corpus], progress: Progress | None = None, seed: int = 0
) -> EncoderFigures:
    """Read a part of the samples. Nothing is trained, and no tag is looked at."""
    if encoder == CNN_LSTM:
        raise UsageError(
            f"{CNN_LSTM} knows nothing before it is trained, so there is nothing to look through: take the encoder "
            f"{SHIPPED[0]}, or another pre-trained one."
        )
    tagger = Tagger.build(encoder, labels=source.labels, seed=0)  # its head stays unused
    transformer = tagger.encoder
    assert isinstance(transformer, Transformer)
    featured = {name: within(part, FEATURE_WORDS) for name, part in zip((SOURCE, TARGET), samples, strict=True)}
    most = min(map(len, featured.values()))
    hidden = tuple(within(part, LOSS_WORDS) for part in samples)
    done, total = 0, 2 * most + sum(map(len, hidden))

    def advance(sentences: int) -> None:
        nonlocal done
        done += sentences
        if progress is not None:
            progress(done, total)

    remarks: list[str] = []
    losses = None
    try:
        mlm_head = mlm_head_for(transformer)
        if transformer.pieces.tokenizer.mask_token_id is None:
            raise EncoderNotFound(f"the tokenizer of {encoder} has no [MASK].")
        one, other = (perplexity(transformer, mlm_head, part, seed=seed, progress=advance) for part in hidden)
        losses = one, other
    except EncoderNotFound as problem:
        remarks.append(f"No loss on hidden words: {problem}")
    separability, mmd, mmd_within = None, None, None
    if min(len({sentence.words for sentence in part}) for part in featured.values()) < FEWEST:
        remarks.append(f"No distance between features: that takes {FEWEST} different sentences of each corpus.")
    else:
        points = feature_points(tagger, featured, "sentence", most, seed, advance)
        separability = domain_separability(points, seed)
        ours, theirs = (torch.from_numpy(points.of(name).points) for name in (SOURCE, TARGET))
        mmd = float(squared_mmd(ours, theirs, unbiased=True))
        mmd_within = float(squared_mmd(ours[::2], ours[1::2], unbiased=True))
    unknown = transformer.pieces.tokenizer.unk_token_id
    pieces = compare_pieces(samples, transformer.pieces.of_words, unknown)
    return EncoderFigures(encoder, pieces, losses, separability, mmd, mmd_within, tuple(remarks))


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
        by_new_name: dict[str, list[str]] = {}
        for label in self.counts:
            by_new_name.setdefault(names.get(label) or label, []).append(label)
        return by_new_name


@dataclass(frozen=True, slots=True)
class LabelSupport:
    """The source's labels, and the target's where labelled sentences are at hand."""

    source: dict[str, int]
    kind: str
    sentences: int  # of the source, that carry tags
    entity_length: float | None
    target: TargetLabels | None


def figures_of_sources(source: Corpus) -> tuple[SourceFigures, ...]:
    """Each source by itself; nothing of a single one that annotates all its labels."""
    names = sizes_of(source) or ({source.name: len(source)} if source.open_words else {})
    return tuple(
        SourceFigures.of(name, source.select(place for place, each in enumerate(source) if each.source in (name, None)))
        for name in names
    )


def label_support(source: Corpus, target: Corpus | None) -> LabelSupport:
    """`target`: labelled sentences of it, if there are any."""
    counts = dict(source.label_counts.most_common())
    target_support = None if target is None or not target.is_labelled else _of_target(source, target)
    return LabelSupport(counts, source.kind, len(source.labelled()), _entity_length(source), target_support)


def _of_target(source: Corpus, target: Corpus) -> TargetLabels:
    shared = shared_labels(source, target)
    lookalikes = similar_names_of(shared.only_target, source.labels)
    fitting = fitting_map(target, source.labels) if shared.only_target and target.kind == source.kind else None
    names = _names(lookalikes, fitting)
    mentions, known = _mentions(target), _mentions(source)
    strings = {string for string, _ in known}
    total = mentions.total()
    seen: Counter[str] = Counter()
    for (string, _), times in mentions.items():
        if string in strings:
            seen[string] += times
    same = sum(times for (string, label), times in mentions.items() if (string, names.get(label, label)) in known)
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


MAP_FILE = "labels.yaml"  # what a map of the user's own is called in the commands


@dataclass(frozen=True, slots=True)
class Given:
    """The corpora as they were typed, so that commands can be typed again. A source may have options behind it."""

    sources: tuple[str, ...] = ("news",)
    target: str = "social"
    target_labelled: str | None = None
    map_name: str | None = None  # a label map that the target was read with

    @property
    def source(self) -> str:
        """All sources in a heading."""
        return " + ".join(self.sources)

    @property
    def first_source(self) -> str:
        """For a command that takes one corpus."""
        return self.sources[0].split(",")[0]


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """One of several sources, or the only one if it does not annotate everything."""

    name: str
    sentences: int
    words: int
    counts: dict[str, int]
    hidden: dict[str, int]  # labels that nobody looked for, and how many words may hide each

    @classmethod
    def of(cls, name: str, corpus: Corpus) -> SourceFigures:
        counts, hidden = corpus.label_counts.most_common(), corpus.open_words.most_common()
        return cls(name, len(corpus), corpus.word_count, dict(counts), dict(hidden))


@dataclass(frozen=True, slots=True)
class Facts:
    given: Given
    source: Surface
    target: Surface
    words: WordFigures
    encoder: EncoderFigures
    labels: LabelSupport
    sources: tuple[SourceFigures, ...] = ()

    @property
    def has_few(self) -> bool:
        """Whether there are labelled target sentences to learn from. Tags of TARGET itself are not."""
        return self.given.target_labelled is not None

    @property
    def foreign(self) -> tuple[str, ...]:
        """Labels of the target that the source does not have, under any name."""
        target = self.labels.target
        if target is None or target.bundled_map is not None:
            return ()
        return tuple(label for label in target.only_target if label not in target.alike)

    @property
    def is_other_task(self) -> bool:
        """Whether nothing that the source teaches is among what the target wants."""
        target = self.labels.target
        if target is None:
            return False
        if target.kind != self.labels.kind:
            return True
        return bool(target.counts) and not target.both and len(self.foreign) == len(target.counts)

    @property
    def map_name(self) -> str | None:
        """The label map that the commands need."""
        target = self.labels.target
        if self.given.map_name is not None:
            return self.given.map_name
        if target is None or not target.only_target or target.kind != self.labels.kind:
            return None
        return target.bundled_map or (MAP_FILE if target.alike else None)

    def adapt(self, recipe: str, use_map: bool = True) -> str:
        """The command to type."""
        given = self.given
        words = ["acclimate", "adapt", *(word for name in given.sources for word in ("--source", name))]
        words += ["--target", given.target]
        if given.target_labelled is not None:
            words += ["--target-labelled", given.target_labelled]
        if use_map and self.map_name is not None:
            words += ["--map", self.map_name]
        if self.encoder.encoder != DEFAULT_ENCODER:
            words += ["--encoder", self.encoder.encoder]
        return shlex.join([*words, "--recipe", recipe])
