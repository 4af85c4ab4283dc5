"""`acclimate predict` and `evaluate`: a tagger in use."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Dask, Device, Json, Map, Overwrite, Quiet, ReadingSet, TaggerFolder
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.cli.reading import ReadingSettings
    from acclimate.data.corpus import Corpus
    from acclimate.data.reading import CorpusStream
    from acclimate.data.writing import Parts
    from acclimate.evaluation.counts import Reading
    from acclimate.inference.workers import OpenExecutor, TaggerPlace


class OutputFormat(StrEnum):
    conll = "conll"
    jsonl = "jsonl"
    guesses = "guesses"
    parquet = "parquet"


def predict_command(
    tagger_folder: TaggerFolder,
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...", help="Files of text or of words, a folder, or a quoted pattern; - for standard input."
        ),
    ],
    output_format: Annotated[
        OutputFormat | None,
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
    from acclimate.cli.predict_files import many_files, predict_files
    from acclimate.cli.reading import reading_of
    from acclimate.settings import UsageError

    reading = reading_of(assignments).require_only(
        "format", "words_column", "pre_split", "paragraphs", "comments", "skip_bad"
    )
    reading = reading.model_copy(update={"borders": "drop"})  # tags in the input are not looked at
    settings = Tagging(tagger_folder, output_format, jobs, dask, reading, device, overwrite, quiet)
    files = many_files(text, out)
    if files is not None and out is not None:
        predict_files(settings, files, out, shard)
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
    output_format: OutputFormat | None
    jobs: int
    dask: str | None
    reading: ReadingSettings
    device: str
    overwrite: bool
    quiet: bool

    @property
    def soft(self) -> bool:
        return self.output_format is OutputFormat.guesses

    @property
    def format(self) -> str | None:
        """The format of a file that is asked for."""
        asked = OutputFormat.jsonl if self.soft else self.output_format
        return None if asked is None else asked.value

    @contextmanager
    def workers(self, tagger: TaggerPlace) -> Iterator[tuple[OpenExecutor, int] | None]:
        """Who tags, and how much at once; None for this process."""
        from acclimate.cli.cluster import dask_executor
        from acclimate.inference.workers import tagging_processes
        from acclimate.settings import UsageError

        if self.dask is not None and self.jobs > 1:
            raise UsageError("--jobs and --dask are two ways to share the work: give one of them.")
        with dask_executor(self.dask) as cluster:
            if cluster is not None:
                yield lambda: nullcontext(cluster[0]), 2 * cluster[1]
            elif self.jobs > 1:
                yield partial(tagging_processes, self.jobs, tagger.on_gpu()), 2 * self.jobs
            else:
                yield None


def _predict_one(settings: Tagging, text: str, out: Path | None) -> None:
    from acclimate.cli.outputs import TaggingBar, check_place_to_write, remark_on_folder, stderr_console, warn
    from acclimate.cli.reading import read_stream, tell_notes
    from acclimate.data.corpus import Corpus
    from acclimate.data.writing import writing_parts
    from acclimate.inference.files import words_at_once
    from acclimate.inference.workers import TaggerPlace

    is_text = out is not None and ".txt" in out.suffixes  # plain text could not hold the tags
    format = settings.format or ("conll" if out is None or is_text else None)
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
            TaggingBar(console, stream.total) as bar,
        ):
            console.print(f"{text}, read as {stream.format}{_held_whole(stream, parts)}")
            for tagged in tagged_parts:
                parts.add(tagged)
                sentences, words = sentences + len(tagged), words + tagged.word_count
                bar.show(sentences if stream.is_whole else tagged[-1].place.line or 0, words)
    tell_notes(Corpus((), stream.name, notes=stream.notes), warn, of_tags=False)
    console.print(f"{count(sentences, 'sentence')}, {count(words, 'word')}")
    if out is not None and (others := remark_on_folder(out, parts.files)):
        warn(others)


def _tagged(
    tagger: TaggerPlace, stream: CorpusStream, workers: tuple[OpenExecutor, int] | None, soft: bool
) -> Generator[Corpus, None, None]:
    """The parts of a stream with their tags, by this process or by others."""
    from acclimate.inference.predict import predict_stream
    from acclimate.inference.workers import predict_side_by_side

    if workers is None:
        yield from predict_stream(tagger.load(), stream, soft=soft)
    else:
        yield from predict_side_by_side(tagger, stream, *workers, soft)


def _held_whole(stream: CorpusStream, parts: Parts) -> str:
    """Why memory grows with the file; empty where it does not."""
    if stream.is_whole:
        return f": all of it is in memory, as {stream.format} cannot be read in parts"
    return f": all of it is kept in memory, as {parts.format} cannot be written in parts" if parts.is_whole else ""


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
    from acclimate.cli.outputs import (
        check_file_to_write,
        check_place_to_write,
        remark_on_folder,
        sentence_bar,
        stderr_console,
        warn,
    )
    from acclimate.cli.reading import read, reading_of
    from acclimate.data.mapping import typeless as without_types
    from acclimate.data.writers.shared import encoded, save
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.counts import remark_on_open_words, require_gold
    from acclimate.evaluation.errors import report_errors
    from acclimate.evaluation.scores import score
    from acclimate.evaluation.table import render
    from acclimate.inference.loading import load_tagger
    from acclimate.inference.predict import lacks_spans, predict, require_comparable
    from acclimate.settings import UsageError

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
    tagger = load_tagger(tagger_folder, device, console.print, warn)
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
