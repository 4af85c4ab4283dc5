"""The tagger: an encoder, a layer of scores, and a head that turns scores into tags."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import torch
from numpy.typing import NDArray
from pydantic import ConfigDict
from torch import Tensor, nn

import acclimate
from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Corpus, Kind, LabelSet, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import OUTSIDE, Scheme
from acclimate.evaluation.seen import Vocabulary as SeenWords
from acclimate.layout import COMPACT
from acclimate.model.card import CARD, read_origin, tagger_card
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm, CharacterCnnLstmSettings
from acclimate.model.encoders.encoder import Encoder
from acclimate.model.encoders.shipped import CNN_LSTM, SHIPPED, EncoderNotFound
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.heads.entity_heads import (
    EntityLayer,
    EntitySettings,
    detected_labels,
    require_entities,
    span_types,
)
from acclimate.model.heads.legal_chain import TagChain
from acclimate.model.heads.tag_heads import HeadName, SourceHeads, build_head
from acclimate.model.learner import GoldTags, Learner, Sentences, View, eval_mode
from acclimate.model.parts import WORDS_PER_BATCH, Progress, read_in_parts
from acclimate.model.shipped import resolved_tagger
from acclimate.model.storage import (
    StorageError,
    atomic_folder,
    read_json,
    read_sealed_json,
    read_tensors,
    verify,
    write_json,
    write_tensors,
)
from acclimate.model.text_tagger import TextTagger, What
from acclimate.settings import S, Settings, SettingsError, complete

DEFAULT_ENCODER = SHIPPED[0]  # of `Tagger.build` and of the command line
_DESCRIPTION, _WEIGHTS, _SEEN = "tagger.json", "weights.safetensors", "seen.json"
_KEPT_BY_ENCODER = ("encoder.model.", "encoder.context.model.")  # weights in a folder of their own
_NEW_BELOW_OUTSIDE = 2.0  # how far a new tag scores below O, in nats: never chosen, and close enough to be learnt


class _Crf(Settings):
    boundary_scores: bool
    constrain_training: bool


class _Description(Settings):
    """The description in a saved tagger's folder."""

    model_config = ConfigDict(extra="ignore")

    encoder: Literal["transformer", "character-cnn-lstm"]
    encoder_description: dict[str, Any]
    head: HeadName
    crf: _Crf
    entities: EntitySettings | None = None
    labels: tuple[str, ...]
    kind: Kind
    scheme: Scheme


