"""`acclimate data augment`: new labelled sentences between two domains, by exchanging entities of one type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.convert import SchemeName
from acclimate.cli.options import (
    Borders,
    BordersOption,
    Column,
    Comments,
    InputFormat,
    Json,
    Map,
    Overwrite,
    Quiet,
    SkipBad,
    WordsColumn,
)
from acclimate.cli.places import check_place_to_write, remark_on_folder

if TYPE_CHECKING:
    from acclimate.methods.augmentation.anchors import Augmentation, SideReport


def augment_command(
    source: Annotated[str, typer.Option(metavar="CORPUS", help="Labelled sentences of the source domain.")],
    target: Annotated[str, typer.Option(metavar="CORPUS", help="The few labelled sentences of the target domain.")],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write; the format by its name. - prints.")],
    target_variants: Annotated[int, typer.Option(min=0, help="New sentences for each of the target's.")] = 4,
    source_variants: Annotated[int, typer.Option(min=0, help="New sentences for each of the source's.")] = 2,
    source_sentences: Annotated[
        int | None,
        typer.Option(min=0, help="How many of the source's sentences to use.", show_default="500"),
    ] = None,
    ratio: Annotated[
        float | None, typer.Option(min=0, metavar="X", help="Instead: X source sentences for each target sentence.")
    ] = None,
    all_entities: Annotated[
        bool, typer.Option("--all-entities", help="Exchange all entities of a sentence, not one.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Which sentences and entities: the same seed gives the same ones.")] = 1,
    to_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of FILE; by its name if not given.")
    ] = None,
    scheme: Annotated[SchemeName, typer.Option(help="Tag scheme of FILE, where it has tags.")] = SchemeName.IOB2,
    map_name: Map = None,
    map_source: Annotated[
        str | None, typer.Option("--map-source", metavar="MAP", help="Rename the source's labels; --map the target's.")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="How many new sentences of each domain to show.")] = 3,
    input_format: InputFormat = None,
    column: Column = None,
    words_column: WordsColumn = None,
    comments: Comments = False,
    skip_bad: SkipBad = False,
    borders: BordersOption = Borders.split_words,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Make labelled sentences between two domains: an entity gives way to one of the same type from the other domain.

    Example: acclimate data augment --source news --target few.conll --out augmented.conll

    FILE holds the new sentences only; train on them together with the old ones.
    """
    _check_options(out, as_json, source_sentences, ratio)
    check_place_to_write("--out", out, overwrite, [source, target], to_format, has_tags=True)
    from acclimate.cli.corpora import column_of, open_corpus
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.data.writing import write_corpus
    from acclimate.methods.augmentation.anchors import augment_with_anchors

    options: dict[str, Any] = {
        "format": input_format,
        "column": column_of(column),
        "words_column": column_of(words_column),
        "comments": comments,
        "skip_bad": skip_bad,
        "borders": borders.value,
    }
    made = augment_with_anchors(
        open_corpus(source, map_name=map_source, tell=warn, **options),
        open_corpus(target, map_name=map_name, tell=warn, **options),
        target_variants=target_variants,
        source_variants=source_variants,
        source_sentences=500 if source_sentences is None else source_sentences,
        ratio=ratio,
        all_entities=all_entities,
        seed=seed,
    )
    written = write_corpus(made.corpus, out, to_format, scheme=scheme.value)
    for remark in filter(None, [*made.remarks(), remark_on_folder(out, written)]):
        warn(remark)
    shown = _examples(made, examples)
    if as_json:
        typer.echo(json.dumps({"out": out, **made.as_dict(), "examples": shown}, ensure_ascii=False))
        return
    console = stderr_console(quiet)
    for line in [*_account(made, out), *(f"  {line}" for line in shown)]:
        # the sentences themselves may be on stdout
        console.print(line) if out == "-" else typer.echo(line)


def _check_options(out: str, as_json: bool, sentences: int | None, ratio: float | None) -> None:
    from acclimate.settings import UsageError

    if sentences is not None and ratio is not None:
        raise UsageError("--source-sentences and --ratio both say how many source sentences to use: give one of them.")
    if out == "-" and as_json:
        raise UsageError("--out - prints the sentences, and --json its report, to the same place: name a file.")


def _account(made: Augmentation, out: str) -> list[str]:
    from acclimate.evaluation.table import count

    lines = [f"{out}: {count(len(made.variants), 'new sentence')}, seed {made.seed}"]
    sides = {"target": made.target, "source": made.source}
    return [*lines, *(_line(side, report) for side, report in sides.items() if report.variants_each)]


def _line(side: str, report: SideReport) -> str:
    replaced = ", ".join(f"{label} {count:,}" for label, count in report.replaced.items()) or "none"
    used = f"{report.used:,} of {report.given:,} sentences, {report.variants_each} variants each"
    return f"{side}: {report.made:,} from {used}; entities replaced: {replaced}"


def _examples(made: Augmentation, most: int) -> list[str]:
    """Some of each domain, each from another sentence."""
    lines = []
    for side in ("target", "source"):
        first = {variant.original.words: variant for variant in reversed(made.variants) if variant.side == side}
        lines += [f"{side}: {variant}" for variant in list(first.values())[::-1][:most]]
    return lines
