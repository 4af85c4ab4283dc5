"""The folder of a run: new, going on, or somebody else's.

`training/run.yaml` is written when training begins and taken away when all is saved: while it is there, the run is
unfinished, even where an older tagger stands in the folder (--overwrite keeps that one until the new one is whole).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from acclimate.analysis.run_records import runs_of_comparison
from acclimate.cli.places import check_folder_to_write
from acclimate.cli.settings import AdaptSettings
from acclimate.data.problems import InputError
from acclimate.inference.shipped import resolved_tagger
from acclimate.model.storage import MANIFEST, remove_listed
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE
from acclimate.reporting.folders import COMPARISON
from acclimate.runs.fingerprint import clear_stages
from acclimate.runs.result import BEFORE
from acclimate.settings import UsageError, differences, dump_yaml

_CLAIM = "run.yaml"  # what this folder's training was begun with
_DATA = "# data "


def claim_of(settings: AdaptSettings, fingerprint: str) -> str:
    """Settings and data in one text: a run may go on only with the same of both."""
    return f"{_DATA}{fingerprint}\n{dump_yaml(settings)}"


def default_folder(settings: AdaptSettings, claim: str, overwrite: bool) -> Path:
    """runs/news-to-social-acclimate-seed-1; with a number behind it where that one is taken by another run."""
    ends = [Path(name).name.split(".")[0] for name in (settings.source, settings.target) if name]
    name = f"{'-to-'.join(ends)}-{settings.recipe}-seed-{settings.seed}"
    folders = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(
        folder for folder in folders if overwrite or (not is_finished(folder) and _begun(folder) in (None, claim))
    )


def is_finished(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() and not (folder / "training" / _CLAIM).is_file()


def is_comparison(folder: Path) -> bool:
    """Whether `compare` keeps its runs there: finished, or under way."""
    return (folder / COMPARISON).is_file() or any(folder.glob("runs/*/seed-*"))


def require_no_run(folder: Path) -> None:
    """Refuse what cannot be a folder, and the folder of a run: settings and report would be lost to a comparison."""
    check_folder_to_write("--out", folder, "a comparison")
    if (folder / MANIFEST).is_file() or _begun(folder) is not None:
        raise UsageError(f"{folder} holds a run of adapt. Choose another --out: a comparison needs its own folder.")


def require_finished(folder: Path) -> None:
    """Tell a run that was cut off, and a comparison of many, from a folder that never held a tagger."""
    if is_comparison(folder) and not (folder / MANIFEST).is_file():
        runs = runs_of_comparison(folder)
        such = f", such as {runs[0]}" if runs else ""
        raise InputError(f"{folder}: this is a comparison, which holds many taggers. Name one of its runs{such}.")
    if _begun(folder) is not None and not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: this run is not finished. Give its `acclimate adapt` command again to go on with it."
        )


def tagger_in(place: str, before: bool) -> Path:
    """The folder of a tagger: of a shipped one, of a run's adapted one, or of the one "before" that the run keeps."""
    folder = resolved_tagger(place)
    require_finished(folder)
    if not before:
        return folder
    kept = folder / BEFORE
    if (kept / MANIFEST).is_file():
        return kept
    beside = folder.parent.parent / BASELINE.name / folder.name  # in a comparison
    if (beside / MANIFEST).is_file():
        raise UsageError(f'{folder}: in a comparison "before" is a run of its own, {beside}. Name that one.')
    raise UsageError(f'{folder} holds one tagger only: nothing was adapted there, so there is no "before".')


def save_before(folder: Path, tagger: Tagger | None) -> None:
    """Keep the tagger "before" in the folder of its run; where there is none, no older one stays."""
    if tagger is not None:
        tagger.save(folder / BEFORE)
    elif (folder / BEFORE / MANIFEST).is_file():
        remove_listed(folder / BEFORE)
        with suppress(OSError):  # something of the user's own is there
            (folder / BEFORE).rmdir()


def goes_on(folder: Path, claim: str) -> bool:
    """Whether the folder holds the beginning of the very same run."""
    return _begun(folder) == claim


def require_free(folder: Path, claim: str, overwrite: bool) -> None:
    """Refuse a folder that holds anything but the beginning of the very same run."""
    if is_comparison(folder):
        raise UsageError(f"{folder} holds a comparison. Choose another --out: a run needs a folder of its own.")
    if is_finished(folder) and not overwrite:
        raise UsageError(f"{folder} already holds a finished run. Choose another --out, or pass --overwrite.")
    before = _begun(folder)
    if before not in (None, claim) and not overwrite:
        assert before is not None
        then = _settings_in(before)
        if then is None or claim.startswith(before):
            raise InputError(
                "damaged: it does not say what the unfinished run there was begun with. Choose another --out, or pass "
                "--overwrite to start anew.",
                file=folder / "training" / _CLAIM,
            )
        raise UsageError(
            f"{folder} holds an unfinished run that was begun otherwise:\n{_differences(then, claim)}\n"
            "Give the same settings and data to go on with it, another --out, or --overwrite to start anew."
        )


def take(folder: Path, claim: str, overwrite: bool) -> None:
    """Make the folder ready for this run: empty, or holding the beginning of the very same run."""
    require_free(folder, claim, overwrite)
    if _begun(folder) == claim and not overwrite:
        return
    training = folder / "training"
    shutil.rmtree(training, ignore_errors=True)
    training.mkdir(parents=True, exist_ok=True)
    aside = training / f"{_CLAIM}.part"
    aside.write_text(claim, encoding="utf-8")
    aside.replace(training / _CLAIM)


def finish(folder: Path) -> None:
    """The tagger is saved: the folder holds a finished run, and the weights along the way are not needed any more."""
    training = folder / "training"
    clear_stages(training)
    (training / _CLAIM).unlink(missing_ok=True)


def _begun(folder: Path) -> str | None:
    """What an unfinished run was begun with; None where nothing was trained yet, so that nothing would be lost."""
    training = folder / "training"
    if not (training / _CLAIM).is_file() or not any(training.glob("*/*/*")):  # recipe / stage / checkpoint
        return None
    return (training / _CLAIM).read_text(encoding="utf-8", errors="replace")


def _differences(before: Mapping[str, Any], after: str) -> str:
    changed = differences(before, yaml.safe_load(after))
    return "\n".join(changed or ["  the data files have changed since"])


def _settings_in(claim: str) -> Mapping[str, Any] | None:
    """None where the claim is damaged: it is always written with every group of settings."""
    try:
        found = yaml.safe_load(claim)
    except yaml.YAMLError:
        return None
    return found if isinstance(found, dict) and found.keys() >= AdaptSettings.model_fields.keys() else None