class Tagger(TextTagger, Learner):
    """Tags words. Build one with `Tagger.build`, train it with `adapt`, keep it with `save` and `Tagger.load`."""

    def __init__(
        self,
        encoder: Encoder,
        labels: LabelSet,
        head: HeadName = "crf",
        scheme: Scheme = "IOB2",
        *,
        boundary_scores: bool = False,
        constrain_training: bool = False,
        entities: EntitySettings | None = None,
    ) -> None:
        super().__init__()
        if not len(labels):
            raise InputError("a tagger needs at least one label; the training text has none.")
        self.encoder, self.labels, self.head_name, self.scheme = encoder, labels, head, scheme
        self.card: str | None = None  # of these weights; forgotten when they are trained
        self._kept_card: str | None = None  # as it was loaded
        self._kept_seen: Any = None
        self.tags = labels.tags(scheme)
        self._gold_tags = GoldTags(labels, scheme)
        self.hidden_odds = 1.0  # of a label that nobody looked for, beside O; set before training
        self.crf = {"boundary_scores": boundary_scores, "constrain_training": constrain_training}
        self._set_heads(entities)

    @classmethod
    def build(
        cls,
        encoder: str | Path = DEFAULT_ENCODER,
        *,
        labels: LabelSet | Iterable[str],
        head: HeadName = "crf",
        scheme: Scheme | None = None,
        text: Corpus | None = None,
        more_text: Corpus | None = None,
        seed: int | None = None,
        boundary_scores: bool = False,
        constrain_training: bool = False,
        **options: Any,
    ) -> Tagger:
        """A new tagger.

        `encoder` is `acclimate-mini`, `character-cnn-lstm`, or a Hugging Face model by name or folder. Only
        `character-cnn-lstm` needs `text`, for its vocabulary. `seed` fixes the first weights. `boundary_scores` and
        `constrain_training` are the CRF's. `options` are the encoder's own settings.
        """
        if seed is not None:
            torch.manual_seed(seed)
        crf: dict[str, Any] = {"boundary_scores": boundary_scores, "constrain_training": constrain_training}
        labels = LabelSet.of(labels)
        if encoder == CNN_LSTM:
            if text is None:
                raise ValueError(f"{CNN_LSTM} needs text=..., the corpus to take its vocabulary from.")
            settings = _encoder_settings(CharacterCnnLstmSettings, options, encoder)
            return cls(CharacterCnnLstm.build(settings, text, more_text), labels, head, scheme or "BIOES", **crf)
        transformer = Transformer.build(encoder, _encoder_settings(TransformerSettings, options, encoder))
        return cls(transformer, labels, head, scheme or "IOB2", **crf)

    def _set_heads(self, entities: EntitySettings | None) -> None:
        """New heads on the encoder."""
        if entities is not None:
            require_entities(entities, self.labels, self.scheme)
        self.entities = entities
        detected = self._detected_labels()
        self.scores = self._score_layer(len(detected.tags(self.scheme)))
        self.head = build_head(self.head_name, detected, self.scheme, self.crf)
        self.source_heads: SourceHeads | None = None  # in training on several sources
        self.types = None
        if entities is not None:
            shape = self.encoder.width, self.labels, self.scheme, self.encoder.vocabulary_size
            self.types = span_types(entities, *shape)

    def _detected_labels(self) -> LabelSet:
        """The labels of the tags that words are scored for."""
        return self.labels if self.entities is None else detected_labels(self.entities, self.labels)

    def _score_layer(self, tag_count: int) -> nn.Module:
        width = self.encoder.width
        if self.entities is None:
            return nn.Linear(width, tag_count)
        options = self.entities.extra, self.entities.width, self.entities.dropout
        return EntityLayer(width, tag_count, *options, self.encoder.vocabulary_size)

    def find_entities(self, entities: EntitySettings) -> None:
        """Replace the heads by those of MSLM, which find entities first and then type them."""
        if self.source_heads is not None:
            raise InputError("a head for each source does not fit heads that find entities first: leave one out.")
        device = self.device
        self._set_heads(entities)
        self.to(device)

    def add_source_heads(self, sources: Sequence[str]) -> None:
        """Learn what is special to each source in a layer of its own, until `drop_source_heads`."""
        if self.entities is not None:
            raise InputError("a head for each source does not fit heads that find entities first: leave one out.")
        self.source_heads = SourceHeads(sources, self.encoder.width, len(self.tags)).to(self.device)

    def drop_source_heads(self) -> None:
        self.source_heads = None

    def tensorize(self, sentences: Sequence[Sentence]) -> Sentences:
        """Sentences as tensors, tags included where they have any."""
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)  # (sentence, word)
        tags, odds, soft = self._gold_tags.tensors(sentences, mask, self.hidden_odds)
        labelled = torch.tensor([sentence.tags is not None for sentence in sentences])
        known = mask & labelled.unsqueeze(1)
        if odds is not None:
            known &= (odds > 0).sum(-1) == 1
        return Sentences(
            originals=tuple(sentences),
            inputs=self.encoder.tensorize(sentences),
            mask=mask,
            tags=tags,
            labelled=labelled,
            numbers=tags.masked_fill(~known, -1),
            odds=odds,
            soft=soft,
        )

    def view(self, part: Sequence[Sentence], domain: str = SOURCE) -> View:
        sentences = self.tensorize(part).to(self.device)
        return View(self, sentences.reading(self.encoder.drawn(sentences.inputs)) if self.training else sentences)

    def split(self, shared: int | None = None, private: int | None = None) -> None:
        """Split the last layer of the encoder into a shared and a private one, with a new layer of scores."""
        if self.entities is not None:
            raise InputError("an encoder under entity heads cannot be split: split it first.")
        if self.source_heads is not None:
            raise InputError("an encoder under a head for each source cannot be split: leave sources.heads out.")
        self.encoder.split(shared, private)
        self.scores = self._score_layer(len(self.tags)).to(self.device)

    def sibling(self, labels: LabelSet, encoder: Encoder, *, share_head: bool = False) -> Tagger:
        """A tagger for other labels on this encoder or its sibling; or for the same labels with the same head."""
        if share_head and labels != self.labels:
            raise InputError(
                f"one CRF for both domains needs the same labels in both, not {', '.join(labels)} "
                f"and {', '.join(self.labels)}."
            )
        other = Tagger(encoder, labels, self.head_name, self.scheme, **self.crf, entities=self.entities)
        other.to(self.device)
        other.hidden_odds = self.hidden_odds
        if share_head:
            other.head = self.head
        return other

    def with_labels(self, labels: Iterable[str]) -> Tagger:
        """A copy with more labels, whose answers are the same until it has learnt them."""
        union = LabelSet.of((*self.labels, *labels), self.labels.kind)
        if set(union) == set(self.labels):
            return copy.deepcopy(self)
        if union.kind == "plain" or self.entities is not None:
            what = "tags of every word" if union.kind == "plain" else "heads that find entities first"
            raise InputError(f"a tagger with {what} cannot learn new labels. Train a new one (recipe target-only).")
        other = self.sibling(union, copy.deepcopy(self.encoder))
        other._copy_weights(self)
        other.seen, other.origin = self.seen, self.origin
        return other.train(self.training)

    @torch.no_grad()
    def _copy_weights(self, known: Tagger) -> None:
        """Those of the scores and the head of a tagger with fewer labels. New tags start from O, with a lower score."""
        old = {tag: number for number, tag in enumerate(known.tags)}
        rows = torch.tensor([old.get(tag, old[OUTSIDE]) for tag in self.tags])
        is_new = torch.tensor([tag not in old for tag in self.tags])
        for ours, theirs in ((self.scores, known.scores), (self.head, known.head)):
            weights = dict(theirs.named_parameters())
            for name, weight in ours.named_parameters():
                taken = weights[name].cpu()[rows]
                weight.copy_(taken[:, rows] if name == "transitions" else taken)
                if name == "bias":
                    weight[is_new] -= _NEW_BELOW_OUTSIDE

    @cached_property
    def seen(self) -> SeenWords | None:  # type: ignore[override]  # it can be set all the same
        """Its training text, for scores of seen and unseen words."""
        return None if self._kept_seen is None else SeenWords.from_dict(self._kept_seen)

    @cached_property
    def origin(self) -> str | None:
        """The card of the tagger that it began with, and the terms of its text."""
        return read_origin(self._kept_card)

    @property
    def on_gpu(self) -> bool:
        return self.device.type != "cpu"

    def read(
        self, corpus: Corpus, what: What, words_per_batch: int = WORDS_PER_BATCH, progress: Progress | None = None
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        for number, row in answers(self, corpus, QUESTIONS[what], words_per_batch, progress):
            yield number, row.numpy()

    def chain(self) -> TagChain:
        tags = self._detected_labels().tags(self.scheme)
        return TagChain.of(tags, *(scores.detach().cpu().numpy() for scores in self.head.legal_scores()))

    def save(self, folder: str | Path, **documents: str | bytes) -> None:
        """Write the tagger with checksums. `documents` are more files by name (a run's settings and report)."""
        with atomic_folder(folder) as aside:
            self._write(aside)
            for name, document in {CARD: self.card or tagger_card(self), **documents}.items():
                (aside / name).write_bytes(document if isinstance(document, bytes) else document.encode())

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device = "cpu") -> Self:
        """A tagger that `save` wrote, or one of the package by name. Checksums are checked."""
        folder = resolved_tagger(folder)
        listed = verify(folder)
        if _DESCRIPTION not in listed and COMPACT in listed:
            raise StorageError(f"{folder}: a compact tagger. Load it with CompactTagger.load.")
        try:
            return cls._read(folder, listed).to(device).eval()
        except StorageError:
            raise
        except EncoderNotFound as refusal:
            raise StorageError(str(refusal)) from None
        except (KeyError, TypeError, ValueError, OSError, RuntimeError) as failure:
            raise StorageError(f"{folder}: not a tagger this version can read ({failure}).") from failure

    def _write(self, folder: Path) -> None:
        write_json(
            folder / _DESCRIPTION,
            {
                "acclimate": acclimate.__version__,
                "encoder": "transformer" if isinstance(self.encoder, Transformer) else CNN_LSTM,
                "encoder_description": self.encoder.description(),
                "head": self.head_name,
                "crf": self.crf,
                "entities": None if self.entities is None else self.entities.model_dump(mode="json"),
                "labels": list(self.labels.names),
                "kind": self.labels.kind,
                "scheme": self.scheme,
            },
        )
        if self.seen is not None:
            write_json(folder / _SEEN, self.seen.as_dict())
        self.encoder.save_extras(folder)
        weights = self.state_dict().items()
        write_tensors(
            folder / _WEIGHTS, {name: tensor for name, tensor in weights if not name.startswith(_KEPT_BY_ENCODER)}
        )

    @classmethod
    def _read(cls, folder: Path, listed: Collection[str]) -> Self:
        description = complete(_Description, read_json(folder / _DESCRIPTION), where=_DESCRIPTION)
        labels, entities = LabelSet(description.labels, description.kind), description.entities
        kind = Transformer if description.encoder == "transformer" else CharacterCnnLstm
        with torch.random.fork_rng(devices=[]):  # building draws weights
            make_encoder = kind.from_description(description.encoder_description, folder)
            weights = read_tensors(folder / _WEIGHTS)
            _require_sizes(make_encoder, labels, entities, weights, folder)
            make = {**description.crf.model_dump(), "entities": entities}
            tagger = cls(make_encoder(), labels, description.head, description.scheme, **make)
        _require_fit(tagger.state_dict(), weights, folder)
        tagger.load_state_dict(weights, strict=False)
        tagger._kept_seen = read_sealed_json(folder / _SEEN) if _SEEN in listed else None
        card = folder / CARD
        tagger.card = tagger._kept_card = card.read_text(encoding="utf-8") if card.is_file() else None
        return tagger


