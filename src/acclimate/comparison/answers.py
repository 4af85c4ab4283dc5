"""What a member of a committee says of the target's text, kept in the folder of its run: tags, or probabilities."""

from __future__ import annotations

from pathlib import Path

import torch

from acclimate.data.corpus import Corpus
from acclimate.data.soft_labels import coherent, softened
from acclimate.inference.predict import guess, predict
from acclimate.model.storage import StorageError, read_tensors, write_tensors
from acclimate.model.tagger import Tagger
from acclimate.runs.checksummed_json import read_checksummed, write_checksummed
from acclimate.runs.fingerprint import file_digest

_TAGS, _NOTE, _MARGINALS = "text-tags.json", "text-marginals.json", "text-marginals.safetensors"


def write_answer(tagger: Tagger, folder: Path, text: Corpus, soft: bool) -> None:
    """Tag the text and keep the tags; `soft`: the probabilities of IOB2 tags, in half precision."""
    answer = (guess if soft else predict)(tagger, text)
    if not soft:
        kept = {"kind": answer.kind, "tags": [sentence.tags for sentence in answer]}
        return write_checksummed(folder / _TAGS, kept)
    tags = tagger.labels.tags("IOB2")
    numbers = {tag: number for number, tag in enumerate(tags)}
    rows = [row for sentence in answer for row in sentence.probabilities or ()]
    marginals = torch.zeros(len(rows), len(tags), dtype=torch.float16)
    for place, row in enumerate(rows):
        for tag, probability in row:
            marginals[place, numbers[tag]] = probability
    aside = folder / f"{_MARGINALS}.part"
    write_tensors(aside, {"marginals": marginals})
    aside.replace(folder / _MARGINALS)
    write_checksummed(folder / _NOTE, {"tags": tags, "marginals": file_digest(folder / _MARGINALS)})


def read_answer(folder: Path, text: Corpus, soft: bool) -> Corpus | None:
    """The text as the member labelled it; None where that is not kept whole."""
    try:
        kept = read_checksummed(folder / (_NOTE if soft else _TAGS))
        if not soft:
            return Corpus(text.with_tags(kept["tags"]).sentences, text.name, kept["kind"], text.notes)
        if kept["marginals"] == file_digest(folder / _MARGINALS):
            return _softened(text, kept["tags"], read_tensors(folder / _MARGINALS)["marginals"])
    except (OSError, StorageError, ValueError, KeyError):
        pass
    return None


def _softened(text: Corpus, tags: list[str], marginals: torch.Tensor) -> Corpus:
    sentences, rows = [], iter(marginals.float().tolist())
    for sentence in text:
        found = [dict(zip(tags, next(rows), strict=True)) for _ in sentence.words]
        sentences.append(softened(sentence, coherent(found)))
    return Corpus(tuple(sentences), text.name, "spans", text.notes)
