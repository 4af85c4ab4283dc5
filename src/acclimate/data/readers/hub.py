"""Hugging Face `datasets` (extra `datasets`): by name, `hf:OWNER/NAME[/CONFIG][:SPLIT]`, or a folder saved to disk.

Nothing is downloaded unless a corpus is asked for by such a name. The split is `train` unless another is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acclimate.data.problems import InputError
from acclimate.data.readers.rows import Row, find_layout, sentences_of_rows
from acclimate.data.readers.source import RawSentence, ReadingLog, Source

PREFIX = "hf:"


def read_hub(source: Source, log: ReadingLog) -> Iterator[RawSentence]:
    dataset = _from_hub(source.name) if source.name.startswith(PREFIX) else _from_disk(source)
    header = list(dataset.column_names)
    layout = find_layout(header, log.options, source.name)
    names = None if layout.tags is None else _tag_names(dataset.features[header[layout.tags]])
    rows = (Row(number, [row[name] for name in header]) for number, row in enumerate(dataset, start=1))
    yield from sentences_of_rows(rows, layout, log, source.name, names)


def _library(name: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise InputError("this needs `datasets`: pip install 'acclimate[datasets]'.", file=name) from error
    return datasets


def split_name(name: str) -> tuple[str, str | None, str]:
    """`hf:owner/name/config:split` → its parts. One or two parts before the colon are the data set's own name."""
    path, _, split = name.removeprefix(PREFIX).partition(":")
    parts = path.split("/")
    if not all(parts) or len(parts) > 3:
        raise InputError(f"{name!r} names no data set; expected hf:OWNER/NAME, hf:OWNER/NAME/CONFIG, each with :SPLIT.")
    return "/".join(parts[:2]), parts[2] if len(parts) == 3 else None, split or "train"


def _from_hub(name: str) -> Any:
    library = _library(name)
    path, config, split = split_name(name)
    try:
        return library.load_dataset(path, config, split=split)
    except Exception as error:  # the network, the hub and every data set have errors of their own
        problem = f"the data set could not be loaded ({type(error).__name__}: {error})."
        raise InputError(f"{problem} Check name, configuration and split, and the network.", file=name) from error


def _from_disk(source: Source) -> Any:
    library = _library(source.name)
    try:
        dataset = library.load_from_disk(str(source.path))
    except Exception as error:
        problem = f"this is no folder that `datasets` has saved ({type(error).__name__}: {error})."
        raise InputError(problem, file=source.name) from error
    if isinstance(dataset, dict):
        splits = ", ".join(str(source.path / split) for split in dataset)
        raise InputError(f"the folder holds several splits; name one of them: {splits}.", file=source.name)
    return dataset


def _tag_names(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, alone or in a sequence."""
    inner = getattr(feature, "feature", feature[0] if isinstance(feature, list) else feature)
    names = getattr(inner, "names", None)
    return None if names is None else [str(name) for name in names]
