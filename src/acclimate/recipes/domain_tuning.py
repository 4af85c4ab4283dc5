"""Domain tuning: continue masked-language-model training on text of both domains (Vu, Phung, Haffari 2020). The recipe
adversarial-masking tunes the encoder, with a learned adversary or another masking policy, and then trains the tagger on
the source. `perplexity` compares models on held-out text (MSLM, Table 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field, field_validator

from acclimate.data.batches import SOURCE, TARGET, Batches, Stream
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.methods.masked_words import Budget, MaskedWords, PolicyLoss
from acclimate.methods.masking.catalogue import (
    COUNTING,
    MIXED,
    PolicyContext,
    PolicySettings,
    build_policy,
    known_policy,
)
from acclimate.methods.masking.masked_batch import Corruption, MaskedBatch, hide
from acclimate.methods.masking.policy import Policy, Uniform
from acclimate.methods.objective import Objective, Tagging
from acclimate.model.encoders.shipped import SHIPPED, EncoderNotFound
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.language_model import MlmHead, mlm_head_for
from acclimate.model.learner import TextView, eval_mode
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import TUNING_STAGE, Plan, Recipe
from acclimate.recipes.tuning_text import StoredText, Text, TextFiles, Texts, cut, in_memory, tuning_text
from acclimate.settings import Settings, UsageError
from acclimate.spelling import count
from acclimate.training.loop import device_for
from acclimate.training.settings import LoopSettings
from acclimate.training.stage import HeldOutLoss, LastUpdate, Selector, Stage


def require_language_model(tagger: Tagger, who: str) -> None:
    """Refuse a tagger whose encoder is no masked language model."""
    if not isinstance(tagger.encoder, Transformer):
        raise UsageError(
            f"{who} tunes a masked language model, and character-cnn-lstm is none: take the encoder "
            f"{SHIPPED[0]}, or another one."
        )
    mlm_head_for(tagger.encoder)
    if tagger.encoder.pieces.tokenizer.mask_token_id is None:
        raise UsageError(f"The tokenizer of {tagger.encoder.origin} has no [MASK]: it is no masked language model.")


def is_language_model(tagger: Tagger) -> bool:
    """Whether the tagger's encoder is a masked language model."""
    try:
        require_language_model(tagger, "This tagger")
    except (UsageError, EncoderNotFound):
        return False
    return True


UPDATES = 5_000  # at most, where no number is given
_ROWS, _SENTENCES = 128, 32  # of a batch, at most
_BATCHES = 16  # of a pass, at least, where there is little text


class MaskingSettings(Settings):
    """What is hidden, how much of it, and how."""

    masking: str = "adversarial"
    """Masking policy that chooses the hidden words; see docs/how-to/tune-an-encoder.md."""
    share: float = Field(0.15, gt=0, le=1)
    """Share of each sentence to hide."""
    by_words: bool = False
    """Count the share in whole words, and hide all pieces of a chosen word; false: count word pieces."""
    swapped: float = Field(0.1, ge=0, le=1)
    """Share of the hidden pieces that are replaced by a random piece instead of [MASK]."""
    kept: float = Field(0.1, ge=0, le=1)
    """Share of the hidden pieces that are left unchanged in the input, but still predicted."""
    samples: int = Field(1, ge=1)
    """Number of masks drawn per batch; their losses are averaged."""
    quick: bool = True
    """Let the policy read the text in half precision, on CPUs where that is fast."""
    policy: PolicySettings = PolicySettings()
    """Settings of the masking policies."""

    @field_validator("masking")
    @classmethod
    def _known_policy(cls, name: str) -> str:
        return known_policy(name)


