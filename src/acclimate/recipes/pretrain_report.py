"""What a pre-training made, and the card that tells it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acclimate.recipes.pretrain import PretrainSettings


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
    held_out_perplexity: float | None
    looks: list[tuple[int, float]]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def model_card(name: str, settings: PretrainSettings, done: Pretrained) -> str:
    """What anybody should know who finds this folder."""
    sizes, training = settings.encoder, settings.training
    files = "\n".join(f"- `{Path(file).name}`" for file in settings.text)
    curve = "\n".join(f"| {update:,} | {loss:.3f} | {math.exp(loss):.2f} |" for update, loss in thinned(done.looks))
    held_out = f"{done.held_out_pieces:,} pieces were held out; the loss is in nats per hidden piece."
    looks = (
        f"{held_out}\n\n| update | held-out loss | perplexity |\n|---:|---:|---:|\n{curve}\n"
        if curve
        else "No text was held out."
    )
    masks = settings.masks
    unit = "pieces, whole words at a time," if masks.whole_words else "pieces"
    begun = "trained from nothing" if settings.start is None else f"trained further from {Path(settings.start).name}"
    return f"""# {name}

A masked language model, {begun} by `acclimate pretrain`: a BERT of {sizes.layers} layers of width
{sizes.width} with {sizes.heads} heads, {done.parameters:,} parameters, {done.vocabulary:,} word
pieces, rows of {sizes.row} pieces.

## Text

{done.pieces:,} pieces from:

{files}

Share of paragraphs read in capitals or lower case: {settings.case_noise:g}.

## Training

{done.updates:,} updates ({done.pieces_seen:,} pieces seen) of {training.rows_per_batch} rows in {done.seconds:,.0f}
seconds; {training.optimizer}, rate {training.learning_rate}, betas {training.betas[0]}, {training.betas[1]}, weight
decay {training.shrinking}, clipping at {training.clip}, dropout {sizes.dropout:g}; {masks.share:.0%} of the {unit}
hidden ({masks.swapped:.0%} of them swapped, {masks.kept:.0%} kept); seed {settings.seed}. `settings.yaml`
holds every setting.

{looks}"""


def thinned(looks: list[tuple[int, float]], most: int = 12) -> list[tuple[int, float]]:
    """A dozen points of a long curve, first and last among them."""
    if len(looks) <= most:
        return looks
    return [looks[round(place * (len(looks) - 1) / (most - 1))] for place in range(most)]
