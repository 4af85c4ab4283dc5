"""More text of the target, beside its corpus: files of it, and what is selected out of a pool."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acclimate.cli.settings import AdaptSettings
from acclimate.data.problems import InputError
from acclimate.data.selection.select import select_text
from acclimate.layout import TRAINING
from acclimate.runs.fingerprint import file_digest
from acclimate.runs.task import Task
from acclimate.settings import UsageError

_SELECTED = "selected.txt.gz"
_SHORTEST = 3  # words of a sentence worth selecting


def require_reader(settings: AdaptSettings) -> None:
    """Refuse text that nobody would read."""
    given = [
        option for option, files in (("--target-text", settings.target_text), ("--pool", settings.pool.files)) if files
    ]
    if given and settings.recipe not in ("acclimate", "adversarial-masking"):
        raise UsageError(
            f"Recipe {settings.recipe} does not tune the encoder to text, so {' and '.join(given)} would not be read: "
            "take acclimate or adversarial-masking, or put the text into --target."
        )
    if settings.pool.files and settings.target is None:
        raise UsageError("--pool selects sentences like the target's, and there is no --target.")
    for file in (*settings.target_text, *settings.pool.files):
        if not Path(file).is_file():
            raise InputError("there is no such text file.", file=file)


def with_text(settings: AdaptSettings, files: tuple[str, ...]) -> AdaptSettings:
    """The settings of a recipe that tunes on these files as on the target's own text."""
    if not files:
        return settings
    options = dict(settings.options)
    if settings.recipe == "acclimate":
        if options.get("tuning") is False:
            raise UsageError("options.tuning=false: there is no domain tuning that could read more text.")
        options["domain_tuning"] = _extended(options.get("domain_tuning") or {}, files)
    else:
        options = _extended(options, files)
    return settings.model_copy(update={"options": options})


def _extended(tuning: dict[str, Any], files: tuple[str, ...]) -> dict[str, Any]:
    return {**tuning, "extra": list(dict.fromkeys((*tuning.get("extra", ()), *files))), "extra_as_target": True}


def pool_fingerprint(settings: AdaptSettings) -> dict[str, Any]:
    return {**settings.pool.model_dump(mode="json"), "files": [file_digest(Path(file)) for file in settings.pool.files]}


def with_pool(
    settings: AdaptSettings, task: Task, folder: Path, goes_on: bool, tell: Callable[[str], Any]
) -> AdaptSettings:
    """Select the sentences most like the target's, once, into the run's folder; and tune on them, too."""
    pool, out = settings.pool, folder / TRAINING / _SELECTED
    if not pool.files:
        return settings
    assert task.target is not None
    if not (goes_on and out.is_file()):
        tell(f"selecting {pool.sentences:,} sentences like {task.target.name} out of the pool")
        found = select_text(
            task.target,
            pool.files,
            pool.sentences,
            out,
            measure=pool.measure,
            sentences=True,
            shortest=_SHORTEST,
            jobs=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        )
        tell(f"{found.lines_kept:,} selected from {found.megabytes:,.1f} MB, {found.words_per_line:.1f} words each")
    return with_text(settings, (str(out),))
