"""A round of learning: adapt the tagger to what is labelled, score it on what is held back, and order what is left."""

from __future__ import annotations

import copy
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.readers.labelling import SessionContent, Stored, read_session
from acclimate.data.soft_labels import ScoredSpan
from acclimate.evaluation.significance import interval
from acclimate.inference.predict import predict
from acclimate.labelling.forecast import forecast
from acclimate.labelling.queue import Order, order_of
from acclimate.labelling.session import NO_START
from acclimate.labelling.settings import LearningSettings, SessionSettings
from acclimate.layout import ROUNDS
from acclimate.methods.acquisition.candidates import Candidates
from acclimate.methods.acquisition.catalogue import ranking
from acclimate.model.shipped import resolved_tagger
from acclimate.model.storage import atomic_folder
from acclimate.model.tagger import Tagger
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import Task
from acclimate.runs.train import train_run
from acclimate.settings import UsageError, complete

ORDER, FACTS = "order.json", "round.json"
KEPT = 4  # rounds whose taggers are kept, for the acquisition that compares them
_DIGITS = 4  # of a round's number in the name of its folder


@dataclass(frozen=True)
class Facts:
    """What a round found out, as the log keeps it. `held_back`: F1 on the sentences held back, with its 95 % interval,
    and their number; `expected`: what the next sentences bring. None: not known yet."""

    number: int
    answered: int  # sentences that somebody had labelled when it began, those held back included
    learnt: int  # of these, those that were learnt
    words: int
    seconds: float
    held_back: Mapping[str, Any] | None = None
    expected: Mapping[str, Any] | None = None
    remark: str = ""  # why nothing was learnt


@dataclass(frozen=True)
class Round:
    """A round that is over. The tagger is None where there is none yet."""

    facts: Facts
    order: Order
    tagger: Tagger | None


def learn_round(folder: Path, number: int, batch: int | None = None) -> Round:
    """Learn what the session's folder holds now, and write it to `rounds/NUMBER`, whole or not at all.

    batch: how many sentences will be labelled before the next round, which are kept unlike each other."""
    started = time.monotonic()
    content = read_session(folder)
    settings = complete(SessionSettings, content.begun_with["settings"])
    taught, held_back = content.corpus(), content.corpus(held_back=True)
    earlier = earlier_taggers(folder, content.begun_with["start"], number)
    tagger, remark = _learnt(taught, [each for _, each in earlier], settings)
    every = [*earlier, (len(taught), tagger)] if tagger is not None and not remark else earlier
    facts = Facts(
        number,
        len(taught) + sum(one.held_back for one in _labelled(content)),
        len(taught),
        taught.word_count,
        round(time.monotonic() - started, 1),
        remark=remark,
        **_judged(held_back, every, tagger),
    )
    order = ordered(content, settings, tagger, [each for _, each in earlier], taught, number, batch)
    _save(_place(folder, number), facts, order, None if remark else tagger)
    return Round(facts, order, tagger)


def earlier_taggers(folder: Path, start: str, before: int) -> list[tuple[int, Tagger]]:
    """The tagger to start from and those of the rounds that are kept, the oldest first, with how many sentences they
    had learnt."""
    found = [] if start == NO_START else [(0, start_tagger(start))]
    for number in finished_rounds(folder)[-KEPT:]:
        if number < before and (_place(folder, number) / "tagger.json").is_file():
            found.append((read_facts(folder, number).learnt, Tagger.load(_place(folder, number))))
    return found


def start_tagger(start: str) -> Tagger:
    """The tagger that a session starts from, which must label spans."""
    tagger = Tagger.load(resolved_tagger(start))
    if tagger.labels.kind == "plain":
        raise UsageError(f"The tagger {start} gives every word a tag; sessions of labelling are for spans.")
    return tagger


def teach(start: Tagger | None, labelled: Corpus, settings: LearningSettings, seed: int) -> Tagger:
    """A tagger that has learnt the labelled sentences besides what the start knows, which stays as it is."""
    training: dict[str, Any] = {"words_per_batch": settings.words_per_batch}
    given: dict[str, Any] = {"recipe": "target-only", "seed": seed, "select": "last", "training": training}
    if start is not None:
        training["updates"] = settings.updates
        given |= {"recipe": "source-free", "options": {"share": settings.share}}
    task = Task(target_labelled=labelled)
    outcome = train_run(task, complete(RunSettings, given), tagger=copy.deepcopy(start), baseline="none")
    assert outcome.tagger is not None
    return outcome.tagger


