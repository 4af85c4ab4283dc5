"""`acclimate adapt --recipe auto`: the race before the training."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acclimate.cli.settings import AdaptSettings
from acclimate.cli.task import with_recipe_options
from acclimate.comparison.race import race
from acclimate.comparison.race_result import Race
from acclimate.comparison.race_settings import RaceSettings
from acclimate.inference.evaluate import require_spans
from acclimate.runs.settings import SharedSettings
from acclimate.runs.task import Task
from acclimate.settings import UsageError, complete

_FOLDER = "race"


def run_race(
    settings: AdaptSettings, task: Task, folder: Path, tell: Callable[[str], Any], begin: Callable[[], Any]
) -> tuple[AdaptSettings, Race]:
    """The settings of a run of the winner, and how it came to win. `begin` takes the folder when nothing is refused."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("A race is made by one process: let it choose first, then train the winner with several.")
    require_spans(task.target_test, task.source_test)  # the winner is scored on them when the budget is spent
    options = complete(RaceSettings, settings.options, where="options of recipe auto")
    shared = SharedSettings(**{name: getattr(settings, name) for name in SharedSettings.model_fields})
    found = race(task, folder / "training" / _FOLDER, options, shared, seed=settings.seed, tell=tell, begin=begin)
    own = options.each.get(found.choice, {})
    return with_recipe_options(settings.model_copy(update={"recipe": found.choice, "options": own})), found


def clear_race(folder: Path) -> None:
    """The candidates are not needed any more when the winner is trained."""
    shutil.rmtree(folder / "training" / _FOLDER, ignore_errors=True)
