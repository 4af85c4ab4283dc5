"""`acclimate label` and `acclimate data suggest`: which sentences to label, and labelling them on a page."""

from __future__ import annotations

import gc
import sys
import threading
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Host, LabelSet, Overwrite, Port, SuggestSet
from acclimate.spelling import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from acclimate.cli.data_settings import LabelSettings
    from acclimate.labelling.session import Session
    from acclimate.labelling.settings import SessionSettings
    from acclimate.labelling.simulate import Point


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
    host: Host = "127.0.0.1",
    port: Port = 8100,
    assignments: LabelSet = None,
) -> None:
    """Label sentences of your text on a local page, those first that teach the tagger most; it learns while you label.

    Example: acclimate label tweets.txt --start runs/a --out labelled

    Sentences about which the tagger is uncertain come first; --set acquisition.name=NAME chooses in another way.

    A random fifth of the sentences is held back: these are never learnt, and give an honest F1.
    """
    from acclimate.cli.data_settings import LabelSettings
    from acclimate.cli.reading import settings_of
    from acclimate.settings import UsageError

    settings = settings_of(LabelSettings, assignments)
    names = tuple(name.strip() for name in labels.split(",") if name.strip()) if labels else ()
    begin = partial(session_at, out, text, start, names, settings)
    if simulate is not None:
        if export is not None or settings.take is not None:
            raise UsageError("--simulate goes without --export and --set take=FILE: nobody labels on a page.")
        if text is not None:
            raise UsageError("With --simulate the sentences of GOLD are labelled: leave TEXT out.")
        _simulate(simulate, start, names, out, settings)
    elif export is None and settings.take is None:
        _serve_page(begin, host, port, settings)
    else:
        with begin() as session:
            if settings.take is not None:
                _take_answers(session, settings.take)
            if export is not None:
                _write_page(session, export, settings.sentences)


def session_at(out: Path, text: str | None, start: str, labels: Sequence[str], settings: LabelSettings) -> Session:
    """The session in a folder: one that is there goes on, whatever else is given; otherwise it begins on the text."""
    from acclimate.cli.outputs import check_folder_to_write, warn
    from acclimate.cli.reading import read
    from acclimate.data.readers.labelling import is_session
    from acclimate.labelling.rounds import start_tagger
    from acclimate.labelling.session import NO_START, Session
    from acclimate.settings import UsageError

    if is_session(out):
        return Session.open(out, warn)
    check_folder_to_write("--out", out, "a session")
    if text is None:
        raise UsageError(f"{out} holds no session yet: name the TEXT to label.")
    names = tuple(labels) or (() if start == NO_START else start_tagger(start).labels.names)
    corpus, own = read(text, settings.reading, tell=warn), _session_settings(settings)
    return Session.begin(out, corpus, own, start=start, labels=names, warn=warn)


def _session_settings(settings: LabelSettings) -> SessionSettings:
    from acclimate.labelling.settings import SessionSettings

    return SessionSettings(**{name: getattr(settings, name) for name in SessionSettings.model_fields})


def _simulate(gold: str, start: str, labels: Sequence[str], out: Path, settings: LabelSettings) -> None:
    """Let gold tags answer, and print how the tagger gets better."""
    from acclimate.cli.outputs import check_folder_to_write, stderr_console, warn
    from acclimate.cli.reading import read
    from acclimate.inference.loading import tagger_in
    from acclimate.labelling.session import NO_START
    from acclimate.labelling.simulate import simulate

    check_folder_to_write("--out", out, "a session")
    if start != NO_START:
        tagger_in(start)  # refuses what is no tagger
    points = simulate(
        out,
        read(gold, settings.reading, tell=warn),
        _session_settings(settings),
        start=start,
        labels=labels,
        test=None if settings.test is None else read(settings.test, settings.reading, tell=warn),
        at=settings.at,
        answers=settings.answers,
        tell=stderr_console().print,
    )
    typer.echo(_table(points))
    typer.echo(f"use it: acclimate adapt --target-labelled {out} --target-test {out / 'held-back'}")


