"""`acclimate encoder domain-tune`: tune an encoder to a domain by itself, and save it as an encoder again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from acclimate.layout import RUN, TRAINING
from acclimate.model.encoders.pretrained import load_masked_language_model, load_tokenizer
from acclimate.model.encoders.shipped import SHIPPED
from acclimate.model.language_model import MaskedLanguageModel, save_language_model
from acclimate.recipes.domain_tuning import DomainTuning, tuning_stage
from acclimate.recipes.tuning_text import TextFiles
from acclimate.runs.fingerprint import encoder_digest, file_digest
from acclimate.runs.folder import begin, finish, in_locked_folder, require_unfinished
from acclimate.settings import Seed, UsageError, dump_yaml
from acclimate.spelling import count
from acclimate.training.loop import build_engine, is_main_process
from acclimate.training.record import Record
from acclimate.training.run import Watcher, run_stages


class DomainTuneSettings(DomainTuning):
    """One run of `acclimate encoder domain-tune`."""

    text: tuple[str, ...] = ()
    """Files of target-domain text: raw text, or any corpus, whose tags are ignored."""
    extra: tuple[str, ...] = ()
    """Files of additional similar text; the source is not repeated to match their size."""
    source: str | None = None
    """Source-domain text, mixed in so that both domains have the same share; null: none."""
    encoder: str = SHIPPED[0]
    """Masked language model to start from: a name or a folder."""
    half: bool = False
    """Save the weights in 16 bits, which halves the file size."""
    seed: Seed = 1
    """Random seed."""


@dataclass(frozen=True)
class DomainTuned:
    """What a domain tuning did. The losses are nats per hidden piece; None without held-out text."""

    encoder: str
    masking: str
    sentences: int  # of the target and the extra text, held-out ones left out
    held_out_sentences: int
    rows_per_batch: int
    updates: int
    kept_update: int
    seconds: float
    loss_before: float | None
    loss_after: float | None
    evaluations: list[tuple[int, float]]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@in_locked_folder
def domain_tune(
    settings: DomainTuneSettings,
    out: str | Path,
    watcher: Watcher | None = None,
    tell: Callable[[str], None] = lambda message: None,
    overwrite: bool = False,
) -> DomainTuned:
    """Tune the encoder to the text, and write it to `out` as `transformers` does; goes on where it was cut off."""
    if not settings.text:
        raise UsageError("Domain tuning needs text of the domain: --text FILE...")
    require_unfinished(Path(out), overwrite, "encoder")
    training = Path(out) / TRAINING
    fingerprint = _fingerprint(settings)
    reader = MaskedLanguageModel(load_masked_language_model(settings.encoder), load_tokenizer(settings.encoder))
    reader.encoder.origin = settings.encoder
    engine = build_engine(settings, reader)
    torch.manual_seed(settings.seed)
    text, extra = TextFiles(settings.text), TextFiles(settings.extra) if settings.extra else None
    source = None if settings.source is None else TextFiles((settings.source,))
    tell(f"reading {', '.join(Path(name).name for name in (*settings.text, *settings.extra))}")
    tuning = tuning_stage(reader.encoder, None, source, text, settings, settings.seed, extra=extra)
    rows = f"{count(tuning.mixture.rows, 'row')} a pass, {tuning.mixture.rows_per_batch} an update"
    tell(f"{settings.masking}: {count(tuning.mixture.sentences, 'sentence')}, {rows}")
    if is_main_process():
        begin(Path(out), fingerprint, overwrite)
    record = Record(training if engine.is_main_process else None, settings.tensorboard)
    # the stage has a selector of its own; where it holds nothing out, that is a blind one
    assert tuning.stage.selector is not None
    selector = tuning.stage.selector
    (summary,) = run_stages(reader, [tuning.stage], engine, selector, settings.seed, training, watcher, record)
    record.close()
    evaluations = [] if summary["score"] is None else [(update, -score) for update, score in summary["evaluations"]]
    done = DomainTuned(
        encoder=settings.encoder,
        masking=tuning.policy.name,
        sentences=tuning.mixture.sentences,
        held_out_sentences=len(tuning.mixture.measured),
        rows_per_batch=tuning.mixture.rows_per_batch,
        updates=summary["updates"],
        kept_update=summary["kept_update"],
        seconds=summary["seconds"],
        loss_before=evaluations[0][1] if evaluations else None,
        loss_after=-summary["score"] if evaluations else None,
        evaluations=evaluations,
    )
    if engine.is_main_process:
        texts = {"settings.yaml": dump_yaml(settings), "README.md": tuning_card(Path(out).name, settings, done)}
        texts[RUN] = json.dumps(fingerprint, indent=2, ensure_ascii=False)
        save_language_model(
            reader.model, reader.encoder.pieces.tokenizer, Path(out), settings.half, done.as_dict(), texts
        )
        finish(Path(out))
    engine.wait_for_everyone()
    return done


def tuning_card(name: str, settings: DomainTuneSettings, done: DomainTuned) -> str:
    """The page for whoever finds this folder."""
    files = ", ".join(f"`{Path(file).name}`" for file in (*settings.text, *settings.extra))
    measured = "No text was held out."
    if done.loss_before is not None and done.loss_after is not None:
        measured = (
            f"Loss on {done.held_out_sentences:,} held-out sentences, in nats per hidden piece: {done.loss_before:.3f} "
            f"before, {done.loss_after:.3f} after (perplexity {math.exp(done.loss_before):.2f} and "
            f"{math.exp(done.loss_after):.2f})."
        )
    return f"""# {name}

`{Path(settings.encoder).name}`, tuned to a domain by `acclimate encoder domain-tune`: masked-language-model training on
{done.sentences:,} sentences of {files}: {done.updates:,} updates of {done.rows_per_batch} rows, masking by the policy
{done.masking}; the state after update {done.kept_update:,} was kept. {measured} `settings.yaml` holds every setting.
"""


def _fingerprint(settings: DomainTuneSettings) -> dict[str, Any]:
    """Everything that the weights depend on. `compile` is a part of it: it changes the last digits."""
    apart = {"text", "extra", "source", "encoder", "checkpoint_every", "tensorboard"}
    names = {"text": settings.text, "extra": settings.extra, "source": [settings.source] if settings.source else []}
    data = {
        part: [file_digest(file) for place in map(Path, files) for file in _files(place)]
        for part, files in names.items()
    }
    kept = settings.model_dump(mode="json", exclude=apart)
    return {**kept, "data": data, "encoder": encoder_digest(settings.encoder)}


def _files(place: Path) -> list[Path]:
    """The file itself, or all that a folder of texts holds."""
    return sorted(file for file in place.rglob("*") if file.is_file()) if place.is_dir() else [place]
