"""The text that is to be labelled, as one stream, judged on its way where true labels are there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from acclimate.cli.corpora import is_bundled, open_corpus
from acclimate.data.concepts.labelling import Labeller, RawText
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.readers.source import inner_name
from acclimate.data.selection.ngram_scores import detected_format
from acclimate.evaluation.agreement import Agreement
from acclimate.evaluation.pairs import first_difference
from acclimate.evaluation.table import count


class Stream:
    """Raw text is read as it is labelled; a corpus is read whole, and its tags are kept aside to judge by."""

    def __init__(
        self,
        names: Sequence[str],
        gold: str | None,
        map_name: str | None,
        reading: Mapping[str, Any],
        bar: LabellingBar,
        tell: Callable[[str], Any],
    ) -> None:
        self.agreement = Agreement()
        self.bar = bar
        options = dict(reading)
        self.texts = [_opened(name, map_name, options, tell) for name in names]
        own = {"format": None, "skip_bad": options["skip_bad"]}
        self._gold = None if gold is None else iter(open_corpus(gold, map_name=map_name, tell=tell, **own))
        self._aside: deque[Sentence] = deque()
        self._number = 0

    def judged(self, labeller: Labeller) -> Iterator[Sentence]:
        """The labelled sentences of all texts."""
        for text in self.texts:
            for sentence in labeller.label(self._sentences(text)):
                true = self._aside.popleft()
                if true.tags is not None:
                    self.agreement.add(true.spans, sentence.spans)
                yield sentence
        if self._gold is not None and next(self._gold, None) is not None:
            raise InputError(f"the gold corpus goes on after sentence {self._number:,}, where the text ends.")

    def _sentences(self, text: RawText | Corpus) -> Iterator[Sentence]:
        before, size = self.bar.done, text.size if isinstance(text, RawText) else len(text)
        self.bar.begin(text.path.name if isinstance(text, RawText) else text.name, size)

        def watch(stored: int) -> None:
            self.bar.done = before + stored

        sentences = text.sentences(watch) if isinstance(text, RawText) else iter(text)
        has_gold = isinstance(text, Corpus) and text.kind == "spans"
        for number, sentence in enumerate(sentences, start=1):
            self._aside.append(
                self._true(sentence) if self._gold else sentence if has_gold else sentence.with_tags(None)
            )
            yield sentence
            if isinstance(text, Corpus):
                watch(number)
            self.bar.advance(len(sentence))

    def _true(self, sentence: Sentence) -> Sentence:
        assert self._gold is not None
        self._number += 1
        true = next(self._gold, None)
        if true is None:
            raise InputError(f"the gold corpus ends before sentence {self._number:,} of the text.")
        if true.words != sentence.words:
            problem = f"sentence {self._number:,}: {first_difference(true, sentence)} (the text). "
            advice = "Both must be split into the same words: label the gold corpus itself, its tags are dropped."
            raise InputError(problem + advice, file=sentence.place.file, line=sentence.place.line)
        return true

    def warnings(self) -> Iterator[str]:
        for text in self.texts:
            if isinstance(text, RawText) and text.lines_left_out:
                lines = count(text.lines_left_out, "line")
                yield f"{text.path}: {lines} of more than a megabyte: left out, as no sentence is so long."


def _opened(name: str, map_name: str | None, options: dict[str, Any], tell: Callable[[str], Any]) -> RawText | Corpus:
    if is_bundled(name):
        return open_corpus(name, map_name=map_name)
    if name != "-" and Path(name).exists():
        # who speaks of paragraphs means text, though each line may have as many words as the next, like a table
        running = options["paragraphs"] and inner_name(name).endswith(".txt")
        format = options["format"] or ("text" if running else detected_format(name))
        if format == "text":
            return RawText(name, paragraphs=options["paragraphs"], tokenize=options["tokenize"])
    return open_corpus(name, map_name=map_name, tell=tell, **options)


class LabellingBar:
    """How far the text is read, and how fast; where stderr is no terminal, a line for each text."""

    def __init__(self, console: Console) -> None:
        self.console = console
        shown = [TextColumn("labelling {task.description}", markup=False), BarColumn(bar_width=24)]
        shown += [TaskProgressColumn(), TextColumn("{task.fields[state]}"), TextColumn("left"), TimeRemainingColumn()]
        self._bar = Progress(*shown, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=None, state="")
        self.done = 0
        self._total = self._words = self._waiting = 0
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def begin(self, name: str, size: int) -> None:
        self._total = self.done + size
        self._bar.update(self._task, description=name, total=self._total)
        if not self.console.is_terminal:
            self.console.print(f"labelling {name}")

    def advance(self, words: int) -> None:
        self._words += words
        self._waiting += words
        if self._waiting > 50_000:
            self._waiting = 0
            speed = self._words / max(1e-9, time.monotonic() - self._started)
            state = f"{self._words:,} words, {speed:,.0f} a second"
            self._bar.update(self._task, completed=self.done, state=state)