def _learnt(taught: Corpus, earlier: Sequence[Tagger], settings: SessionSettings) -> tuple[Tagger | None, str]:
    """The tagger of this round, or the last one with a remark why nothing was learnt."""
    last = earlier[-1] if earlier else None
    if not len(taught):
        return last, "nothing is labelled yet"
    if last is None and not len(taught.labels):
        return None, "no span is labelled yet"
    return teach(last, taught, settings.learning, settings.seed), ""


def _judged(gold: Corpus, taggers: Sequence[tuple[int, Tagger]], tagger: Tagger | None) -> dict[str, Any]:
    """F1 on the held-back sentences, and what the next sentences are expected to bring."""
    if tagger is None or not gold.label_counts:
        return {}
    found = interval(gold, predict(tagger, gold))
    judged = {"f1": found.value, "low": found.low, "high": found.high, "sentences": len(gold)}
    expected = forecast(gold, [predict(each, gold) for _, each in taggers], [learnt for learnt, _ in taggers])
    return {"held_back": judged, "expected": None if expected is None else expected.as_dict()}


def ordered(
    content: SessionContent,
    settings: SessionSettings,
    tagger: Tagger | None,
    earlier: Sequence[Tagger],
    taught: Corpus,
    number: int,
    batch: int | None,
) -> Order:
    """The sentences that nobody has labelled yet in a new order, with suggestions: a sample of many."""
    dice, most = Random(f"sample {settings.seed} {number}"), settings.acquisition.sample
    through = {one.id for one in _labelled(content, parts=False)}
    pool = [one for one in content.sentences.values() if not one.held_back and one.like is None]
    waiting = _sampled([one for one in pool if one.id not in through], most, dice)
    if not waiting:
        return Order(number)
    text = Corpus(tuple(one.sentence for one in _sampled(pool, most, dice)))
    sentences, seed = Corpus(tuple(one.sentence for one in waiting)), dice.randrange(1 << 32)
    candidates = Candidates(sentences, tagger, earlier, taught, text, seed, settings.acquisition)
    ranked = ranking(candidates, batch or 2 * settings.learning.every)
    spans, words = ({}, {}) if tagger is None else suggested(tagger, waiting)
    return Order(number, [waiting[place].id for place in ranked], spans, words)


def suggested(
    tagger: Tagger, sentences: Sequence[Stored]
) -> tuple[dict[str, Sequence[ScoredSpan]], dict[str, Sequence[float]]]:
    """The tagger's spans with their probabilities, by sentence, and the probability of each word to be in any."""
    spans: dict[str, Sequence[ScoredSpan]] = {}
    words: dict[str, Sequence[float]] = {}
    for number, found, probabilities in tagger.scored_words(Corpus(tuple(one.sentence for one in sentences))):
        name = sentences[number].id
        spans[name], words[name] = tuple(found), probabilities
    return spans, words


def _sampled(sentences: list[Stored], most: int, dice: Random) -> list[Stored]:
    return sentences if len(sentences) <= most else dice.sample(sentences, most)


def _labelled(content: SessionContent, parts: bool = True) -> list[Stored]:
    """The sentences that somebody labelled, in part or, without `parts`, as a whole or set aside."""
    good = ("done", "part") if parts else ("done", "flagged")
    state = content.state
    through = (each for each in state.answered if any(answer.status in good for answer in state.answers(each)))
    return [content.sentences[identifier] for identifier in through]


def _save(place: Path, facts: Facts, order: Order, tagger: Tagger | None) -> None:
    documents = {ORDER: json.dumps(asdict(order)), FACTS: json.dumps(asdict(facts), indent=1)}
    if tagger is not None:
        tagger.save(place, **documents)
        return
    with atomic_folder(place) as aside:
        for name, document in documents.items():
            (aside / name).write_text(document)


def _place(folder: Path, number: int) -> Path:
    return folder / ROUNDS / f"{number:0{_DIGITS}}"


def finished_rounds(folder: Path) -> list[int]:
    """The numbers of the rounds that are on the disk, whole."""
    places = (folder / ROUNDS).glob("[0-9]" * _DIGITS + "*")
    return sorted(int(place.name) for place in places if place.name.isdigit() and (place / FACTS).is_file())


def read_facts(folder: Path, number: int) -> Facts:
    return Facts(**json.loads((_place(folder, number) / FACTS).read_text()))


def read_order(folder: Path, number: int) -> Order:
    return order_of(json.loads((_place(folder, number) / ORDER).read_text()))


def prune(folder: Path, kept: int = KEPT) -> None:
    """Remove all rounds but the last ones: their facts stand in the log."""
    for number in finished_rounds(folder)[:-kept]:
        shutil.rmtree(_place(folder, number), ignore_errors=True)
