"""Synonyms and deletions as text of a composed stage, and what is logged of text that was made."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from acclimate.analysis.run_records import how, read_changes
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.tagger import Tagger
from acclimate.recipes.compose import check_plan, compose
from acclimate.recipes.compose_parts import ComposeSettings
from acclimate.recipes.pdaln import nearest_in
from acclimate.recipes.recipe import Plan
from acclimate.reporting.page import Section
from acclimate.reporting.sentences import edited_blocks
from acclimate.runs.train import adapt
from acclimate.settings import UsageError, complete
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

Build = Callable[..., Tagger]
QUICK = {"updates": 3, "words_per_batch": 60}
SOURCE = Corpus.of(
    [
        Sentence(("Anna", "went", "home", "today"), ("B-PER", "O", "O", "O")),
        Sentence(("Bob", "Stone"), ("B-PER", "I-PER")),  # nothing can be edited
        Sentence(("it", "rained", "in", "Oslo"), ("O", "O", "O", "B-LOC")),
    ]
)
TARGET = Corpus.of([Sentence(("lol", "Anna", "went", "off"), ("O", "B-PER", "O", "O")), Sentence(("went", "out"))])


@pytest.fixture
def table(tmp_path: Path) -> str:
    place = tmp_path / "synonyms.tsv"
    place.write_text("went\twalked\nrained\tpoured\nAnna\tnobody\n", encoding="utf-8")
    return str(place)


def plan_of(*stages: dict[str, Any]) -> Plan:
    return Plan(SOURCE, TARGET, TrainingSettings(**QUICK), complete(ComposeSettings, {"stages": stages}), 1)


def stages_of(tagger: Tagger, *stages: dict[str, Any]) -> list[Stage]:
    plan = plan_of(*stages)
    check_plan(tagger, plan)
    return list(compose(tagger, plan))


def learnt(stage: Stage) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Words and tags of an epoch."""
    batches = islice(stage.batches.starting_at(0), stage.batches.epoch_length)
    return {(sentence.words, sentence.tags) for batch in batches for sentence in batch["source"]}


def test_synonyms_stand_for_words_outside_entities_in_all_labelled_sentences(build: Build, table: str) -> None:
    (stage,) = stages_of(
        build(), {"objectives": ["tagging"], "learns": ["synonyms"], "edits": {"synonyms": table, "edit_share": 1}}
    )
    assert learnt(stage) == {
        (("Anna", "walked", "home", "today"), ("B-PER", "O", "O", "O")),
        (("it", "poured", "in", "Oslo"), ("O", "O", "O", "B-LOC")),
        (("lol", "Anna", "walked", "off"), ("O", "B-PER", "O", "O")),
    }


def test_deletion_leaves_entities_whole_and_out_sentences_that_are_nothing_else(build: Build) -> None:
    (stage,) = stages_of(build(), {"objectives": ["tagging"], "learns": ["deletion"], "edits": {"edit_share": 0.75}})
    assert learnt(stage) == {
        (("Anna",), ("B-PER",)),
        (("Oslo",), ("B-LOC",)),
        (("lol", "Anna"), ("O", "B-PER")),
    }


def test_edited_text_may_stand_with_other_text_and_beside_it(build: Build, table: str) -> None:
    stage = {
        "objectives": ["tagging", "target-tagging"],
        "learns": ["source", "synonyms"],
        "beside": ["deletion"],
        "edits": {"synonyms": table},
    }
    (made,) = stages_of(build(), stage)
    assert {sentence.words for sentence in SOURCE} < {words for words, _ in learnt(made)}
    assert [watch(None)["by"] for watch in made.watches] == ["synonyms", "deletion"]


def test_every_round_has_edits_of_its_own_and_a_run_always_the_same(build: Build, news: Corpus) -> None:
    options = complete(ComposeSettings, {"stages": [{"objectives": ["tagging"], "learns": ["deletion"], "rounds": 2}]})
    plan = Plan(news, Corpus(()), TrainingSettings(**QUICK), options, 1)
    first, second = (learnt(stage) for stage in compose(build(), plan))
    assert first != second
    assert [learnt(stage) for stage in compose(build(), plan)] == [first, second]


