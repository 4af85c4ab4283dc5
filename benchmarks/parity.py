"""Does a compact tagger find what the tagger finds that it was made from? On real test sets, tag by tag and by F1.

    python benchmarks/parity.py --data FOLDER --out FILE.jsonl [--tagger general] [--student FOLDER] [--table FILE.md]

The forms are the tagger itself; its float32 and int8 exports; and with --student the tagger that `acclimate compress`
made of it, itself and as an int8 export. Tags are compared with those of the tagger itself. Rows are kept in
FILE.jsonl; a form whose rows are there is not run again.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from shared import markdown, megabytes_of, parser, read_rows, show, write_rows

SETS = {"wnut2016": "wnut2016-conll", "wikigold": "wikigold", "conll2003": "conll2003"}
ITSELF = "itself"


def main() -> None:
    options = arguments()
    file = Path(options.out)
    rows = read_rows(file)
    with tempfile.TemporaryDirectory() as folder:
        for form, tagger, place in forms(options, Path(folder), {row["form"] for row in rows}):
            rows += measured(form, tagger, place, options)
            write_rows(file, rows)
    show(table(rows), options.table)


def forms(options: argparse.Namespace, folder: Path, done: set[str]) -> Iterator[tuple[str, Any, Path]]:
    """Names, taggers and folders of the forms that are not done."""
    from acclimate import CompactTagger, Tagger, export_onnx, load_bundled
    from acclimate.model.shipped import resolved_tagger

    text = load_bundled("news").dev
    originals = {ITSELF: options.tagger} | ({"compressed": options.student} if options.student else {})
    for name, place in originals.items():
        if name not in done:
            yield name, Tagger.load(place), resolved_tagger(place)
        for weights in ("float32", "int8") if name == ITSELF else ("int8",):
            form = weights if name == ITSELF else f"{name}, {weights}"
            if form not in done:
                export_onnx(Tagger.load(place), folder / form, text, int8=weights == "int8")
                yield form, CompactTagger.load(folder / form), folder / form


@cache
def test_sets(data: str, limit: int | None) -> dict[str, Any]:
    from acclimate.reproduction.datasets import Datasets

    known = Datasets(Path(data), small=False)
    return {name: known.part(own, "test")[:limit] for name, own in SETS.items()}


@cache
def answers_of(tagger: str, data: str, limit: int | None) -> dict[str, Any]:
    """Those of the tagger itself."""
    from acclimate import Tagger, predict

    original = Tagger.load(tagger)
    return {name: predict(original, gold) for name, gold in test_sets(data, limit).items()}


def measured(form: str, tagger: Any, place: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    from acclimate import predict
    from acclimate.evaluation.scores import score

    rows, size = [], megabytes_of(place)
    for name, gold in test_sets(options.data, options.limit).items():
        wanted = answers_of(options.tagger, options.data, options.limit)[name]
        answers = wanted if form == ITSELF else predict(tagger, gold)
        against = score(wanted, answers)
        different = round(gold.word_count * (1 - against.token.accuracy))
        row = {"form": form, "set": name, "words": gold.word_count, "different_tags": different}
        row |= {"f1": 100 * score(gold, answers).span.f1, "megabytes": round(size, 1)}
        rows.append(row | {"f1_against_itself": 100 * against.span.f1})
        print(*rows[-1].values(), flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """F1 with the labels as gold, and the share of equal tags."""
    at = {(row["form"], row["set"]): row for row in rows}
    lines = []
    for form in dict.fromkeys(row["form"] for row in rows):
        own = [at[form, name] for name in SETS]
        equal = [100 * (1 - row["different_tags"] / row["words"]) for row in own]
        cells = [f"{row['f1']:.2f} ({share:.2f} %)" for row, share in zip(own, equal, strict=True)]
        lines.append([form, *cells, f"{own[0]['megabytes']:.0f}"])
    return markdown(["form", *SETS, "megabytes"], lines)


def arguments() -> argparse.Namespace:
    made = parser(__doc__, "data limit table", tagger="general", student=("", "folder that `acclimate compress` wrote"))
    made.add_argument("--out", required=True, metavar="FILE")
    return made.parse_args()


if __name__ == "__main__":
    main()
