"""The curves of a run: every kind of row in its place, stages in their order, and clear words for what is wrong."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from training_rows import Row, confidence, game, look, losses, write, write_run

from acclimate.analysis.curves import (
    GUESSING,
    NO_SCORE,
    OUTRUN,
    SEEING_THROUGH,
    Series,
    StageCurves,
    game_verdict,
    read_curves,
    render_curves,
)
from acclimate.data.problems import InputError
from acclimate.methods.alignment import domain_discriminator
from acclimate.training.record import Record
from acclimate.training.stage import LastUpdate


def written(folder: Path, *rows: Row) -> Path:
    return write(folder / "records.jsonl", rows)


def one_stage(folder: Path, *rows: Row) -> StageCurves:
    (found,) = read_curves(written(folder, *rows))
    return found


def test_stages_come_in_the_order_they_were_begun_in(tmp_path: Path) -> None:
    found = read_curves(write_run(tmp_path))
    assert [curves.name for curves in found] == ["source-only, source", "align, warm-up", "align"]
    assert [curves.updates for curves in found] == [20, 10, 100]


def test_losses_are_kept_by_name_and_the_learning_rate_is_none(tmp_path: Path) -> None:
    found = one_stage(tmp_path, losses("a", 10, tag=2.0, domain=1), losses("a", 20, tag=1.0))
    assert found.losses == {"tag": Series([10, 20], [2.0, 1.0]), "domain": Series([10], [1.0])}


def test_scores_are_kept_by_selector(tmp_path: Path) -> None:
    found = one_stage(tmp_path, look("a", 5, 0.5, "one"), look("a", 5, -2, "other"), look("a", 9, 0.6, "one"))
    assert found.scores == {"one": Series([5, 9], [0.5, 0.6]), "other": Series([5], [-2.0])}


def test_a_selector_without_a_score_is_not_drawn_at_0(tmp_path: Path) -> None:
    assert LastUpdate().name in NO_SCORE
    rows = [look("a", 5, 0.0, name) for name in (*NO_SCORE, "last update (no held-out text to choose by)")]
    assert one_stage(tmp_path, losses("a", 1, tag=1.0), *rows).scores == {}


def test_the_game_has_its_accuracies_and_its_loss(tmp_path: Path) -> None:
    bare = {"kind": "game", "stage": "a", "update": 9, "accuracy": 0.5, "sentences": 40}
    found = one_stage(tmp_path, game("a", 5, 0.75), bare)
    assert found.game["accuracy"] == Series([5, 9], [0.75, 0.5])
    assert found.game["source_accuracy"] == Series([5], [0.75])
    assert set(found.game) == {"accuracy", "source_accuracy", "target_accuracy", "loss"}


def test_the_zones_of_the_game_are_those_that_a_run_warns_of() -> None:
    assert pytest.approx((0.5 - domain_discriminator.NEAR_CHANCE, 0.5 + domain_discriminator.NEAR_CHANCE)) == GUESSING
    assert SEEING_THROUGH[0] == domain_discriminator.WON
    assert OUTRUN[1] == domain_discriminator.OUTRUN


def test_watched_sentences_are_kept_with_the_marginals_of_their_words(tmp_path: Path) -> None:
    found = one_stage(tmp_path, confidence("a", 5, **{"x y": 0.25}), confidence("a", 9, **{"x y": 0.5, "z": 1.0}))
    assert found.confidences["x y"].probability == Series([5, 9], [0.25, 0.5])
    assert found.confidences["x y"].marginals == [[0.25, 1.0], [0.5, 1.0]]
    assert found.confidences["z"].probability.updates == [9]


def test_what_is_no_number_is_a_gap_and_can_be_written_as_json(tmp_path: Path) -> None:
    found = one_stage(tmp_path, look("a", 5, math.nan), look("a", 9, -math.inf), look("a", 12, None), look("a", 20, 1))
    (series,) = found.scores.values()
    assert series.values == [None, None, None, 1.0]
    assert series.known == [(1.0, 20)]
    assert "NaN" not in json.dumps(found.as_dict(), allow_nan=False)


def test_what_the_record_writes_is_what_is_read(tmp_path: Path) -> None:
    record = Record(tmp_path / "training")  # as domain-tune has it
    record.add("update", "domain-tuning", 10, learning_rate=0.1, words=2.0)
    record.add("masks", "domain-tuning", 10, policy="random", rows=[])
    (found,) = read_curves(tmp_path)
    assert (found.recipe, found.name, found.losses) == (None, "domain-tuning", {"words": Series([10], [2.0])})


def test_flat_rows_hold_every_point(tmp_path: Path) -> None:
    found = read_curves(write_run(tmp_path))
    rows = [row for curves in found for row in curves.as_rows()]
    assert rows[0] == {
        "recipe": "source-only",
        "stage": "source",
        "kind": "loss",
        "name": "tag",
        "update": 10,
        "value": 3.0,
    }
    assert {row["kind"] for row in rows} == {"loss", "score", "game", "confidence"}
    assert len(rows) == 3 + 1 + 10 * (2 + 1 + 4 + 2)


def test_a_line_cut_off_at_the_end_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, losses("a", 10, tag=1.0))
    path.write_text(path.read_text() + '{"kind": "update", "sta')
    assert read_curves(tmp_path)[0].updates == 10


def test_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: there is no such run folder"):
        read_curves(tmp_path / "nowhere")


def test_a_run_that_recorded_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing is recorded here\. Name the folder of a run"):
        read_curves(tmp_path)
    written(tmp_path, {"kind": "masks", "stage": "a", "update": 1}, look("a", 1, 0.0, "last update"))
    with pytest.raises(InputError, match="nothing is recorded here"):
        read_curves(tmp_path)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (losses("a", 1, tag="high"), "kind update cannot be read: 'high' is no number"),
        (losses("a", 1, tag=True), "True is no number"),
        (
            {"kind": "evaluation", "stage": "a", "update": 1, "score": 1.0},
            "kind evaluation cannot be read: it lacks 'selector'",
        ),
        ({"kind": "game", "stage": "a", "update": 1}, "it lacks 'accuracy'"),
        ({"kind": "confidence", "stage": "a", "update": 1, "sentences": [{"words": "x"}]}, "it lacks 'probability'"),
        ({"kind": "game", "update": 1, "accuracy": 0.5}, "it lacks 'stage'"),
    ],
)
def test_a_bad_entry_is_told_with_its_line(tmp_path: Path, row: Row, words: str) -> None:
    path = written(tmp_path, losses("a", 1, tag=1.0), row)
    with pytest.raises(InputError, match=rf"records\.jsonl, line 2: .*{words}"):
        read_curves(path)


def test_the_text_names_ends_and_extremes(tmp_path: Path) -> None:
    told = render_curves(read_curves(write_run(tmp_path)))
    assert "source-only, source (20 updates)" in told
    (tag,) = [line.split() for line in told.splitlines() if "loss: tag" in line and " 3 " in line]
    assert tag == ["loss:", "tag", "3", "1", "1", "20", "3", "10"]
    assert "confidence: Anna left" in told


def test_a_series_without_a_number_is_told_as_unknown(tmp_path: Path) -> None:
    told = render_curves([one_stage(tmp_path, look("a", 5, None))])
    assert told.splitlines()[-1].split()[-6:] == ["-"] * 6


@pytest.mark.parametrize(
    ("accuracy", "words"),
    [(1.0, "sees through"), (0.5, "guesses"), (0.1, "mostly wrong"), (0.7, r"0\.70 \(chance 0\.5\)\.$")],
)
def test_the_game_is_judged_by_its_end(tmp_path: Path, accuracy: float, words: str) -> None:
    rows = [game("a", update, 0.8 if update < 9 else accuracy) for update in range(12)]
    verdict = game_verdict(one_stage(tmp_path, *rows))
    assert verdict is not None
    assert re.search(words, verdict)


def test_without_a_game_nothing_is_judged(tmp_path: Path) -> None:
    assert game_verdict(one_stage(tmp_path, losses("a", 1, tag=1.0))) is None
    assert game_verdict(one_stage(tmp_path, game("a", 1, None))) is None
