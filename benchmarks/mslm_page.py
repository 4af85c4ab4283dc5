"""Writes the tables of docs/explanation/results/mslm.md anew from docs/explanation/results/mslm.jsonl.

    python benchmarks/mslm_page.py

No number of a table is typed by hand: after new rows, run this. A test holds the page to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import mslm_published as paper
from grid import Row, markdown, read_rows, told
from mslm_jobs import METHODS, MSLM, SETS, UNTOUCHED, UNWEIGHTED, VANILLA

RESULTS = Path(__file__).parent.parent / "docs" / "explanation" / "results"
CORPORA = ("bc2gm", "ncbi_disease", "bc5cdr_chem", "jnlpba", "ebm_nlp_outcomes")
ENCODERS = {"acclimate-mini": "", "tuned": "tuned: "}
MAIN = (VANILLA, MSLM, UNWEIGHTED, "SPAN", "PMI")
STEPS = {
    VANILLA: "plain fine-tuning",
    "heads": "MSLM's heads, nothing hidden (`heads`)",
    "MSLM-clean": "and the loss of hidden words; tags on text as it is (`MSLM-clean`)",
    MSLM: "and tags on masked text as well (`MSLM`)",
    "MSLM-masked": "tags on masked text alone, the paper's own (`MSLM-masked`)",
}


def tables(rows: Sequence[Row]) -> list[str]:
    """In the order of the page."""
    return [
        of_methods(rows, "micro", MAIN, CORPORA),
        of_methods(rows, "em", MAIN, CORPORA, published()),
        difference_table(rows),
        of_methods(rows, "macro", MAIN, ["ebm_nlp_outcomes"]),
        weight_table(rows),
        step_table(rows, "micro"),
        step_table(rows, "dev"),
        of_methods(rows, "perplexity", (UNTOUCHED, *MAIN[1:]), CORPORA, digits=1),
        time_table(rows),
    ]


def chosen(rows: Sequence[Row], encoder: str, method: str, corpus: str, seeds: Sequence[int] = (1, 2, 3)) -> list[Row]:
    wanted = (encoder, method, corpus)
    found = [row for row in rows if (row["encoder"], row["method"], row["corpus"]) == wanted and row["seed"] in seeds]
    return sorted(found, key=lambda row: row["seed"])


def of_methods(
    rows: Sequence[Row],
    measure: str,
    methods: Sequence[str],
    corpora: Sequence[str],
    more: Sequence[Sequence[str]] = (),
    digits: int = 2,
) -> str:
    lines = [
        [
            f"{prefix}{method}",
            *(told([row[measure] for row in chosen(rows, encoder, method, corpus)], digits) for corpus in corpora),
        ]
        for encoder, prefix in ENCODERS.items()
        for method in methods
    ]
    return markdown(["", *titles(corpora)], [*lines, *more])


def published() -> list[list[str]]:
    theirs = paper.EXACT_MATCH["BioBERT"]
    return [
        [f"paper: {method}, BioBERT", *(theirs[corpus][place] for corpus in CORPORA)]
        for place, method in enumerate((VANILLA, MSLM))
    ]


def difference_table(rows: Sequence[Row]) -> str:
    """Of means, to vanilla on the same encoder; and of vanilla, to the encoder that is not tuned."""

    def mean(encoder: str, method: str, corpus: str) -> float:
        found = [row["micro"] for row in chosen(rows, encoder, method, corpus)]
        return sum(found) / len(found)

    lines = []
    for encoder, prefix in ENCODERS.items():
        for method in MAIN[1:]:
            differences = [mean(encoder, method, corpus) - mean(encoder, VANILLA, corpus) for corpus in CORPORA]
            lines.append([f"{prefix}{method}", *(f"{each:+z.2f}" for each in differences)])
    tuned = [mean("tuned", VANILLA, corpus) - mean("acclimate-mini", VANILLA, corpus) for corpus in CORPORA]
    lines.append(["tuned: vanilla, beside vanilla", *(f"{each:+z.2f}" for each in tuned)])
    return markdown(["", *titles(CORPORA)], lines)


def weight_table(rows: Sequence[Row]) -> str:
    """What a hidden piece of an entity weighed, and how far MSLM is from its unweighted twin, seed by seed."""
    lines = []
    for encoder, prefix in ENCODERS.items():
        own, twin = ([chosen(rows, encoder, method, corpus) for corpus in CORPORA] for method in (MSLM, UNWEIGHTED))
        lines.append(
            [
                f"{prefix}weight of a term's piece",
                *(_each([row["weights"]["elm"] for row in found], ".3f") for found in own),
            ]
        )
        differences = [
            [row["micro"] - other["micro"] for row, other in zip(*pair, strict=True)]
            for pair in zip(own, twin, strict=True)
        ]
        lines.append([f"{prefix}MSLM - MSLM-unweighted, F1", *(_each(found, "+.2f") for found in differences)])
    return markdown(["", *titles(CORPORA)], lines)


def _each(values: Sequence[float], form: str) -> str:
    shown = [f"{value:{form}}" for value in values]
    return shown[0] if len(set(shown)) == 1 else ", ".join(shown)


def step_table(rows: Sequence[Row], measure: str) -> str:
    corpora = CORPORA[:3]
    lines = [
        [
            name,
            *(
                told([row[measure] for row in chosen(rows, "acclimate-mini", method, corpus, (1, 2))])
                for corpus in corpora
            ),
        ]
        for method, name in STEPS.items()
    ]
    return markdown(["", *titles(corpora)], lines)


def time_table(rows: Sequence[Row]) -> str:
    methods = [method for method in METHODS if any(row["method"] == method for row in rows)]
    lines = [
        [
            f"{prefix}{method}",
            told(times, 1),
            len(times),
        ]
        for encoder, prefix in ENCODERS.items()
        for method in methods
        if (times := [row["ms_per_update"] for row in rows if (row["encoder"], row["method"]) == (encoder, method)])
    ]
    return markdown(["", "milliseconds per update", "runs"], lines)


def titles(corpora: Sequence[str]) -> list[str]:
    return [SETS[corpus].title for corpus in corpora]


def with_tables(page: str, made: Sequence[str]) -> str:
    """The page with its tables replaced, in their order."""
    waiting: Iterator[str] = iter(made)
    found = re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE)
    if len(found) != len(made):
        raise SystemExit(f"The page has {len(found)} tables, and there are {len(made)}.")
    return re.sub(r"(?:^\|.*\n)+", lambda match: f"{next(waiting)}\n", page, flags=re.MULTILINE)


def main() -> None:
    place = RESULTS / "mslm.md"
    made = tables(read_rows(RESULTS / "mslm.jsonl"))
    place.write_text(with_tables(place.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
