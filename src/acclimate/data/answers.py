"""What people answered in a labelling session: events, the state that they leave, and the corpus that follows from it.

The state is a fold over the events of the log (`answer_log`), so that a replay gives the same state always. An event is
a mapping with a `kind`:

    answers   {"annotator", "answers": [{"sentence", "status", "spans", "rejected", "open", "note", "seconds", "seen"}]}
    undo      {"annotator", "of": number}    the number of the event that no longer counts
    redo      {"annotator", "of": number}    of one that counts again
    guide     {"annotator", "labels", "colours", "guidelines"}
    round     {"number", …}                  what was learnt, and how well (`labelling/learning.py`)

Spans are written as [start, end, label] and count words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from acclimate.data.problems import InputError
from acclimate.data.schemes import ANY_LABEL, OUTSIDE, Span, hidden_labels, open_tag, spans_from_tags, tags_from_spans

Status = Literal["done", "part", "skipped", "flagged"]
"""done: every word was looked at; part: only the marked words; skipped, flagged: to be labelled later, or never."""

LABELLED: tuple[Status, ...] = ("done", "part")
_GUIDE = "guide"  # the key of the guide among the keys of sentences


@dataclass(frozen=True, slots=True)
class Answer:
    """What one annotator says of one sentence.

    `spans` are there. The words of `rejected` spans do not have that label. The words of `open` spans may be anything.
    All other words are O if the sentence is `done`, and may be anything if only a `part` was looked at.
    `seen` is the version of the sentence that was on the screen (`State.version`). `seconds` were spent on it.
    """

    sentence: str
    annotator: str
    status: Status = "done"
    spans: tuple[Span, ...] = ()
    rejected: tuple[Span, ...] = ()
    open: tuple[Span, ...] = ()
    note: str = ""
    seconds: float = 0.0
    seen: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As it stands in an event, without the annotator."""
        spans = {
            name: [[span.start, span.end, span.label] for span in getattr(self, name)]
            for name in ("spans", "rejected", "open")
        }
        others = {name: getattr(self, name) for name in ("sentence", "status", "note", "seconds", "seen")}
        return {**others, **spans}

    @classmethod
    def of(cls, fields: Mapping[str, Any], annotator: str) -> Answer:
        """The answer in an event, or as a page sends it. Fields left out have their defaults."""
        try:
            spans = {
                name: tuple(sorted(Span(int(a), int(b), str(label)) for a, b, label in fields.get(name, ())))
                for name in ("spans", "rejected", "open")
            }
            status = fields.get("status", "done")
            if status not in get_args(Status):
                raise InputError(f"the status {status!r} is none of {', '.join(get_args(Status))}.")
            note, seconds = str(fields.get("note", "")), float(fields.get("seconds", 0.0))
            seen = int(fields.get("seen", 0))
            return cls(str(fields["sentence"]), annotator, status, **spans, note=note, seconds=seconds, seen=seen)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"an answer needs a sentence, a status and spans [start, end, label] ({error}).") from None

    @property
    def is_labelled(self) -> bool:
        """Whether there is something to learn from it."""
        return self.status in LABELLED

    def tags(self, length: int, labels: Iterable[str]) -> tuple[str, ...]:
        """One tag per word, open where nothing was decided. Among `labels` a rejected one leaves the others."""
        hidden: list[set[str]] = [{ANY_LABEL} if self.status == "part" else set() for _ in range(length)]
        for span in self.open:
            hidden[span.start : span.end] = [{ANY_LABEL} for _ in range(span.start, span.end)]
        for span in self.rejected:
            for place in range(span.start, span.end):
                others = set(labels) if ANY_LABEL in hidden[place] else hidden[place]
                hidden[place] = others - {span.label}
        tags = tags_from_spans(self.spans, length)
        return tuple(open_tag(some) if tag == OUTSIDE else tag for tag, some in zip(tags, hidden, strict=True))


@dataclass(frozen=True)
class Guide:
    """What annotators go by: the labels in their order, a colour for each (`#8dd3c7`), and guidelines as text."""

    labels: tuple[str, ...] = ()
    colours: Mapping[str, str] = field(default_factory=dict)
    guidelines: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "colours": dict(self.colours), "guidelines": self.guidelines}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Guide:
        return cls(tuple(fields["labels"]), dict(fields["colours"]), str(fields["guidelines"]))