class DomainTuning(LoopSettings, MaskingSettings):
    """How an encoder is tuned to a domain. Every policy gets the same number of updates."""

    rows_per_batch: int | None = Field(None, ge=1)
    """Rows per update; null: 128, or 32 if they are not packed, and fewer if a pass would have less than 16 updates."""
    compile: bool = False
    """Compile the model with torch.compile: slow to start, then faster on a GPU; best with packed rows."""
    packed: bool = True
    """Fill each input row with several sentences, and keep the rows on disk; false: one sentence per row, in memory."""
    held_out: float = Field(0.02, ge=0, lt=1)
    """Share of the target text held out for measuring the loss; 0: none."""
    passes: float = Field(16, gt=0)
    """Number of passes over the target text, but at most 5,000 updates; ignored if epochs or updates is set."""
    epochs: float | None = Field(None, gt=0)
    """Number of passes over the mixture of source and target, if updates is not set; null: see passes."""
    updates: int | None = Field(None, ge=1)
    """Number of optimizer updates; null: use epochs, or else passes."""
    warm_up: float = Field(0.1, ge=0)
    """Warm-up of the learning rate: a share of all updates if below 1, else a number of updates; 0: none."""
    clip: float | None = Field(1.0, gt=0)
    """Maximum norm of the gradient; null: no clipping."""
    patience: int | None = Field(3, ge=1)
    """Stop after this many evaluations without a lower held-out loss (there are about ten); null: never stop early."""


@dataclass(frozen=True)
class Mixture:
    """The batches of both domains and of extra text, the held-out text, and the text that a policy counts words in."""

    batches: Stream
    rows: int  # of one pass, the smaller domain repeated, extra text with it
    sentences: int  # of target and extra text
    rows_per_batch: int
    measured: Corpus
    target_passes: float  # passes over the target in one of the mixture
    source: Corpus | None
    target: Corpus


@dataclass(frozen=True)
class Tuning:
    """One stage of domain tuning, with its policy."""

    stage: Stage
    policy: Policy
    mixture: Mixture


