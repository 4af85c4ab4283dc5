"""`acclimate evaluate`: score a tagger on labelled sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Device, Json, Map, Overwrite, Quiet, ReadingSet, TaggerFolder
from acclimate.cli.places import check_file_to_write, check_place_to_write, remark_on_folder

if TYPE_CHECKING:
    from acclimate.evaluation.counts import Reading


def evaluate_command(
    tagger_folder: TaggerFolder,
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Labelled sentences: a file, or a bundled corpus.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Count only spans whose tags follow IOB2 exactly (seqeval's strict).")
    ] = False,
    predictions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the predicted tags there; the name says the format.")
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every mistake and their sums there, as JSON, and show the sums."),
    ] = None,
    map_name: Map = None,
    assignments: ReadingSet = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Score a tagger: spans, words, exact match, by label, seen and unseen apart. The scorer is named."""
    from acclimate.cli.data_settings import reading_of
    from acclimate.cli.progress import sentence_bar, stderr_console, warn
    from acclimate.cli.reading import read
    from acclimate.cli.tagger import load_tagger
    from acclimate.data.mapping import typeless as without_types
    from acclimate.data.writers.shared import encoded, save
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.counts import remark_on_open_words, require_gold
    from acclimate.evaluation.errors import report_errors
    from acclimate.evaluation.scores import score
    from acclimate.evaluation.table import render
    from acclimate.inference.predict import lacks_spans, predict, require_comparable
    from acclimate.settings import UsageError
    from acclimate.spelling import count

    check_place_to_write("--predictions", predictions, overwrite, [gold], has_tags=True)
    if predictions is not None and predictions == errors:
        raise UsageError(f"--predictions and --errors both name {errors}: give each a file of its own.")
    if str(errors) != "-":
        check_file_to_write("--errors", errors, overwrite, [gold])
    console = stderr_console(quiet)
    reading = reading_of(assignments, map_name)
    typeless = reading.typeless  # the tagger's own labels become one, too
    corpus = read(gold, reading.model_copy(update={"typeless": False}), tell=warn)
    require_gold(corpus)
    tagger, _ = load_tagger(tagger_folder, device)
    corpus = corpus.open_to(tagger.labels)
    if not typeless:
        require_comparable(tagger, corpus)
    if unknown := remark_on_open_words(corpus):
        warn(unknown)
    with sentence_bar(console, "tagging") as bar:
        task = bar.add_task("", total=len(corpus))
        predicted = predict(tagger, corpus, progress=lambda count: bar.advance(task, count))
    if predictions is not None:
        written = write_corpus(predicted, predictions)
        if others := remark_on_folder(predictions, written):
            warn(others)
    if typeless:
        corpus, predicted = without_types(corpus), without_types(predicted)
    counting: Reading = "strict" if strict else "lenient"
    scores = score(corpus, predicted, seen=tagger.seen, reading=counting)
    if lacks_spans(corpus):
        warn(
            f"{gold} has no labelled span: recall and F1 say nothing, and none of what the tagger finds there "
            f"({count(scores.span.predicted, 'span')}) can be right."
        )
    typer.echo(json.dumps(scores.as_dict(), ensure_ascii=False) if as_json else render(scores))
    if errors is not None:
        report = report_errors(corpus, predicted, reading=counting)
        save(encoded(f"{json.dumps(report.as_dict(), ensure_ascii=False, indent=1)}\n"), errors)
        if not as_json:
            typer.echo(f"\n{report.render()}")
