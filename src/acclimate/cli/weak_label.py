"""`acclimate data weak-label`: tags for text that has none, from a dictionary of concepts."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from acclimate.cli.options import Json, Overwrite, Quiet, set_option


def weak_label_command(
    texts: Annotated[
        list[str],
        typer.Option(
            "--text",
            metavar="TEXT...",
            help="Raw text (plain, .gz, .xz, a folder of .txt), or corpora; tags are dropped.",
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write, in the format of its name; - prints.")],
    concepts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE...",
            help="Names, synonyms, types: .csv, .tsv, .jsonl, .txt; clinical; package:diseases, package:drugs.",
        ),
    ] = None,
    groups: Annotated[
        str,
        typer.Option(
            metavar="MAP",
            help="Types to labels: a YAML file, table-12, clinical, or none: types are labels. auto: table-12 for UMLS "
            "types, else none.",
        ),
    ] = "auto",
    assignments: Annotated[list[str] | None, set_option("weak-label")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Label text with a dictionary of concepts. Where true labels are there, score the labels found.

    Example: acclimate data weak-label --concepts clinical --text clinical/test --out weak.conll

    Of overlapping names the longest is kept, then the leftmost. Names match whole words.

    `--set reading.map=MAP` renames true labels.
    """
    from acclimate.cli.data_settings import WeakLabelSettings
    from acclimate.cli.outputs import ReadingBar, check_place_to_write, remark_on_folder, stderr_console, warn
    from acclimate.cli.reading import settings_of, warn_of_long_lines
    from acclimate.cli.weak_label_text import WeakLabelReport, open_text, write_labelled
    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.files import load_concepts, read_names
    from acclimate.data.concepts.labelling import AUTO_GROUPS, Groups, Labeller
    from acclimate.data.selection.text_files import RawText
    from acclimate.evaluation.agreement import Agreement
    from acclimate.settings import UsageError

    if out == "-" and as_json:
        raise UsageError("--out - prints the sentences, and --json its report, to the same place: name a file.")
    settings = settings_of(WeakLabelSettings, assignments)
    check_place_to_write("--out", out, overwrite, [*texts, *(concepts or ()), settings.leave_out], has_tags=True)
    if not concepts:
        raise UsageError("Say where the names are: --concepts FILE, clinical, package:diseases or package:drugs.")
    listed = [load_concepts(source) for source in concepts]
    types = (type for each in listed for concept in each for type in concept.types)
    how = settings.others, settings.label
    grouped = Groups.suited_to(types, *how) if groups == AUTO_GROUPS else Groups.load(groups, *how)
    dictionary = ConceptDictionary(
        listed,
        grouped,
        case=settings.case,
        shortest=settings.shortest,
        exclude=() if settings.leave_out is None else read_names(settings.leave_out),
    )
    labeller = Labeller(dictionary, abbreviations=settings.abbreviations)
    started, agreement = time.monotonic(), Agreement()
    with ReadingBar(stderr_console(quiet)) as bar:
        texts_read = [open_text(name, settings.reading, bar) for name in texts]
        written, files = write_labelled(texts_read, labeller, agreement, out)
    seconds = time.monotonic() - started
    report = WeakLabelReport(dictionary, grouped, labeller.coverage, agreement, out, written, seconds)
    warn_of_long_lines(sum(text.lines_too_long for text in texts_read if isinstance(text, RawText)))
    for warning in filter(None, [*report.warnings(), remark_on_folder(out, files)]):
        warn(warning)
    if as_json:
        typer.echo(json.dumps(report.as_dict(settings.most), ensure_ascii=False))
    else:
        typer.echo(report.render(settings.most), err=out == "-")
