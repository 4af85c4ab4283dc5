"""`acclimate data select` and `collocations`: large raw text."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import CollocationSet, Dask, Overwrite, Quiet, SelectSet
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.data.collocations import Collocations
    from acclimate.data.selection.select import Selection


_MOST = 5  # collocations of each length that are printed
_TOO_FAR = 2.0  # times longer or shorter lines than the target's


def select_command(
    like: Annotated[
        list[str],
        typer.Option(metavar="TEXT...", help="What to be like: raw text, a corpus of any format, or a bundled one."),
    ],
    files: Annotated[
        list[str],
        typer.Option("--from", metavar="FILE...", help="Raw text, a sentence or paragraph a line; plain, .gz or .xz."),
    ],
    top: Annotated[int, typer.Option(min=1, help="How many lines to take. They are held in memory.")],
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Where to write, the best line first; .gz and .xz compress.")
    ],
    dask: Dask = None,
    assignments: SelectSet = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the lines of huge raw text that are most like a target text: they share its n-grams (n = 1 to 4).

    Example: acclimate data select --like target.txt --from huge/*.txt.gz --top 500000 --out extra.txt.gz

    Of paragraphs, --set sentences=true takes single sentences.

    Lines that stand there twice are taken once. The result does not depend on the number of processes.
    """
    from acclimate.cli.cluster import dask_executor
    from acclimate.cli.data_settings import SelectSettings
    from acclimate.cli.outputs import check_file_to_write, reading_bar, stderr_console
    from acclimate.cli.reading import is_bundled, read, settings_of
    from acclimate.data.processes import cores
    from acclimate.data.selection.select import select_text

    settings = settings_of(SelectSettings, assignments)
    reading = settings.reading.require_only("format", "pre_split")
    for place, file in (("--out", out), ("--set scores", settings.scores)):
        if file is not None:
            check_file_to_write(place, file, overwrite, [*like, *files])
    _warn_of_corpora(files)
    here = nullcontext((None, settings.jobs or cores()))
    with (
        dask_executor(dask) if dask is not None else here as (executor, threads),
        reading_bar(stderr_console(quiet)) as show,
    ):
        selection = select_text(
            [read(name) if is_bundled(name) else name for name in like],
            files,
            top,
            out,
            executor=executor,
            jobs=threads,
            measure=settings.measure,
            lower_case=settings.lower_case,
            tokenize="blanks" if reading.pre_split else "words",
            shortest=settings.shortest,
            longest=settings.longest,
            sentences=settings.sentences,
            scores=settings.scores,
            format=reading.format,
            watch=show,
        )
    _report(selection, top, like, out)


def _warn_of_corpora(files: list[str]) -> None:
    """A corpus would be read as text: a word and its tag, or a JSON object, for a sentence."""
    from acclimate.cli.outputs import warn
    from acclimate.data.readers.detection import looks_like_corpus
    from acclimate.data.selection.text_files import first_lines

    for file in files:
        if looks_like_corpus(file, first_lines(file)):
            warn(
                f"--from {file} looks like a corpus with tags, and each of its lines is taken for raw text. To take "
                f"its sentences, write them as text first: "
                f"acclimate data convert {shlex.quote(file)} TEXT.txt --to text"
            )


def _report(selection: Selection, top: int, like: list[str], out: str) -> None:
    from acclimate.cli.outputs import warn
    from acclimate.cli.reading import warn_of_long_lines

    kept = selection.lines_kept
    if kept < top:
        warn(f"--top {top:,} is more than there is: all {count(kept, 'different line')} that fit were taken.")
    warn_of_long_lines(selection.lines_too_long)
    taken, target = selection.words_per_line, selection.target_words_per_line
    lengths = f"{taken:.1f} words a line, the target has {target:.1f}"
    if not target / _TOO_FAR <= taken <= target * _TOO_FAR:
        advice = "--set measure=overlap, --set shortest=N and --set longest=N"
        warn(f"{out}: {lengths}. Lines of about that length: {advice}.")
    scores = f"scores {selection.lowest:.6g} to {selection.highest:.6g}"
    typer.echo(f"{out}: {kept:,} of {count(selection.lines_read, 'line')}, {scores}; {lengths}")
    speed = f"{selection.megabytes_per_second:,.1f} MB/s"
    typer.echo(f"read {selection.megabytes:,.1f} MB in {selection.seconds:,.1f} s ({speed})")
    texts = shlex.join([*(name for name in like if name != "-"), out])
    typer.echo(f"use it: acclimate encoder domain-tune --text {texts} --out tuned-encoder")


def collocations_command(
    texts: Annotated[
        list[str],
        typer.Argument(metavar="TEXT...", help="Raw text, a sentence a line; or any corpus, or a bundled one."),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write, the best first; .gz and .xz compress.")],
    assignments: CollocationSet = None,
    overwrite: Overwrite = False,
) -> None:
    """Find the words of a text that belong together (collocations), ranked by mutual information.

    Example: acclimate data collocations train.conll --out collocations.jsonl

    Use it: acclimate encoder domain-tune --masking pmi --set policy.collocations.file=collocations.jsonl

    None crosses the end of a sentence. Raw text is read as a stream and counted in passes: about 40 bytes a word.
    """
    from acclimate.analysis.terms import term_overlap
    from acclimate.cli.data_settings import CollocationSettings
    from acclimate.cli.outputs import check_file_to_write, stderr_console, warn
    from acclimate.cli.reading import TextReading, read, settings_of
    from acclimate.data.collocations import build_collocations, number_words
    from acclimate.data.problems import InputError

    settings = settings_of(CollocationSettings, assignments)
    check_file_to_write("--out", out, overwrite, [*texts, *settings.terms])
    as_text = settings.reading.require_only("format", "pre_split", "paragraphs", "map", "typeless")
    labelled = [read(name, as_text, tell=warn) for name in settings.terms]
    reading = TextReading(texts, as_text)
    text = number_words(reading, settings.lower_case)
    if not len(text.numbers):
        raise InputError("there are no words in it.", file=", ".join(texts))
    with stderr_console().status("counting"):
        how = settings.relative_to, settings.measure, settings.lower_case
        collocations = build_collocations(text, settings.at_least, settings.size, settings.lengths, *how)
    collocations.save(out)
    found = f"{count(len(collocations), 'collocation')} seen {settings.at_least} times or more"
    size = f"{count(len(text.numbers), 'word')} in {count(text.sentences, 'sentence')}"
    typer.echo("\n".join([f"{out}: {found}, of {size}", *_best(collocations)]))
    if compared := labelled or reading.labelled:
        typer.echo(f"\n{term_overlap(collocations, compared).render()}")
    if len(collocations):
        chosen = shlex.quote(f"policy.collocations.file={out}")
        typer.echo(f"\nuse it: acclimate encoder domain-tune --masking pmi --set {chosen}")
    else:
        advice = "Give more text, or a smaller at_least."
        warn(f"nothing was seen {settings.at_least} times: the file is empty. {advice}")


def _best(collocations: Collocations) -> list[str]:
    """The best of each length, as a table."""
    from acclimate.evaluation.table import align

    lines = []
    for length in sorted({len(entry.words) for entry in collocations.entries}):
        entries = [entry for entry in collocations.entries if len(entry.words) == length]
        rows = [(f"  {' '.join(entry.words)}", f"{entry.count:,}", f"{entry.score:.2f}") for entry in entries[:_MOST]]
        lines += ["", f"{length} words: {len(entries):,}"]
        lines += align([("", "count", "score"), *rows]) if rows else []
    return lines
