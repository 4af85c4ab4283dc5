"""The folder of a run: new, going on, or somebody else's."""

from __future__ import annotations

import shutil
from pathlib import Path

from acclimate.cli.settings import AdaptSettings
from acclimate.model.storage import MANIFEST
from acclimate.settings import UsageError, dump_yaml

_CLAIM = "run.yaml"  # written at the start: what this folder's training was begun with


def default_folder(settings: AdaptSettings) -> Path:
    """runs/news-to-social-self-training-seed-1, with a number behind it once that one is finished."""
    ends = [Path(name).name.split(".")[0] for name in (settings.source, settings.target) if name]
    name = f"{'-to-'.join(ends)}-{settings.recipe}-seed-{settings.seed}"
    folder, number = Path("runs") / name, 1
    while is_finished(folder):
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder


def is_finished(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def claim(folder: Path, settings: AdaptSettings, fingerprint: str, overwrite: bool) -> None:
    """Make the folder ready for this run: empty, or holding the beginning of the very same run."""
    training = folder / "training"
    content = f"# data {fingerprint}\n{dump_yaml(settings)}"
    if overwrite:
        shutil.rmtree(training, ignore_errors=True)
    elif is_finished(folder):
        raise UsageError(f"{folder} already holds a finished run. Choose another --out, or pass --overwrite.")
    elif (training / _CLAIM).is_file():
        before = (training / _CLAIM).read_text(encoding="utf-8")
        if before != content:
            raise UsageError(
                f"{folder} holds an unfinished run that was begun otherwise:\n{_differences(before, content)}\n"
                "Give the same settings and data to go on with it, another --out, or --overwrite to start anew."
            )
        return
    training.mkdir(parents=True, exist_ok=True)
    aside = training / f"{_CLAIM}.part"
    aside.write_text(content, encoding="utf-8")
    aside.replace(training / _CLAIM)


def _differences(before: str, after: str) -> str:
    old, new = before.splitlines(), after.splitlines()
    if old[:1] != new[:1] and old[1:] == new[1:]:
        return "  the data files have changed since"
    lost = [f"  then: {line.strip()}" for line in old[1:] if line not in new]
    found = [f"  now:  {line.strip()}" for line in new[1:] if line not in old]
    return "\n".join([*lost, *found][:12])
