"""What is known of a source and a target before anything is trained: their text, how an encoder reads them, labels."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.features import Separability, domain_separability, feature_points
from acclimate.analysis.text_comparison import TextComparison
from acclimate.data.corpus import Corpus
from acclimate.data.mapping import LabelMap, fitting_map, shared_labels, similar_names_of
from acclimate.data.sources import sizes_of
from acclimate.evaluation.counts import ratio
from acclimate.evaluation.seen import surface
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
MAP_FILE = "labels.yaml"  # what a map of the user's own is called in the commands
Progress = Callable[[int, int], None]  # sentences read, of how many
Words = tuple[str, ...]

_LINK = re.compile(r"(https?://|www\.)\S", re.IGNORECASE)
_EMOJI = re.compile("[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf]")
_EMOTICON = re.compile(r"[:;=8]['-]?[()DPp/|3]+$|[()]['-]?[:;=]$|<3+$")
_CLOSING = "\"'”’»)]}`"
_ENDS = (".", "!", "?", "…", "。", "！", "？")

OF_SENTENCES: dict[str, Callable[[Words], bool]] = {
    "begin with a capital": lambda words: words[0][0].isupper(),
    "all in lower case": lambda words: "".join(words).islower(),
    "all in capitals": lambda words: "".join(words).isupper(),
    "end with . ! or ?": lambda words: "".join(words[-3:]).rstrip(_CLOSING).endswith(_ENDS),
    "with a link": lambda words: any(map(_LINK.match, words)),
    "with a user name": lambda words: any(re.match(r"@\w", word) for word in words),
    "with a hashtag": lambda words: any(re.match(r"#\w", word) for word in words),
    "with an emoji or emoticon": lambda words: any(_EMOJI.search(word) or _EMOTICON.match(word) for word in words),
}
OF_WORDS: dict[str, Callable[[str], bool]] = {
    "with a capital letter first": lambda word: word[0].isupper(),
    "in capitals": lambda word: len(word) > 1 and word.isalpha() and word.isupper(),
    "with a digit": lambda word: any(letter.isdigit() for letter in word),
    "other letters than A to Z": lambda word: any(letter.isalpha() and not letter.isascii() for letter in word),
}


def surface_shares(corpus: Corpus) -> dict[str, float]:
    """The share of sentences, and of words, with each feature that meets the eye: between 0 and 1."""
    counts = corpus.vocabulary
    shares = {
        f"sentences: {name}": ratio(sum(test(sentence.words) for sentence in corpus), len(corpus))
        for name, test in OF_SENTENCES.items()
    }
    for name, test in OF_WORDS.items():
        with_it = sum(count for word, count in counts.items() if test(word))
        shares[f"words: {name}"] = ratio(with_it, counts.total())
    return shares


@dataclass(frozen=True, slots=True)
class EncoderFigures:
    """What could not be measured is None, and `remarks` say why."""

    encoder: str
    pieces: tuple[float, float]  # per word of the source and of the target
    target_unknown: float  # share of the target's words with a piece that stands for anything unknown
    losses: tuple[Perplexity, Perplexity] | None  # source, target
    separability: Separability | None
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
            "pieces_per_word": dict(zip((SOURCE, TARGET), self.pieces, strict=True)),
            "target_unknown": self.target_unknown,
            "masked_words": losses,
            "separability": self.separability and self.separability.as_dict(),
            "remarks": list(self.remarks),
        }


def look_through(
    encoder: str, samples: tuple[Corpus, Corpus], progress: Progress | None = None, seed: int = 0
) -> EncoderFigures:
    """Read a part of both samples with the encoder. Nothing is trained, and no tag is looked at."""
    if encoder == CNN_LSTM:
        raise UsageError(
            f"{CNN_LSTM} knows nothing before it is trained, so there is nothing to look through: take the encoder "
            f"{SHIPPED[0]}, or another pre-trained one."
        )
    tagger = Tagger.build(encoder, labels=("ANY",), seed=0)  # its head stays unused
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
    losses = separability = None
    try:
        mlm_head = mlm_head_for(transformer)
        if transformer.pieces.tokenizer.mask_token_id is None:
            raise EncoderNotFound(f"the tokenizer of {encoder} has no [MASK].")
        one, other = (perplexity(transformer, mlm_head, part, seed=seed, progress=advance) for part in hidden)
        losses = one, other
    except EncoderNotFound as problem:
        remarks.append(f"No loss on hidden words: {problem}")
    if min(len({sentence.words for sentence in part}) for part in featured.values()) < FEWEST:
        remarks.append(f"No distance between features: that takes {FEWEST} different sentences of each corpus.")
    else:
        separability = domain_separability(feature_points(tagger, featured, "sentence", most, seed, advance), seed)
    unknown = transformer.pieces.tokenizer.unk_token_id
    of_source, of_target = (piece_shares(part.vocabulary, transformer.pieces.of_words, unknown) for part in samples)
    pieces = of_source[0], of_target[0]
    return EncoderFigures(encoder, pieces, of_target[1], losses, separability, tuple(remarks))


def within(corpus: Corpus, words: int) -> Corpus:
    """The first sentences that have so many words together at most, and at least one sentence."""
    total = 0
    for number, sentence in enumerate(corpus):
        total += len(sentence)
        if total > words and number:
            return corpus[:number]
    return corpus


def piece_shares(
    counts: Mapping[str, int], pieces_of: Callable[[Sequence[str]], list[list[int]]], unknown: int | None
) -> tuple[float, float]:
    """Pieces per running word, and the share of words with an unknown piece."""
    rows = list(zip(pieces_of(list(counts)), counts.values(), strict=True))
    words = sum(counts.values())
    pieces = sum(len(own) * count for own, count in rows)
    return ratio(pieces, words), ratio(sum(count for own, count in rows if unknown in own), words)


@dataclass(frozen=True, slots=True)
class TargetLabels:
    """Labelled target sentences against the source."""

    corpus: str
    sentences: int
    kind: str
    counts: dict[str, int]
    both: tuple[str, ...]
    only_source: tuple[str, ...]
    only_target: tuple[str, ...]
    mentions_seen: float | None  # share of mentions whose string is an entity of the source; None for plain tags
    alike: dict[str, str]  # a target label that only looks different, and the source's name for it
    bundled_map: str | None  # one that makes all target labels those of the source

    @property
    def own_names(self) -> dict[str, list[str]]:
        """The target's labels by the names that the source has for them; one that it has none for, by its own."""
        names = self.alike if self.bundled_map is None else LabelMap.load(self.bundled_map)
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
    target: TargetLabels | None

    @classmethod
    def of(cls, source: Corpus, target: Corpus | None) -> LabelSupport:
        counts = dict(source.label_counts.most_common())
        of_target = None if target is None or not target.is_labelled else _of_target(source, target)
        return cls(counts, source.kind, len(source.labelled()), of_target)


