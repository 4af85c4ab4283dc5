"""Targets beside CoNLL-2003: which types are made four, and which sentences teach, choose, judge and test.

The sentences of a part are always the same, but for those that a seed draws to be labelled.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from grid import find

DEV = 100  # target sentences that choose the state where there are labels
JUDGES = 200  # sentences that judge variants, where they are taken from what is learnt from
FEW_TEXT = 300  # a train part below this gets text from dev
CROSSNER = ("crossner_politics", "crossner_science", "crossner_literature")
TARGETS = ("wnut2016", "scitech", "wikigold", "fin", *CROSSNER)
MAPS = {"wnut2016": "wnut16-to-conll", **dict.fromkeys(CROSSNER, "crossner-to-conll")}


@cache
def source_labels(data: str, typed: bool = True) -> Any:
    """Also those that the first few sentences do not show."""
    return _read(data, "conll2003", "train", typed).labels


@cache
def news(data: str, limit: int | None, typed: bool = True) -> dict[str, Any]:
    return {part: _read(data, "conll2003", part, typed)[:limit] for part in ("train", "dev")}


@cache
def target_parts(data: str, target: str, limit: int | None) -> dict[str, Any]:
    """pool, dev and test. A target without a split is divided by a fixed seed."""
    from acclimate.data.subsets import split, take_sentences

    def read(part: str) -> Any:
        return _read(data, target, part)

    if not has(data, target, "train"):
        whole = read("test")
        parts = split(whole, {"dev": DEV, "test": (len(whole) - DEV) // 2, "pool": "rest"})
    elif not has(data, target, "dev"):
        parts = {**split(read("train"), {"dev": DEV, "pool": "rest"}), "test": read("test")}
    else:
        parts = {"pool": read("train"), "dev": take_sentences(read("dev"), DEV), "test": read("test")}
    return {part: corpus[:limit] for part, corpus in parts.items()}


@cache
def parts_with_judges(data: str, target: str, limit: int | None, typed: bool) -> dict[str, Any]:
    """pool, text, dev, judges and test: the same dev and test.

    Judges are labelled sentences that nobody learns from and that choose no state: what dev leaves, or else sentences
    of the pool. `text` has lost its tags; where the train part is short, half of what dev leaves is in it.
    """
    from acclimate.data.mapping import typeless
    from acclimate.data.subsets import split

    parts = target_parts(data, target, None)
    pool, dev = parts["pool"], parts["dev"]
    text = pool[:0]
    if has(data, target, "train") and has(data, target, "dev"):
        chosen = {sentence.words for sentence in dev}
        judges = _read(data, target, "dev").filter(lambda sentence: sentence.words not in chosen)
        if len(pool) < FEW_TEXT:
            halves = split(judges, {"judges": len(judges) // 2, "text": "rest"})
            judges, text = halves["judges"], halves["text"]
    else:
        divided = split(pool, {"judges": JUDGES, "pool": "rest"})
        judges, pool = divided["judges"], divided["pool"]
    found = {"pool": pool, "dev": dev, "judges": judges, "test": parts["test"]}
    if not typed:
        found = {part: typeless(corpus) for part, corpus in found.items()}
    return {**{part: corpus[:limit] for part, corpus in found.items()}, "text": text[:limit].unlabelled()}


def drawn_from(pool: Any, labels: int, seed: int, text: Any = None) -> tuple[Any, Any]:
    """The labelled sentences that the seed draws from the pool, and the rest without tags, with more text behind it.
    Where there is no more text, at most half of the pool is drawn."""
    from acclimate.data.subsets import take_sentences

    few, rest = pool[:0], pool
    if labels:
        few = take_sentences(pool, min(labels, len(pool) if text else len(pool) // 2), seed)
        taken = set(map(id, few))
        rest = pool.filter(lambda sentence: id(sentence) not in taken)
    return few, rest.unlabelled() + text if text else rest.unlabelled()


def targets_there(data: str, targets: tuple[str, ...] = TARGETS) -> list[str]:
    return [target for target in targets if (Path(data) / target).is_dir()]


def has(data: str, target: str, part: str) -> bool:
    return any((Path(data) / target).glob(f"{part}.*"))


@cache
def _read(data: str, name: str, part: str, typed: bool = True) -> Any:
    from acclimate.data.mapping import LabelMap, map_labels, typeless
    from acclimate.data.reading import read_corpus

    corpus = read_corpus(find(data, name, part))
    corpus = map_labels(corpus, LabelMap.load(MAPS[name])) if name in MAPS else corpus
    return corpus if typed else typeless(corpus)