def test_without_a_file_the_encoder_s_own_neighbours_are_the_synonyms(build: Build, news: Corpus) -> None:
    tagger = build("bert")
    tagger.encoder.model.get_input_embeddings().weight.data[:, 0] += 1.0  # now all are near one another
    options = complete(ComposeSettings, {"stages": [{"objectives": ["tagging"], "learns": ["synonyms"]}]})
    (stage,) = compose(tagger, Plan(news, Corpus(()), TrainingSettings(**QUICK), options, 1))
    neighbours = nearest_in(tagger.encoder, news.vocabulary)
    (told,) = (watch(None) for watch in stage.watches)
    edits = [(row["words"][edit["start"]], *edit["by"]) for row in told["rows"] for edit in row["edits"]]
    assert edits
    assert all(new in neighbours.of(old) for old, new in edits)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ({"edits": {"edit_share": 0.5}}, "edits.edit_share has no effect: the stage has no text synonyms or deletion"),
        ({"learns": ["deletion"], "edits": {"vectors": "x"}}, "edits.vectors has no effect: .* no text synonyms"),
        ({"learns": ["synonyms"], "edits": {"synonyms": "none.tsv"}}, "Stage odd, synonyms: .*none.tsv"),
        ({"learns": ["synonyms"]}, "Stage odd, synonyms: this tagger knows no synonyms: .*tagger.lstm.vectors"),
        (
            {"objectives": {"tagging": {}, "contrast": {"settings": {"edits": "synonyms"}}}},
            "Stage odd, contrast: this tagger knows no synonyms",
        ),
    ],
)
def test_edits_that_nobody_reads_and_files_that_are_not_there_are_told(
    build: Build, stage: dict[str, Any], words: str
) -> None:
    with pytest.raises((UsageError, InputError), match=words):
        check_plan(build(), plan_of({"name": "odd", "objectives": ["tagging"], **stage}))


def test_text_in_which_nothing_can_be_edited_is_told(build: Build, tmp_path: Path) -> None:
    place = tmp_path / "synonyms.tsv"
    place.write_text("nowhere\tanywhere\n", encoding="utf-8")
    stage = {"objectives": ["tagging"], "learns": ["synonyms"], "edits": {"synonyms": str(place)}}
    with pytest.raises(InputError, match="no labelled sentence has a word that synonyms could change"):
        check_plan(build(), plan_of(stage))


# ------------------------------------------------------------------------------------------------------------- the log


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("compose", {"stages": [{"name": "round", "objectives": ["tagging"], "learns": ["anchors"], "rounds": 2}]}),
        ("acclimate", {"anchors": True, "rounds": 2, "tuning": False, "noise": False}),
    ],
)
def test_exchanged_entities_are_logged_as_pdaln_s_are(
    build: Build, news: Corpus, tweets: Corpus, tmp_path: Path, recipe: str, options: dict[str, Any]
) -> None:
    few, text = tweets[:4], tweets[4:].unlabelled()
    given = {"training": QUICK, "select": "last", "out": tmp_path}
    adapt(build(), news, text, recipe, target_labelled=few, **given, **options)
    rows = list(read_changes(tmp_path))
    assert {row.by for row in rows} == {"anchors"}
    assert {row.stage for row in rows} == {"round-1", "round-2"}
    assert {row.side for row in rows} == {"source", "target"}
    originals = {sentence.words for sentence in (*news, *few)}
    assert all(row.words in originals for row in rows)
    assert all(edit.label for row in rows for edit in row.edits)


def test_synonyms_and_deletions_are_logged_and_the_report_shows_them(build: Build, tmp_path: Path, table: str) -> None:
    stage = {"objectives": ["tagging"], "learns": ["synonyms", "deletion"], "edits": {"synonyms": table}}
    given = {"training": QUICK, "select": "last", "out": tmp_path / "run", "stages": [stage]}
    adapt(build(text=SOURCE), SOURCE, TARGET.unlabelled(), "compose", **given)
    rows = list(read_changes(tmp_path / "run"))
    assert {(row.by, *sorted({how(edit) for edit in row.edits})) for row in rows} == {
        ("synonyms", "swapped"),
        ("deletion", "left out"),
    }
    page = Section("masks", "", "", edited_blocks(rows)).render()
    assert "Synonyms in the place of words" in page
    assert "Words left out, to be learnt besides" in page
    assert "walked" in page
