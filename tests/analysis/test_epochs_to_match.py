"""When does one run reach another's best?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from training_rows import look, write

from acclimate.analysis.curves import StageCurves, compare_curves, read_curves
from acclimate.data.problems import InputError


def run(folder: Path, scores: list[Any], epochs: bool = True, **more: Any) -> list[StageCurves]:
    """A run that was looked at every ten updates, of which an epoch has twenty."""
    rows = [
        {**look("tag", 10 * number, score, **more), **({"epoch": number / 2} if epochs else {})}
        for number, score in enumerate(scores, start=1)
    ]
    return read_curves(write(folder / "records.jsonl", rows))


def test_the_first_look_that_is_as_good_counts(tmp_path: Path) -> None:
    plain, fast = run(tmp_path / "a", [0.1, 0.5, 0.6, 0.55]), run(tmp_path / "b", [0.5, 0.6, 0.8, 0.7])
    (found,) = compare_curves({"plain": plain, "fast": fast})
    assert [(curve.name, curve.best.update, curve.best.epoch) for curve in found.curves] == [
        ("plain", 30, 1.5),
        ("fast", 30, 1.5),
    ]
    (_, never), (reached, _) = found.reached
    assert never is None
    assert reached is not None
    assert (reached.update, reached.epoch, reached.score) == (20, 1.0, 0.6)


def test_of_equal_scores_the_earliest_is_the_best(tmp_path: Path) -> None:
    (found,) = compare_curves({"a": run(tmp_path / "a", [0.1, 0.5, 0.5]), "b": run(tmp_path / "b", [0.5])})
    assert found.curves[0].best.update == 20


def test_without_epochs_updates_are_told(tmp_path: Path) -> None:
    runs = {name: run(tmp_path / name, [0.1, 0.5], epochs=False) for name in "ab"}
    (found,) = compare_curves(runs)
    assert found.curves[0].best.epoch is None
    assert "update 20" in found.render()


def test_a_look_without_a_number_is_passed_over(tmp_path: Path) -> None:
    (found,) = compare_curves({"a": run(tmp_path / "a", [None, 0.5]), "b": run(tmp_path / "b", [0.4])})
    assert [len(curve.evaluations) for curve in found.curves] == [1, 1]


def test_stages_of_one_run_are_compared_and_named(tmp_path: Path) -> None:
    write(tmp_path / "training" / "source-only" / "records.jsonl", [look("source", 10, 0.5)])
    write(tmp_path / "training" / "mat" / "records.jsonl", [look("mat", 10, 0.6)])
    stages = read_curves(tmp_path)
    (alone,) = compare_curves({"run": stages})
    assert {curve.name for curve in alone.curves} == {"source-only, source", "mat"}
    (both,) = compare_curves({"run": stages, "other": run(tmp_path / "other", [0.1])})
    assert {curve.name for curve in both.curves} == {"run: source-only, source", "run: mat", "other"}


def test_scores_of_other_splits_are_not_compared(tmp_path: Path) -> None:
    runs = {name: run(tmp_path / name, [0.1], selector=f"span F1 on {name}") for name in "ab"}
    with pytest.raises(InputError, match="span F1 on a; span F1 on b, and each has one curve only"):
        compare_curves(runs)


def test_it_is_told_in_json_rows_and_words(tmp_path: Path) -> None:
    (found,) = compare_curves({"a": run(tmp_path / "a", [0.1, 0.5]), "b": run(tmp_path / "b", [0.4])})
    told = json.loads(json.dumps(found.as_dict()))
    assert told["reaches_best_of"] == {"a": {"b": {"update": 20, "epoch": 1.0, "score": 0.5}}, "b": {"a": None}}
    assert len(found.as_rows()) == 3
    assert "never" in found.render()
    assert "epoch 1" in found.render()
