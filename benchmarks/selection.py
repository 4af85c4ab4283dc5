"""How fast text is selected, per core and beside plain Python, and in how much memory.

    python benchmarks/selection.py --data DATA [--big 1000] [--json FILE]

The text is every unlabelled.txt.gz under --data; the target is another corpus there. It is read once, as it is; and
again and again, up to --small and to --big megabytes, for the memory. Each row is a fresh process with one worker.
"MB per core and second" is text by processor time, without the start of Python and the reading of the target. The plain
implementation makes sets of tuples, and is measured on a sample of the same text before and after each row. The scores
of both are compared to the last digit. (A file called select.py would hide Python's own `select`.)
"""

import argparse
import gzip
import json
import pickle
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from shared import markdown, parser, write_json

from acclimate.data.reading import read_corpus
from acclimate.data.selection.ngram_scores import Target, read_target
from acclimate.data.selection.select import select_text
from acclimate.data.words import find_words

MEGABYTE = 10**6


def main() -> None:
    made = parser(
        __doc__,
        "json",
        like=("jnlpba/train.conll.gz", "the target, a file under --data"),
        small=(10, "megabytes"),
        big=(1000, "megabytes; less for a trial"),
        sample=(2.0, "megabytes of text for the plain implementation"),
    )
    made.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    made.add_argument("--only", help=argparse.SUPPRESS)  # one row, as JSON: the options of `select_text`
    options = made.parse_args()
    if options.only:
        print(json.dumps(measured(**json.loads(options.only))))
        return
    with tempfile.TemporaryDirectory() as folder:
        machine = f"Python {platform.python_version()}, numpy {np.__version__}"
        report = {"machine": machine, "like": options.like, "rows": rows(options, Path(folder))}
    print(table(report))
    write_json(options.json, report)


