"""`acclimate predict` of many files, each into one of its own."""

from __future__ import annotations

import glob
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from acclimate.data.problems import InputError
from acclimate.settings import UsageError
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.cli.predict import Tagging
    from acclimate.inference.files import FileTagger, FileTask, Outcome
    from acclimate.inference.workers import OpenExecutor

_MOST_SHOWN = 20  # failures that are shown whole


def many_files(texts: Sequence[str], out: Path | None) -> list[str] | None:
    """The files that are tagged one by one, each into its own; None where there is one input."""
    found = [_files_of(text, out) for text in texts]
    if len(texts) == 1 and found[0] is None:
        return None
    files = [file for text, inner in zip(texts, found, strict=True) for file in ([text] if inner is None else inner)]
    from acclimate.cli.reading import is_bundled

    for file in files:
        if file == "-" or file.startswith("hf:") or is_bundled(file):
            raise UsageError(f"{file} is no file, and can only be tagged alone.")
    return files


def _files_of(text: str, out: Path | None) -> list[str] | None:
    """The files of a folder or of a pattern; None for anything else, and for a folder that is one corpus."""
    from acclimate.cli.reading import corpora_in

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


def predict_files(settings: Tagging, files: Sequence[str], out: Path, shard: str | None) -> None:
    """Tag each file that is not done. A failure is told at the end, and loses no other file."""
    from acclimate.cli.outputs import TaggingBar, check_folder_to_write, stderr_console, warn
    from acclimate.inference.files import FileTagger, plan_files, shard_of
    from acclimate.inference.workers import TaggerPlace

    tasks = shard_of(plan_files(files, out, settings.format), shard)
    check_folder_to_write("--out", out, "what is made of several files")
    console = stderr_console(settings.quiet)
    console.print(
        f"{count(len(tasks), 'file')} of {count(len(files), 'file')}, to {out}"
        if shard
        else f"{count(len(files), 'file')}, to {out}"
    )
    place = TaggerPlace.of(settings.tagger_folder, settings.device, console.print, warn)
    tagger = FileTagger(place, settings.format, settings.soft, settings.reading.options(), settings.overwrite)
    out.mkdir(parents=True, exist_ok=True)
    failed: list[Outcome] = []
    words = kept = 0
    with (
        settings.workers(place) as workers,
        closing(_outcomes(tagger, tasks, workers)) as outcomes,
        TaggingBar(console, len(tasks)) as bar,
    ):
        for number, outcome in enumerate(outcomes, start=1):
            _tell(outcome, warn)
            fresh = outcome.status == "tagged"
            words, kept = words + fresh * outcome.words, kept + (outcome.status == "done before")
            failed += [outcome] if outcome.status == "failed" else []
            if fresh:
                amount = f"{count(outcome.sentences, 'sentence')}, {count(outcome.words, 'word')}"
                console.print(f"{number:,} of {len(tasks):,}: {outcome.task.source}, {amount}")
            bar.show(number, words)
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


def _tell(outcome: Outcome, warn: Callable[[str], None]) -> None:
    from acclimate.cli.reading import tell_notes
    from acclimate.data.corpus import Corpus

    for remark in outcome.remarks:
        warn(f"{outcome.task.source}: {remark}")
    tell_notes(Corpus((), outcome.task.source, notes=outcome.notes), warn, of_tags=False)


def _placed(outcome: Outcome) -> str:
    source, problem = outcome.task.source, outcome.problem
    return problem if problem.startswith(source) else f"{source}: {problem}"


def _report(failed: Sequence[Outcome], tasks: int) -> InputError:
    lines = [f"\n  {_placed(outcome)}" for outcome in failed[:_MOST_SHOWN]]
    more = len(failed) - len(lines)
    rest = f"\n  … and {more:,} more" if more else ""
    advice = "The others are done; give the same command again when these are mended."
    return InputError(f"{len(failed):,} of {count(tasks, 'file')} could not be tagged.{''.join(lines)}{rest}\n{advice}")
