"""Encoders that come with the package: a folder each, as plain `transformers` saves it. Nothing is fetched for them."""

from __future__ import annotations

from pathlib import Path

SHIPPED = ("acclimate-mini",)
CNN_LSTM = "character-cnn-lstm"  # comes without weights: it is made anew for each tagger
HOME = Path(__file__).parent


class EncoderNotFound(ValueError):
    """An encoder that is neither a folder nor to be had under that name."""


def shipped_encoder_path(name: str = SHIPPED[0]) -> Path:
    """The folder of an encoder that comes with the package.

    It opens in plain `transformers` as well: `AutoModelForMaskedLM.from_pretrained(shipped_encoder_path())`.
    """
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
    """Where the name of an encoder leads: a shipped one to its folder, any other to itself.

    A shipped name means the shipped encoder also where the working directory has a folder called so, or the same
    command would do one thing here and another there; that folder is `./acclimate-mini`, or a `Path`.
    """
    return shipped_encoder_path(place) if isinstance(place, str) and place in SHIPPED else place
