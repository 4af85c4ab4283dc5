"""What the papers print and do stands in the tables: their rivals' lines, their settings, and true words where not."""

from __future__ import annotations

from statistics import fmean

import pytest

from acclimate.reproduction.results import Figure, Reproduction, means, panels, with_paper_only
from acclimate.reproduction.table import all_tables, cells_of, find_table

NOT_ENGLISH = ("conll2002_es", "conll2002_nl")
OUR_OWN = "character-cnn-lstm"


@pytest.mark.parametrize(
    ("table", "row", "printed"),
    [
        ("datnet-table3", "Gillick et al.", {"CoNLL-2002 Spanish": 82.59, "CoNLL-2002 Dutch": 82.84}),
        ("datnet-table3", "Limsopatham et al.", {"WNUT-2016": 52.41}),
        ("datnet-table3", "Aguilar et al., 2018", {"WNUT-2017": 45.55}),
        ("datnet-table3", "Yang et al.", {"WNUT-2016": "47.19*", "CoNLL-2002 Dutch": 85.19}),
        ("datnet-table4", "Cotterell et al., base", {"nl → fy": 58.43, "ru → uk, 10,000": 87.39}),
        ("datnet-table5", "Berend et al.", {"Bulgarian": 95.63, "Swedish": 94.62, "average": 93.59}),
        ("datnet-table5", "Nguyen et al.", {"Norwegian": 97.4, "average": 95.55}),
        ("datnet-table11", "Peters et al., 2017", {"CoNLL-2000 chunking": 96.37, "CoNLL-2003": 91.93}),
        ("datnet-table11", "LM-LSTM-CRF (Liu et al., 2018)", {"CoNLL-2002 Dutch": "86.03*", "PTB-WSJ": 97.59}),
        (
            "mslm-table3",
            "GreenBioBERT (Poerner et al., 2020)",
            {"BC2GM": {"span f1": 83.45}, "JNLPBA": {"span f1": 76.89}},
        ),
        ("mlm4uda-table2", "pos", {"WNUT2016": "46.79†", "BC2GM": 28.50}),
        ("mlm4uda-table2", "adversarial + 500K", {"BioNLP11EPI": 42.64, "FIN": "26.85†"}),
    ],
)
def test_lines_of_the_paper_s_rivals_are_there(table: str, row: str, printed: dict[str, object]) -> None:
    line = find_table(table).published[row]
    assert {column: line[column] for column in printed} == printed
    told = with_paper_only(find_table(table), "full", cells_of(find_table(table)), [])
    assert {figure.column for figure in told if figure.row == row} == set(line)


@pytest.mark.parametrize("mark", ["46.79†", "41.77*"])
def test_a_marked_number_is_drawn(mark: str) -> None:
    assert Figure("r", "c", "m", "m", paper=mark).paper_number == float(mark[:-1])


def test_mslms_table_9_has_its_classes_beside_our_types() -> None:
    printed = {row: line["train"] for row, line in find_table("mslm-table9").published.items()}
    classes = {row: train["types"] for row, train in printed.items() if isinstance(train, dict)}
    assert classes == {
        "BC2GM": 2,
        "NCBI-disease": 2,
        "BC5CDR-chem": 2,
        "BC5CDR-disease": 2,
        "JNLPBA": 2,
        "EBM-NLP": 5,
        "MIMIC III": 3,
    }


def test_precision_and_recall_of_a_type_follow_to_the_printed_f1() -> None:
    for numbers in find_table("pdaln-table3").published["PDALN"].values():
        assert isinstance(numbers, dict)
        for label in ("PER", "LOC", "ORG", "MISC"):
            f1, precision, recall = (float(numbers[f"{label} {name}"]) for name in ("F1", "P", "R"))
            assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.02)


def test_a_target_that_is_not_english_has_no_english_vectors_and_its_english_source_has() -> None:
    seen = set()
    for table in all_tables().values():
        for cell in cells_of(table):
            settings = cell.settings
            if settings.recipe is None or settings.target not in NOT_ENGLISH:
                continue
            if settings.tagger.encoder == OUR_OWN:
                assert (settings.tagger.lstm.vectors, settings.tagger.lstm.train_vectors) == (None, True), cell.name
            if settings.recipe == "datnet":
                wanted = "glove" if settings.tagger.encoder == OUR_OWN else None
                assert settings.options["source_vectors"] == wanted, f"{table.name}, {cell.name}"
                seen.add(table.name)
    assert seen == {
        "datnet-table3",
        "datnet-figure3",
        "datnet-table6",
        "datnet-table7",
        "datnet-table9",
        "datnet-table10",
        "datnet-figure5",
        "datnet-figure4",
        "datnet-table11",
    }


