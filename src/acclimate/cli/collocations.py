"""`acclimate data collocations`: the words of a text that belong together, ranked, for the masking policy `pmi`."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.options import Json, Overwrite, Quiet, set_option
from acclimate.cli.places import check_file_to_write

if TYPE_CHECKING:
    from acclimate.analysis.terms import TermOverlap
    from acclimate.data.collocations import Collocation, NumberedText


def collocations_command(
    texts: Annotated[
        list[str],
        typer.Argument(metavar="TEXT...", help="Raw text, a sentence a line; or any corpus, or a bundled one."),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write, the best first; .gz and .xz compress.")],
    at_least: Annotated[int, typer.Option(min=1, help="Leave out what was seen less often.")] = 5,
    terms: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS",
            help="Labelled text: how many collocations are its terms? Repeatable.",
            show_default="TEXT",
        ),
    ] = None,
    assignments: Annotated[list[str] | None, set_option("collocations")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find the words of a text that belong together (collocations), ranked by mutual information.

    Example: acclimate data collocations train.conll --out collocations.jsonl

    Use it: acclimate encoder domain-tune --masking pmi --set policy.collocations.file=collocations.jsonl

    None crosses the end of a sentence. Raw text is read as a stream and counted in passes: about 21 bytes a word.
    """
    check_file_to_write("--out", out, overwrite, [*texts, *(terms or ())])
    from acclimate.analysis.terms import term_overlap
    from acclimate.cli.data_settings import CollocationSettings, settings_of
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.cli.reading import TextReading, read
    from acclimate.data.collocations import build_collocations, number_words, require_sensible, usual_shares

    settings = settings_of(CollocationSettings, assignments)
    shares = usual_shares(_numbers(settings.lengths))
    require_sensible(at_least, settings.size, shares)
    as_text = settings.reading.require_only("format", "pre_split", "paragraphs", "map", "typeless")
    labelled = [read(name, as_text, tell=warn) for name in terms or ()]
    begun = time.monotonic()
    reading = TextReading(texts, as_text, quiet)
    with reading:
        text = number_words(reading, settings.lower_case)
    if not len(text.numbers):
        raise reading.nothing_found()
    with stderr_console(quiet).status("counting"):
        found = build_collocations(
            text, at_least, settings.size, shares, settings.relative_to, settings.measure, settings.lower_case
        )
    found.save(out)
    compared = labelled or reading.labelled
    overlap = term_overlap(found, compared, settings.most) if compared else None
    result = _result(found.entries, text, out, settings.most, time.monotonic() - begun)
    result |= {"lengths": sorted(shares), "at_least": at_least, "measure": settings.measure}
    result |= {"relative_to": settings.relative_to, "terms": None if overlap is None else overlap.as_dict()}
    if not len(found):
        warn(f"nothing was seen {at_least} times: the file is empty. Give more text, or a smaller --at-least.")
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else _rendered(result, overlap))


def _numbers(lengths: Sequence[int]) -> list[int]:
    from acclimate.settings import UsageError

    if not lengths or min(lengths) < 2 or max(lengths) > 10:
        raise UsageError(f"lengths cannot be {list(lengths)}: a collocation has from two to ten words.")
    return sorted(set(lengths))


def _result(entries: Sequence[Collocation], text: NumberedText, out: str, most: int, seconds: float) -> dict[str, Any]:
    by_length: dict[int, list[Collocation]] = {}
    for entry in entries:
        by_length.setdefault(len(entry.words), []).append(entry)
    return {
        "out": out,
        "sentences": text.sentences,
        "words": len(text.numbers),
        "different_words": len(text.spellings),
        "collocations": len(entries),
        "by_length": {length: len(by_length[length]) for length in sorted(by_length)},
        "top": {
            length: [
                {"words": " ".join(entry.words), "count": entry.count, "score": entry.score}
                for entry in by_length[length][:most]
            ]
            for length in sorted(by_length)
        },
        "seconds": round(seconds, 3),
    }


def _rendered(result: dict[str, Any], overlap: TermOverlap | None) -> str:
    from acclimate.evaluation.table import align
    from acclimate.spelling import count

    read = f"{count(result['words'], 'word')} in {count(result['sentences'], 'sentence')}"
    found = f"{count(result['collocations'], 'collocation')} seen {result['at_least']} times or more"
    lines = [f"{result['out']}: {found}, of {read} ({result['seconds']:.1f} s)"]
    for length, top in result["top"].items():
        lines += ["", f"{length} words: {result['by_length'][length]:,}"]
        if top:
            rows = [
                ("", "count", "score"),
                *((f"  {row['words']}", f"{row['count']:,}", f"{row['score']:.2f}") for row in top),
            ]
            lines += align(rows)
    if overlap is not None:
        lines += ["", overlap.render()]
    if result["collocations"]:
        chosen = shlex.quote(f"policy.collocations.file={result['out']}")
        lines += ["", f"use it: acclimate encoder domain-tune --masking pmi --set {chosen}"]
    return "\n".join(lines)
