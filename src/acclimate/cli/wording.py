"""Advice of the lower rooms, spelled for the command line: they speak Python, where `skip_bad=True` is an argument."""

from __future__ import annotations

import re
from collections.abc import Callable

_ARGUMENT = re.compile(
    r"\b(?P<name>skip_bad|comments|words_column|column|labels|scheme|borders|format|groups|others|single)="
    r"(?P<value>True|-?\d+|[\"']\w+[\"'])?"
)
_PHRASES: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"map_labels\(corpus, '([^']+)'\)": r"--map \1",
    r"typeless\(corpus\)": "--typeless",
    r"\(map_labels\)": "(--map)",
    r"\(typeless\)": "(--typeless)",
    r"\((target|target_labelled|source_dev|target_dev)\)": lambda found: f"(--{found[1].replace('_', '-')})",
    r"with map_labels\b": "with --map FILE",
    r"another folder \(out\)": "another folder (--out)",
    r"\btrain_on_dev needs source_dev\b": "train_on_dev needs --source-dev",
    r", pass by_document=False, or tied_from=6": "",
    r"; use corpus\.labelled\(\)": "; leave those out (acclimate data convert --labelled-only)",
    r"Write corpus\.labelled\(\) or corpus\.unlabelled\(\), or use": (
        "Leave out the sentences without tags (acclimate data convert --labelled-only), or write"
    ),
}
_WRITING = re.compile(r"[,;] or pass write_corpus\(format=(?:\"\w+\"|…)\)(?: to leave them out)?")
_FORMAT_OF_OUTPUT = {"convert": "--to", "augment": "--to", "predict": "--format"}  # others go by the file's name
_CHOICE = re.compile(r"(?<!--set )\bselect=(target-dev|last)\b")
_ON_DEV = re.compile(r"\btrain_on_dev(?= needs --source-dev| the source dev|\))")
_NAMES = {"format": "input-format", "others": "other-types", "single": "label"}
_READ_AS_THEY_ARE = ("domain-tune", "inspect")  # commands that find out the format, and are not told
_OF_EITHER_SIDE = ("column", "format")  # settings that source and target have of their own


def in_options(message: str, command: str | None) -> str:
    """A message in which arguments and functions have become the options of the command that was given."""
    return "\n".join(_line_in_options(line, command) for line in message.split("\n"))


def _line_in_options(line: str, command: str | None) -> str:
    advice, quoting, quoted = line.partition(" The text there: ")  # the user's own text is shown as it is
    if command in _READ_AS_THEY_ARE:
        advice = advice.replace(", or name another format=", "")
    advice = _WRITING.sub(lambda found: _format_of_output(found, command), advice)
    for phrase, option in _PHRASES.items():
        advice = re.sub(phrase, option, advice)
    advice = _CHOICE.sub(r"--select \1" if command == "adapt" else r"--set select=\1", advice)
    advice = _ON_DEV.sub("--train-on-dev" if command == "adapt" else "--set train_on_dev=true", advice)
    return _ARGUMENT.sub(lambda found: _option(found["name"], found["value"], command), advice) + quoting + quoted


def _format_of_output(found: re.Match[str], command: str | None) -> str:
    if command not in _FORMAT_OF_OUTPUT:
        return ""
    advice = found[0].replace("write_corpus(format=", f"{_FORMAT_OF_OUTPUT[command]} ").replace(")", "")
    return advice.replace('"', "").replace("…", "FORMAT")


def _option(name: str, value: str | None, command: str | None) -> str:
    value = (value or "").strip("\"'")
    if command in ("adapt", "compare") and name != "skip_bad":
        either = name in _OF_EITHER_SIDE
        setting = f"{'source_' if either else ''}{name}={value.lower() or '…'}"
        return f"--set reading.{setting}{f' (or target_{name})' if either else ''}"
    if command == "convert" and name == "format":
        name = "to" if value else "from"
    option = f"--{_NAMES.get(name, name).replace('_', '-')}"
    return option if value in ("", "True") else f"{option} {value}"
