"""What a row or column of a table stands for is really done: sizes as in the paper, and no row that changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from acclimate.data.corpus import Corpus, LabelSet, Sentence
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.tagger import Tagger
from acclimate.recipes.pdaln import AnchorSettings, PdalnSettings, exchanged
from acclimate.reproduction.table import Cell, all_tables, cells_of, find_table
from acclimate.settings import complete


def numbered(count: int, where: str) -> Corpus:
    return Corpus.of(
        [Sentence((f"{where}{number}", "came", str(number)), ("B-PER", "O", "O")) for number in range(count)]
    )


@pytest.mark.parametrize("table_id", ["pdaln-table1", "pdaln-table2", "pdaln-table3", "pdaln-figure3"])
def test_every_target_has_as_many_augmented_sentences_as_in_the_paper(table_id: str) -> None:
    """Oracle 9d: 100 * 4 + 500 * 2 = 1,400, and on Webpage 10 * 4 + 100 * 2 = 240."""
    source = numbered(800, "there")
    seen, sizes = {}, dict[Any, int]()
    for cell in cells_of(find_table(table_id)):
        options = cell.settings.options
        if cell.settings.recipe == "pdaln" and cell.settings.labelled is not None and options["augment"]:
            assert isinstance(cell.settings.labelled, int)
            wanted = complete(PdalnSettings, options)
            # rows that exchange in the same way are made once
            key = cell.settings.labelled, *(str(getattr(wanted, name)) for name in AnchorSettings.model_fields)
            if key not in sizes:
                few = numbered(cell.settings.labelled, "here")
                sizes[key] = len(exchanged(source, few, wanted, seed=1).corpus)
            assert sizes[key] == (240 if cell.column == "Webpage" else 1400), cell.name
            seen[cell.column] = sizes[key]
    assert seen == {"SciTech": 1400, "WNUT2016": 1400, "Webpage": 240, "Wikigold": 1400}


def test_the_ratio_of_one_to_seven_makes_1_800_sentences() -> None:
    """Oracle 9d, of 100 target sentences."""
    (cell, *_) = [cell for cell in cells_of(find_table("pdaln-table4")) if cell.row == "1:7"]
    made = exchanged(numbered(800, "there"), numbered(100, "here"), complete(PdalnSettings, cell.settings.options), 1)
    assert len(made.corpus) == 1800


# how many types the sets of MSLM's tables have
TYPES = {
    "bc2gm": 1,
    "ncbi_disease": 1,
    "bc5cdr_chem": 1,
    "bc5cdr_disease": 1,
    "jnlpba_biobert": 1,
    "ebm_nlp_outcomes": 6,
    "mimic3": 3,
}
SHAPES: dict[str, dict[str, Any]] = {}  # of a tagger's weights, by its types and heads
MSLM = [name for name, table in all_tables().items() if table.paper == "MSLM"]


def trained_as(cell: Cell, build: Callable[..., Tagger]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings but for those of the heads, and the heads that they make."""
    settings = cell.settings.model_dump(mode="json", exclude={"measures", "corpora", "part"})
    heads = settings["options"].pop("entities", None)
    types = TYPES[str(cell.settings.source)]
    key = json.dumps([types, heads])
    if key not in SHAPES:
        tagger = build("bert", labels=LabelSet(tuple(f"T{number}" for number in range(types))))
        if heads is not None:
            tagger.find_entities(complete(EntitySettings, heads))
        SHAPES[key] = {name: tuple(value.shape) for name, value in tagger.state_dict().items()}
    return settings, SHAPES[key] | {"dropout": None if heads is None else heads["dropout"]}


@pytest.mark.parametrize("table_id", MSLM)
def test_no_two_rows_of_a_column_are_one_training(table_id: str, build: Callable[..., Tagger]) -> None:
    cells = [cell for cell in cells_of(find_table(table_id)) if cell.settings.recipe is not None]
    made = [(cell, trained_as(cell, build)) for cell in cells]
    for (one, mine), (other, theirs) in combinations(made, 2):
        if one.column == other.column:
            assert mine != theirs, f"{one.name} and {other.name}"


def test_a_width_that_has_no_head_is_seen_to_change_nothing(build: Callable[..., Tagger]) -> None:
    """The negative of the test above: on a set of one type there is no head that types entities."""
    chosen, narrow = (
        cells_of(find_table("mslm-table7"), assignments=["source=bc2gm", f"mslm.options.entities.type_width={width}"])[
            0
        ]
        for width in (100, 50)
    )
    assert chosen.settings != narrow.settings
    assert trained_as(chosen, build) == trained_as(narrow, build)
