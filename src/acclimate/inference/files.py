"""Many files, each tagged into a file of its own: what goes where, what is done already, and what is left to do.

Beside each output stands a record, `.NAME.json`: the tagger and the input that it was made from, and its own checksum.
The record is written first, then the output is put in place. So an output whose checksum fits its record is whole.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from acclimate.data.corpus import ReadingNotes
from acclimate.data.problems import EmptyInput, InputError
from acclimate.data.readers.detection import BY_SUFFIX
from acclimate.data.readers.source import inner_name
from acclimate.data.reading import stream_corpus
from acclimate.data.writing import writing_parts
from acclimate.inference.loading import TaggerPlace
from acclimate.inference.predict import predict_stream, words_at_once
from acclimate.model.storage import StorageError, read_json, write_json
from acclimate.model.text_tagger import TextTagger
from acclimate.settings import SettingsError, UsageError
from acclimate.spelling import describe_failure

Status = Literal["tagged", "done before", "failed"]
_SUFFIXES = {"conll": ".conll", "jsonl": ".jsonl", "parquet": ".parquet"}
_EXPECTED = (InputError, UsageError, SettingsError, StorageError, OSError)


@dataclass(frozen=True)
class FileTask:
    """A file to tag, and where its tags go."""

    source: str
    out: Path

    @property
    def record(self) -> Path:
        return self.out.with_name(f".{self.out.name}.json")


@dataclass(frozen=True)
class Outcome:
    """What became of a file."""

    task: FileTask
    status: Status
    sentences: int = 0
    words: int = 0
    problem: str = ""
    notes: ReadingNotes = field(default_factory=ReadingNotes)
    remarks: tuple[str, ...] = ()


def plan_files(sources: Sequence[str], folder: Path, format: str | None) -> list[FileTask]:
    """Each source once, in order, with a file of its own in the folder. Without a format Parquet stays so, and all
    others become conll."""
    tasks: dict[Path, FileTask] = {}
    for source in sorted(set(sources)):
        task = FileTask(source, folder / _output_name(source, format))
        if (other := tasks.setdefault(task.out, task)) is not task:
            problem = f"{other.source} and {source} would both be written to {task.out}."
            raise UsageError(f"{problem} Rename one of them, or tag them into different folders.")
    read = {os.path.realpath(source): source for source in sources}
    for task in tasks.values():
        if (lost := read.get(os.path.realpath(task.out))) is not None:
            raise UsageError(f"{lost} is read, and would be lost: tags of {task.source} go there. Name another --out.")
    return list(tasks.values())


def _output_name(source: str, format: str | None) -> str:
    name = inner_name(Path(source).name)
    suffix = Path(name).suffix
    kind = format or ("parquet" if BY_SUFFIX.get(suffix.lower()) == "parquet" else "conll")
    return f"{name.removesuffix(suffix)}{_SUFFIXES[kind]}"


def shard_of(tasks: Sequence[FileTask], shard: str | None) -> list[FileTask]:
    """Every n-th task, beginning with the i-th, for `i/n`: shards share no task and together have all."""
    if shard is None:
        return list(tasks)
    number, slash, of = shard.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise UsageError(f"--shard {shard}: expected i/n with i from 1 to n, such as 1/8.")
    return list(tasks[int(number) - 1 :: int(of)])


@dataclass(frozen=True)
class FileTagger:
    """Tags one file after the other, with whatever process it is sent to."""

    tagger: TaggerPlace
    format: str | None
    soft: bool
    reading: Mapping[str, Any]  # options of `stream_corpus`
    overwrite: bool = False

    def __call__(self, task: FileTask) -> Outcome:
        """What can go wrong with one file is told in its outcome, and no reason to stop."""
        tagger = self.tagger.load()  # its faults are those of all files
        try:
            made_from = self._made_from(task)
            known = _record_of(task)
            if known is not None and os.path.isfile(task.out) and known["output"] == _digest(task.out):
                if known["made_from"] == made_from:
                    return Outcome(task, "done before", known["sentences"], known["words"])
            elif os.path.lexists(task.out) and not self.overwrite:
                problem = f"{task.out} is there already, and this command has not written it so."
                raise UsageError(f"{problem} Move it away, or replace it with --overwrite.")
            return self._tag(task, tagger, made_from)
        except _EXPECTED as failure:
            return Outcome(task, "failed", problem=describe_failure(failure))
        except Exception:  # a fault of our own; other files may still go well
            return Outcome(task, "failed", problem=traceback.format_exc())

    def _made_from(self, task: FileTask) -> dict[str, Any]:
        reading = json.loads(json.dumps(self.reading, sort_keys=True, default=str))
        settings = {"format": _format_of(task), "scores": self.soft, "reading": reading}
        return {"tagger": self.tagger.fingerprint, "input": _digest(task.source), **settings}

    def _tag(self, task: FileTask, tagger: TextTagger, made_from: dict[str, Any]) -> Outcome:
        sentences = words = 0
        notes, remarks = ReadingNotes(), tuple[str, ...]()
        with _folder_aside(task) as aside:
            file, record = aside / task.out.name, aside / task.record.name
            with writing_parts(file, _format_of(task)) as parts:
                try:
                    at_once = words_at_once(tagger.on_gpu)
                    stream = stream_corpus(task.source, name=task.source, words=at_once, **self.reading)
                    for tagged in predict_stream(tagger, stream, soft=self.soft):
                        parts.add(tagged)
                        sentences, words = sentences + len(tagged), words + tagged.word_count
                    notes, remarks = stream.notes, stream.guess
                except EmptyInput:  # one of many may well be
                    remarks = ("it is empty, and so is what is written for it.",)
            about = {"made_from": made_from, "output": _digest(file), "sentences": sentences, "words": words}
            write_json(record, about)
            # where this is cut off, there is no output, and the file is tagged again
            task.out.unlink(missing_ok=True)
            os.replace(record, task.record)
            os.replace(file, task.out)
        return Outcome(task, "tagged", sentences, words, notes=notes, remarks=remarks)


def _format_of(task: FileTask) -> str:
    return next(format for format, suffix in _SUFFIXES.items() if task.out.name.endswith(suffix))


@contextmanager
def _folder_aside(task: FileTask) -> Iterator[Path]:
    """A folder beside the output, of nobody else on any machine. Those of processes that were killed are removed."""
    begin = f".{task.out.name}.part-"
    for leftover in task.out.parent.glob(f"{glob.escape(begin)}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with TemporaryDirectory(prefix=begin, dir=task.out.parent, ignore_cleanup_errors=True) as aside:
        yield Path(aside)


def _record_of(task: FileTask) -> dict[str, Any] | None:
    """The record of an output; None without one, or where it cannot be read."""
    try:
        record = read_json(task.record)
        whole = {"made_from", "output", "sentences", "words"} <= record.keys()
    except (OSError, ValueError, AttributeError):
        return None
    return record if whole else None


def _digest(path: str | Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
