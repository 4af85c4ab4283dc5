"""What a comparison has found, read from its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate.comparison.tables import MATERIAL
from acclimate.data.problems import InputError
from acclimate.evaluation.seen import Reservation, Shared, reservation
from acclimate.layout import COMPARISON
from acclimate.reporting.folders import read_object
from acclimate.reporting.run_data import LEARNT, read_settings


@dataclass(frozen=True)
class ComparisonData:
    """The contents of comparison.json, with what stands beside it."""

    folder: Path
    found: Mapping[str, Any]
    settings: Mapping[str, Any] | None
    text: Mapping[str, Any] | None

    @property
    def title(self) -> str:
        return str(self.found["title"])

    @property
    def against(self) -> str:
        return str(self.found["against"])

    @property
    def best(self) -> str | None:
        best: str | None = self.found["best"]
        return best

    @property
    def leaders(self) -> list[str]:
        """All that share the best mean; `best` is one of them."""
        return list(self.found.get("leaders", [] if self.best is None else [self.best]))

    @property
    def measure(self) -> str:
        return "accuracy" if self.found.get("metric") == "token accuracy" else "F1"

    @property
    def recipes(self) -> Sequence[Mapping[str, Any]]:
        """Recipes with their means, in the order of the comparison."""
        rows: Sequence[Mapping[str, Any]] = self.found["recipes"]
        return rows

    @property
    def runs(self) -> Sequence[Mapping[str, Any]]:
        rows: Sequence[Mapping[str, Any]] = self.found["runs"]
        return rows

    @property
    def remarks(self) -> list[str]:
        return [str(remark) for remark in self.found.get("remarks", ())]

    @property
    def base(self) -> Mapping[str, Any] | None:
        """The row of the recipe that all others are compared with."""
        return next((row for row in self.recipes if row["recipe"] == self.against), None)

    @property
    def reservation(self) -> Reservation | None:
        """Why nothing may be claimed of any recipe; None if nothing speaks against it."""
        base = self.base or {}
        source, target = ((base.get(name) or {}).get("mean") for name in ("source_after", "target_f1"))
        return reservation(source, target, Shared.from_dict(self.found.get(LEARNT)))

    def runs_of(self, recipe: str) -> list[Mapping[str, Any]]:
        return [run for run in self.runs if run["recipe"] == recipe]

    def median_run(self, recipe: str) -> Mapping[str, Any] | None:
        """Of an even number of seeds the lower of the two in the middle; without scores the first."""
        runs = self.runs_of(recipe)
        scored = sorted(
            (run for run in runs if run.get("target_f1") is not None), key=lambda run: float(run["target_f1"])
        )
        return scored[(len(scored) - 1) // 2] if scored else next(iter(runs), None)

    def folder_of(self, run: Mapping[str, Any]) -> Path:
        """Below this folder, wherever it was moved to."""
        return self.folder / "runs" / str(run["recipe"]) / f"seed-{run['seed']}"


def collect_comparison(folder: Path) -> ComparisonData:
    found = read_object(folder / COMPARISON)
    if not {"title", "against", "best", "recipes", "runs"} <= found.keys():
        raise InputError(
            "this is no comparison of `acclimate compare`, or one of another version.", file=folder / COMPARISON
        )
    material = read_object(folder / MATERIAL) if (folder / MATERIAL).is_file() else {}
    return ComparisonData(folder, found, read_settings(folder / "settings.yaml"), material.get("text"))
