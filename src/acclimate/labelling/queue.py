"""What comes next for each annotator, and how to find other sentences: by words, or by the words of a span."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from random import Random
from time import monotonic
from typing import Any

from acclimate.data.answers import Answer
from acclimate.data.corpus import Sentence
from acclimate.data.schemes import Span
from acclimate.data.soft_labels import ScoredSpan
from acclimate.labelling.session import Session

_SET_ASIDE = ("done", "flagged")  # answers after which a sentence does not come again by itself
AWAY = 300.0  # seconds without a sign of life, after which somebody's sentence is handed to others


@dataclass(frozen=True)
class Item:
    """A sentence to show: what the tagger suggests, what the annotator answered, and the version of this answer."""

    id: str
    sentence: Sentence
    version: int
    answer: Answer | None = None
    suggestions: tuple[ScoredSpan, ...] = ()
    held_back: bool = False
    round: int = 0  # that the suggestions come from
    words: Sequence[float] = ()  # the probability of each word to be in any span; empty: not known


@dataclass(frozen=True)
class Order:
    """What a round of learning gives: the sentences to label first, and suggestions for them."""

    round: int = 0
    first: Sequence[str] = ()
    suggestions: Mapping[str, Sequence[ScoredSpan]] = field(default_factory=dict)
    words: Mapping[str, Sequence[float]] = field(default_factory=dict)  # of each: the probability to be in any span


@dataclass(frozen=True)
class Place:
    """Where words occur: the sentence, and the first and last word (exclusive)."""

    sentence: str
    start: int
    end: int


class Queue:
    """The order in which sentences are shown. A new order never changes the sentence that is on an annotator's screen.

    Every so often a sentence is one of those held back, in an order of their own, which is the same for all annotators:
    so they label some sentences in common. All others are labelled once, by whoever comes first.

    Of whom nothing was heard for AWAY seconds, others get the sentence. A late answer counts all the same.
    """

    def __init__(self, session: Session, order: Order | None = None) -> None:
        self.session, self.order = session, order or Order()
        dice = Random(f"queue {session.settings.seed}")
        ids = [one.id for one in session.sentences.values() if one.like is None]
        dice.shuffle(ids)
        self._held_back = [each for each in ids if session.sentences[each].held_back]
        self._random = [each for each in ids if not session.sentences[each].held_back]
        self._on_screen: dict[str, tuple[str, int]] = {}  # by annotator: a sentence, and its version when it was shown
        self._put_off: dict[str, set[str]] = defaultdict(set)  # by annotator: what they labelled in part, and went on
        self._kept: dict[str, str] = {}  # by annotator: the sentence that their page has ready to show after that
        self._heard: dict[str, float] = {}  # by annotator: when they last gave a sign of life

    def take(self, order: Order) -> None:
        """Go on in a new order."""
        with self.session.lock:
            self.order = order

    def hear_of(self, annotator: str) -> None:
        """Take a sign of life. Who was away for long gives up a sentence that others have got meanwhile."""
        with self.session.lock:
            shown, _ = self._on_screen.get(annotator, (None, 0))
            if shown is not None and self._is_away(annotator):
                self._kept.pop(annotator, None)
                is_given = self._is_taken(shown) or shown in self._on_screens_of_others(annotator)
                if is_given and not self.session.sentences[shown].held_back:
                    del self._on_screen[annotator]
            self._heard[annotator] = monotonic()

    def current(self, annotator: str) -> Item | None:
        """The sentence on the annotator's screen, the same until it is answered; None when nothing is left."""
        with self.session.lock:
            shown, version = self._on_screen.get(annotator, (None, 0))
            if shown is not None:
                is_changed = self.session.version(shown, annotator) != version
                if not is_changed or not self._is_answered(shown, annotator):
                    return self.item(shown, annotator)
            following = self._next(annotator)
            if following is None:
                self._on_screen.pop(annotator, None)
                return None
            return self.show(following, annotator)

    def ahead(self, annotator: str) -> Item | None:
        """What would come if the sentence on the screen were done now. It is kept for this annotator."""
        with self.session.lock:
            shown, _ = self._on_screen.get(annotator, (None, 0))
            self._kept.pop(annotator, None)
            following = self._next(annotator, besides=shown)
            if following is None or following == shown:
                return None
            self._kept[annotator] = following
            return self.item(following, annotator)

    def put_off(self, sentence: str, annotator: str) -> None:
        """Let a sentence that was labelled in part come again only when nothing else is left."""
        with self.session.lock:
            self._put_off[annotator].add(sentence)

    def show(self, sentence: str, annotator: str) -> Item:
        """Put a sentence of the annotator's choice on the screen: one that was found, or undone."""
        with self.session.lock:
            item = self.item(sentence, annotator)
            self._on_screen[annotator] = sentence, item.version
            self._heard[annotator] = monotonic()
            return item

    def mixed(self, most: int) -> list[str]:
        """So many sentences that nobody has labelled, in the order for one who labels them all: some are held back."""
        with self.session.lock:
            ordinary, held_back = self._waiting(""), self._waiting_held_back("")
            found: list[str] = []
            known = 0
            while len(found) < most and (one := self._by_share(ordinary, held_back, len(found), known)):
                known += self.session.sentences[one].held_back
                found.append(one)
            return found

    def item(self, sentence: str, annotator: str) -> Item:
        """A sentence as an annotator sees it."""
        with self.session.lock:
            session, stored = self.session, self.session.sentences[sentence]
            shows = not stored.held_back  # who agrees with suggestions too easily gets an F1 that is too high
            found = self.order.suggestions.get(sentence, ()) if shows else ()
            known = set(session.guide.labels)
            return Item(
                sentence,
                stored.sentence,
                session.version(sentence, annotator),
                session.state.answer(sentence, annotator),
                tuple(span for span in found if span.label in known),
                stored.held_back,
                self.order.round,
                self.order.words.get(sentence, ()) if shows else (),
            )

    def elsewhere(self, words: Sequence[str], annotator: str, most: int = 1000) -> list[Place]:
        """All other places of these words, in any case of letters, in sentences that nobody has labelled as a whole.

        Sentences held back are not among them, and places that an answer of the annotator has decided are not."""
        wanted = [word.lower() for word in words]
        found: list[Place] = []
        with self.session.lock:
            for identifier in self._index.get(wanted[0], ()) if wanted else ():
                if self.session.sentences[identifier].held_back or self._is_taken(identifier):
                    continue
                found += self._places(identifier, wanted, annotator)
                if len(found) >= most:
                    break
            return found[:most]

    def label_places(self, places: Sequence[Place], label: str, annotator: str) -> list[str]:
        """Give words the label in all these places: one step, which one undo takes back. The rest of these sentences
        stays open. Returns the sentences."""
        with self.session.lock:
            by_sentence: dict[str, list[Span]] = defaultdict(list)
            for place in places:
                by_sentence[place.sentence].append(Span(place.start, place.end, label))
            answers = [self._with_spans(identifier, spans, annotator) for identifier, spans in by_sentence.items()]
            if answers:
                self.session.answer(*answers)
            return list(by_sentence)

    def search(self, text: str, most: int = 100) -> list[str]:
        """The sentences that hold a text, in any case of letters, in their order."""
        wanted = text.lower().strip()
        hits = (identifier for identifier, held in self._texts.items() if wanted in held) if wanted else ()
        return [identifier for identifier, _ in zip(hits, range(most), strict=False)]

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {one.id: " ".join(one.sentence.words).lower() for one in self.session.sentences.values()}

    @cached_property
    def _index(self) -> dict[str, list[str]]:
        """The sentences of each word."""
        index: dict[str, list[str]] = defaultdict(list)
        for one in self.session.sentences.values():
            for word in {word.lower() for word in one.sentence.words}:
                index[word].append(one.id)
        return dict(index)

    def _places(self, identifier: str, wanted: list[str], annotator: str) -> Iterator[Place]:
        words = [word.lower() for word in self.session.sentences[identifier].sentence.words]
        answer = self.session.state.answer(identifier, annotator)
        decided = () if answer is None else (*answer.spans, *answer.rejected)
        taken = {place for span in decided for place in range(span.start, span.end)}
        reached = 0
        for start in range(len(words) - len(wanted) + 1):
            end = start + len(wanted)
            if start >= reached and words[start:end] == wanted and taken.isdisjoint(range(start, end)):
                reached = end
                yield Place(identifier, start, end)

    def _with_spans(self, identifier: str, spans: Sequence[Span], annotator: str) -> Answer:
        """The annotator's answer with more spans in it; a partial one if there is none, or it had been skipped."""
        old = self.session.state.answer(identifier, annotator)
        seen = self.session.version(identifier, annotator)
        if old is None or not old.is_labelled:
            return Answer(identifier, annotator, "part", tuple(sorted(spans)), seen=seen)
        open_spans = tuple(span for span in old.open if not any(_touch(span, new) for new in spans))
        every = tuple(sorted((*old.spans, *spans)))
        return Answer(identifier, annotator, old.status, every, old.rejected, open_spans, old.note, seen=seen)

    def _next(self, annotator: str, besides: str | None = None) -> str | None:
        """`besides`: a sentence that counts as done."""
        ordinary = (each for each in self._waiting(annotator) if each != besides)
        held_back = (each for each in self._waiting_held_back(annotator) if each != besides)
        done, known = self._counts(annotator)
        if besides is not None:
            done, known = done + 1, known + self.session.sentences[besides].held_back
        return self._by_share(ordinary, held_back, done, known) or self._skipped(annotator)

    def _by_share(self, ordinary: Iterator[str], held_back: Iterator[str], done: int, known: int) -> str | None:
        """The next sentence, one held back whenever their share falls short: a steady share, from the first one on.

        done: how many came before. known: how many of these are held back."""
        first, second = ordinary, held_back
        if known < self.session.settings.held_back * (done + 1):
            first, second = second, first
        return next(first, None) or next(second, None)

    def _counts(self, annotator: str) -> tuple[int, int]:
        """How many sentences this annotator has done, and how many of them are held back."""
        state, sentences = self.session.state, self.session.sentences
        answers = (state.answer(identifier, annotator) for identifier in state.answered)
        done = [answer.sentence for answer in answers if answer is not None and answer.status == "done"]
        return len(done), sum(sentences[identifier].held_back for identifier in done)

    def _waiting(self, annotator: str) -> Iterator[str]:
        """Sentences to learn from that nobody has answered, and that are on nobody else's screen."""
        shown = self._on_screens_of_others(annotator)
        seen: set[str] = set()
        for identifier in chain(self.order.first, self._random):
            if identifier in seen or identifier in shown or identifier not in self.session.sentences:
                continue
            seen.add(identifier)
            if not self._is_answered(identifier, annotator) and not self._is_taken(identifier):
                yield identifier

    def _on_screens_of_others(self, annotator: str) -> set[str]:
        """What others see, or are about to see; those who went away see nothing."""
        shown = [(name, identifier) for name, (identifier, _) in self._on_screen.items()] + list(self._kept.items())
        return {identifier for name, identifier in shown if name != annotator and not self._is_away(name)}

    def _is_away(self, annotator: str) -> bool:
        return monotonic() - self._heard.get(annotator, float("-inf")) > AWAY

    def _waiting_held_back(self, annotator: str) -> Iterator[str]:
        """Each annotator gets them all, in the same order."""
        return (identifier for identifier in self._held_back if not self._is_answered(identifier, annotator))

    def _skipped(self, annotator: str) -> str | None:
        """What was skipped or put off comes again when nothing else is left: the first one first."""
        state = self.session.state
        skipped = [
            identifier
            for identifier in state.answered
            if (answer := state.answer(identifier, annotator)) and answer.status in ("skipped", "part")
        ]
        return min(skipped, key=lambda identifier: state.version(identifier, annotator), default=None)

    def _is_answered(self, identifier: str, annotator: str) -> bool:
        answer = self.session.state.answer(identifier, annotator)
        if answer is None:
            return False
        return answer.status != "part" or identifier in self._put_off[annotator]

    def _is_taken(self, identifier: str) -> bool:
        """Whether anybody is through with a sentence."""
        return any(answer.status in _SET_ASIDE for answer in self.session.state.answers(identifier))


def _touch(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def order_of(content: Mapping[str, Any]) -> Order:
    """The order that `asdict` has made plain for a file."""
    spans = {name: tuple(ScoredSpan(**each) for each in own) for name, own in content["suggestions"].items()}
    return Order(content["round"], content["first"], spans, content["words"])
