"""Memory and speed of `acclimate predict` over a long text, by one process and by two, and on a Dask cluster.

    python benchmarks/predict_scale.py --out results.jsonl [--tagger FOLDER] [--words 100000,1000000,10000000]

The bundled text is repeated until it has so many words. Without --tagger, `general` is exported with weights of 8 bits
first. Peak memory is that of the command and all its processes together, sampled ten times a second; pages that
processes share count in each of them. The last run cuts the longest text into files, sends them to a Dask cluster of
two workers, and kills one of them when half of the files are done; what is written is compared with one process's.
A file of rows in place of --out's is shown again: `--show results.jsonl`.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from shared import COMMON, export_general, markdown, parser, processor, read_rows, show, write_rows

FILES = 20  # of the run on a cluster
PREDICT = [sys.executable, "-m", "acclimate", "predict", "--quiet", "--set", "reading.pre_split=true"]


def main() -> None:
    words = ([100_000, 1_000_000, 10_000_000], "lengths of the text, in words")
    made = parser(__doc__, "table", words=words, jobs=([1, 2], "processes"), tagger=("", "a folder"), show="")
    made.add_argument("--out", default="predict-scale.jsonl", metavar="FILE", help=COMMON["out"]["help"])
    options = made.parse_args()
    if options.show:
        rows = read_rows(Path(options.show))
    else:
        rows = list(measured(options))
        write_rows(Path(options.out), rows)
    show(tables(rows), options.table)


def measured(options: Any) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tagger = options.tagger or export_general(folder / "tagger", int8=True)
        cores = len(os.sched_getaffinity(0))
        about = {"machine": processor(), "cores": cores, "tagger": options.tagger or "general, int8"}
        for wanted in options.words:
            text = folder / f"{wanted}.txt"
            words = write_text(text, wanted)
            for jobs in options.jobs:
                out = folder / f"{wanted}-{jobs}.conll"
                command = [*PREDICT, tagger, text, "--out", out, "--jobs", jobs]
                row = {"words": words, "way": f"--jobs {jobs}", **watched(command)}
                with out.open("rb") as tagged:
                    row["sum"] = hashlib.file_digest(tagged, "sha256").hexdigest()
                print(json.dumps(row), flush=True)
                yield {**row, **about}
                out.unlink()
        yield {**on_cluster(tagger, text, folder), **about}


def write_text(file: Path, wanted: int) -> int:
    """The bundled text again and again, a sentence a line. Returns how many words."""
    from acclimate import load_bundled

    parts = [load_bundled(name).text for name in ("news", "social", "clinical")]
    lines = [(len(one), " ".join(one.words)) for part in parts for one in part]
    words = number = 0
    with file.open("w", encoding="utf-8") as out:
        while words < wanted:
            size, line = lines[number % len(lines)]
            out.write(f"{line}\n")
            words, number = words + size, number + 1
    return words


def watched(command: list[Any], meanwhile: Callable[[], None] = lambda: None) -> dict[str, float]:
    """Seconds and peak memory of a command with all its processes."""
    import psutil

    begun, peak = time.monotonic(), 0
    with subprocess.Popen([str(word) for word in command]) as running:
        root = psutil.Process(running.pid)
        while running.poll() is None:
            peak = max(peak, memory_of(root))
            meanwhile()
            time.sleep(0.1)
    if running.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {running.returncode}")
    return {"seconds": round(time.monotonic() - begun, 2), "megabytes": round(peak / 1e6, 1)}


def memory_of(root: Any) -> int:
    import psutil

    total = 0
    with suppress(psutil.Error):  # it has just ended
        for process in (root, *root.children(recursive=True)):
            total += process.memory_info().rss
    return total


def on_cluster(tagger: str, text: Path, folder: Path) -> dict[str, Any]:
    """The text in files on two workers, of which one is killed half-way; compared with one process's files."""
    from distributed import LocalCluster

    cut = folder / "cut"
    cut.mkdir()
    lines = text.read_text(encoding="utf-8").splitlines(keepends=True)
    for number in range(FILES):
        (cut / f"{number:02}.txt").write_text("".join(lines[number::FILES]), encoding="utf-8")
    files, serial, out = f"{cut}/*.txt", folder / "serial", folder / "cluster"
    watched([*PREDICT, tagger, files, "--out", serial])
    killed: list[int] = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:

        def kill_one() -> None:
            if not killed and len(list(out.glob("*.conll"))) >= FILES // 2:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        command = [*PREDICT, tagger, files, "--out", out, "--dask", cluster.scheduler_address]
        found = watched(command, kill_one)
    names = sorted(file.name for file in serial.glob("*.conll"))
    equal = filecmp.cmpfiles(serial, out, names, shallow=False)[0] == names
    words = sum(len(line.split(" ")) for line in lines)
    return {"words": words, "way": "Dask, a worker killed", **found, "killed": len(killed), "equal": equal}


def tables(rows: list[dict[str, Any]]) -> str:
    first: dict[int, str] = {}
    lines = []
    for row in rows:
        sums = first.setdefault(row["words"], row.get("sum", ""))
        equal = row.get("equal", row.get("sum") == sums)
        # the client of a cluster reads and tags nothing
        memory = f"{row['megabytes']:,.0f}" if "killed" not in row else ""
        seconds, speed = f"{row['seconds']:,.1f}", f"{row['words'] / row['seconds']:,.0f}"
        lines.append([row["way"], f"{row['words']:,}", seconds, speed, memory, "yes" if equal else "NO"])
    machine = f"{rows[0]['machine']}, {rows[0].get('cores', '')} cores; start of the command included"
    head = ("", "words", "seconds", "words/s", "peak MB", "same bytes as one process")
    return f"{machine}\n\n{markdown(head, lines)}"


if __name__ == "__main__":
    main()
