"""Every table's file is sound, all runners are there, and the paper's numbers are the paper's."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml

from acclimate.comparison.scheduler import merged
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.reproduction.datasets import find_dataset, known_datasets
from acclimate.reproduction.table import Cell, Scale, Table, all_tables, cells_of, find_table, read_table
from acclimate.settings import SettingsError, UsageError

NAMES = list(all_tables())


def number(printed: Any) -> float:
    found = re.match(r"[-+]?\d+\.?\d*", str(printed))
    assert found is not None
    return float(found.group())


def paper(table: str, row: str, column: str, figure: str | None = None) -> float:
    found = find_table(table).published[row][column]
    return number(found[figure] if isinstance(found, dict) and figure is not None else found)


def test_every_paper_has_all_its_tables() -> None:
    counts = Counter(table.paper for table in all_tables().values())
    assert counts == {"mlm4uda": 8, "MAT": 4, "MSLM": 12, "PDALN": 7, "DATNet": 13, "Acclimate": 5}


def test_tables_stand_in_the_order_of_the_papers_and_their_numbers() -> None:
    datnet = [name for name in NAMES if name.startswith("datnet")]
    assert datnet[:4] == ["datnet-table1", "datnet-table3", "datnet-table4", "datnet-table5"]
    assert datnet[-2:] == ["datnet-figure4", "datnet-figure5"]
    assert NAMES.index("mat-table1") < NAMES.index("mslm-table3") < NAMES.index("pdaln-table1")


@pytest.mark.parametrize("name", NAMES)
def test_all_cells_of_a_table_are_sound_at_both_scales(name: str) -> None:
    table = find_table(name)
    full, small = cells_of(table), cells_of(table, "small")
    assert {(cell.row, cell.column) for cell in small} <= {(cell.row, cell.column) for cell in full}
    for cell in [*full, *small]:
        assert all(find_dataset(name) for name in cell.settings.sets)


@pytest.mark.parametrize("name", NAMES)
def test_paper_numbers_stand_in_columns_that_exist(name: str) -> None:
    table = find_table(name)
    assert {column for line in table.published.values() for column in line} <= {*table.columns, table.mean_column}
    assert set(table.published_gains) <= set(table.against)
    assert set(table.against) | set(table.against.values()) <= set(table.rows)


def in_effect(cell: Cell) -> str:
    """All that a cell is made with, without the settings of an encoder that it has not."""
    found = cell.settings.model_dump(mode="json", exclude={"measures"})
    found["tagger"].pop("transformer" if cell.settings.tagger.encoder == CNN_LSTM else "lstm")
    return json.dumps(found, sort_keys=True)


@pytest.mark.parametrize("scale", ["full", "small"])
@pytest.mark.parametrize("name", NAMES)
def test_no_two_cells_of_a_table_are_the_same_under_two_names(name: str, scale: Scale) -> None:
    rows_by_settings: dict[str, list[str]] = {}
    for cell in cells_of(find_table(name), scale):
        rows_by_settings.setdefault(in_effect(cell), []).append(cell.row)
    same = {tuple(rows) for rows in rows_by_settings.values() if len(rows) > 1}
    # the sweeps of one coefficient each meet where all three have their usual value
    meet = name == "pdaln-figure3" and scale == "full"
    assert same == ({("gamma 0.75", "alpha 0.1", "beta 0.1")} if meet else set())


def test_an_option_that_a_row_names_is_the_one_that_the_recipe_is_given() -> None:
    for table in all_tables().values():
        for cell in cells_of(table):
            named = table.rows[cell.row].get("options", {})
            for name, value in named.items():
                given = cell.settings.options[name]
                if isinstance(value, dict):
                    assert merged(given, value) == given, cell.name
                else:
                    assert given == value or tuple(given) == tuple(value), cell.name


def test_small_scale_trains_on_a_cpu_and_for_a_few_updates_only() -> None:
    for table in all_tables().values():
        for cell in cells_of(table, "small"):
            if cell.settings.recipe is not None:
                assert cell.settings.training.device == "cpu"
                assert 0 < (cell.settings.training.updates or 0) <= most(cell), cell.name


def most(cell: Cell) -> int:
    return 150 if cell.settings.tagger.encoder == CNN_LSTM else 30


def test_at_small_scale_a_row_learns_at_a_rate_that_suits_its_encoder() -> None:
    rates = {
        (cell.settings.tagger.encoder, cell.settings.training.learning_rate)
        for table in ("pdaln-errors", "datnet-table11")
        for cell in cells_of(find_table(table), "small")
    }
    assert rates == {(CNN_LSTM, 0.02), ("acclimate-mini", 0.0002)}


def test_mslms_search_is_about_the_papers_optimizer_and_sgd_has_a_rate_of_its_own() -> None:
    cells = [(cell.row, cell.settings.training) for cell in cells_of(find_table("mslm-table7"))]
    assert {training.optimizer for row, training in cells if row != "SGD"} == {"adam"}
    sgd, chosen = (next(training for row, training in cells if row == name) for name in ("SGD", "as chosen"))
    assert sgd.optimizer == "sgd"
    assert (sgd.learning_rate or 0) > 10 * (chosen.learning_rate or 1)


def test_every_set_has_a_bundled_one_to_stand_in_for_it() -> None:
    for name, found in known_datasets().items():
        assert found.bundled is not None or find_dataset(str(found.small)).bundled is not None, name


def test_no_cell_chooses_by_the_test_part() -> None:
    for table in all_tables().values():
        for cell in cells_of(table):
            assert cell.settings.select in ("auto", "source-dev", "target-dev", "last")


# ------------------------------------------------------------------------------------------------ the paper's numbers


@pytest.mark.parametrize(("extra", "printed"), [("", 1.64), (" + 500K", 1.46), (" + 1M", 1.43)])
def test_printed_mean_gains_of_adversarial_masking_follow_from_the_printed_rows(extra: str, printed: float) -> None:
    table = find_table("mlm4uda-table2")
    adversarial, chance = (table.published[f"{row}{extra}"] for row in ("adversarial", "random"))
    gain = fmean(number(adversarial[column]) - number(chance[column]) for column in table.columns)
    assert gain == pytest.approx(printed, abs=0.006)
    assert number(table.published_gains[f"adversarial{extra}"]["mean"]) == printed


def test_printed_mean_gains_of_mixed_masking_are_too_high_by_1_62() -> None:
    table = find_table("mlm4uda-table3")
    for row, true in (("mix-pos", 1.48), ("mix-entropy", 2.55), ("mix-adversarial", 2.995)):
        own, chance = table.published[f"{row} + 500K"], table.published["random + 500K"]
        gain = fmean(number(own[column]) - number(chance[column]) for column in table.columns)
        assert gain == pytest.approx(true, abs=0.006)
        assert number(table.published_gains[f"{row} + 500K"]["mean"]) == pytest.approx(true + 1.62, abs=0.006)


def test_mat_gains_what_the_paper_says_over_plain_noise() -> None:
    assert paper("mat-table1", "MAT (S)", "NER") - paper("mat-table1", "AT", "NER") == pytest.approx(0.49)
    assert paper("mat-table1", "MAT (S)", "chunking") - paper("mat-table1", "AT", "chunking") == pytest.approx(0.17)


@pytest.mark.parametrize("model", ["base", "DATNet-P", "DATNet-F"])
def test_the_numbers_of_elmo_stand_beside_frozen_features_and_those_of_bert_beside_an_encoder(model: str) -> None:
    cells = {
        cell.row: cell.settings.tagger for cell in cells_of(find_table("datnet-table11")) if cell.column == "WNUT-2017"
    }
    plain, elmo, bert = (cells[f"{model}{behind}"] for behind in ("", " + ELMo", " + BERT"))
    assert (plain.encoder, plain.head, plain.lstm.contextual) == (CNN_LSTM, "crf", None)
    assert (elmo.encoder, elmo.head) == (CNN_LSTM, "crf")
    assert elmo.lstm.contextual is not None
    assert (bert.encoder, bert.head, bert.transformer.feed_forward) == ("acclimate-mini", "softmax", 200)
    printed = {"base": (43.93, 47.05), "DATNet-P": (47.91, 50.25), "DATNet-F": (49.58, 50.63)}[model]
    assert tuple(paper("datnet-table11", f"{model} + {name}", "WNUT-2017") for name in ("ELMo", "BERT")) == printed
    assert "CoNLL-2002 Dutch" not in find_table("datnet-table11").published[f"{model} + ELMo"]


def test_mats_baseline_is_there_with_normalised_tables_too() -> None:
    for table in ("mat-table1", "mat-table2", "mat-table3", "mat-figure2"):
        cells = {cell.row: cell.settings for cell in cells_of(find_table(table))}
        assert cells["Baseline"].tagger.lstm.normalise == "none"
        assert cells["Baseline, normalised"].tagger.lstm.normalise == "weighted"
        assert cells["Baseline, normalised"].recipe == cells["Baseline"].recipe == "source-only"
        assert cells["AT"].options["normalise"] == "weighted"


def test_mslm_gains_3_2_over_all_encoders_and_sets_and_8_75_on_ebm_nlp() -> None:
    table = find_table("mslm-table3")
    names = ["", ", PubMedBERT", ", BioELECTRA", ", SciBERT"]
    gains = {
        (name, column): paper("mslm-table3", f"MSLM{name}", column, "exact match")
        - paper("mslm-table3", f"vanilla{name}", column, "exact match")
        for name in names
        for column in table.columns
    }
    assert fmean(gains.values()) == pytest.approx(3.20, abs=0.006)
    assert fmean(gains[name, "EBM-NLP"] for name in names) == pytest.approx(8.75)


def test_pdaln_gains_what_the_paper_says_over_bert() -> None:
    columns = ("SciTech", "WNUT2016", "Webpage", "Wikigold")
    gains = [
        paper("pdaln-table1", "PDALN", column, "span f1") - paper("pdaln-table1", "BERT+CRF", column, "span f1")
        for column in columns
    ]
    assert gains == pytest.approx([2.0, 2.3, 1.5, 4.0], abs=0.06)


def test_a_printed_f1_of_pdalns_table_follows_from_precision_and_recall_but_for_one() -> None:
    """Oracle 11c; all are printed with two digits."""
    odd = []
    for row, line in find_table("pdaln-table1").published.items():
        for column in line:
            f1, precision, recall = (
                paper("pdaln-table1", row, column, name) for name in ("span f1", "precision", "recall")
            )
            best = re.search(r"best ([\d.]+)", str(find_table("pdaln-table1").published[row][column]))
            follows = 2 * precision * recall / (precision + recall)
            if abs((float(best[1]) if best else f1) - follows) > 0.02:
                odd.append((row, column, f1, round(follows, 2)))
    assert odd == [("JIA2019", "SciTech", 74.65, 74.82)]


def test_pdalns_printed_best_on_webpage_without_labels_is_below_its_printed_mean() -> None:
    """Oracle 11e: the only one of eight."""
    odd = []
    for row in ("PDALN, no labels", "PDALN"):
        for column, printed in find_table("pdaln-table1").published[row].items():
            assert isinstance(printed, dict)
            mean, best = re.fullmatch(r"([\d.]+) ± [\d.]+ \(best ([\d.]+)\)", str(printed["span f1"])).groups()  # type: ignore[union-attr]
            if float(mean) > float(best):
                odd.append((row, column, float(mean), float(best)))
    assert odd == [("PDALN, no labels", "Webpage", 57.25, 56.93)]


def test_datnet_with_ten_spanish_sentences_is_as_printed() -> None:
    assert (paper("datnet-table6", "base", "Spanish 10"), paper("datnet-table6", "DATNet-F", "Spanish 10")) == (
        21.53,
        44.52,
    )


@pytest.mark.parametrize(("row", "mean"), [("base", 96.31), ("DATNet-P", 96.86), ("DATNet-F", 96.68)])
def test_printed_mean_accuracy_over_languages_follows_from_the_printed_ones(row: str, mean: float) -> None:
    line = find_table("datnet-table5").published[row]
    assert fmean(number(line[column]) for column in find_table("datnet-table5").columns) == pytest.approx(
        mean, abs=0.02
    )
    assert line["average"] == mean


# --------------------------------------------------------------------------------------------------------- strictness


def written(folder: Path, **changes: Any) -> Path:
    values: dict[str, Any] = {
        "paper": "MAT",
        "shows": "Table 1",
        "title": "A trial",
        "rows_are": "methods",
        "columns_are": "tasks",
        "measures": ["span f1"],
        "rows": {"one": {"recipe": "source-only"}},
        "columns": {"NER": {"source": "conll2003"}},
    }
    place = folder / "trial.yaml"
    place.write_text(yaml.safe_dump({**values, **changes}), encoding="utf-8")
    return place


def test_an_unknown_key_is_refused_with_file_and_suggestion(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"trial\.yaml: unknown setting 'row_are'\. Did you mean rows_are\?"):
        read_table(written(tmp_path, row_are="x"))


def test_a_wrong_value_is_named_with_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"trial\.yaml: setting 'seeds' cannot be 0"):
        read_table(written(tmp_path, seeds=0))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"recipe": "source-only", "labeled": 3},
            "row 'one', column 'NER': unknown setting 'labeled'. Did you mean labelled?",
        ),
        ({"recipe": "mat", "options": {"rat": 1}}, "options of recipe mat: unknown setting 'rat'. Did you mean rate?"),
        ({"recipe": "sorce-only"}, "Did you mean 'source-only'"),
        ({}, "either a recipe or something to count"),
        ({"count": "size"}, "count cannot be 'size'"),
        ({"recipe": "source-only", "measures": ["f1"]}, "measures cannot have 'f1'"),
        ({"recipe": "mat", "alone": True}, "alone needs a target"),
    ],
)
def test_a_cell_that_cannot_be_is_refused_with_its_place(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    table = read_table(written(tmp_path, rows={"one": row}))
    with pytest.raises((SettingsError, UsageError), match=re.escape(told)):
        cells_of(table)


def test_a_row_that_begins_as_an_unknown_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "mine.yaml").write_text("rows: {base: {recipe: source-only}}", encoding="utf-8")
    with pytest.raises(SettingsError, match="row 'one' begins as 'bse', which is none of base"):
        read_table(written(tmp_path, like="mine", rows={"one": {"as": "bse"}}))


def test_a_set_that_nobody_knows_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SettingsError, match=r"no data set 'conll2004'\. Did you mean 'conll2003'"):
        find_dataset("conll2004")


def test_an_unknown_table_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"Unknown table 'datnet-tabel6'\. Did you mean 'datnet-table6'"):
        find_table("datnet-tabel6")


# -------------------------------------------------------------------------------------------------------------- cells


def test_a_row_wins_over_a_column_and_that_over_what_all_share(tmp_path: Path) -> None:
    table = read_table(
        written(
            tmp_path,
            all={"training": {"updates": 1, "clip": 1.0, "decay": "none"}},
            columns={"NER": {"source": "conll2003", "training": {"updates": 2, "clip": 2.0}}},
            rows={"one": {"recipe": "source-only", "training": {"updates": 3}}},
        )
    )
    training = cells_of(table)[0].settings.training
    assert (training.updates, training.clip, training.decay) == (3, 2.0, "none")
    assert cells_of(table, assignments=["training.updates=4"])[0].settings.training.updates == 4


def test_settings_of_a_recipe_that_the_table_has_not_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"datnet-table6 has no cell of mslm at this scale\. Its recipes: .*datnet"):
        cells_of(find_table("datnet-table6"), assignments=["mslm.options.bogus=1"])
    with pytest.raises(SettingsError, match="unknown setting 'bogus'"):
        cells_of(find_table("datnet-table6"), assignments=["datnet.options.bogus=1"])


def test_a_column_may_have_settings_for_one_recipe_over_which_the_row_wins(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"NER": {"source": "conll2003"}}
    columns["NER"]["of_recipe"] = {"mat": {"options": {"rate": 0.3, "normalise": "none"}}}
    rows = {"one": {"recipe": "source-only"}, "two": {"recipe": "mat", "options": {"rate": 0.5}}}
    one, two = cells_of(read_table(written(tmp_path, rows=rows, columns=columns)))
    assert "rate" not in one.settings.options
    assert (two.settings.options["rate"], two.settings.options["normalise"]) == (0.5, "none")
    columns["NER"]["of_recipe"] = {"mta": {}}
    with pytest.raises(UsageError, match="Did you mean 'mat'"):
        cells_of(read_table(written(tmp_path, rows=rows, columns=columns)))


def test_small_scale_does_not_bring_back_what_a_row_leaves_out(tmp_path: Path) -> None:
    rows = {"none": {"recipe": "source-only", "labelled": None}, "some": {"recipe": "la-dtl", "labelled": 100}}
    columns = {"NER": {"source": "conll2003", "target": "wnut2016"}}
    table = read_table(written(tmp_path, rows=rows, columns=columns, small={"all": {"labelled": 5}}))
    assert [cell.settings.labelled for cell in cells_of(table, "small")] == [None, 5]


def test_a_row_may_have_some_columns_only(tmp_path: Path) -> None:
    columns = {"a": {"source": "conll2003"}, "b": {"source": "bc2gm"}}
    rows = {"one": {"recipe": "source-only", "only": ["b"]}, "two": {"recipe": "source-only"}}
    table: Table = read_table(written(tmp_path, rows=rows, columns=columns))
    assert [cell.name for cell in cells_of(table)] == ["one | b", "two | a", "two | b"]


def test_an_assignment_with_a_recipe_in_front_is_for_its_cells_alone(tmp_path: Path) -> None:
    rows = {"one": {"recipe": "source-only"}, "two": {"recipe": "mat"}}
    cells = cells_of(read_table(written(tmp_path, rows=rows)), assignments=["mat.options.rate=0.5", "limit=9"])
    assert [cell.settings.limit for cell in cells] == [9, 9]
    assert [cell.settings.options.get("rate") for cell in cells] == [None, 0.5]
