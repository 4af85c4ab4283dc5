"""`acclimate predict` and `evaluate`: a tagger in use."""

from __future__ import annotations

import glob
import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from acclimate.cli.options import Dask, Device, Json, Map, Overwrite, Quiet, ReadingSet, TaggerFolder
from acclimate.spelling import count, stderr_console

if TYPE_CHECKING:
    from rich.console import Console

    from acclimate.cli.reading import ReadingSettings
    from acclimate.data.corpus import Corpus
    from acclimate.data.problems import InputError
    from acclimate.data.reading import CorpusStream
    from acclimate.data.writing import Parts
    from acclimate.inference.files import FileTagger, FileTask, Outcome
    from acclimate.inference.loading import OpenExecutor, TaggerPlace

_MOST_SHOWN = 20  # failures that are shown whole


def predict_command(
    tagger_folder: TaggerFolder,
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...", help="Files of text or of words, a folder, or a quoted pattern; - for standard input."
        ),
    ],
    output_format: Annotated[
        Literal["conll", "jsonl", "guesses", "parquet"] | None,
        typer.Option(
            "--format",
            help="conll: WORD<TAB>TAG; jsonl: an object per sentence; guesses: the same with scores; parquet: a row "
            "per sentence. By --out's name, else conll; of many files Parquet stays Parquet.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR",
            help="Where to write; for many files a folder, where each gets one of its own name.",
            show_default="standard output",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Processes that share the cores, or the GPUs.")] = 1,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Of many files the I-th of N shares, such as 1/8.")
    ] = None,
    dask: Dask = None,
    assignments: ReadingSet = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Tag text: raw (a sentence per line), running (--set reading.paragraphs=true), or already split into words.

    Example: acclimate predict general 'in/*.txt' --out tagged --jobs 4

    Every word of the input gets one tag, whatever its characters and however long the sentence.

    Of many files, those that are done already are not tagged again.
    """
    from acclimate.cli.reading import reading_of
    from acclimate.settings import UsageError

    reading = reading_of(assignments).require_only(
        "format", "words_column", "pre_split", "paragraphs", "comments", "skip_bad"
    )
    reading = reading.model_copy(update={"borders": "drop"})  # tags in the input are not looked at
    soft = output_format == "guesses"
    format = "jsonl" if output_format == "guesses" else output_format
    settings = Tagging(tagger_folder, format, soft, jobs, dask, reading, device, overwrite, quiet)
    files = _many_files(text, out)
    if files is not None and out is not None:
        _predict_files(settings, files, out, shard)
    elif files is not None:
        raise UsageError("several files need a folder for what is written: --out DIR.")
    elif shard is not None:
        raise UsageError("--shard divides files: name several of them, or a quoted pattern, and --out DIR.")
    else:
        _predict_one(settings, text[0], out)


@dataclass(frozen=True)
class Tagging:
    """What the options of `predict` say, whatever is tagged."""

    tagger_folder: str
    format: str | None  # of a file, if one is asked for
    soft: bool  # whether scores are written
    jobs: int
    dask: str | None
    reading: ReadingSettings
    device: str
    overwrite: bool
    quiet: bool

    @contextmanager
    def workers(self, tagger: TaggerPlace) -> Iterator[tuple[OpenExecutor, int] | None]:
        """Who tags, and how much at once; None for this process."""
        from acclimate.settings import UsageError

        if self.dask is not None and self.jobs > 1:
            raise UsageError("--jobs and --dask are two ways to share the work: give one of them.")
        if self.dask is not None:
            from acclimate.cli.cluster import dask_executor

            with dask_executor(self.dask) as (executor, threads):
                yield lambda: nullcontext(executor), 2 * threads
        elif self.jobs > 1:
            from acclimate.inference.loading import tagging_processes

            yield partial(tagging_processes, self.jobs, tagger.on_gpu()), 2 * self.jobs
        else:
            yield None


def _predict_one(settings: Tagging, text: str, out: Path | None) -> None:
    from acclimate.cli.outputs import check_place_to_write, warn
    from acclimate.cli.reading import read_stream, tell_notes
    from acclimate.data.corpus import Corpus
    from acclimate.data.writing import writing_parts
    from acclimate.inference.loading import TaggerPlace
    from acclimate.inference.predict import words_at_once

    is_text = out is not None and ".txt" in out.suffixes  # plain text could not hold the tags
    format = settings.format or ("conll" if out is None or is_text else None)
    if out is not None:
        check_place_to_write("--out", out, settings.overwrite, [text], format, has_tags=True)
    console = stderr_console(settings.quiet)
    place = TaggerPlace.of(settings.tagger_folder, settings.device, console.print, warn)
    with settings.workers(place) as workers:
        at_once = words_at_once(settings.dask is None and place.on_gpu(), text == "-")
        stream = read_stream(text, settings.reading, at_once)
        for remark in stream.guess:  # a wrong guess of the format would lose words
            warn(f"{stream.name}: {remark}")
        sentences = words = 0
        with (
            closing(_tagged(place, stream, workers, settings.soft)) as tagged_parts,
            writing_parts("-" if out is None else out, format) as parts,
            tagging_bar(console, stream.total) as show,
        ):
            console.print(f"{text}, read as {stream.format}{_held_whole(stream, parts)}")
            for tagged in tagged_parts:
                parts.add(tagged)
                sentences, words = sentences + len(tagged), words + tagged.word_count
                show(sentences if stream.is_whole else tagged[-1].place.line or 0, words)
    tell_notes(Corpus((), stream.name, notes=stream.notes), warn, of_tags=False)
    console.print(f"{count(sentences, 'sentence')}, {count(words, 'word')}")


@contextmanager
def tagging_bar(console: Console, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """A bar of how much is tagged, and how fast. `total` is None where nobody knows it.

    Call what it gives with what is done of the total, and with all words so far.
    """
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = [TextColumn("tagging"), BarColumn(bar_width=24), TaskProgressColumn()]
    columns += [TextColumn("{task.fields[state]}"), TextColumn("left"), TimeRemainingColumn()]
    begun = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total, state="")

        def show(done: int, words: int) -> None:
            state = f"{words:,} words, {words / max(1e-9, time.monotonic() - begun):,.0f} a second"
            bar.update(task, completed=done if total is None else min(done, total), state=state)

        yield show


def _tagged(
    tagger: TaggerPlace, stream: CorpusStream, workers: tuple[OpenExecutor, int] | None, soft: bool
) -> Generator[Corpus, None, None]:
    """The parts of a stream with their tags, by this process or by others."""
    if workers is None:
        from acclimate.inference.predict import predict_stream

        yield from predict_stream(tagger.load(), stream, soft=soft)
    else:
        from acclimate.inference.loading import predict_side_by_side

        yield from predict_side_by_side(tagger, stream, *workers, soft)


def _held_whole(stream: CorpusStream, parts: Parts) -> str:
    """Why memory grows with the file; empty where it does not."""
    if stream.is_whole:
        return f": all of it is in memory, as {stream.format} cannot be read in parts"
    return f": all of it is kept in memory, as {parts.format} cannot be written in parts" if parts.is_whole else ""


def _many_files(texts: Sequence[str], out: Path | None) -> list[str] | None:
    """The files that are tagged one by one, each into its own; None where there is one input."""
    from acclimate.cli.reading import is_bundled
    from acclimate.settings import UsageError

    found = [_files_of(text, out) for text in texts]
    if len(texts) == 1 and found[0] is None:
        return None
    files = [file for text, inner in zip(texts, found, strict=True) for file in ([text] if inner is None else inner)]
    for file in files:
        if file == "-" or file.startswith("hf:") or is_bundled(file):
            raise UsageError(f"{file} is no file, and can only be tagged alone.")
    return files


def _files_of(text: str, out: Path | None) -> list[str] | None:
    """The files of a folder or of a pattern; None for anything else, and for a folder that is one corpus."""
    from acclimate.cli.reading import corpora_in
    from acclimate.data.problems import InputError
    from acclimate.settings import UsageError

    if Path(text).is_dir():
        if out is None or (out.suffix and not out.is_dir()):  # one output for all of it
            return None
        if out.is_dir() and out.samefile(text):
            raise UsageError(f"--out {out} is the folder that is read. Name another one.")
        return corpora_in(Path(text)) or None
    if Path(text).exists() or not glob.has_magic(text):
        return None
    files = [file for file in glob.glob(text, recursive=True) if Path(file).is_file()]
    if not files:
        raise InputError(f"no file fits {text}.")
    return files


def _predict_files(settings: Tagging, files: Sequence[str], out: Path, shard: str | None) -> None:
    """Tag each file that is not done. A failure is told at the end, and loses no other file."""
    from acclimate.cli.outputs import check_folder_to_write, warn
    from acclimate.cli.reading import tell_notes
    from acclimate.data.corpus import Corpus
    from acclimate.inference.files import FileTagger, plan_files, shard_of
    from acclimate.inference.loading import TaggerPlace

    tasks = shard_of(plan_files(files, out, settings.format), shard)
    check_folder_to_write("--out", out, "what is made of several files")
    console = stderr_console(settings.quiet)
    share = f"{count(len(tasks), 'file')} of " if shard else ""
    console.print(f"{share}{count(len(files), 'file')}, to {out}")
    place = TaggerPlace.of(settings.tagger_folder, settings.device, console.print, warn)
    tagger = FileTagger(place, settings.format, settings.soft, settings.reading.options(), settings.overwrite)
    out.mkdir(parents=True, exist_ok=True)
    done: list[Outcome] = []
    words = 0
    with (
        settings.workers(place) as workers,
        closing(_outcomes(tagger, tasks, workers)) as outcomes,
        tagging_bar(console, len(tasks)) as show,
    ):
        for outcome in outcomes:
            done.append(outcome)
            for remark in outcome.remarks:
                warn(f"{outcome.task.source}: {remark}")
            tell_notes(Corpus((), outcome.task.source, notes=outcome.notes), warn, of_tags=False)
            if outcome.status == "tagged":
                words += outcome.words
                amount = f"{count(outcome.sentences, 'sentence')}, {count(outcome.words, 'word')}"
                console.print(f"{len(done):,} of {len(tasks):,}: {outcome.task.source}, {amount}")
            show(len(done), words)
    kept = sum(outcome.status == "done before" for outcome in done)
    failed = [outcome for outcome in done if outcome.status == "failed"]
    if kept:
        console.print(f"{count(kept, 'file')} done before, by this tagger from the same input")
    console.print(f"{count(len(tasks) - kept - len(failed), 'file')} tagged, {count(words, 'word')}")
    if failed:
        raise _report(failed, len(tasks))


def _outcomes(
    tagger: FileTagger, tasks: Iterable[FileTask], workers: tuple[OpenExecutor, int] | None
) -> Generator[Outcome, None, None]:
    from acclimate.data.processes import done_side_by_side

    if workers is None:
        yield from map(tagger, tasks)
        return
    with closing(done_side_by_side(tagger, tasks, *workers, in_order=False)) as done:
        for _, future in done:
            yield future.result()


def _report(failed: Sequence[Outcome], tasks: int) -> InputError:
    from acclimate.data.problems import InputError

    lines = [f"\n  {_placed(outcome)}" for outcome in failed[:_MOST_SHOWN]]
    more = len(failed) - len(lines)
    rest = f"\n  … and {more:,} more" if more else ""
    advice = "The others are done; give the same command again when these are mended."
    return InputError(f"{len(failed):,} of {count(tasks, 'file')} could not be tagged.{''.join(lines)}{rest}\n{advice}")


def _placed(outcome: Outcome) -> str:
    source, problem = outcome.task.source, outcome.problem
    return problem if problem.startswith(source) else f"{source}: {problem}"


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
    as_json: Json = False,
) -> None:
    """Score a tagger: spans, words, exact match, by label, seen and unseen apart. The scorer is named."""
    from acclimate.cli.outputs import check_file_to_write, check_place_to_write, sentence_bar, warn
    from acclimate.cli.reading import read, reading_of
    from acclimate.data.mapping import typeless as without_types
    from acclimate.data.writers.shared import encoded, save
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.counts import remark_on_open_words, require_gold
    from acclimate.evaluation.errors import report_errors
    from acclimate.evaluation.scores import score
    from acclimate.evaluation.table import render
    from acclimate.inference.loading import load_tagger
    from acclimate.inference.predict import lacks_spans, predict, require_scorable
    from acclimate.settings import UsageError

    check_place_to_write("--predictions", predictions, overwrite, [gold], has_tags=True)
    if predictions is not None and predictions == errors:
        raise UsageError(f"--predictions and --errors both name {errors}: give each a file of its own.")
    if str(errors) != "-":
        check_file_to_write("--errors", errors, overwrite, [gold])
    console = stderr_console()
    reading = reading_of(assignments, map_name)
    typeless = reading.typeless  # the tagger's own labels become one, too
    corpus = read(gold, reading.model_copy(update={"typeless": False}), tell=warn)
    require_gold(corpus)
    tagger = load_tagger(tagger_folder, device, console.print, warn)
    corpus = corpus.open_to(tagger.labels)
    if not typeless:
        require_scorable(tagger.labels, corpus)
    if unknown := remark_on_open_words(corpus):
        warn(unknown)
    with sentence_bar(console, "tagging", len(corpus)) as advance:
        predicted = predict(tagger, corpus, progress=advance)
    if predictions is not None:
        write_corpus(predicted, predictions)
    if typeless:
        corpus, predicted = without_types(corpus), without_types(predicted)
    counting: Literal["strict", "lenient"] = "strict" if strict else "lenient"
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
