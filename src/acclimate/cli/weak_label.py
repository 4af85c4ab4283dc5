"""`acclimate data weak-label`: tags for text that has none, from a dictionary of concepts."""

from __future__ import annotations

import json
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from acclimate.cli.options import InputFormat, Json, Map, Overwrite, Paragraphs, PreSplit, Quiet, SkipBad
from acclimate.cli.select import spelled_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.files import Concept
    from acclimate.data.concepts.mentions import Annotator, Groups


DICTIONARY = "dictionary"


class CaseName(StrEnum):
    SMART = "smart"
    LOWER = "lower"
    EXACT = "exact"


class OtherTypes(StrEnum):
    drop = "drop"
    keep = "keep"


class WeakLabelCommand(TyperCommand):
    """`--concepts` and `--text` take all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spelled_out(args, ("--concepts", "--text")))


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
    annotator: Annotated[
        str, typer.Option(metavar="KIND", help="dictionary, spacy:MODEL or medcat:PACK (where these are installed).")
    ] = DICTIONARY,
    groups: Annotated[
        str,
        typer.Option(
            metavar="MAP",
            help="Types to labels: a YAML file, table-12, clinical, or none: types are labels. auto: table-12 for UMLS "
            "types, else none.",
        ),
    ] = "auto",
    other_types: Annotated[
        OtherTypes, typer.Option(help="Types that the map does not name: drop them, or keep them as labels.")
    ] = OtherTypes.drop,
    label: Annotated[
        str | None, typer.Option(metavar="LABEL", help="One label for everything that is not dropped.")
    ] = None,
    case: Annotated[
        CaseName,
        typer.Option(help="Capitals count: smart: in short names in capitals (ALS); lower: never; exact: always."),
    ] = CaseName.SMART,
    shortest: Annotated[
        int, typer.Option(min=1, metavar="N", help="Leave out names with fewer letters and digits.")
    ] = 2,
    plurals: Annotated[bool, typer.Option("--plurals", help="A name may take an s at its end.")] = False,
    leave_out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Names that are not to be found, one a line.")
    ] = None,
    no_abbreviations: Annotated[
        bool,
        typer.Option(
            "--no-abbreviations", help="Do not find abbreviations that the text explains, as in: polyposis (FAP)."
        ),
    ] = False,
    split: Annotated[
        str | None, typer.Option(metavar="SHARES", help="Write train, dev and test, such as 0.8,0.1,0.1: FILE-train, …")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the split.")] = 0,
    gold: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="The same text with true labels, if the text has none itself.")
    ] = None,
    map_name: Map = None,
    most: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many of the most frequent names, and of conflicts, to show.")
    ] = 10,
    input_format: InputFormat = None,
    paragraphs: Paragraphs = False,
    pre_split: PreSplit = False,
    skip_bad: SkipBad = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Label text by a dictionary of concepts, and say how much was found; where true labels are there, how well.

    Example: acclimate data weak-label --concepts clinical --text clinical/test --out weak.conll

    Of overlapping names the longest is kept, then the leftmost. Names match whole words. --map renames true labels.
    """
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.cli.weak_label_files import LabelledFiles, shares_of
    from acclimate.cli.weak_label_report import WeakLabelReport
    from acclimate.cli.weak_label_text import LabellingBar, Stream
    from acclimate.data.concepts.labelling import Labeller
    from acclimate.settings import UsageError

    if out == "-" and as_json:
        raise UsageError("--out - prints the sentences, and --json its report, to the same place: name a file.")
    inputs = [*texts, *(concepts or ()), gold, leave_out]
    files = LabelledFiles(out, None if split is None else shares_of(split), seed, overwrite, inputs)
    listed = _concepts(annotator, concepts)
    grouped = _groups(groups, annotator, listed, other_types, label)
    finder, dictionary = _annotator(annotator, listed, grouped, case, shortest, plurals, leave_out)
    labeller = Labeller(finder, grouped, abbreviations=not no_abbreviations)
    reading = {"format": input_format, "skip_bad": skip_bad, "paragraphs": paragraphs}
    reading["tokenize"] = "blanks" if pre_split else "words"
    started = time.monotonic()
    with LabellingBar(stderr_console(quiet)) as bar:
        stream = Stream(texts, gold, map_name, reading, bar, warn)
        files.write(stream.judged(labeller))
    report = WeakLabelReport(
        dictionary, grouped, labeller.coverage, stream.agreement, files.written, time.monotonic() - started
    )
    for warning in filter(None, [*stream.warnings(), *report.warnings(), files.remark]):
        warn(warning)
    if as_json:
        typer.echo(json.dumps(report.as_dict(most), ensure_ascii=False))
    else:
        typer.echo(report.render(most), err=out == "-")


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
    name: str, annotator: str, concepts: Mapping[str, Sequence[Concept]], others: OtherTypes, label: str | None
) -> Groups:
    from acclimate.data.concepts.mentions import AUTO_GROUPS, Groups

    if name != AUTO_GROUPS:
        return Groups.load(name, others.value, label)
    if annotator.startswith("medcat:"):  # its types are those of UMLS
        return Groups.load("table-12", others.value, label)
    types = (type for listed in concepts.values() for concept in listed for type in concept.types)
    return Groups.suited_to(types, others.value, label)


def _annotator(
    name: str,
    concepts: Mapping[str, Sequence[Concept]],
    groups: Groups,
    case: CaseName,
    shortest: int,
    plurals: bool,
    leave_out: str | None,
) -> tuple[Annotator, ConceptDictionary | None]:
    from acclimate.data.concepts.annotators import load_annotator
    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.files import read_names

    if name != DICTIONARY:
        return load_annotator(name), None
    dictionary = ConceptDictionary.of(
        concepts,
        groups,
        case=case.value,
        shortest=shortest,
        plurals=plurals,
        exclude=() if leave_out is None else read_names(leave_out),
    )
    return dictionary, dictionary
