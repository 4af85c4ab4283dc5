"""The openly licensed corpora that the general tagger learns, as four types of names.

Each is read with its bundled map, which says what nobody looked for there. Then what is annotated otherwise than in
CoNLL-2003 is mended by rule: titles and articles are no part of a name, and the adjective of a nation is MISC.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MAPS = {
    "btc": "btc-to-conll",
    "docred": "docred-to-conll",
    "gum_open_named": "gum-to-conll",
    "grobid_wikipedia27": "grobid-to-conll",
    "litbank_prop": "litbank-to-conll",
    "re3d_open": "re3d-to-conll",
}
TRAIN = {"docred": ("dev", "test")}  # all that there is of it
LEAST_WORDS, HASH_BYTES = 4, 5
TYPES = ("LOC", "MISC", "ORG", "PER")
ARTICLES = {"the", "a", "an", "old", "young", "dear", "poor", "little"}
TITLES = set((HERE / "titles.txt").read_text(encoding="utf-8").split())
NATIONS = set((HERE / "nations.txt").read_text(encoding="utf-8").split())


def open_corpora(folder: Path, names: Iterable[str] = MAPS, *, mended: bool = True, part: str = "train") -> list[Any]:
    """The training (or dev, or test) part of each, under CoNLL's types. A corpus that has no such part is left out."""
    from acclimate import read_corpus
    from acclimate.data.mapping import map_labels

    corpora = []
    for name in names:
        files = [folder / "open_ner" / name / f"{each}.conll.gz" for each in TRAIN.get(name, (part,))]
        if (part != "train" and name in TRAIN) or not all(file.exists() for file in files):
            continue
        parts = [map_labels(read_corpus(file, skip_bad=True), MAPS[name]).renamed(name) for file in files]
        corpus = replace(parts[0], sentences=tuple(sentence for each in parts for sentence in each))
        corpora.append(corpus.map(MENDS.get(name, like_conll)) if mended else corpus)
    return corpora


def like_conll(sentence: Any) -> Any:
    """Names without the titles and articles before them, and without what stands in brackets behind them."""
    tags = list(sentence.tags)
    for span in sentence.spans:
        words = sentence.words[span.start : span.end]
        skip = TITLES | ARTICLES if span.label == "PER" else {"the"} if span.label in ("LOC", "ORG") else set()
        start = span.start
        while start < span.end - 1 and sentence.words[start].lower().rstrip(".") in skip:
            start += 1
        end = sentence.words.index("(", start + 1, span.end) if "(" in words[start + 1 - span.start :] else span.end
        tags[span.start : start] = ["O"] * (start - span.start)
        tags[start:end] = [f"B-{span.label}", *[f"I-{span.label}"] * (end - start - 1)]
        tags[end : span.end] = ["O|*"] * (span.end - end)
    return sentence.with_tags(tags)


def nations_are_misc(sentence: Any) -> Any:
    """DocRED calls the adjective of a nation a place as often as not; CoNLL calls it MISC."""
    spans = []
    for span in sentence.spans:
        words = [word.lower() for word in sentence.words[span.start : span.end]]
        is_nation = span.label == "LOC" and len(words) == 1 and words[0] in NATIONS
        spans.append(replace(span, label="MISC") if is_nation else span)
    return like_conll(sentence.with_spans(spans))


def only_names(sentence: Any) -> Any:
    """re3d marks common nouns and pronouns, too: a mention whose last word has no capital may be anything."""
    tags = list(sentence.tags)
    for span in sentence.spans:
        if not sentence.words[span.end - 1][:1].isupper():
            tags[span.start : span.end] = ["O|*"] * (span.end - span.start)
    return like_conll(sentence.with_tags(tags))


def marks_joined(sentence: Any) -> Any:
    """Tweets have `#` and `@` as words of their own: they belong to the word behind. Accounts are no names in CoNLL's
    sense, and neither are hashtags."""
    words, tags = list[str](), list[str]()
    for word, tag in zip(sentence.words, sentence.tags, strict=True):
        if words and words[-1] in ("#", "@") and word[0].isalnum():
            words[-1], tags[-1] = words[-1] + word, "O"
        else:
            words.append(word)
            tags.append("B-" + tag[2:] if tag.startswith("I-") and tags and tags[-1].startswith("O") else tag)
    return like_conll(sentence.with_words(words, tags))


MENDS: dict[str, Callable[[Any], Any]] = {"btc": marks_joined, "docred": nations_are_misc, "re3d_open": only_names}


def naively(corpus: Any) -> Any:
    """As if everything had been looked for: an open word is O."""
    closed = corpus.map(lambda sentence: sentence.with_tags(["O" if t.startswith("O|") else t for t in sentence.tags]))
    return replace(closed, annotates=TYPES)


def with_noise(corpus: Any, share: float, seed: int) -> Any:
    """The corpus, and copies of a share of its sentences in careless spelling: all in lower case (half of them), all in
    capitals (a quarter), or without punctuation and capitals at the start (a quarter)."""
    dice = random.Random(seed)
    copies = []
    for sentence in corpus:
        if dice.random() < share:
            kind = dice.random()
            case = "lower" if kind < 0.5 else "upper" if kind < 0.75 else None
            copies.append(bare(sentence) if case is None else recased(sentence, case))
    return replace(corpus, sentences=(*corpus.sentences, *(copy for copy in copies if copy is not None)))


def recased(sentence: Any, how: str) -> Any:
    return sentence.with_words([getattr(word, how)() for word in sentence.words], sentence.tags)


def bare(sentence: Any) -> Any:
    """Without punctuation outside of names, and with a small letter at the start; None where nothing is left."""
    pairs = zip(sentence.words, sentence.tags or ["O"] * len(sentence), strict=True)
    rest = [(word, tag) for word, tag in pairs if not (tag.startswith("O") and re.fullmatch(r"\W+", word))]
    if not rest:
        return None
    words, tags = zip(*rest, strict=True)
    first = words[0].lower() if tags[0].startswith("O") else words[0]
    return sentence.with_words((first, *words[1:]), tags)


def spelling_of(words: Iterable[str]) -> str:
    """What two copies of a sentence share, whatever their case, spaces and punctuation."""
    return re.sub(r"\W+", "", "".join(words).lower())


def without(corpus: Any, evaluated: set[str]) -> Any:
    """The corpus without sentences that stand in an evaluation set. Very short ones ("Oslo") may."""
    return corpus.filter(lambda one: len(one) < LEAST_WORDS or spelling_of(one.words) not in evaluated)


def hashes(spellings: Iterable[str]) -> set[bytes]:
    """Five bytes of each: enough to find a sentence again, too few to read it."""
    return {blake2b(spelling.encode(), digest_size=HASH_BYTES).digest() for spelling in spellings}


def write_hashes(found: set[bytes], file: Path) -> None:
    file.write_bytes(b"".join(sorted(found)))


def read_hashes(file: Path) -> set[bytes]:
    found = file.read_bytes()
    return {found[start : start + HASH_BYTES] for start in range(0, len(found), HASH_BYTES)}


def evaluation_texts(folder: Path) -> set[str]:
    """The sentences of every dev and test part below the folder that a board measures on: not those of open_ner."""
    from acclimate import read_corpus

    files = [file for part in ("dev", "test") for file in folder.glob(f"*/{part}.conll.gz")]
    sentences = (sentence.words for file in sorted(files) for sentence in read_corpus(file, skip_bad=True))
    return {spelling_of(words) for words in sentences if len(words) >= LEAST_WORDS}
