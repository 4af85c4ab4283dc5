"""Corpora as the command line names them: a file, a folder, `-`, or a bundled one such as `news` or `news/test`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acclimate.data.bundled import BUNDLED, load_bundled
from acclimate.data.corpus import Corpus
from acclimate.data.mapping import LabelMap, map_labels, typeless
from acclimate.data.reading import read_corpus
from acclimate.settings import UsageError

_PARTS = ("train", "dev", "test", "unlabelled")


def is_bundled(name: str) -> bool:
    """A file or folder of that name wins over a bundled corpus."""
    return name.partition("/")[0] in BUNDLED and not Path(name).exists()


def open_corpus(
    name: str, *, map_name: str | None = None, make_typeless: bool = False, tell: Any = None, **options: Any
) -> Corpus:
    """Read a corpus, with its labels renamed or dropped as asked. `tell` hears what was not taken as it stood."""
    corpus = _bundled_part(name) if is_bundled(name) else read_corpus(name, **options)
    if tell is not None:
        tell_notes(corpus, tell)
    if map_name is not None and corpus.is_labelled:
        corpus = map_labels(corpus, LabelMap.load(map_name))
    return typeless(corpus) if make_typeless and corpus.is_labelled else corpus


def _bundled_part(name: str) -> Corpus:
    domain, slash, part = name.partition("/")
    part = part if slash else "train"
    if part not in _PARTS:
        raise UsageError(f"{name}: a bundled corpus has the parts {', '.join(_PARTS)}.")
    corpus: Corpus = getattr(load_bundled(domain), part)
    return corpus


def tell_notes(corpus: Corpus, tell: Any, most: int = 5) -> None:
    """Say what the reader repaired, skipped or moved: nothing is lost silently."""
    notes = corpus.notes
    if notes.repaired:
        tell(f"{corpus.name}: {notes.repaired:,} tags broke their scheme and were read as the start of a span.")
    for what, found in (("bad lines skipped", notes.skipped), ("spans missed word borders", notes.border_misses)):
        if found:
            tell(f"{corpus.name}: {len(found):,} {what}.")
            for item in found[:most]:
                tell(f"  {item}")
            if len(found) > most:
                tell(f"  … and {len(found) - most:,} more")
    for remark in notes.remarks:
        tell(f"{corpus.name}: {remark}")
