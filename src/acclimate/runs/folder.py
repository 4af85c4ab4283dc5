"""The folder of a run: new, going on, finished, or somebody else's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from acclimate.model.storage import (
    MANIFEST,
    StorageError,
    finish_saving,
    is_intact,
    listed_files,
    read_json,
    remove_listed,
    verify,
)
from acclimate.runs.checksummed_json import put_kept, read_kept
from acclimate.runs.fingerprint import CLAIM as BEGUN_WITH
from acclimate.runs.fingerprint import files_read
from acclimate.runs.run import CLAIM, JUDGEMENTS, PlannedRun
from acclimate.runs.task import BlindTask
from acclimate.runs.trial_claim import changed_data, changes
from acclimate.settings import UsageError
from acclimate.spelling import argument

State = Literal["new", "begun", "finished", "damaged"]


def state_of(run: PlannedRun, task: BlindTask) -> State:
    """What the folder of a run holds. Refuses a run of other settings or data, and what no comparison has made."""
    folder = run.folder
    if (folder / MANIFEST).is_file():
        return _state_of_saved(run, task)
    begun = folder / "training" / CLAIM
    if begun.is_file():
        try:
            found = _begun_claim(begun)
        except StorageError:
            return "damaged"
        _require_same(run, found, task)
        return "begun"
    if (folder / "training" / BEGUN_WITH).is_file() and not (folder / CLAIM).is_file():
        raise _of_another(folder)
    return "new"


def _state_of_saved(run: PlannedRun, task: BlindTask) -> State:
    folder = run.folder
    state: State = "finished"
    try:
        finish_saving(folder)
        verify(folder)
    except StorageError:
        state = "damaged"
    listed = listed_files(folder)
    if not ((folder / CLAIM).is_file() if listed is None else CLAIM in listed):
        raise _of_another(folder)
    if is_intact(folder, CLAIM):
        _require_same(run, read_json(folder / CLAIM), task)
    return state


def take(run: PlannedRun, task: BlindTask) -> None:
    """Make the folder ready: without anything of a run, or holding the beginning of the very same one."""
    folder, training = run.folder, run.folder / "training"
    state = state_of(run, task)
    if state == "damaged":
        for name in JUDGEMENTS:
            (folder / name).unlink(missing_ok=True)
        if (folder / MANIFEST).is_file():
            remove_listed(folder)
    if state != "begun":
        shutil.rmtree(training, ignore_errors=True)
        training.mkdir(parents=True)
        put_kept(training / CLAIM, run.claim(task))


def _of_another(folder: Path) -> UsageError:
    return UsageError(
        f"{folder} holds something that no comparison made (there is no {CLAIM}): move it away, or choose another "
        f"folder ({argument('out')})."
    )


def sealed_claim(run: PlannedRun, task: BlindTask) -> dict[str, Any]:
    """What a run that is over keeps: of the files that it has read, the content that they had when it began."""
    now, begun = run.claim(task), run.folder / "training" / CLAIM
    found = _begun_claim(begun) if begun.is_file() else now
    return {**now, "files": found.get("files", now["files"])}


def _begun_claim(place: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = read_kept(place)
    except StorageError as damage:
        found = _of_earlier_version(place)
        if "recipe" not in found:
            raise damage from None
    return found


def _of_earlier_version(place: Path) -> Mapping[str, Any]:
    """The claim of a begun run without a checksum; empty where there is none."""
    try:
        found = read_json(place)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def require_same_data(out: Path, task: BlindTask) -> None:
    """Refuse to put a comparison where there is one on other data: its tables would be written over."""
    for found in _claims_below(out):
        changed = changed_data(found, task.fingerprints, task.fingerprint())
        if changed:
            shown = "\n".join(changed)
            raise UsageError(
                f"{out} holds a comparison on other data:\n{shown}\n"
                f"Give the same corpora to go on with it, or choose another folder ({argument('out')})."
            )


def _claims_below(out: Path) -> Iterator[Mapping[str, Any]]:
    """Of all runs of a comparison; without damaged ones, which do not say whose they are."""
    for folder in sorted(out.glob("runs/*/seed-*")):
        begun = folder / "training" / CLAIM
        if is_intact(folder, CLAIM):
            yield read_json(folder / CLAIM)
        elif begun.is_file():
            with suppress(StorageError):
                yield _begun_claim(begun)


def notes_its_files(run: PlannedRun) -> bool:
    """Whether a finished run says what the files held that it has read, or has read none."""
    return "files" in read_json(run.folder / CLAIM) or not files_read(run.settings.tagger, run.settings.options)


def _require_same(run: PlannedRun, found: Mapping[str, Any], task: BlindTask) -> None:
    changed = changes(found, run.claim(task), task.fingerprint(), run.folder / "training")
    if changed:
        shown = "\n".join(changed[:12])
        raise UsageError(
            f"{run.folder} holds a run of other settings or data:\n{shown}\n"
            f"Give the same ones to go on with this comparison, or choose another folder ({argument('out')})."
        )
