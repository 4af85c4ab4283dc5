"""`acclimate export` and `compress`: a tagger made smaller and faster."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from acclimate.cli.options import CompressSet, Quiet, RunOverwrite, TaggerFolder
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.cli.reading import ReadingSettings
    from acclimate.cli.settings import CompressSettings
    from acclimate.data.corpus import Corpus

_AT_ONCE = 1 << 16  # words that are read at a time
Form = Literal["onnx", "transformers"]


def export_command(
    tagger_folder: TaggerFolder,
    to: Annotated[
        Form, typer.Option("--to", help="onnx: a compact tagger, without torch; transformers: for pipelines.")
    ] = "onnx",
    int8: Annotated[bool, typer.Option("--int8", help="Weights in 8 bits: smaller and faster.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to write.",
            show_default="TAGGER/compact; for a tagger of the package TAGGER-onnx or TAGGER-onnx-int8 here; "
            "TAGGER-transformers",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(metavar="CORPUS", help="Text to compare on.", show_default="the run's target, else news/dev"),
    ] = None,
) -> None:
    """Write a tagger for other programs: a compact one (ONNX, without torch), or a plain transformers folder.

    Example: acclimate export runs/a --to onnx --int8

    `acclimate predict runs/a` uses the compact one from then on, unless there is a GPU.

    It tags the same text as the original first. Where too few tags of a compact one are equal, nothing is written.
    """
    from acclimate.cli.outputs import check_folder_to_write
    from acclimate.cli.reading import read
    from acclimate.inference.compact import version_of
    from acclimate.inference.export import export_onnx
    from acclimate.inference.export_transformers import export_transformers
    from acclimate.inference.loading import tagger_in
    from acclimate.model.storage import MANIFEST
    from acclimate.model.tagger import Tagger
    from acclimate.settings import UsageError

    if int8 and to != "onnx":
        raise UsageError("--int8 is for --to onnx: leave it out.")
    folder = tagger_in(tagger_folder)
    place = out or _usual_place(tagger_folder, folder, to, int8)
    check_folder_to_write("--out", place, "an export")
    is_replaced = out is None and place.parent == folder and (place / MANIFEST).is_file()
    if place.is_dir() and any(place.iterdir()) and not is_replaced:
        raise UsageError(f"{place} is there already. Name another --out, or remove it.")
    compared = text_of_run(folder) if text is None else read(text)
    tagger = Tagger.load(folder)
    parity: object
    if to == "onnx":
        parity = export_onnx(tagger, place, compared, int8=int8, card=tagger.card, original=version_of(folder))
    else:
        parity = export_transformers(tagger, place, compared, card=tagger.card)
    size = sum(file.stat().st_size for file in place.iterdir()) / 1e6
    typer.echo(f"{place}: {size:.0f} MB, {parity}")


def _usual_place(named: str, folder: Path, to: Form, int8: bool) -> Path:
    """In the tagger's own folder, where it is used by itself. Nothing is written into the package."""
    from acclimate.layout import COMPACT_FORM
    from acclimate.model.shipped import SHIPPED_TAGGERS

    if named in SHIPPED_TAGGERS or to != "onnx":
        return Path(f"{named.rstrip('/')}-{to}{'-int8' if int8 else ''}")
    return folder / COMPACT_FORM


def text_of_run(folder: Path) -> Corpus:
    """The text that a run was adapted to; for a tagger without any, bundled news."""
    from acclimate.cli.reading import read
    from acclimate.settings import UsageError

    run, reading = _corpora_of_run(folder)
    name = next((run[part][0] for part in ("target", "text", "source") if run[part]), "news/dev")
    try:
        return read(name, reading)
    except (OSError, ValueError) as failure:
        raise UsageError(f"the run's own text cannot be read ({failure}). Give --text CORPUS to compare on.") from None


def _corpora_of_run(folder: Path) -> tuple[dict[str, list[str]], ReadingSettings]:
    """The places of a run's corpora by their part, and how it read its target, without the map of labels."""
    from acclimate.cli.reading import PairReadingSettings, place_of, specs_of
    from acclimate.settings import complete, load_yaml

    file = folder / "settings.yaml"
    settings = load_yaml(file) if file.is_file() else {}
    parts = ("target", "target_labelled", "target_test", "source", "text", "test")
    places = {part: [place_of(spec) for spec in specs_of(settings.get(part))] for part in parts}
    reading = complete(PairReadingSettings, settings.get("reading", {}), where="reading").of_target()
    return places, reading.model_copy(update={"map": None})


