"""`acclimate label` and `acclimate data suggest`: which sentences to label, and labelling them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Host, Json, Overwrite, Port, set_option
from acclimate.spelling import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from acclimate.cli.data_settings import LabelSettings
    from acclimate.labelling.session import Session
    from acclimate.labelling.simulate import Point

Start = Annotated[
    str, typer.Option(metavar="TAGGER", help="The tagger that suggests and learns: a folder, or a shipped one by name.")
]
Acquisition = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What comes first: random, entities, uncertainty, committee, rare-types, density or typical.",
        show_default="uncertainty, after a first batch by entities",
    ),
]


def label_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the session; one that is there goes on.")],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What to label: text or a corpus, whose tags are dropped.")
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            metavar="TAGGER",
            help="The tagger that suggests and learns: a folder, a shipped one by name, or none: a new one.",
        ),
    ] = "general",
    labels: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="What is labelled.", show_default="the labels of the tagger")
    ] = None,
    simulate: Annotated[
        str | None, typer.Option(metavar="GOLD", help="Let these labelled sentences answer in place of a person.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write the page as one HTML file that needs no server.")
    ] = None,
    acquisition: Acquisition = None,
    host: Host = "127.0.0.1",
    port: Port = 8100,
    assignments: Annotated[list[str] | None, set_option("label")] = None,
    as_json: Json = False,
) -> None:
    """Label sentences of your text on a local page, those first that teach the tagger most; it learns while you label.

    Example: acclimate label tweets.txt --start runs/a --out labelled

    A random fifth of the sentences is held back: these are never learnt, and give an honest F1.
    """
    from acclimate.cli.data_settings import LabelSettings
    from acclimate.cli.reading import settings_of
    from acclimate.settings import UsageError

    settings = settings_of(LabelSettings, assignments, {"acquisition.name": acquisition})
    names = tuple(name.strip() for name in labels.split(",") if name.strip()) if labels else ()
    if simulate is None:
        _on_a_page(partial(session_at, out, text, start, names, settings), settings, export, host, port)
        return
    if export is not None or settings.take is not None:
        raise UsageError("--simulate goes without --export and --set take=FILE: nobody labels on a page.")
    if text is not None:
        raise UsageError("With --simulate the sentences of GOLD are labelled: leave TEXT out.")
    points = _simulated(simulate, start, names, out, settings)
    if as_json:
        typer.echo(json.dumps({"out": str(out), "points": [point.as_dict() for point in points]}))
    else:
        typer.echo(_table(points))
        typer.echo(_verdict(points))
        typer.echo(f"use it: acclimate adapt --target-labelled {out} --target-test {out / 'held-back'}")


def _on_a_page(
    begin: Callable[[], Session],
    settings: LabelSettings,
    export: Path | None,
    host: str,
    port: int,
) -> None:
    from acclimate.cli.label_page import serve_page, take_answers, write_page

    if export is None and settings.take is None:
        serve_page(begin, host, port, settings)
        return
    with begin() as session:
        if settings.take is not None:
            take_answers(session, settings.take)
        if export is not None:
            write_page(session, export, settings.sentences)


def session_at(out: Path, text: str | None, start: str, labels: Sequence[str], settings: LabelSettings) -> Session:
    """The session in a folder: one that is there goes on, whatever else is given; otherwise it begins on the text."""
    from acclimate.cli.outputs import check_folder_to_write, warn
    from acclimate.cli.reading import read
    from acclimate.data.readers.labelling import is_session
    from acclimate.labelling.rounds import start_tagger
    from acclimate.labelling.session import NO_START, Session
    from acclimate.labelling.settings import SessionSettings
    from acclimate.settings import UsageError

    if is_session(out):
        return Session.open(out, warn)
    check_folder_to_write("--out", out, "a session")
    if text is None:
        raise UsageError(f"{out} holds no session yet: name the TEXT to label.")
    names = tuple(labels) or (() if start == NO_START else start_tagger(start).labels.names)
    own = SessionSettings(**{name: getattr(settings, name) for name in SessionSettings.model_fields})
    return Session.begin(out, read(text, settings.reading, tell=warn), own, start=start, labels=names, warn=warn)


def _simulated(gold: str, start: str, labels: Sequence[str], out: Path, settings: LabelSettings) -> list[Point]:
    from acclimate.cli.outputs import check_folder_to_write, stderr_console, warn
    from acclimate.cli.reading import read
    from acclimate.inference.loading import tagger_in
    from acclimate.labelling.session import NO_START
    from acclimate.labelling.settings import SessionSettings
    from acclimate.labelling.simulate import simulate

    check_folder_to_write("--out", out, "a session")
    if start != NO_START:
        tagger_in(start)  # refuses what is no tagger
    return simulate(
        out,
        read(gold, settings.reading, tell=warn),
        SessionSettings(**{name: getattr(settings, name) for name in SessionSettings.model_fields}),
        start=start,
        labels=labels,
        test=None if settings.test is None else read(settings.test, settings.reading, tell=warn),
        at=settings.at,
        answers=settings.answers,
        tell=stderr_console().print,
    )


def _table(points: Sequence[Point]) -> str:
    from acclimate.evaluation.table import align

    def percent(share: float | None) -> str:
        return "" if share is None else f"{100 * share:.2f}"

    rows: list[tuple[str, ...]] = [("sentences", "words", "spans", "F1", "F1 held back", "seconds")]
    for one in points:
        counts = (f"{number:,}" for number in (one.sentences, one.words, one.spans))
        rows.append((*counts, percent(one.f1), percent(one.held_back), f"{one.seconds:.0f}"))
    return "\n".join(align(rows, words=0))


def _verdict(points: Sequence[Point]) -> str:
    first, last = points[0], points[-1]
    scores = ""
    if first.f1 is not None and last.f1 is not None:
        scores = f": F1 {100 * first.f1:.2f} before, {100 * last.f1:.2f} after"
    minutes = sum(point.seconds for point in points) / 60
    return f"{count(last.sentences, 'sentence')} labelled, {minutes:.1f} minutes of learning{scores}"


def suggest_command(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text or a corpus, whose tags are dropped.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write, in the format of its name or of --to.")],
    start: Start = "general",
    top: Annotated[int, typer.Option(min=1, help="How many sentences to choose.")] = 100,
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="doccano, label_studio, prodigy, or any that convert writes.")
    ] = None,
    assignments: Annotated[list[str] | None, set_option("suggest")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Choose the sentences of a text that are worth labelling, with the tagger's suggestions, for another tool.

    Example: acclimate data suggest tweets.txt --top 100 --to doccano --out tweets.jsonl

    Near-duplicates are taken once. --set labelled=CORPUS names what is labelled already.

    --set acquisition.name=NAME chooses in another way.
    """
    from acclimate.cli.data_settings import SuggestSettings
    from acclimate.cli.outputs import check_place_to_write, stderr_console, warn
    from acclimate.cli.reading import read, settings_of
    from acclimate.data.writers.suggestions import write_suggestions
    from acclimate.inference.loading import load_tagger
    from acclimate.labelling.suggest import choose
    from acclimate.settings import UsageError

    settings = settings_of(SuggestSettings, assignments)
    check_place_to_write("--out", out, overwrite, [text], to, has_tags=True)
    tagger = load_tagger(start)
    if tagger.labels.kind == "plain":
        raise UsageError(f"The tagger {start} gives every word a tag; sentences are suggested for spans.")
    known = None if settings.labelled is None else read(settings.labelled, settings.reading, tell=warn)
    corpus = read(text, settings.reading, tell=warn)
    chosen = choose(corpus, tagger, settings.acquisition, top, known, settings.seed)
    if len(chosen.sentences) < top:
        warn(
            f"--top {top:,} is more than there is: all {count(len(chosen.sentences), 'different sentence')} are taken."
        )
    format = write_suggestions(chosen.sentences, chosen.spans, out, to, start)
    spans = count(sum(map(len, chosen.spans)), "suggested span")
    stderr_console().print(
        f"{out}: {count(len(chosen.sentences), 'sentence')} of {len(corpus):,} as {format}, with {spans}; "
        f"{count(chosen.alike, 'near-duplicate')} left out."
    )
