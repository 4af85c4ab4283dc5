"""`acclimate vectors`: word vectors from raw text, for `acclimate adapt --vectors`."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acclimate.cli.options import InputFormat, Json, Overwrite, Quiet
from acclimate.cli.places import check_file_to_write

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from acclimate.model.encoders.vector_training import VectorTraining


class Method(StrEnum):
    skip_gram = "skip-gram"
    cbow = "cbow"


def vectors_command(
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...", help="Raw text, a paragraph per line (also .gz, .xz, a folder of .txt, -), or corpora."
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write; .gz and .xz compress, - prints.")],
    width: Annotated[int, typer.Option(min=1, help="Numbers per word; 50 and 100 are usual.")] = 50,
    window: Annotated[int, typer.Option(min=1, max=64, help="Neighbours on each side, at most.")] = 5,
    least_count: Annotated[int, typer.Option(min=1, help="Rarer words get no vector.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="How often the text is read.")] = 5,
    method: Annotated[
        Method, typer.Option(help="How neighbours foretell a word: one by one, or their mean.")
    ] = Method.skip_gram,
    lower_case: Annotated[
        bool, typer.Option("--lower-case/--cased", help="Cased: for a tagger whose lower_case_words is off.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same file.")] = 1,
    input_format: InputFormat = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train word vectors on raw text. Words are split, and digits and capitals read, as the tagger does it."""
    _check_place(out, overwrite, texts, as_json)
    import torch

    from acclimate.cli.progress import stderr_console
    from acclimate.evaluation.table import count
    from acclimate.model.encoders.vector_files import write_vectors
    from acclimate.model.encoders.vector_text import NumberedText
    from acclimate.model.encoders.vector_training import VectorSettings, VectorTraining
    from acclimate.settings import require_seed

    require_seed(seed)

    # the matrices are small: threads would wait for each other more than work, and could change the last digits
    torch.set_num_threads(1)
    console, started = stderr_console(quiet), time.monotonic()
    text = NumberedText.of(_watched(texts, input_format, console), lower_case=lower_case, least_count=least_count)
    read = f"{count(text.running_words, 'word')} read, {text.different_words:,} different ones"
    console.print(f"{read}; {len(text.words):,} occur at least {least_count:,} times and get a vector")
    settings = VectorSettings(method=method.value, width=width, window=window, epochs=epochs, seed=seed)
    training = VectorTraining(text, settings)
    _train(training, console)
    write_vectors(text.words, training.vectors, out)
    report = {
        "out": out,
        "words": len(text.words),
        "width": width,
        "running_words": text.running_words,
        "different_words": text.different_words,
        "lower_case": lower_case,
        **settings.model_dump(mode="json", exclude={"width"}),
        "least_count": least_count,
        "seconds": round(time.monotonic() - started, 1),
    }
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
    elif out != "-":
        typer.echo(f"{out}: {count(len(text.words), 'word')}, {width} numbers each, in {report['seconds']:,} s")
        typer.echo(f"Use it: acclimate adapt --vectors {shlex.quote(out)}")


def _check_place(out: str, overwrite: bool, texts: list[str], as_json: bool) -> None:
    from acclimate.settings import UsageError

    if out == "-" and as_json:
        raise UsageError("--out - prints the vectors, and --json its report, to the same place: name a file.")
    if out != "-":
        check_file_to_write("--out", out, overwrite, texts)


def _watched(texts: Sequence[str], format: str | None, console: Console) -> Iterator[Sequence[str]]:
    """The paragraphs of all texts, with a count of the words on the way."""
    with _bar(console, "reading {task.fields[file]}: {task.completed:,} words", timed=False) as bar:
        task = bar.add_task("", file="", total=None)
        for text in texts:
            bar.update(task, file=text)
            waiting = 0
            for words in _paragraphs(text, format):
                yield words
                waiting += len(words)
                if waiting > 50_000:
                    bar.advance(task, waiting)
                    waiting = 0
            bar.advance(task, waiting)


def _paragraphs(text: str, format: str | None) -> Iterable[Sequence[str]]:
    from acclimate.cli.corpora import is_bundled, open_corpus
    from acclimate.model.encoders.vector_text import read_paragraphs

    if is_bundled(text):
        return (sentence.words for sentence in open_corpus(text))
    return read_paragraphs(text, format)


def _train(training: VectorTraining, console: Console) -> None:
    epochs = training.settings.epochs
    epoch = 0
    with _bar(console, "training, epoch {task.fields[epoch]} of {task.fields[epochs]}", timed=True) as bar:
        task = bar.add_task("", total=training.total, epoch=1, epochs=epochs)
        for done in training:
            bar.update(task, completed=done, epoch=min(epochs, epoch + 1))
            if done * epochs >= (epoch + 1) * training.total:
                epoch += 1
                if not console.is_terminal:
                    console.print(f"epoch {epoch} of {epochs} done")


def _bar(console: Console, what: str, timed: bool) -> Progress:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns: list[Any] = [SpinnerColumn(), TextColumn(what, markup=False)]  # a file name may hold [brackets]
    if timed:
        columns += [BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("left"), TimeRemainingColumn()]
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
