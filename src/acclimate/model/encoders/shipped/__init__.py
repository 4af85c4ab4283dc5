"""Encoders that come with the package, as `transformers` saves them."""

from __future__ import annotations

from pathlib import Path

SHIPPED = ("acclimate-mini",)
CNN_LSTM = "character-cnn-lstm"  # comes without weights: it is made anew for each tagger
HOME = Path(__file__).parent


class EncoderNotFound(ValueError):
    """An encoder that is neither a folder nor to be had under that name."""


def shipped_encoder_path(name: str = SHIPPED[0]) -> Path:
    """The folder of an encoder of the package, which plain `transformers` opens, too."""
    if name not in SHIPPED:
        raise EncoderNotFound(f"No encoder called {name!r} comes with the package; there is {', '.join(SHIPPED)}.")
    folder = HOME / name
    if not (folder / "model.safetensors").is_file():
        raise EncoderNotFound(
            f"{name} should come with the package, but this installation lacks its weights ({folder}). "
            "Install the package again, or choose another encoder."
        )
    return folder


def resolved(place: str | Path) -> str | Path:
    """A shipped name as its folder, anything else as it is; `./acclimate-mini` is a folder here."""
    return shipped_encoder_path(place) if isinstance(place, str) and place in SHIPPED else place
