"""Requests per second, latency and memory of `acclimate serve` on loopback.

    python benchmarks/serving.py --out serving --seconds 60

1, 8 and 64 clients each ask without a pause, over connections that stay open, in a process of their own. The texts are
bundled sentences of mixed lengths. These systems take turns within every round, and who waits computes nothing:

    batched     acclimate serve general
    unbatched   the same with serve.batch_words=1
    compact     acclimate serve on the float32 export of general
    pipeline    FastAPI around transformers.pipeline: general's encoder and its linear layer, without its CRF

`pip install fastapi` for the last one. Lost are requests without an answer of status 200. Memory is that which the
server's process has resident, after a warm-up and after all rounds. `--out results.jsonl` shows the table of a file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from shared import (
    alone,
    export_general,
    listening,
    markdown,
    median_and_late,
    parse_known,
    parser,
    pipeline_of_general,
    processor,
    read_rows,
    show,
    write_rows,
)

SYSTEMS = ("batched", "unbatched", "compact", "pipeline")
WARM_UP_SECONDS = 2.0


def main() -> None:
    options = arguments()
    if options.worker:
        serve_pipeline()
        return
    out = Path(options.out)
    if not out.is_file():
        out.mkdir(parents=True, exist_ok=True)
        about = {"machine": processor(), "cores": os.cpu_count()}
        about |= {"threads": options.threads, "seconds": options.seconds}
        rows = [{**row, **about} for row in measured(options)]
        out /= "results.jsonl"
        write_rows(out, rows)
    show(table(read_rows(out)), options.table)


def arguments() -> argparse.Namespace:
    made = parser(
        __doc__,
        "table worker",
        out=("", "a folder, where the rows are kept; or a file of rows to show"),
        seconds=(60.0, "how long each load lasts"),
        clients=[1, 8, 64],
        rounds=(1, "how often the systems take turns"),
        threads=(os.cpu_count() or 1, "of each server"),
        texts=(400, "how many different texts"),
        systems=list(SYSTEMS),
    )
    options = parse_known(made, systems=SYSTEMS)
    if not (options.out or options.worker):
        made.error("--out DIR: where the rows are kept")
    return options


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each system, number of clients and round."""
    bodies = [json.dumps({"text": text}).encode() for text in texts(options.texts)]
    systems = options.systems
    if "pipeline" in systems and find_spec("fastapi") is None:
        print("pipeline: not installed here; pip install fastapi", file=sys.stderr)
        systems = [name for name in systems if name != "pipeline"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        env = {"OMP_NUM_THREADS": str(options.threads), "GOMP_SPINCOUNT": "300", "TOKENIZERS_PARALLELISM": "false"}
        servers = {name: stack.enter_context(listening(command_of(name, folder), **env)) for name in systems}
        for url, _ in servers.values():
            alone(ask, url, 4, WARM_UP_SECONDS, bodies)
        start = {name: resident(process) for name, (_, process) in servers.items()}
        turns = product(range(options.rounds), options.clients, servers.items())
        for round_, clients, (name, (url, process)) in turns:
            found = alone(ask, url, clients, options.seconds, bodies)
            memory = {"megabytes_at_start": start[name], "megabytes": resident(process)}
            row = {"system": name, "clients": clients, "round": round_, **found, **memory}
            print(json.dumps(row), file=sys.stderr, flush=True)
            yield row


def texts(count: int) -> list[str]:
    """Sentences of the bundled corpora, one to six together."""
    from acclimate import load_bundled

    sentences = [" ".join(one.words) for name in ("news", "social") for one in load_bundled(name).test]
    lengths = [1, 1, 2, 1, 3, 1, 6]
    made = []
    for number in range(count):
        first = 7 * number % len(sentences)
        made.append(" ".join(sentences[first : first + lengths[number % len(lengths)]]))
    return made


def command_of(name: str, folder: Path) -> list[str]:
    """What starts a server on a free port."""
    words = [sys.executable, "-m", "acclimate", "serve", "general", "--port", "0", "--device", "cpu"]
    if name == "unbatched":
        words += ["--set", "serve.batch_words=1"]
    elif name == "compact":
        words[4] = f"general={export_general(folder / 'compact')}"
    elif name == "pipeline":
        words = [sys.executable, __file__, "--worker", name]
    return words


def resident(process: int) -> float:
    """Megabytes of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def ask(url: str, clients: int, seconds: float, bodies: list[bytes]) -> dict[str, Any]:
    """What so many clients got within the time, each of which asks as soon as it has its answer."""
    address = url.removeprefix("http://")
    times: list[float] = []
    lost: list[int] = []
    begun = time.perf_counter()

    def one(number: int) -> None:
        wire = HTTPConnection(address)
        while (before := time.perf_counter()) < begun + seconds:
            try:
                body = bodies[number % len(bodies)]
                wire.request("POST", "/v1/entities", body, {"Content-Type": "application/json"})
                answer = wire.getresponse()
                answer.read()
                is_answer = answer.status == 200
            except (OSError, HTTPException):
                is_answer = False
                wire.close()
            if is_answer:
                times.append(time.perf_counter() - before)
            else:
                lost.append(number)
            number += clients
        wire.close()

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(one, range(clients)))
    taken = time.perf_counter() - begun
    middle, late = median_and_late(times)
    return {"requests": len(times), "lost": len(lost), "per_second": len(times) / taken, "median": middle, "p99": late}


def serve_pipeline() -> None:
    """What one writes first: a handler that calls a pipeline."""
    import socket

    import uvicorn
    from fastapi import Body, FastAPI

    find = pipeline_of_general()
    app = FastAPI()

    @app.post("/v1/entities")
    def entities(text: str = Body(embed=True)) -> list[dict[str, Any]]:
        return [{**one, "score": float(one["score"])} for one in find(text)]

    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    made.listen(128)
    print(f"http://127.0.0.1:{made.getsockname()[1]} serves a pipeline", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run([made])


def table(rows: list[dict[str, Any]]) -> str:
    """The median over rounds of each number; lost requests are summed."""
    grouped: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["clients"], row["system"]].append(row)
    lines = []
    for (clients, system), own in sorted(grouped.items(), key=lambda one: (one[0][0], SYSTEMS.index(one[0][1]))):
        speed, middle, late = (statistics.median(row[name] for row in own) for name in ("per_second", "median", "p99"))
        memory = f"{own[0]['megabytes_at_start']:,.0f} → {own[-1]['megabytes']:,.0f}"
        lost = f"{sum(row['lost'] for row in own):,}"
        lines.append([system, clients, f"{speed:,.1f}", f"{1000 * middle:,.1f}", f"{1000 * late:,.1f}", lost, memory])
    first = rows[0]
    where = f"{first['machine']}, {first['cores']} cores, {first['threads']} threads, {first['seconds']:g} s each"
    head = ["system", "clients", "requests/s", "median ms", "99 % ms", "lost", "MB"]
    return f"{where}\n\n{markdown(head, lines)}"


if __name__ == "__main__":
    main()
