"""What `pretrain` and `domain-tune` share: a folder that will hold an encoder, and a run that can be interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acclimate.cli.places import check_folder_to_write
from acclimate.recipes.finished_encoder import is_finished
from acclimate.settings import UsageError
from acclimate.training.engine import is_main_process


def take_folder(out: Path, overwrite: bool) -> None:
    """Refuse what cannot be a folder, or that holds a finished encoder which was not to be overwritten."""
    check_folder_to_write("--out", out, "an encoder")
    if is_main_process() and not overwrite and is_finished(out):
        raise UsageError(f"{out} already holds a finished encoder. Choose another --out, or pass --overwrite.")


@contextmanager
def told_how_to_go_on(out: Path, overwrite: bool) -> Iterator[None]:
    """After Ctrl-C say what becomes of the work done so far."""
    try:
        yield
    except KeyboardInterrupt as stop:
        again = "the same command without --overwrite" if overwrite else "the same command"
        stop.add_note(f"What {out} holds is kept: {again} goes on from its last checkpoint.")
        raise
