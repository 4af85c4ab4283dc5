"""The rules one by one: what sets each off, what keeps it silent, and the command it gives."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from acclimate.analysis.features import Separability
from acclimate.analysis.inspection import rules
from acclimate.analysis.inspection.facts import EncoderFigures, Facts, Given, LabelSupport, TargetLabels
from acclimate.analysis.inspection.measures import PieceFigures, Surface, WordFigures
from acclimate.analysis.inspection.rules import standings
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.domain_tuning import Perplexity

BOARD_ROWS = Path(__file__).parents[2] / "docs" / "explanation" / "results" / "leaderboard.jsonl"
LABELS = {"PER": 300, "LOC": 200}


def surface(sentences: int = 1000, length: float = 15.0) -> Surface:
    return Surface(sentences, round(sentences * length), length, 30, {}, {})


def target_labels(
    counts: dict[str, int], *, seen: float | None = 0.9, kind: str = "spans", **more: Any
) -> TargetLabels:
    both, foreign = set(counts) & set(LABELS), set(counts) - set(LABELS)
    missing = tuple(sorted(set(LABELS) - set(counts)))
    sides = tuple(sorted(both)), missing, tuple(sorted(foreign))
    figures = {"alike": {}, "bundled_map": None, **more}
    return TargetLabels("few", 100, kind, counts, *sides, seen, seen, (), 1.5, **figures)


def facts(
    *,
    gap: float | None = 0.0,
    accuracy: float | None = 0.75,
    unseen: float = 0.1,
    sentences: int = 5000,
    length: float = 15.0,
    target: TargetLabels | None = None,
    few: bool = False,
    kind: str = "spans",
    encoder: str = "acclimate-mini",
) -> Facts:
    """Two corpora that no rule has much to say of, but for what is named."""
    losses = None if gap is None else (Perplexity(1.0, 3.0, 500, 100), Perplexity(1.0, 3.0 + gap, 500, 100))
    apart = None if accuracy is None else Separability(accuracy, (accuracy, accuracy), 200, 200)
    pieces = PieceFigures(1.2, 1.2, 0.0, 0.0)
    return Facts(
        Given(("news.conll",), "my posts.txt", "few.conll" if few else None),
        surface(),
        surface(sentences, length),
        WordFigures(30.0, unseen, 2 * unseen, 0.3, ()),
        EncoderFigures(encoder, pieces, losses, apart, 0.1, 0.0, ()),
        LabelSupport(LABELS, kind, 800, 1.4, target),
    )


GENES = target_labels({"GENE": 150})
SAME = target_labels({"PER": 60, "LOC": 40})


def test_of_domains_neither_near_nor_far_little_is_said() -> None:
    said = [found.rule for found in rules.suggestions(facts())]
    assert said == ["default_recipe", "first_labels"]


def test_names_that_look_alike_become_lines_of_a_map() -> None:
    named = target_labels({"person": 50, "LOC": 30, "NO": 5}, alike={"person": "PER"})
    found = rules.other_names(facts(target=named, few=True))
    assert found is not None
    assert yaml.safe_load(found.commands[0]) == {"labels": {"person": "PER", "LOC": "LOC", "NO": "O"}}
    assert rules.other_names(facts(target=SAME)) is None


def test_a_bundled_map_is_named_and_goes_into_the_commands() -> None:
    named = target_labels({"person": 50, "tvshow": 30}, alike={"person": "PER"}, bundled_map="wnut16-to-conll")
    here = facts(target=named, few=True)
    found = rules.other_names(here)
    assert found is not None
    assert "--map wnut16-to-conll" in found.text
    assert "--map wnut16-to-conll" in here.adapt("pdaln")
    assert here.foreign == ()


def test_a_map_that_was_given_is_kept_and_none_is_suggested() -> None:
    here = facts(target=target_labels({"person": 50}, alike={"person": "PER"}), few=True)
    mapped = replace(here, given=replace(here.given, map_name="mine.yaml"))
    assert "--map mine.yaml" in mapped.adapt("mat")
    assert rules.other_names(mapped) is None


def test_labels_that_the_source_does_not_teach_need_labelled_sentences() -> None:
    found = rules.labels_without_source(facts(target=GENES))
    assert found is not None
    assert "Label some target sentences with GENE" in found.text
    given = rules.labels_without_source(facts(target=GENES, few=True))
    assert given is not None
    assert [command.split()[-1] for command in given.commands] == ["acclimate", "datnet", "target-only"]
    assert "No name of a label resembles one of the source's" in given.why
    assert "`OLD: NEW`" in given.why
    assert rules.labels_without_source(facts(target=SAME)) is None
    assert rules.labels_without_source(facts()) is None


@pytest.mark.parametrize(("accuracy", "gap", "said"), [(0.55, 0.1, True), (0.7, 0.1, False), (0.55, 2.0, False)])
def test_alike_domains_begin_without_adaptation(accuracy: float, gap: float, said: bool) -> None:
    assert (rules.alike(facts(accuracy=accuracy, gap=gap)) is not None) == said


def test_the_default_is_named_first_with_what_it_brought() -> None:
    found, more = rules.default_recipe(facts()), rules.default_recipe(facts(target=SAME, few=True))
    assert found is not None
    assert shlex.split(found.commands[0])[-2:] == ["--recipe", "acclimate"]
    assert "53.0" in found.why
    assert more is not None
    assert "70.6" in more.why
    assert rules.default_recipe(facts(target=GENES)) is None
    assert rules.default_recipe(facts(accuracy=0.55, gap=0.1)) is None  # nothing to adapt


def test_words_that_are_hard_to_guess_suggest_domain_tuning() -> None:
    found = rules.domain_tuning(facts(gap=rules.LOSS_GAP))
    assert found is not None
    assert "--recipe adversarial-masking" in found.commands[0]
    assert "options.updates" not in found.commands[0]
    assert rules.domain_tuning(facts(gap=rules.LOSS_GAP - 0.01)) is None
    assert rules.domain_tuning(facts(gap=None)) is None


def test_little_text_is_tuned_on_for_a_shorter_time_and_that_is_told() -> None:
    found = rules.domain_tuning(facts(gap=2.0, sentences=400))
    assert found is not None
    assert "400 sentences: tuning stops when it has read them 16 times" in found.why
    assert rules.domain_tuning(facts(gap=2.0, sentences=39)) is None


def test_for_labels_of_its_own_the_encoder_alone_is_tuned() -> None:
    found = rules.domain_tuning(facts(gap=2.0, target=GENES))
    assert found is not None
    assert found.commands[0].startswith("acclimate encoder domain-tune --text 'my posts.txt' --source news.conll")


def test_domains_far_apart_suggest_making_them_alike() -> None:
    found, more = rules.alignment(facts(accuracy=0.95)), rules.alignment(facts(accuracy=0.95, target=SAME, few=True))
    assert found is not None
    assert [shlex.split(command)[-1] for command in found.commands] == ["pdaln", "datnet"]
    assert more is not None
    assert [shlex.split(command)[-1] for command in more.commands] == ["pdaln", "la-dtl", "datnet"]
    assert rules.alignment(facts(accuracy=0.87)) is None
    assert rules.alignment(facts(accuracy=0.95, target=GENES)) is None
    assert rules.alignment(facts(accuracy=None)) is None


def test_labelled_sentences_are_used_where_domains_are_close_too() -> None:
    near = rules.alignment(facts(target=SAME, few=True))
    assert near is not None
    assert "linear classifier" not in near.why
    assert rules.alignment(facts(target=SAME, few=True, accuracy=None)) is not None
    assert rules.alignment(facts(target=SAME)) is None


def test_little_text_suggests_to_select_more() -> None:
    found = rules.more_text(facts(gap=2.0, sentences=600))
    assert found is not None
    assert "--from HUGE.txt.gz --top 1400" in found.commands[0]
    assert found.commands[1].endswith("--target-text more.txt.gz")
    assert rules.more_text(facts(gap=2.0, sentences=2000)) is None
    assert rules.more_text(facts(gap=0.1, sentences=600)) is None


def test_how_many_sentences_more_give_support_is_counted_at_the_rate_met() -> None:
    found = rules.weak_support(facts(target=target_labels({"PER": 60, "LOC": 5}), few=True))
    assert found is not None
    assert "About 300 labelled" in found.text  # 15 more at 5 in 100 sentences
    alone = rules.weak_support(facts(target=target_labels({"PER": 10}), few=True))
    assert alone is not None
    assert "Not met at all: LOC" in alone.why
    assert rules.weak_support(facts(target=SAME, few=True)) is None
    assert rules.weak_support(facts(target=target_labels({"PER": 10}))) is None


def test_sentences_to_score_on_are_counted_at_the_rate_of_the_target_or_of_the_source() -> None:
    ours, theirs = rules.first_labels(facts()), rules.first_labels(facts(target=SAME))
    assert ours is not None
    assert "640" in ours.text  # 400 entities at 500 in 800 sentences
    assert theirs is not None
    assert "400 others" in theirs.text  # at 100 in 100
    assert rules.first_labels(facts(few=True, target=SAME)) is None


def test_words_with_plain_tags_are_not_counted_as_entities() -> None:
    parts_of_speech = target_labels({"NOUN": 400, "VERB": 300}, kind="plain")
    assert rules.first_labels(facts(target=parts_of_speech)) is None
    assert rules.first_labels(facts(kind="plain")) is None
    assert rules.first_labels(facts(kind="plain", target=SAME)) is not None


def test_very_long_lines_may_be_paragraphs() -> None:
    assert rules.paragraphs(facts(length=80)) is not None
    assert rules.paragraphs(facts(length=25)) is None


def lacking(here: Facts) -> set[str]:
    return {standing.recipe for standing in standings(here) if standing.lacks is not None}


def test_every_recipe_is_said_to_run_or_to_lack_something() -> None:
    assert [standing.recipe for standing in standings(facts())] == list(RECIPES)
    assert lacking(facts()) == {"target-only", "la-dtl"}
    assert lacking(facts(target=SAME, few=True)) == set()
    assert lacking(facts(gap=None)) == {"target-only", "la-dtl", "adversarial-masking", "mslm"}
    assert lacking(facts(target=GENES)) == set(RECIPES)
    assert lacking(facts(target=GENES, few=True)) == set(RECIPES) - {"acclimate", "datnet", "target-only"}
    assert "mslm" in lacking(facts(kind="plain"))
    assert lacking(facts(target=target_labels({"NOUN": 9}, kind="plain"), few=True)) >= {"pdaln", "la-dtl"}


def test_another_encoder_goes_into_the_commands() -> None:
    assert "--encoder" not in facts().adapt("mat")
    assert "--encoder tiny" in facts(encoder="tiny").adapt("mat")


def every_suggestion() -> list[Any]:
    cases = [
        {"gap": 2.0, "accuracy": 0.95, "unseen": 0.4, "sentences": 400},
        {"gap": 2.0, "accuracy": 0.95, "target": SAME, "few": True, "sentences": 400},
        {"gap": 2.0, "target": GENES},
        {"target": GENES, "few": True},
        {"accuracy": 0.5, "target": replace(SAME, sentences=1000)},
        {"gap": 2.0, "sentences": 600},
    ]
    return [suggestion for case in cases for suggestion in rules.suggestions(facts(**case))]  # type: ignore[arg-type]


def test_every_command_has_options_that_there_are() -> None:
    """Each is parsed by the command line itself, which stops at the first file that is not there."""
    from acclimate.cli.main import app

    commands = {command for found in every_suggestion() for command in found.commands}
    assert len(commands) > 10
    for command in commands:
        answer = CliRunner().invoke(app, [*shlex.split(command)[1:], "--help"])
        assert answer.exit_code == 0, command
        given = [word for word in shlex.split(command) if word.startswith("--")]
        assert all(option in answer.output for option in given), command


def with_one_type(found: Facts) -> Facts:
    return replace(found, labels=replace(found.labels, source={"PER": 300}))


def test_what_was_measured_is_what_the_rows_of_the_leaderboard_say() -> None:
    rows = [json.loads(row) for row in BOARD_ROWS.read_text(encoding="utf-8").splitlines()]

    def mean(model: str, labels: int, typed: bool = True) -> float:
        own = [row for row in rows if (row["part"], row["typed"]) == ("main", typed)]
        found = [row["f1"] for row in own if (row["model"], row["labels"]) == (model, labels)]
        assert len(found) == 7 * 3
        return sum(found) / len(found)

    none, few = rules.default_recipe(facts()), rules.default_recipe(facts(target=SAME, few=True))
    assert none is not None
    assert f"{mean('acclimate', 0):.1f} F1, {mean('source-only', 0):.1f} without" in none.why
    assert few is not None
    assert f"{mean('acclimate', 100):.1f} F1, {mean('plain', 100):.1f} for" in few.why
    one = rules.default_recipe(with_one_type(facts(target=SAME, few=True)))
    assert one is not None
    means = {name: f"{mean(name, 100, typed=False):.1f}" for name in ("datnet", "acclimate", "plain")}
    assert f"{means['datnet']} F1, acclimate's {means['acclimate']}, {means['plain']} for" in one.why
    assert len(one.commands) == 2
    gains = {name: f"{mean(name, 0) - mean('source-only', 0):.1f}" for name in ("pdaln", "datnet")}
    assert f"pdaln brought {gains['pdaln']} F1 on the mean, datnet {gains['datnet']}" in rules.MEASURED_WITHOUT
    tuned = rules.domain_tuning(facts(gap=2.0))
    assert tuned is not None
    assert f"brought {mean('adversarial-masking', 0) - mean('source-only', 0):.1f} F1" in tuned.text
    assert f"datnet was {mean('datnet', 100) - mean('plain', 100):.1f} F1 above" in rules.MEASURED_WITH_FEW


def test_nothing_is_promised() -> None:
    for found in every_suggestion():
        said = f"{found.text} {found.why}".lower()
        assert not any(word in said for word in (" will improve", "gains of", " best ", "guarantee")), said
