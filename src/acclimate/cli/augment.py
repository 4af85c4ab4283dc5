"""`acclimate data augment`: new labelled sentences between two domains, by exchanging entities of one type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Json, Overwrite, Quiet, set_option
from acclimate.cli.places import check_place_to_write, remark_on_folder

if TYPE_CHECKING:
    from acclimate.cli.data_settings import AugmentSettings
    from acclimate.methods.augmentation.anchors import Augmentation, SideReport


def augment_command(
    source: Annotated[str, typer.Option(metavar="CORPUS", help="Labelled sentences of the source domain.")],
    target: Annotated[str, typer.Option(metavar="CORPUS", help="The few labelled sentences of the target domain.")],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write; the format by its name. - prints.")],
    assignments: Annotated[list[str] | None, set_option("augment")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Make more labelled sentences: replace entities by others of the same type, from the other domain.

    Example: acclimate data augment --source news --target few.conll --out augmented.conll

    FILE holds the new sentences only; train on them together with the old ones.
    """
    settings = _settings_of(out, as_json, assignments)
    check_place_to_write("--out", out, overwrite, [source, target], settings.format, has_tags=True)
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.cli.reading import read
    from acclimate.data.writing import write_corpus
    from acclimate.methods.augmentation.anchors import augment_with_anchors

    made = augment_with_anchors(
        read(source, settings.reading.of_source(), tell=warn),
        read(target, settings.reading.of_target(), tell=warn),
        target_variants=settings.target_variants,
        source_variants=settings.source_variants,
        source_sentences=settings.source_sentences,
        ratio=settings.ratio,
        all_entities=settings.all_entities,
        seed=settings.seed,
    )
    written = write_corpus(made.corpus, out, settings.format, scheme=settings.scheme)
    for remark in filter(None, [*made.remarks(), remark_on_folder(out, written)]):
        warn(remark)
    shown = _examples(made, settings.examples)
    if as_json:
        typer.echo(json.dumps({"out": out, **made.as_dict(), "examples": shown}, ensure_ascii=False))
        return
    console = stderr_console(quiet)
    for line in [*_account(made, out), *(f"  {line}" for line in shown)]:
        # the sentences themselves may be on stdout
        console.print(line) if out == "-" else typer.echo(line)


def _settings_of(out: str, as_json: bool, assignments: list[str] | None) -> AugmentSettings:
    from acclimate.cli.data_settings import AugmentSettings, settings_of
    from acclimate.settings import UsageError

    settings = settings_of(AugmentSettings, assignments)
    if settings.ratio is not None and "source_sentences" in settings.model_fields_set:
        raise UsageError("source_sentences and ratio both say how many source sentences to use: give one of them.")
    if out == "-" and as_json:
        raise UsageError("--out - prints the sentences, and --json its report, to the same place: name a file.")
    return settings


def _account(made: Augmentation, out: str) -> list[str]:
    from acclimate.spelling import count

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