def _encoder_settings(kind: type[S], options: Mapping[str, Any], encoder: str | Path) -> S:
    """The encoder's own settings; an option of the LSTM on another encoder gets an error of its own."""
    forgotten = [name for name in options if name in CharacterCnnLstmSettings.model_fields.keys() - kind.model_fields]
    if forgotten:
        raise SettingsError(
            f"encoder options: {encoder} has no {', '.join(forgotten)}; {CNN_LSTM} has. "
            f"Name it (encoder={CNN_LSTM!r}), or leave such options out."
        )
    return complete(kind, options, where="encoder options")


def _require_sizes(
    make_encoder: Callable[[], Encoder],
    labels: LabelSet,
    entities: EntitySettings | None,
    weights: Mapping[str, Tensor],
    folder: Path,
) -> None:
    """Compare sizes before memory is taken: a changed description may ask for any amount."""
    with torch.device("meta"):
        wanted = {f"encoder.{name}": weight for name, weight in make_encoder().state_dict().items()}
    found = {name: weight for name, weight in weights.items() if name.startswith("encoder.")}
    _require_fit(wanted, found, folder)
    widest = max((size for weight in weights.values() for size in weight.shape), default=0)
    heads = [len(labels)] if entities is None else [len(labels), entities.width, entities.type_width]
    if max(heads) > widest:
        raise StorageError(f"{folder}: weights do not fit the tagger; its heads are {max(heads)} wide.")


