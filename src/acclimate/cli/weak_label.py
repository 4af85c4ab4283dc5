"""`acclimate data weak-label`: tags for text that has none, from a dictionary of concepts."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Json, Overwrite, Quiet, set_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from acclimate.cli.data_settings import WeakLabelSettings
    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.files import Concept
    from acclimate.data.concepts.labelling import Annotator, Groups


DICTIONARY = "dictionary"


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
    single: Annotated[
        str | None, typer.Option("--label", metavar="LABEL", help="One label for everything that is not dropped.")
    ] = None,
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
    from acclimate.cli.outputs import LabellingBar, stderr_console, warn
    from acclimate.cli.reading import settings_of
    from acclimate.cli.weak_label_text import LabelledFile, Stream, WeakLabelReport
    from acclimate.data.concepts.labelling import Labeller
    from acclimate.settings import UsageError

    if out == "-" and as_json:
        raise UsageError("--out - prints the sentences, and --json its report, to the same place: name a file.")
    settings = settings_of(WeakLabelSettings, assignments)
    file = LabelledFile(out, overwrite, [*texts, *(concepts or ()), settings.leave_out])
    listed = _concepts(settings.annotator, concepts)
    grouped = _groups(groups, settings.annotator, listed, settings.others, single)
    finder, dictionary = _annotator(settings.annotator, listed, grouped, settings)
    labeller = Labeller(finder, grouped, abbreviations=settings.abbreviations)
    started = time.monotonic()
    with LabellingBar(stderr_console(quiet)) as bar:
        stream = Stream(texts, settings.reading, bar, warn)
        file.write(stream.judged(labeller))
    report = WeakLabelReport(
        dictionary, grouped, labeller.coverage, stream.agreement, file.written, time.monotonic() - started
    )
    for warning in filter(None, [*stream.warnings(), *report.warnings(), file.remark]):
        warn(warning)
    if as_json:
        typer.echo(json.dumps(report.as_dict(settings.most), ensure_ascii=False))
    else:
        typer.echo(report.render(settings.most), err=out == "-")


def _concepts(annotator: str, sources: list[str] | None) -> dict[str, list[Concept]]:
    """What the dictionary is made of; nothing for another annotator."""
    from acclimate.data.concepts.files import load_concepts
    from acclimate.settings import UsageError

    if annotator != DICTIONARY and sources:
        raise UsageError(
            f"--concepts is for the dictionary; {annotator} has concepts of its own. Leave out one of both."
        )
    if annotator == DICTIONARY and not sources:
        raise UsageError("Say where the names are: --concepts FILE, clinical, package:diseases or package:drugs.")
    return {source: list(load_concepts(source)) for source in sources or ()}


def _groups(
    name: str,
    annotator: str,
    concepts: Mapping[str, Sequence[Concept]],
    others: Literal["drop", "keep"],
    label: str | None,
) -> Groups:
    from acclimate.data.concepts.labelling import AUTO_GROUPS, Groups

    if name != AUTO_GROUPS:
        return Groups.load(name, others, label)
    if annotator.startswith("medcat:"):  # its types are those of UMLS
        return Groups.load("table-12", others, label)
    types = (type for listed in concepts.values() for concept in listed for type in concept.types)
    return Groups.suited_to(types, others, label)


def _annotator(
    name: str, concepts: Mapping[str, Sequence[Concept]], groups: Groups, settings: WeakLabelSettings
) -> tuple[Annotator, ConceptDictionary | None]:
    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.files import read_names
    from acclimate.data.concepts.labelling import load_annotator

    if name != DICTIONARY:
        return load_annotator(name), None
    dictionary = ConceptDictionary.of(
        concepts,
        groups,
        case=settings.case,
        shortest=settings.shortest,
        plurals=settings.plurals,
        exclude=() if settings.leave_out is None else read_names(settings.leave_out),
    )
    return dictionary, dictionary
