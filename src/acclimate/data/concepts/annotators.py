"""Annotators besides our own dictionary: a spaCy pipeline, and MedCAT with a model pack. Neither ships."""

from __future__ import annotations

import importlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from acclimate.data.concepts.labelling import Annotator, Mention
from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError

KINDS = ("dictionary", "spacy:MODEL", "medcat:PACK")


def load_annotator(name: str) -> Annotator:
    """`spacy:MODEL` or `medcat:PACK`."""
    kind, _, which = name.partition(":")
    if kind not in ("spacy", "medcat") or not which:
        raise InputError(f"no annotator {name!r}. There are: {', '.join(KINDS)}.")
    return SpacyAnnotator(which) if kind == "spacy" else MedcatAnnotator(which)


class SpacyAnnotator:
    """The entities of a spaCy pipeline; their labels are the types. It reads our words and splits none itself."""

    def __init__(self, model: str) -> None:
        spacy = _imported("spacy", "acclimate[spacy]")
        if not (spacy.util.is_package(model) or Path(model).is_dir()):
            installed = ", ".join(spacy.util.get_installed_models()) or "none"
            raise InputError(f"spaCy has no model {model}; installed: {installed}. Give its name, or its folder.")
        self.pipeline = spacy.load(model)
        self._doc = importlib.import_module("spacy.tokens").Doc

    def annotate(self, sentences: Sequence[Sentence]) -> Iterator[list[Mention]]:
        docs = (self._doc(self.pipeline.vocab, words=list(sentence.words)) for sentence in sentences)
        for doc in self.pipeline.pipe(docs):
            yield [Mention(entity.start, entity.end, (entity.label_,), entity.text) for entity in doc.ents]


class MedcatAnnotator:
    """The concepts that MedCAT links; their types are the concept's type ids, and their names where the pack has them.

    MedCAT weighs a name by the words around it, so the sentences of one text are read together. A concept that begins
    or ends inside a word takes the whole word.
    """

    def __init__(self, pack: str) -> None:
        medcat = _imported("medcat.cat", "medcat")
        if not Path(pack).exists():
            raise InputError(
                "there is no such model pack. MedCAT's package brings none: see its documentation.", file=pack
            )
        self.model = medcat.CAT.load_model_pack(pack)

    def annotate(self, sentences: Sequence[Sentence]) -> Iterator[list[Mention]]:
        for _, together in groupby(sentences, key=lambda sentence: id(_text(sentence) or sentence)):
            group = list(together)
            text = _text(group[0]) or " ".join(group[0].words)
            entities = list(self.model.get_entities(text).get("entities", {}).values())
            for sentence in group:
                offsets = _offsets(sentence)
                mentions = (_over_words(entity, offsets) for entity in entities)
                yield [mention for mention in mentions if mention is not None]


def _text(sentence: Sentence) -> str | None:
    return sentence.text if sentence.offsets is not None else None


def _offsets(sentence: Sentence) -> Sequence[tuple[int, int]]:
    if sentence.text is not None and sentence.offsets is not None:
        return sentence.offsets
    offsets: list[tuple[int, int]] = []
    place = 0
    for word in sentence.words:
        offsets.append((place, place + len(word)))
        place += len(word) + 1
    return offsets


def _over_words(entity: dict[str, Any], offsets: Sequence[tuple[int, int]]) -> Mention | None:
    """The words of a sentence that share a character with a concept; None where it stands in another sentence."""
    start = bisect_right([end for _, end in offsets], entity["start"])
    end = bisect_left([begin for begin, _ in offsets], entity["end"])
    if start >= end:
        return None
    types = (*entity.get("type_ids", ()), *entity.get("types", ()))
    return Mention(start, end, tuple(type for type in types if type), entity.get("pretty_name") or entity["cui"])


def _imported(module: str, requirement: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"{module.partition('.')[0]} is not installed: pip install '{requirement}'.") from None