def _require_fit(wanted: Mapping[str, Tensor], weights: Mapping[str, Tensor], folder: Path) -> None:
    """Refuse missing, unknown and misshapen weights."""
    own = {name: weight for name, weight in wanted.items() if not name.startswith(_KEPT_BY_ENCODER)}
    missing, unexpected = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    if missing or unexpected:
        raise StorageError(f"{folder}: weights do not fit the tagger; missing {missing}, unknown {unexpected}.")
    for name, weight in own.items():
        if weights[name].shape != weight.shape:
            sizes = f"{list(weights[name].shape)}, but {list(weight.shape)} by {_DESCRIPTION}"
            raise StorageError(f"{folder / _WEIGHTS}: weights do not fit the tagger; {name} is {sizes}.")


def read_seen(folder: str | Path) -> SeenWords | None:
    """The training text of a saved tagger, without loading the tagger."""
    place = Path(folder) / _SEEN
    return SeenWords.from_dict(read_sealed_json(place)) if place.exists() else None


def answers(
    tagger: Tagger,
    corpus: Corpus,
    ask: Callable[[View], Tensor],
    words_per_batch: int = WORDS_PER_BATCH,
    progress: Progress | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """The answers of `ask` on the CPU: sentence numbers and (word, ...), in the order of batches. It takes a view in
    evaluation mode without gold tags. Several threads may use one tagger."""

    def answer(part: list[Sentence]) -> Tensor:
        with eval_mode(tagger), torch.inference_mode():
            return ask(tagger.view(part)).cpu()

    most = words_per_batch
    if tagger.device.type == "cpu" and tagger.encoder.pieces is not None:
        most = min(most, tagger.encoder.pieces_at_once)
    return read_in_parts(tagger.encoder.pieces, corpus.unlabelled(), answer, torch.cat, most, progress)


QUESTIONS: dict[What, Callable[[View], Tensor]] = {
    "tags": lambda view: view.decoded,
    "confidences": lambda view: view.marginals.gather(-1, view.decoded.unsqueeze(-1)).squeeze(-1),
    "probabilities": lambda view: view.marginals.float(),
    "decisions": lambda view: torch.cat(
        [view.decoded.unsqueeze(-1), view.type_probabilities.unsqueeze(-1), view.scores.float()], -1
    ),
}
