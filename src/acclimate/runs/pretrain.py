"""What a pre-training made, and the card that tells it."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field

from acclimate.data.pieces import Pieces
from acclimate.data.problems import InputError
from acclimate.data.running_text import (
    Rows,
    TextChoice,
    held_out_text,
    read_pieces,
    train_word_pieces,
    training_text,
    write_pieces,
)
from acclimate.layout import RUN, TRAINING
from acclimate.methods.masked_words import Budget, MaskedWords
from acclimate.methods.masking.masked_batch import Corruption
from acclimate.methods.masking.policy import Uniform
from acclimate.model.encoders.pretrained import load_tokenizer
from acclimate.model.language_model import (
    MaskedLanguageModel,
    SizeSettings,
    language_model_to_go_on_from,
    new_language_model,
    save_language_model,
)
from acclimate.model.storage import (
    MANIFEST,
    StorageError,
    atomic_folder,
    verify,
)
from acclimate.runs.fingerprint import encoder_digest, file_digest
from acclimate.runs.folder import begin, finish, in_locked_folder, require_unfinished
from acclimate.settings import Seed, Settings, UsageError, dump_yaml
from acclimate.training.loop import build_engine, is_main_process, main_process_first
from acclimate.training.record import Record
from acclimate.training.run import Watcher, run_stages
from acclimate.training.settings import PretrainingSettings
from acclimate.training.stage import HeldOutLoss, LastUpdate, Stage


@dataclass(frozen=True)
class Pretrained:
    """What a pre-training made. The losses are nats per hidden piece; None without held-out text."""

    parameters: int
    vocabulary: int
    pieces: int  # of the training text
    pieces_seen: int
    updates: int
    seconds: float
    held_out_pieces: int
    held_out_loss: float | None
    evaluations: list[tuple[int, float]]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def model_card(name: str, settings: PretrainSettings, done: Pretrained) -> str:
    """The page for whoever finds this folder."""
    sizes = settings.encoder
    files = ", ".join(f"`{Path(file).name}`" for file in settings.text)
    begun = "trained from nothing" if settings.start is None else f"trained further from {Path(settings.start).name}"
    measured = "No text was held out."
    if done.held_out_loss is not None:
        measured = (
            f"On {done.held_out_pieces:,} held-out pieces the loss is {done.held_out_loss:.3f} nats per hidden piece "
            f"(perplexity {math.exp(done.held_out_loss):.2f})."
        )
    return f"""# {name}

A masked language model, {begun} by `acclimate encoder pretrain`: a BERT of {sizes.layers} layers of width
{sizes.width} with {sizes.heads} heads, {done.parameters:,} parameters, {done.vocabulary:,} word pieces, rows of
{sizes.row} pieces.