def tuning_stage(
    encoder: Transformer,
    mlm_head: MlmHead | None,
    source: Text | None,
    target: Text,
    settings: DomainTuning,
    seed: int,
    name: str = TUNING_STAGE,
    extra: Text | None = None,
) -> Tuning:
    """The stage that tunes this encoder to the target, with the source beside it. Without a head the learner's own is
    used; `extra` is more text like the target's."""
    mixed = packed_mixture if settings.packed else mixture_of_sentences
    mixture = mixed(encoder, source, target, extra, settings, seed)
    context = PolicyContext(encoder, mixture.source, mixture.target, settings.policy, device_for(settings))
    policy = build_policy(settings.masking, context)
    objective = masked_words(encoder, mlm_head, policy, settings, settings.samples)
    if settings.compile:
        objective.speed_up()
    objectives: dict[str, Objective] = {"masked_words": objective}
    if any(True for _ in policy.parameters()):
        objectives["policy"] = PolicyLoss(policy)
    updates = updates_for(settings, mixture)
    length = {"updates": updates, "evaluate_every": settings.evaluate_every or max(1, updates // 10)}
    selector = _selector(mixture.measured, encoder, mlm_head, settings)
    training = settings.model_copy(update=length)
    return Tuning(Stage(name, objectives, mixture.batches, training, selector=selector), policy, mixture)


def updates_for(settings: DomainTuning, mixture: Mixture) -> int:
    """The number of updates; where none is given, as many as the text supports."""
    length = mixture.batches.epoch_length
    if settings.updates is not None or settings.epochs is not None:
        return settings.updates_for(length)
    epochs = settings.passes / mixture.target_passes
    return max(1, min(UPDATES, round(epochs * settings.updates_per_epoch(length))))


def packed_mixture(
    encoder: Transformer, source: Text | None, target: Text, extra: Text | None, settings: DomainTuning, seed: int
) -> Mixture:
    """Rows filled with several sentences, read from disk."""
    text = StoredText.of(source, target, extra, encoder, settings.held_out, seed)
    if not len(text.target):
        raise no_text()
    batches = text.mixed(1, seed)
    rows = settings.rows_per_batch or _rows_for(batches.pass_rows, _ROWS)
    batches = replace(batches, rows_per_batch=rows)
    source_part, of_target = None, Corpus(())
    if settings.masking.removeprefix(MIXED) in COUNTING:
        source_part, of_target = text.sample((text.source,), seed), text.sample((text.target, text.extra), seed)
    size = text.sentences - len(text.measured)
    passes = text.target_passes
    return Mixture(batches, batches.pass_rows, size, rows, text.measured, passes, source_part, of_target)


def mixture_of_sentences(
    encoder: Transformer, source: Text | None, target: Text, extra: Text | None, settings: DomainTuning, seed: int
) -> Mixture:
    """A row for each sentence, all in memory; those of a batch have about the same length."""
    source, extra = (None if text is None else in_memory(text) for text in (source, extra))
    target = in_memory(target)
    if not len(target):
        raise no_text()
    texts = tuning_text(source, target, extra, encoder, settings.held_out, seed)
    text = texts.mixed()
    rows = settings.rows_per_batch or _rows_for(len(text), _SENTENCES)
    batches = sentence_batches(text, encoder, rows, seed)
    size = len(target) + len(extra or ()) - len(texts.measured)
    passes = texts.target_passes
    return Mixture(batches, len(text), size, rows, texts.measured, passes, texts.source, texts.of_target)


def _rows_for(rows: int, most: int) -> int:
    return max(1, min(most, rows // _BATCHES))


def no_text() -> InputError:
    return InputError("domain tuning needs text of the target domain, and there is none.")


def masked_words(
    encoder: Transformer, mlm_head: MlmHead | None, policy: Policy, settings: MaskingSettings, samples: int = 1
) -> MaskedWords:
    tokenizer = encoder.pieces.tokenizer
    if tokenizer.mask_token_id is None:
        raise InputError(f"the tokenizer of {encoder.origin} has no [MASK]: it is no masked language model.")
    corruption = Corruption.of(tokenizer, settings.swapped, settings.kept)
    budget = Budget(settings.share, settings.by_words, samples, settings.quick)
    return MaskedWords(policy, corruption, tuple(tokenizer.all_special_ids), budget, mlm_head)


def policy_for(encoder: Transformer, plan: Plan, masking: str, settings: PolicySettings) -> Policy:
    """The policy of this name, for the text of both domains."""
    texts = plan.source.unlabelled(), plan.target.unlabelled()
    return build_policy(masking, PolicyContext(encoder, *texts, settings, device_for(plan.training)))


def sentence_batches(corpus: Corpus, encoder: Transformer, rows: int, seed: int) -> Batches:
    """Batches of so many sentences, of about the same number of pieces."""
    words = rows * max(len(sentence) for sentence in corpus)  # no limit: the number of sentences is
    return Batches({TARGET: corpus}, words, rows, seed, encoder.count_pieces)


def _selector(measured: Corpus, encoder: Transformer, mlm_head: MlmHead | None, settings: DomainTuning) -> Selector:
    """The loss on held-out text under random masks, whatever the policy is, so that losses can be compared."""
    special = set(encoder.pieces.tokenizer.all_special_ids)
    if not any(set(chain.from_iterable(encoder.pieces.of_words(one.words))) - special for one in measured):
        return LastUpdate("last update (no held-out text to choose by)")
    objective = masked_words(encoder, mlm_head, Uniform(), settings)
    ordered = sorted(measured, key=len)
    parts = [ordered[start : start + 64] for start in range(0, len(ordered), 64)]
    return HeldOutLoss(lambda: parts, objective, count(len(measured), "sentence"))


class AdversarialMaskingSettings(DomainTuning):
    """Domain tuning, and how the tagger is trained afterwards."""

    extra: tuple[str, ...] = ()
    """Files of additional text similar to the target, as found by `acclimate data select`."""
    extra_as_target: bool = False
    """Treat the extra text as target text, so that the source is repeated to match the size of both together."""


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    require_language_model(tagger, "Recipe adversarial-masking")
    check_tuning(plan.options)
    return ()


def check_tuning(options: AdversarialMaskingSettings) -> None:
    for file in options.extra:
        if not Path(file).exists():
            raise InputError("there is no such file of extra text.", file=file)
    usual = DomainTuning()
    for name in ("device", "precision", "tensorboard"):
        if getattr(options, name) != getattr(usual, name):
            raise UsageError(
                f"options.{name} has no effect in a recipe: set training.{name}, which holds for all of it."
            )


def adversarial_masking(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    yield domain_tuning(tagger, plan, plan.options)
    corpora = {SOURCE: plan.source.labelled()}
    yield Stage("task-tuning", {"tag": Tagging()}, plan.batches(tagger, corpora), plan.training)


def domain_tuning(tagger: Tagger, plan: Plan, options: AdversarialMaskingSettings, name: str = TUNING_STAGE) -> Stage:
    """Masked words of the target's text, of extra text, and of the source's beside them."""
    encoder = tagger.encoder
    assert isinstance(encoder, Transformer)
    target: Text = plan.target.unlabelled()
    extra = TextFiles(options.extra) if options.extra else None
    if extra is not None and options.extra_as_target:
        target, extra = Texts((plan.target.unlabelled(), extra)), None
    return tuning_stage(encoder, mlm_head_for(encoder), plan.source, target, options, plan.seed, name, extra).stage


@dataclass(frozen=True, slots=True)
class Perplexity:
    """exp of the mean loss of guessing a hidden piece."""

    perplexity: float
    loss: float  # nats per hidden piece
    pieces: int  # hidden
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@torch.no_grad()
def perplexity(
    encoder: Transformer,
    mlm_head: MlmHead,
    text: Corpus,
    share: float = 0.15,
    seed: int = 0,
    rows: int = 64,
    progress: Callable[[int], None] | None = None,
) -> Perplexity:
    """How well a model predicts hidden pieces of a text: a share of each sentence's pieces, each behind [MASK]. Only
    the seed and a sentence's place in the text decide which, so that models with the same tokenizer compare on any
    machine."""
    device = next(encoder.parameters()).device
    sentences = cut(text.unlabelled(), encoder)
    settings = DomainTuning(share=share, swapped=0.0, kept=0.0)
    objective = masked_words(encoder, mlm_head, Uniform(), settings).to(device)
    ordered = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    total, pieces = 0.0, 0
    gpus = [device] if device.type == "cuda" else []
    with eval_mode(encoder), eval_mode(objective), torch.random.fork_rng(gpus):
        for start in range(0, len(ordered), rows):
            numbers = ordered[start : start + rows]
            part = [sentences[number] for number in numbers]
            inputs = {name: tensor.to(device) for name, tensor in encoder.tensorize(part).items()}
            batch = objective.batch(TextView(encoder, inputs))
            hidden = hide(batch, _lots(batch, numbers, seed))
            mean, _ = objective.losses(encoder, mlm_head, batch.pieces, hidden, batch.attention)
            count = int(hidden.counts.sum())
            total, pieces = total + float(mean) * count, pieces + count
            if progress is not None:
                progress(len(part))
    if not pieces:
        raise InputError(f"{text.name} has no text to measure the perplexity on.")
    loss = total / pieces
    return Perplexity(math.exp(loss), loss, pieces, len(text))


def _lots(batch: MaskedBatch, numbers: list[int], seed: int) -> torch.Tensor:
    """Random priorities (row, piece) that depend on the sentence's number only."""
    width = batch.pieces.shape[1]
    rows = [np.random.default_rng((seed, number)).random(width) for number in numbers]
    return torch.from_numpy(np.stack(rows)).float().to(batch.pieces.device)


ADVERSARIAL_MASKING = Recipe(
    "adversarial-masking",
    "tune the encoder on target text, an adversary choosing the words to hide; then train on the source",
    adversarial_masking,
    AdversarialMaskingSettings,
    needs=frozenset({"target", "language model"}),
    check=check_plan,
)