class State:
    """What all events of a session leave. `apply` takes them one by one, in their order.

    `undoable` and `redoable` are, by annotator, the numbers of the events that can be undone or redone, the next one
    last. Each annotator undoes only what is their own. A new answer ends what could be redone.
    """

    def __init__(self, guide: Guide) -> None:
        self.number = 0  # of the last event
        self.rounds: list[Mapping[str, Any]] = []
        self.seconds: dict[str, float] = defaultdict(float)  # that each annotator has spent, undone answers included
        self.undoable: dict[str, list[int]] = defaultdict(list)
        self.redoable: dict[str, list[int]] = defaultdict(list)
        self._values: dict[int, dict[Hashable, Any]] = {}  # what each event says, by what it says it of
        self._counting: dict[Hashable, dict[int, Any]] = defaultdict(dict)  # of each key: events that count
        self._versions: dict[Hashable, int] = {}
        self._counting[_GUIDE][0] = guide
        self._by_sentence: dict[str, set[str]] = defaultdict(set)

    @property
    def guide(self) -> Guide:
        found: Guide = self._current(_GUIDE)
        return found

    def answer(self, sentence: str, annotator: str) -> Answer | None:
        """The answer that counts: the last one that was not undone."""
        found: Answer | None = self._current((sentence, annotator))
        return found

    def answers(self, sentence: str) -> list[Answer]:
        """Those of all annotators, by their names."""
        found = (self.answer(sentence, name) for name in sorted(self._by_sentence.get(sentence, ())))
        return [answer for answer in found if answer is not None]

    def version(self, sentence: str, annotator: str) -> int:
        """The number of the last event that changed this annotator's answer; 0 if there is none."""
        return self._versions.get((sentence, annotator), 0)

    @property
    def guide_version(self) -> int:
        return self._versions.get(_GUIDE, 0)

    @property
    def answered(self) -> list[str]:
        """The sentences that have an answer, in the order in which they were first answered."""
        return [sentence for sentence in self._by_sentence if self.answers(sentence)]

    @property
    def annotators(self) -> list[str]:
        return sorted({name for names in self._by_sentence.values() for name in names})

    def touched(self, number: int) -> list[str]:
        """The sentences that an event is about."""
        return [key[0] for key in self._values.get(number, {}) if isinstance(key, tuple)]

    def apply(self, number: int, event: Mapping[str, Any]) -> None:
        """Take one event more."""
        kind = event.get("kind")
        if kind == "round":
            self.rounds.append(event)
        elif kind in ("undo", "redo"):
            self._change(number, event["annotator"], event["of"], is_undo=kind == "undo")
        elif kind in ("answers", "guide"):
            annotator = event["annotator"]
            self._values[number] = values = _values_of(event)
            for key, value in values.items():
                self._counting[key][number] = value
                self._versions[key] = number
                if isinstance(value, Answer):
                    self._by_sentence[value.sentence].add(annotator)
                    self.seconds[annotator] += value.seconds
            self.undoable[annotator].append(number)
            self.redoable[annotator].clear()
        else:
            raise InputError(f"event {number} of the log is of the kind {kind!r}, which a newer version has written.")
        self.number = number

    def _change(self, number: int, annotator: str, of: int, is_undo: bool) -> None:
        left, right = self.undoable[annotator], self.redoable[annotator]
        taken, given = (left, right) if is_undo else (right, left)
        if taken[-1:] != [of]:
            raise InputError(f"event {number} of the log undoes or redoes event {of}, which is not the last one.")
        given.append(taken.pop())
        for key, value in self._values[of].items():
            if is_undo:
                del self._counting[key][of]
            else:
                self._counting[key][of] = value
            self._versions[key] = number

    def _current(self, key: Hashable) -> Any:
        counting = self._counting.get(key)
        return counting[max(counting)] if counting else None


def _values_of(event: Mapping[str, Any]) -> dict[Hashable, Any]:
    if event["kind"] == _GUIDE:
        return {_GUIDE: Guide.of(event)}
    answers = [Answer.of(fields, event["annotator"]) for fields in event["answers"]]
    return {(answer.sentence, answer.annotator): answer for answer in answers}


def tags_of_answers(answers: Sequence[Answer], length: int, labels: Sequence[str]) -> tuple[str, ...] | None:
    """The tags of a sentence by all who labelled it; None if nobody did. Where they disagree, words may be anything."""
    rows = [answer.tags(length, labels) for answer in answers if answer.is_labelled]
    if not rows:
        return None
    joined = rows[0]
    for row in rows[1:]:
        joined = _joined(joined, row)
    return joined


def _joined(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Spans that both have, or one has where the other decided nothing. All other words that differ are open."""
    spans = [span for span in spans_from_tags(one) if _is_kept(span, other)]
    spans += [span for span in spans_from_tags(other) if span not in spans and _is_kept(span, one)]
    spans = [span for span in spans if not any(_overlap(span, each) for each in spans if each != span)]
    tags = tags_from_spans(spans, len(one))
    rows = zip(tags, one, other, strict=True)
    return tuple(_open_where_unlike(mine, theirs) if tag == OUTSIDE else tag for tag, mine, theirs in rows)


def _is_kept(span: Span, beside: Sequence[str]) -> bool:
    tags = beside[span.start : span.end]
    allowed = all({span.label, ANY_LABEL} & set(hidden_labels(tag)) for tag in tags)
    return allowed or span in spans_from_tags(beside)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _open_where_unlike(one: str, other: str) -> str:
    """The tag of a word outside of kept spans: what either decided, or what both leave open."""
    if one == other:
        return one if one == OUTSIDE or hidden_labels(one) else open_tag([ANY_LABEL])
    left, right = hidden_labels(one), hidden_labels(other)
    if left and right:
        both = set(left) & set(right) if ANY_LABEL not in (*left, *right) else set(left) | set(right)
        return open_tag(both - {ANY_LABEL} or both)
    if OUTSIDE in (one, other) and (left or right):
        return OUTSIDE  # one looked, the other did not
    return open_tag([ANY_LABEL])