def _table(points: Sequence[Point]) -> str:
    from acclimate.evaluation.table import align

    def percent(share: float | None) -> str:
        return "" if share is None else f"{100 * share:.2f}"

    rows: list[tuple[str, ...]] = [("sentences", "words", "spans", "F1", "F1 held back", "seconds")]
    for one in points:
        counts = (f"{number:,}" for number in (one.sentences, one.words, one.spans))
        rows.append((*counts, percent(one.f1), percent(one.held_back), f"{one.seconds:.0f}"))
    first, last = points[0], points[-1]
    scores = "" if first.f1 is None or last.f1 is None else f": F1 {percent(first.f1)} before, {percent(last.f1)} after"
    minutes = sum(point.seconds for point in points) / 60
    verdict = f"{count(last.sentences, 'sentence')} labelled, {minutes:.1f} minutes of learning{scores}"
    return "\n".join([*align(rows, words=0), verdict])


def _serve_page(begin: Callable[[], Session], host: str, port: int, settings: LabelSettings) -> None:
    """Serve the page until Ctrl-C. `begin` opens the session, once it is known that the port is free."""
    from acclimate.cli.serve import require_server

    require_server("the page")
    from acclimate.cli.outputs import warn
    from acclimate.labelling.desk import Desk, build_app
    from acclimate.serving.server import TOKEN, bind, hosts_of, is_local, serve, token_of, url_of

    token = token_of(settings.serve)
    made = bind(host, port)
    with made, begin() as session:
        url = url_of(made)
        if token is None and not is_local(made):
            warn(f"Everybody who reaches {url} can read and label this text: set {TOKEN} to ask for a token.")
        desk = Desk(session, settings.serve)

        def announce() -> None:
            gc.freeze()  # sentences stay: looking through them for garbage would hold up an answer for a second
            typer.echo(f"{url} shows the page for {session.folder}. Ctrl-C ends it; every answer is saved at once.")
            sys.stdout.flush()
            if opens_browser(settings.browser, is_local(made)):
                threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

        serve(desk, build_app(desk, hosts_of(made, host, settings.serve), token), made, announce)
        typer.echo(farewell(session))


def opens_browser(wish: str, is_local: bool) -> bool:
    """Whether to open the page: as the settings say, or where somebody sits at a terminal of this machine."""
    return wish == "always" or (wish == "auto" and is_local and sys.stdin.isatty() and sys.stdout.isatty())


def farewell(session: Session) -> str:
    """How far it is, how to go on, and what uses the labels."""
    progress, out = session.progress(), session.folder
    done = f"{count(progress.done, 'sentence')} done, {progress.held_back:,} of them held back"
    use = f"acclimate adapt --target-labelled {out}"
    lines = [f"{done}; {progress.seconds / 60:.0f} minutes.", f"go on:  acclimate label --out {out}"]
    if progress.held_back:
        use += f" --target-test {out / 'held-back'}"
    return "\n".join([*lines, f"use it: {use}"] if progress.done + progress.part else lines)


def _write_page(session: Session, file: Path, sentences: int) -> None:
    """Write the page with the next sentences in it."""
    from acclimate.cli.outputs import check_file_to_write
    from acclimate.labelling.export import exported
    from acclimate.settings import UsageError

    if file.exists():
        raise UsageError(f"--export {file} is there already. Name another place, or remove it first.")
    check_file_to_write("--export", file, overwrite=True)
    written = exported(session, file, sentences)
    typer.echo(
        f"{file}: {count(written, 'sentence')} to label in any browser, without a server. What comes back from it:\n"
        f"  acclimate label --out {session.folder} --set take=FILE\n"
        f"  acclimate data convert FILE labelled.conll"
    )


def _take_answers(session: Session, file: Path) -> None:
    """Put the answers of a page without a server into the session."""
    from acclimate.cli.outputs import warn
    from acclimate.labelling.export import imported

    taken = imported(session, file)
    typer.echo(f"{file}: {count(taken.new, 'answer')} by {', '.join(taken.annotators) or 'nobody'} taken.")
    if taken.known:
        warn(f"{count(taken.known, 'answer')} stood here already.")
    if taken.kept:
        warn(f"{count(taken.kept, 'answer')} differ from what the same person answered here, which was kept.")


def suggest_command(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text or a corpus, whose tags are dropped.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write, in the format of its name or of --to.")],
    start: Annotated[
        str, typer.Option(metavar="TAGGER", help="The tagger that suggests: a folder, or a shipped one by name.")
    ] = "general",
    top: Annotated[int, typer.Option(min=1, help="How many sentences to choose.")] = 100,
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="doccano, label_studio, prodigy, or any that convert writes.")
    ] = None,
    assignments: SuggestSet = None,
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