def rows(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    texts = sorted(options.data.glob("*/unlabelled.txt.gz"))
    if not texts:
        sys.exit(f"there is no unlabelled.txt.gz in a folder of {options.data}; name another --data.")
    like = str(options.data / options.like)
    once, small, big = folder / "once.txt", folder / "small.txt", folder / "big.txt"
    all_lines = [line for text in texts for line in gzip.decompress(text.read_bytes()).splitlines(keepends=True)]
    random.Random(0).shuffle(all_lines)  # a file that begins with all tweets is another task
    once.write_bytes(b"".join(all_lines))
    repeat(once, small, options.small * MEGABYTE)
    repeat(once, big, options.big * MEGABYTE)
    packed = folder / "once.txt.gz"
    packed.write_bytes(gzip.compress(once.read_bytes(), 6))
    plain = {measure: Plain(like, once, options.sample, measure) for measure in ("jaccard", "overlap")}
    target = folder / "target.pickle"  # or the memory would be that of reading the target
    target.write_bytes(pickle.dumps(read_target(like)))
    lines = len(all_lines)
    wanted = {
        "read once": (once, lines // 100, "jaccard"),
        "read once, .gz": (packed, lines // 100, "jaccard"),
        "read once, every line taken": (once, lines, "jaccard"),
        "read once, overlap": (once, lines // 100, "overlap"),
        "again and again, small": (small, 5000, "jaccard"),
        "again and again, big": (big, 5000, "jaccard"),
        "again and again, big, overlap": (big, 5000, "overlap"),
    }
    results = []
    for name, (text, top, measure) in wanted.items():
        before = plain[measure].speed()
        given = {"like": str(target), "text": str(text), "top": top, "measure": measure}
        command = [sys.executable, __file__, "--data", ".", "--only", json.dumps(given)]
        row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        beside = statistics.mean((before, plain[measure].speed()))
        results.append({"text": name, **row, "plain": round(beside, 2), "times": round(row["per_core"] / beside, 1)})
        print(f"{name}: done", file=sys.stderr)
    return results


def repeat(text: Path, out: Path, size: int) -> None:
    data = text.read_bytes()
    with out.open("wb") as file:
        while (left := size - file.tell()) > 0:
            file.write(data if left >= len(data) else data[: data.rfind(b"\n", 0, left) + 1 or left])


def measured(like: str, text: str, top: int, measure: str) -> dict[str, Any]:
    """One run in this process."""
    target: Target = pickle.loads(Path(like).read_bytes())
    find_words("")  # the pattern is made once
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        done = select_text(target, [text], top, Path(folder) / "out.txt", measure=measure)  # type: ignore[arg-type]
    speed = round(done.megabytes / (time.process_time() - begun), 1)
    # not `getrusage`, which also counts what the parent had when it started this process
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    memory = round(int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))) / 1024)
    sizes = {"megabytes": round(done.megabytes, 1), "lines": done.lines_read, "kept": done.lines_kept}
    return {**sizes, "per_core": speed, "memory": memory}


class Plain:
    """The same scores by sets of tuples, on a sample of the text."""

    def __init__(self, like: str, text: Path, megabytes: float, measure: str) -> None:
        target = [ngrams([word.lower() for word in sentence.words]) for sentence in read_corpus(like)]
        self.others = [set().union(*(row[n] for row in target)) for n in range(4)]
        with text.open(encoding="utf-8") as file:
            self.lines = list(up_to(file, megabytes * MEGABYTE))
        self.measure = measure
        check(self.lines, self.scores(), like, measure)

    def scores(self) -> list[float]:
        return [plain_score(line, self.others, self.measure) for line in self.lines]

    def speed(self) -> float:
        """MB per second of processor time."""
        begun = time.process_time()
        self.scores()
        return sum(len(line.encode()) for line in self.lines) / MEGABYTE / (time.process_time() - begun)


def plain_score(line: str, others: Sequence[set[tuple[str, ...]]], measure: str) -> float:
    total = 0.0
    for own, target in zip(ngrams([line[start:end].lower() for start, end in find_words(line)]), others, strict=True):
        shared = len(own & target)
        among = len(own) + len(target) - shared if measure == "jaccard" else len(own)
        total += shared / among if among else 0.0
    return total / 4


def ngrams(words: Sequence[str]) -> list[set[tuple[str, ...]]]:
    return [set(zip(*(words[start:] for start in range(n)), strict=False)) for n in range(1, 5)]


def up_to(lines: Iterator[str], size: float) -> Iterator[str]:
    for line in lines:
        size -= len(line.encode())
        if size < 0:
            return
        yield line


def check(lines: Sequence[str], scores: Sequence[float], like: str, measure: str) -> None:
    """A fast wrong answer is no answer: the same scores, to the last digit."""
    with tempfile.TemporaryDirectory() as folder:
        text, out, found = (Path(folder) / name for name in ("text", "out", "scores"))
        text.write_text("".join(lines), encoding="utf-8")
        select_text(like, [text], len(lines), out, measure=measure, scores=found)  # type: ignore[arg-type]
        expected = dict(zip((line.strip() for line in lines), scores, strict=True))
        texts = out.read_text(encoding="utf-8").splitlines()
        rows = found.read_text(encoding="utf-8").splitlines()[1:]
    assert {line: float(row.split("\t")[0]) for line, row in zip(texts, rows, strict=True)} == expected


def table(report: dict[str, Any]) -> str:
    lines = []
    for row in report["rows"]:
        sizes = [f"{row['megabytes']:,.0f}", f"{row['lines']:,}", f"{row['kept']:,}"]
        speeds = [f"{row['per_core']:.1f}", f"{row['plain']:.2f}", f"{row['times']:.1f}"]
        lines.append([row["text"], *sizes, *speeds, f"{row['memory']:,}"])
    columns = ["text", "MB", "lines", "taken", "acclimate", "plain Python", "times", "memory, MB"]
    return f"{report['machine']}; like {report['like']}; MB per core and second\n\n{markdown(columns, lines)}"


if __name__ == "__main__":
    main()