def _of_target(source: Corpus, target: Corpus) -> TargetLabels:
    shared = shared_labels(source, target)
    known, mentions = set(_mentions(source)), _mentions(target)
    is_mappable = shared.only_target and target.kind == source.kind
    return TargetLabels(
        corpus=target.name,
        sentences=len(target.labelled()),
        kind=target.kind,
        counts=dict(target.label_counts.most_common()),
        both=shared.both,
        only_source=shared.only_source,
        only_target=shared.only_target,
        mentions_seen=ratio(sum(mention in known for mention in mentions), len(mentions)) if mentions else None,
        alike=similar_names_of(shared.only_target, source.labels),
        bundled_map=fitting_map(target, source.labels) if is_mappable else None,
    )


def _mentions(corpus: Corpus) -> list[str]:
    if corpus.kind == "plain":
        return []
    return [surface(sentence.words, span) for sentence in corpus for span in sentence.spans]


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """One of several sources, or the only one if it does not annotate everything."""

    name: str
    sentences: int
    words: int
    counts: dict[str, int]
    hidden: dict[str, int]  # labels that nobody looked for, and how many words may hide each


def figures_of_sources(source: Corpus) -> tuple[SourceFigures, ...]:
    """Each source by itself; nothing of a single one that annotates all its labels."""
    names = sizes_of(source) or ({source.name: len(source)} if source.open_words else {})
    figures = []
    for name in names:
        own = source.select(place for place, each in enumerate(source) if each.source in (name, None))
        counts, hidden = dict(own.label_counts.most_common()), dict(own.open_words.most_common())
        figures.append(SourceFigures(name, len(own), own.word_count, counts, hidden))
    return tuple(figures)


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


@dataclass(frozen=True, slots=True)
class Facts:
    given: Given
    text: TextComparison
    surface: tuple[dict[str, float], dict[str, float]]  # of the source and of the target
    encoder: EncoderFigures
    labels: LabelSupport
    sources: tuple[SourceFigures, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "given": {"source": self.given.source, **asdict(self.given)},
            "sources": [asdict(each) for each in self.sources],
            "text": self.text.as_dict(),
            "surface": dict(zip((SOURCE, TARGET), self.surface, strict=True)),
            "encoder": self.encoder.as_dict(),
            "labels": asdict(self.labels),
        }

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
