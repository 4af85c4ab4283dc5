"""`acclimate data collocations`: the words of a text that belong together, ranked, for the masking policy `pmi`."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.options import InputFormat, Json, Overwrite, Paragraphs, PreSplit, Quiet
from acclimate.cli.places import check_file_to_write

if TYPE_CHECKING:
    from acclimate.analysis.terms import TermOverlap
    from acclimate.data.collocations import Collocation
    from acclimate.data.ngrams import NumberedText


class MeasureOption(StrEnum):
    """How strongly words hold together."""

    levine = "levine"
    squared = "squared"
    unigrams = "unigrams"


class RelativeOption(StrEnum):
    """What a probability is a share of."""

    length = "length"
    words = "words"


def collocations_command(
    texts: Annotated[
        list[str],
        typer.Argument(metavar="TEXT...", help="Raw text, a sentence a line; or any corpus, or a bundled one."),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write, the best first; .gz and .xz compress.")],
    lengths: Annotated[str, typer.Option(metavar="N,N,...", help="How many words a collocation may have.")] = "2,3,4",
    at_least: Annotated[int, typer.Option(min=1, help="Leave out what was seen less often.")] = 5,
    size: Annotated[
        int | None,
        typer.Option(min=1, help="How many to keep: half of the first length, a quarter of the next, and so on."),
    ] = None,
    measure: Annotated[
        MeasureOption,
        typer.Option(
            help="levine: at the weakest seam; squared: the same, but favours the frequent; unigrams: cut into single "
            "words only."
        ),
    ] = MeasureOption.levine,
    relative_to: Annotated[
        RelativeOption, typer.Option(help="Probabilities are shares of all runs of that length, or of all words.")
    ] = RelativeOption.length,
    terms: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS",
            help="Labelled text: how many collocations are its terms? Repeatable.",
            show_default="TEXT",
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=0, help="How many to show of each length, and in each sample.")] = 5,
    lower_case: Annotated[
        bool, typer.Option("--lower-case/--cased", help="Whether `The` and `the` are the same word.")
    ] = False,
    pre_split: PreSplit = False,
    paragraphs: Paragraphs = False,
    input_format: InputFormat = None,
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
    from acclimate.cli.corpora import open_corpus
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.cli.text_reading import TextReading
    from acclimate.data.collocations import Collocations, rank_collocations, require_sensible, usual_shares
    from acclimate.data.ngrams import number_words

    shares = usual_shares(_numbers(lengths))
    require_sensible(at_least, size, shares)
    labelled = [open_corpus(name, tell=warn, format=input_format) for name in terms or ()]
    begun = time.monotonic()
    reading = TextReading(texts, input_format, pre_split, paragraphs, quiet)
    with reading:
        text = number_words(reading, lower_case)
    if not len(text.numbers):
        raise reading.nothing_found()
    with stderr_console(quiet).status("counting"):
        found = Collocations(
            rank_collocations(text, at_least, size, shares, relative_to.value, measure.value), lower_case
        )
    found.save(out)
    compared = labelled or reading.labelled
    overlap = term_overlap(found, compared, most) if compared else None
    result = _told(found.entries, text, out, most, time.monotonic() - begun)
    result |= {"lengths": sorted(shares), "at_least": at_least, "measure": measure.value}
    result |= {"relative_to": relative_to.value, "terms": None if overlap is None else overlap.as_dict()}
    if not len(found):
        warn(f"nothing was seen {at_least} times: the file is empty. Give more text, or a smaller --at-least.")
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else _rendered(result, overlap))


def _numbers(spelled: str) -> list[int]:
    from acclimate.settings import UsageError

    try:
        numbers = sorted({int(part) for part in spelled.split(",")})
    except ValueError:
        raise UsageError(f"--lengths {spelled}: give whole numbers with commas between them, such as 2,3,4.") from None
    if numbers[0] < 2 or numbers[-1] > 10:
        raise UsageError(f"--lengths {spelled}: a collocation has from two to ten words.")
    return numbers


def _told(entries: Sequence[Collocation], text: NumberedText, out: str, most: int, seconds: float) -> dict[str, Any]:
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
    from acclimate.evaluation.table import align, count

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
