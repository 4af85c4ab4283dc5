"""`acclimate data inspect`: how far apart two corpora are, and what that suggests, before anything is trained."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import InspectSet, Json

if TYPE_CHECKING:
    from acclimate.cli.reading import ReadingSettings
    from acclimate.data.corpus import Corpus

MOST_READ = 50_000  # sentences of raw text: more of them change no figure that is shown


def inspect_command(
    corpora: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE... TARGET]",
            help="Labelled source, or several, each as adapt's --source takes it; and the target: text, or a corpus.",
            show_default="news social",
        ),
    ] = None,
    target_labelled: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="A few labelled target sentences to learn from.")
    ] = None,
    encoder: Annotated[
        str, typer.Option(help="What reads both: acclimate-mini, or a Hugging Face model by name or folder.")
    ] = "acclimate-mini",
    assignments: InspectSet = None,
    as_json: Json = False,
) -> None:
    """Compare source and target before you train: how they differ, which labels are rare, and what to try.

    Example: acclimate data inspect news.conll tweets.txt --target-labelled tweets-100.conll

    Nothing is trained. Tags in TARGET are looked at for label counts only. Without arguments: news and social.
    """
    from acclimate.analysis.inspection.facts import Given
    from acclimate.analysis.inspection.inspection import inspect_corpora, render
    from acclimate.cli.data_settings import InspectSettings
    from acclimate.cli.outputs import stderr_console, warn
    from acclimate.cli.reading import read, read_source, settings_of

    *source, target = _source_and_target(corpora or [])
    settings = settings_of(InspectSettings, assignments)
    of_target = settings.reading.of_target()
    console = stderr_console()
    with console.status("reading the corpora"):
        labelled = read_source(source, settings.reading.of_source(), warn)
        few = None if target_labelled is None else read(target_labelled, of_target, tell=warn)
        # the map renames gold labels once: of the labelled sentences if there are some
        text_reading = of_target if few is None else of_target.model_copy(update={"map": None})
        text, is_cut = _open_target(target, text_reading)
    with console.status(f"{encoder} reads both"):
        found = inspect_corpora(
            labelled,
            text,
            target_labelled=few,
            given=Given(tuple(source), target, target_labelled, settings.reading.map),
            encoder=encoder,
            is_cut=is_cut,
            seed=settings.seed,
        )
    typer.echo(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else render(found))


def _source_and_target(names: list[str]) -> list[str]:
    """The last one is the target; the bundled news has its posts."""
    from acclimate.settings import UsageError

    if len(names) == 1 and names != ["news"]:
        raise UsageError("TARGET is missing: acclimate data inspect SOURCE TARGET.")
    return names if len(names) > 1 else ["news", "social"]


def _open_target(name: str, reading: ReadingSettings) -> tuple[Corpus, bool]:
    """The target as `adapt` reads it, a bundled one with its unlabelled part; and whether only a part was read."""
    from acclimate.cli.outputs import warn
    from acclimate.cli.reading import is_bundled, is_raw_text, open_raw_text, read, warn_of_long_lines
    from acclimate.data.corpus import Corpus, Sentence
    from acclimate.data.problems import InputError

    if is_bundled(name):
        corpus = read(name, reading)
        return (corpus if "/" in name else (corpus + read(f"{name}/unlabelled")).renamed(name)), False
    if not (Path(name).is_file() and is_raw_text(name, reading)):
        return read(name, reading, tell=warn), False
    stream = open_raw_text(name, reading)
    rows = list(islice(stream.words(), MOST_READ + 1))
    warn_of_long_lines(stream.lines_too_long)
    if not rows:
        raise InputError("there are no words in it.", file=name)
    return Corpus.of((Sentence(tuple(row)) for row in rows[:MOST_READ]), name), len(rows) > MOST_READ
