"""Where things stand in the folder of a run and of a comparison. Nothing is loaded to look: commands look here first.

`runs/folder.py` says what each file holds.
"""

from __future__ import annotations

from pathlib import Path

RUN = "run.json"
REPORT = "report.json"
PREDICTIONS = "predictions.json"
RECORDS = "records.jsonl"
TRAINING = "training"
BEFORE = "before"  # the folder of the tagger that the adapted one is compared with
MEMBERS = "members"  # the folder of the runs that teach a student
COMPARISON = "comparison.json"
COMPACT = "compact.json"  # what a compact tagger says of itself
LABELLING = "labelling.json"  # what a session of labelling was begun with
SENTENCES = "sentences.jsonl"  # of such a session
ANSWERS = "answers.jsonl"  # its log
HELD_BACK = "held-back"  # the folder in it that is read as the sentences to score on
ROUNDS = "rounds"  # the folder in it of what was learnt
BASELINE = "source-only"  # the recipe whose runs are the "before" of a comparison


def is_begun(folder: Path) -> bool:
    """Whether a run is under way there, or was cut off."""
    return (folder / TRAINING / RUN).is_file()


def has_progress(folder: Path) -> bool:
    """Whether an unfinished run has trained anything yet that would be lost."""
    has_stages = any((folder / TRAINING).glob("*/*/*"))  # recipe / stage / checkpoint
    return is_begun(folder) and (has_stages or (folder / MEMBERS).is_dir())


def is_comparison(folder: Path) -> bool:
    """Whether `compare` keeps its runs there: finished, or under way."""
    return (folder / COMPARISON).is_file() or bool(runs_of_comparison(folder))


def runs_of_comparison(folder: Path) -> list[Path]:
    """The runs that `acclimate compare` left in its folder; none in any other folder."""
    return sorted(folder.glob("runs/*/seed-*"))