It made {done.updates:,} updates ({done.pieces_seen:,} pieces seen) in {done.seconds:,.0f} seconds on {done.pieces:,}
pieces of {files}. {measured} `settings.yaml` holds every setting, `report.json` every evaluation.
"""


_STAGE = "masked-words"
_PIECES = "pieces"  # the folder of the text in pieces


class MaskSettings(Settings):
    """What is hidden, and what stands in its place."""

    share: float = Field(0.25, gt=0, lt=1)
    """Share of the word pieces to hide."""
    whole_words: bool = False
    """Hide either all pieces of a word or none."""
    swapped: float = Field(0.1, ge=0, le=1)
    """Share of the hidden pieces that are replaced by a random piece instead of [MASK]."""
    kept: float = Field(0.1, ge=0, le=1)
    """Share of the hidden pieces that are left unchanged in the input, but still predicted."""


class PretrainSettings(Settings):
    """One run of `acclimate encoder pretrain`."""

    text: tuple[str, ...] = ()
    """Files of raw text with one paragraph per line, plain or compressed."""
    start: str | None = None
    """Encoder to continue training, with its tokenizer and sizes; null: start from random weights."""
    tokenizer: str | None = None
    """Folder of an existing tokenizer; null: train one on the text."""
    vocabulary: int = Field(16_384, ge=64)
    """Vocabulary size of the tokenizer to train, in word pieces."""
    case_noise: float = Field(0.0, ge=0, le=1)
    """Share of paragraphs converted to upper case or to lower case, half each; 0: none."""
    held_out: float = Field(0.005, ge=0, lt=1)
    """Share of paragraphs held out for evaluation; 0: none."""
    half: bool = False
    """Save the weights in 16 bits, which halves the file size."""
    seed: Seed = 1
    """Random seed."""
    encoder: SizeSettings = SizeSettings()
    """Size of the encoder."""
    masks: MaskSettings = MaskSettings()
    """Settings of the masking."""
    training: PretrainingSettings = PretrainingSettings()
    """How the encoder is trained."""


@in_locked_folder
def pretrain(
    settings: PretrainSettings,
    out: str | Path,
    watcher: Watcher | None = None,
    tell: Callable[[str], None] = lambda message: None,
    overwrite: bool = False,
) -> Pretrained:
    """Train tokenizer and encoder, and write them to `out` as `transformers` does; goes on where it was cut off."""
    out = Path(out)
    training = out / TRAINING
    require_unfinished(out, overwrite, "encoder")
    _require_sense(settings)
    model = None
    if settings.start is not None:
        model, sizes = language_model_to_go_on_from(settings.start, settings.encoder)
        settings = settings.model_copy(update={"encoder": sizes})
    fingerprint = _fingerprint(settings)
    with main_process_first():
        if is_main_process():
            begin(out, fingerprint, overwrite)
        with _unclaimed_if_refused(training):
            tokenizer, text, held_out = _prepare(settings, training, tell)
    torch.manual_seed(settings.seed)
    model = model or new_language_model(settings.encoder, tokenizer)
    reader = MaskedLanguageModel(model, tokenizer)
    engine = build_engine(settings.training, reader)
    stage, measure = _stage(settings, tokenizer, text, held_out, engine.device.type == "cuda")
    rows = stage.batches
    assert isinstance(rows, Rows)
    parameters = sum(parameter.numel() for parameter in reader.parameters())
    tell(
        f"{parameters:,} parameters; {len(text):,} pieces of text, {len(held_out):,} held out; "
        f"{rows.epoch_length:,} batches a pass"
    )
    record = Record(training if engine.is_main_process else None, settings.training.tensorboard)
    started = time.monotonic()
    selector = measure or LastUpdate("nothing held out")
    (summary,) = run_stages(reader, [stage], engine, selector, settings.seed, training, watcher, record)
    record.close()
    evaluations = [(update, -score) for update, score in summary["evaluations"]] if measure else []
    rows_per_update = min(rows.rows_per_batch, rows.rows) * settings.training.accumulate * engine.num_processes
    done = Pretrained(
        parameters=parameters,
        vocabulary=len(tokenizer),
        pieces=len(text),
        pieces_seen=summary["updates"] * rows_per_update * rows.length,
        updates=summary["updates"],
        seconds=summary.get("seconds", time.monotonic() - started),
        held_out_pieces=len(held_out),
        held_out_loss=evaluations[-1][1] if evaluations else None,
        evaluations=evaluations,
    )
    if engine.is_main_process:
        texts = {
            "settings.yaml": dump_yaml(settings),
            "README.md": model_card(out.name, settings, done),
            RUN: json.dumps(fingerprint, indent=2, ensure_ascii=False),
        }
        save_language_model(model, tokenizer, out, settings.half, done.as_dict(), texts)
        finish(out)
        shutil.rmtree(training / _PIECES, ignore_errors=True)  # as large as the text itself
    engine.wait_for_everyone()
    return done


def _stage(
    settings: PretrainSettings,
    tokenizer: Any,
    text: np.ndarray[Any, Any],
    held_out: np.ndarray[Any, Any],
    is_on_gpu: bool,
) -> tuple[Stage, HeldOutLoss | None]:
    """The only stage, and the loss on held-out text; None without any."""
    pieces = Pieces(tokenizer, settings.encoder.row)
    common: dict[str, Any] = {"before": pieces.before, "after": pieces.after, "length": settings.encoder.row}
    rows = Rows(text, **common, rows_per_batch=settings.training.rows_per_batch, seed=settings.seed)
    objective = build_objective(settings, tokenizer)
    training = settings.training
    if training.compile is None:
        training = training.model_copy(update={"compile": is_on_gpu})
    if training.compile:
        objective.speed_up()
    measure = None
    if len(held_out) >= pieces.room:
        parts = Rows(held_out, **common, rows_per_batch=256).in_order
        size = f"{len(held_out) // pieces.room * pieces.room:,} pieces"
        measure = HeldOutLoss(parts, build_objective(settings, tokenizer), size, is_blind=True)
    return Stage(_STAGE, {"masked_words": objective}, rows, training), measure


@contextmanager
def _unclaimed_if_refused(training: Path) -> Iterator[None]:
    """Text that cannot be read must not keep the folder from other text."""
    try:
        yield
    except (InputError, UsageError):
        if is_main_process() and not any(training.glob("[0-9][0-9]-*")):
            shutil.rmtree(training, ignore_errors=True)
            with suppress(OSError):  # something else is there
                training.parent.rmdir()
        raise


def _require_sense(settings: PretrainSettings) -> None:
    if not settings.text:
        raise UsageError("Pre-training needs text: --text FILE...")
    width, heads = settings.encoder.width, settings.encoder.heads
    if settings.start is None and width % heads:
        raise UsageError(f"encoder.width {width} cannot be divided among {heads} heads.")
    if settings.start is not None and settings.tokenizer is not None:
        raise UsageError("An encoder to go on from (--start) brings its own tokenizer: leave the tokenizer out.")


def build_objective(settings: PretrainSettings, tokenizer: Any) -> MaskedWords:
    special = tuple(tokenizer.all_special_ids)
    masks = settings.masks
    corruption = Corruption.of(tokenizer, masks.swapped, masks.kept)
    continues = None
    if masks.whole_words:
        continues = torch.tensor(
            [piece.startswith("##") for piece in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]
        )
        if not continues.any():
            raise UsageError("masks.whole_words needs a WordPiece tokenizer, whose pieces inside a word begin with ##.")
    policy = Uniform(masks.whole_words)
    return MaskedWords(policy, corruption, special, Budget(masks.share), continues=continues)


def _prepare(
    settings: PretrainSettings, training: Path, tell: Callable[[str], None]
) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Tokenizer, and training and held-out text in pieces, on disk already or made now."""
    choice = TextChoice(settings.held_out, settings.case_noise, settings.seed)
    folder, place = training / "tokenizer", training / _PIECES
    if not folder.is_dir():
        with atomic_folder(folder) as aside:
            _tokenizer(settings, choice, tell).save_pretrained(aside)
    tokenizer = load_tokenizer(str(folder))
    if tokenizer.mask_token_id is None or tokenizer.sep_token_id is None:
        name = settings.start or settings.tokenizer
        raise UsageError(f"The tokenizer {name} has no [MASK] or no [SEP]: a masked language model needs both.")
    if not _is_whole(place, tell):
        tell("cutting the text into pieces")
        with atomic_folder(place) as aside:
            write_pieces(training_text(settings.text, choice), tokenizer, aside / "text.pieces")
            write_pieces(held_out_text(settings.text, choice), tokenizer, aside / "held-out.pieces")
    text, held_out = (read_pieces(place / f"{name}.pieces", len(tokenizer)) for name in ("text", "held-out"))
    if not len(text):
        raise InputError(f"no text in {', '.join(settings.text)}.")
    return tokenizer, text, held_out


def _is_whole(place: Path, tell: Callable[[str], None]) -> bool:
    """Whether the pieces are there. What was cut off, or changed since, is cut again."""
    try:
        return (place / MANIFEST).is_file() and bool(verify(place))
    except StorageError as damage:
        tell(f"{damage} The text is cut into pieces again.")
        return False


def _tokenizer(settings: PretrainSettings, choice: TextChoice, tell: Callable[[str], None]) -> Any:
    there = settings.start or settings.tokenizer
    if there is not None:
        return load_tokenizer(there)
    tell(f"learning a vocabulary of {settings.vocabulary:,} pieces")
    return train_word_pieces(lambda: training_text(settings.text, choice), settings.vocabulary, settings.encoder.row)


def _fingerprint(settings: PretrainSettings) -> dict[str, Any]:
    """Everything that the weights depend on."""
    kept = settings.model_dump(
        mode="json", exclude={"text": True, "training": {"checkpoint_every", "tensorboard", "compile"}}
    )
    if settings.start is not None:
        kept["start"] = encoder_digest(settings.start)
    return {**kept, "text": {Path(name).name: file_digest(Path(name)) for name in settings.text}}
