"""The rules one by one: what sets each off, what keeps it silent, and the command it gives."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from acclimate.analysis.inspection import rules
from acclimate.analysis.inspection.facts import EncoderFigures, Facts, Given, LabelSupport, TargetLabels
from acclimate.analysis.inspection.rules import standings
from acclimate.analysis.text_comparison import compare_text
from acclimate.data.corpus import Corpus, Sentence
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.domain_tuning import Perplexity

BOARD_ROWS = Path(__file__).parents[2] / "docs" / "explanation" / "results" / "leaderboard.jsonl"
LABELS = {"PER": 300, "LOC": 200}


TEXT = Corpus.of([Sentence(("some", "text"))])


def target_labels(
    counts: dict[str, int], *, seen: float | None = 0.9, kind: str = "spans", **more: Any
) -> TargetLabels:
    both, foreign = set(counts) & set(LABELS), set(counts) - set(LABELS)
    missing = tuple(sorted(set(LABELS) - set(counts)))
    sides = tuple(sorted(both)), missing, tuple(sorted(foreign))
    figures = {"alike": {}, "bundled_map": None, **more}
    return TargetLabels("few", 100, kind, counts, *sides, seen, **figures)


def facts(
    *,
    has_language_model: bool = True,
    target: TargetLabels | None = None,
    few: bool = False,
    kind: str = "spans",
    encoder: str = "acclimate-mini",
) -> Facts:
    losses = (Perplexity(1.0, 3.0, 500, 100), Perplexity(1.0, 3.0, 500, 100)) if has_language_model else None
    return Facts(
        Given(("news.conll",), "my posts.txt", "few.conll" if few else None),
        compare_text({"source": TEXT, "target": TEXT}),
        ({}, {}),
        EncoderFigures(encoder, (1.2, 1.2), 0.0, losses, None, ()),
        LabelSupport(LABELS, kind, 800, target),
    )


GENES = target_labels({"GENE": 150})
SAME = target_labels({"PER": 60, "LOC": 40})


def test_of_text_alone_recipes_are_suggested_and_labels() -> None:
    said = [found.rule for found in rules.suggestions(facts())]
    assert said == ["default_recipe", "other_recipes", "first_labels"]


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


def test_the_default_is_named_first_with_what_it_brought() -> None:
    found, more = rules.default_recipe(facts()), rules.default_recipe(facts(target=SAME, few=True))
    assert found is not None
    assert shlex.split(found.commands[0])[-2:] == ["--recipe", "acclimate"]
    assert "53.0" in found.why
    assert more is not None
    assert "70.6" in more.why
    assert rules.default_recipe(facts(target=GENES)) is None


def test_other_recipes_are_those_that_can_run() -> None:
    def named(here: Facts) -> list[str]:
        found = rules.other_recipes(here)
        return [] if found is None else [shlex.split(command)[-1] for command in found.commands]

    assert named(facts()) == ["adversarial-masking", "datnet"]
    assert named(facts(has_language_model=False)) == ["datnet"]
    assert named(facts(target=SAME, few=True)) == ["datnet", "pdaln", "la-dtl"]
    assert named(facts(target=GENES)) == []


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


def lacking(here: Facts) -> set[str]:
    return {standing.recipe for standing in standings(here) if standing.lacks is not None}


def test_every_recipe_is_said_to_run_or_to_lack_something() -> None:
    assert [standing.recipe for standing in standings(facts())] == list(RECIPES)
    assert lacking(facts()) == {"target-only", "la-dtl"}
    assert lacking(facts(target=SAME, few=True)) == set()
    assert lacking(facts(has_language_model=False)) == {"target-only", "la-dtl", "adversarial-masking", "mslm"}
    assert lacking(facts(target=GENES)) == set(RECIPES)
    assert lacking(facts(target=GENES, few=True)) == set(RECIPES) - {"acclimate", "datnet", "target-only"}
    assert "mslm" in lacking(facts(kind="plain"))
    assert lacking(facts(target=target_labels({"NOUN": 9}, kind="plain"), few=True)) >= {"pdaln", "la-dtl"}


def test_another_encoder_goes_into_the_commands() -> None:
    assert "--encoder" not in facts().adapt("mat")
    assert "--encoder tiny" in facts(encoder="tiny").adapt("mat")


def every_suggestion() -> list[Any]:
    named = target_labels({"person": 50, "LOC": 30}, alike={"person": "PER"})
    cases: list[dict[str, Any]] = [
        {"target": SAME, "few": True},
        {"target": GENES},
        {"target": GENES, "few": True},
        {"target": named},
        {},
    ]
    here = [facts(**case) for case in cases]
    return [suggestion for one in here for suggestion in rules.suggestions(one)]


def test_every_command_has_options_that_there_are() -> None:
    """Each is parsed by the command line itself, which stops at the first file that is not there."""
    from acclimate.cli.main import app

    commands = {command for found in every_suggestion() for command in found.commands if "acclimate" in command}
    assert len(commands) > 8
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
    others, more = rules.other_recipes(facts()), rules.other_recipes(facts(target=SAME, few=True))
    assert others is not None
    tuned, datnet = (f"{mean(name, 0) - mean('source-only', 0):.1f}" for name in ("adversarial-masking", "datnet"))
    assert f"brought {tuned} F1 on the mean, datnet {datnet} " in others.why
    assert more is not None
    assert f"datnet was {mean('datnet', 100) - mean('plain', 100):.1f} F1 above" in more.why


def test_nothing_is_promised() -> None:
    for found in every_suggestion():
        said = f"{found.text} {found.why}".lower()
        assert not any(word in said for word in (" will improve", "gains of", " best ", "guarantee")), said