def test_the_noise_of_datnets_tables_is_the_papers_and_not_the_recipes_own() -> None:
    cells = [cell for table in all_tables().values() if table.paper == "DATNet" for cell in cells_of(table)]
    noisy = [cell for cell in cells if cell.settings.recipe == "datnet" and cell.settings.options["adversarial"]]
    assert noisy
    for cell in noisy:
        radius = dict(cell.settings.options["radius"])
        words = radius.pop("target_words")
        assert (radius["source_words"], radius["characters"]) == (5, 5), cell.name
        assert words == (float(cell.column.removeprefix("eps ")) if cell.column.startswith("eps ") else 5), cell.name


def test_figure_3_of_datnet_has_both_targets_at_the_same_shares() -> None:
    columns = list(find_table("datnet-figure3").columns)
    assert [name.removeprefix("Spanish ") for name in columns[:6]] == ["0.05", "0.1", "0.2", "0.4", "0.6", "1.0"]
    assert [name.removeprefix("WNUT-2016 ") for name in columns[6:]] == [name[8:] for name in columns[:6]]


def test_joint_masking_stays_at_its_best_while_the_others_hide_more_and_more() -> None:
    cells = [(cell.row, cell.settings.source, cell.settings.options) for cell in cells_of(find_table("mslm-figure5"))]
    joint = [(source, own["elm"], own["blm"]) for row, source, own in cells if row == "joint"]
    assert joint == [("bc2gm", 0.75, 0.0), ("bc5cdr_chem", 0.75, 0.0)]
    for masking in ("span", "pmi"):
        others = [(source, own["elm"], own["blm"]) for _, source, own in cells if own["masking"] == masking]
        assert all(own["policy"]["collocations"]["ranked"] == (row == "PMI") for row, _, own in cells)
        rates = (0.075, 0.15, 0.225)
        assert others == [(source, 0.0, rate) for source in ("bc2gm", "bc5cdr_chem") for rate in rates]


def test_chunking_mixes_contextual_layers_as_the_paper_does_and_names_evenly() -> None:
    for cell in cells_of(find_table("mat-table2")):
        context = cell.settings.tagger.lstm.contextual
        assert (context is not None) == ("ELMo" in cell.row), cell.name
        if context is not None and cell.column == "chunking":
            assert context.weights is not None
            first, *between, last = context.weights
            assert (first, pytest.approx(sum(between)), last) == (0.2, 0.6, 0.2)
        elif context is not None:
            assert context.weights is None


def test_chunks_are_counted_before_any_are_held_out() -> None:
    cells = [cell for cell in cells_of(find_table("datnet-table1")) if cell.row == "CoNLL-2000"]
    assert [(cell.column, cell.settings.corpora) for cell in cells] == [
        ("train", ("conll2000_chunk-whole",)),
        ("test", ("conll2000_chunk-whole",)),
    ]


# ------------------------------------------------------------------------------------------------- the mean of columns


def scored(row: str, left_out: str = "") -> list[Figure]:
    columns = [column for column in find_table("datnet-table5").columns if column != left_out]
    return [
        Figure(row, column, "accuracy", "accuracy", (90.0 + number, 92.0 + number))
        for number, column in enumerate(columns)
    ]


def test_the_mean_column_is_of_all_columns_seed_by_seed_with_the_paper_s_beside_it() -> None:
    (mean,) = means(find_table("datnet-table5"), scored("base"))
    assert (mean.row, mean.column, mean.paper) == ("base", "average", 96.31)
    assert mean.values == (fmean(range(90, 111)), fmean(range(92, 113)))


def test_a_row_without_all_columns_has_no_mean_of_its_own() -> None:
    table = find_table("datnet-table5")
    assert means(table, scored("base", left_out="Czech")) == []
    told = with_paper_only(table, "full", cells_of(table), scored("base", left_out="Czech"))
    assert [figure.paper for figure in told if figure.column == "average" and figure.row == "base"] == [96.31]
    (panel,) = panels(Reproduction(table, "full", (1, 2), (), tuple(told)))
    assert panel.places[-1] == "average"
