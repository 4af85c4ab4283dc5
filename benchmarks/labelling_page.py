"""How long the page for labelling waits: answers, undo, search and progress in a session of 100,000 sentences.

    python benchmarks/labelling_page.py --sentences 100000 --answers 300

A server runs in a process of its own, as `acclimate label` starts it, and learns in the background: `--pause` seconds
pass between two answers, so that rounds begin and end meanwhile. Printed are the milliseconds of each kind of request
over HTTP: the median, the 99th percentile, and the greatest.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from shared import listening, median_and_late, parser

NAMES = ["Anna", "Oslo", "Rome", "Blue Bank", "New York", "Bob Stone", "Lima"]


def write_text(file: Path, sentences: int) -> None:
    dice = random.Random(1)
    letters = "abcdefghijklmnoprstuv"
    words = ["".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(20_000)]
    with file.open("w") as lines:
        for _ in range(sentences):
            line = dice.choices(words, k=dice.randint(6, 24))
            line[dice.randrange(len(line))] = dice.choice(NAMES)
            lines.write(f"{' '.join(line)}\n")


class Client:
    """Asks, and keeps how long each answer took."""

    def __init__(self, url: str) -> None:
        self._wire = http.client.HTTPConnection(url.removeprefix("http://"))
        self.times: dict[str, list[float]] = defaultdict(list)

    def ask(self, path: str, **body: Any) -> Any:
        sent = json.dumps({"annotator": "anna", **body})
        begun = time.perf_counter()
        self._wire.request("POST", f"/v1/{path}", sent, {"Content-Type": "application/json"})
        answer = self._wire.getresponse()
        content = answer.read()
        self.times[path].append(1000 * (time.perf_counter() - begun))
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {content.decode()}")
        return json.loads(content)


def label(client: Client, answers: int, pause: float) -> None:
    found = client.ask("next")
    for number in range(answers):
        item, ahead = found["item"], found["ahead"]
        spans = [[start, end, name] for start, end, name, _ in item["suggestions"]]
        answer = {"sentence": item["id"], "status": "done", "spans": spans, "seen": item["version"], "seconds": 1.0}
        found = client.ask("answers", answers=[answer], show=ahead["id"])
        client.ask("progress", sentence=found["item"]["id"])
        time.sleep(pause)
        if number % 20 == 19:
            client.ask("undo")
            found = client.ask("redo")
            client.ask("search", text=random.Random(number).choice(NAMES))
            client.ask("elsewhere", words=["oslo"])


def main() -> None:
    given = parser(__doc__, sentences=100_000, answers=300, pause=0.3, start="general").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        write_text(text, given.sentences)
        command = [sys.executable, "-m", "acclimate", "label", str(text), "--out", f"{folder}/s", "--port", "0"]
        command += ["--start", given.start, "--labels", "LOC,ORG,PER,MISC", "--set", "browser=never"]
        begun = time.monotonic()
        with listening(command) as (url, _):
            print(f"{given.sentences:,} sentences: ready after {time.monotonic() - begun:.0f} s")
            client = Client(url)
            label(client, given.answers, given.pause)
            found = client.ask("progress")
    learner = f"{len(found['rounds'])} rounds of learning meanwhile, now {found['learner']['state']}"
    print(f"{given.answers} answers, {learner}; milliseconds:")
    for path, times in client.times.items():
        middle, late = median_and_late(times)
        print(f"{path:10} {len(times):6,} times  median {middle:7.1f}  99 % {late:7.1f}  max {max(times):7.1f}")


if __name__ == "__main__":
    main()