def compress_command(
    tagger_folder: TaggerFolder,
    layers: Annotated[int | None, typer.Option(help="Layers of the encoder that it keeps.", show_default="4")] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS...",
            help="Text to learn on, tags in it ignored.",
            show_default="the corpora of the tagger's run",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="CORPUS", help="Labelled; scored at the end.", show_default="the target test of the tagger's run"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the student goes.", show_default="TAGGER-4-layers")
    ] = None,
    assignments: CompressSet = None,
    overwrite: RunOverwrite = False,
    quiet: Quiet = False,
) -> None:
    """Make a smaller tagger: a student with fewer layers, which learns the tagger's answers on text.

    acclimate compress runs/a --layers 4 && acclimate export runs/a-4-layers --to onnx --int8

    The student is a tagger like any other. A run that was interrupted goes on when the same command is given again.
    """
    given = {"tagger": tagger_folder, "layers": layers, "text": text, "test": test}
    from acclimate.cli.outputs import check_folder_to_write, resumable, stderr_console
    from acclimate.cli.settings import CompressSettings
    from acclimate.inference.loading import tagger_in
    from acclimate.model.tagger import Tagger
    from acclimate.runs.compress import compress
    from acclimate.runs.folder import require_unfinished
    from acclimate.settings import complete, dump_yaml, gathered
    from acclimate.training.progress_bar import TrainingBar

    folder = tagger_in(tagger_folder)
    settings = _with_corpora(complete(CompressSettings, gathered(None, given, assignments), where="compress"), folder)
    place = out or Path(f"{tagger_folder.rstrip('/')}-{settings.layers}-layers")
    check_folder_to_write("--out", place, "a tagger")
    require_unfinished(place, overwrite)
    console = stderr_console(quiet)
    learnt, gold = _lessons(settings, console.print)
    teacher = Tagger.load(folder)
    with resumable(place, overwrite), TrainingBar(console) as bar:
        done = compress(
            teacher,
            learnt,
            settings.layers,
            test=None if gold is None else gold.open_to(teacher.labels),
            out=place,
            training=settings.training,
            seed=settings.seed,
            overwrite=overwrite,
            watcher=bar,
            documents={"settings.yaml": dump_yaml(settings)},
        )
    typer.echo(f"{done}\nuse it: acclimate predict {place} TEXT")


def _with_corpora(settings: CompressSettings, folder: Path) -> CompressSettings:
    """The settings with the corpora of the tagger's run, where none are named."""
    from acclimate.settings import UsageError

    run, reading = _corpora_of_run(folder)
    own = tuple(dict.fromkeys(run["target"] + run["target_labelled"] + run["source"] + run["text"]))
    text = settings.text or own
    if not text:
        raise UsageError(f"{settings.tagger} does not say which text it was made for. Name some: --text CORPUS...")
    test = settings.test or next(iter(run["target_test"] + run["test"]), None)
    own_reading = {} if settings.text else {"reading": reading}
    return settings.model_copy(update={"text": text, "test": test, **own_reading})


def _lessons(settings: CompressSettings, tell: Callable[[str], None]) -> tuple[Corpus, Corpus | None]:
    """The text to learn, at most so many sentences of it, each as likely as the other; and the labelled test."""
    from acclimate.cli.reading import read, read_stream, tell_notes
    from acclimate.data.corpus import Corpus, Sentence

    dice, drawn, seen = random.Random(settings.seed), list[Sentence](), 0
    for name in settings.text:
        stream = read_stream(name, settings.reading.model_copy(update={"borders": "drop", "map": None}), _AT_ONCE)
        for sentence in (sentence for part in stream for sentence in part):
            seen += 1
            if len(drawn) < settings.sentences:
                drawn.append(sentence)
            elif (place := dice.randrange(seen)) < settings.sentences:
                drawn[place] = sentence
        tell_notes(Corpus((), stream.name, notes=stream.notes), tell, of_tags=False)
    names = ", ".join(settings.text)
    tell(f"{names}: {count(len(drawn), 'sentence')} to learn on" + (f" of {seen:,}" if seen > len(drawn) else ""))
    gold = None if settings.test is None else read(settings.test, settings.reading, tell=tell)
    return Corpus.of(drawn, names), gold
