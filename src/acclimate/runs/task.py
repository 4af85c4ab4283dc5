"""What a run works on: corpora by their part in it, and the tagger that fits them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

from acclimate.data.corpus import Corpus, LabelSet
from acclimate.data.sources import describe_sources
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import find_recipe
from acclimate.runs.settings import RunSettings, TaggerSettings
from acclimate.settings import UsageError
from acclimate.spelling import argument, count

NO_SOURCE = Corpus((), "no source")


@dataclass(frozen=True)
class Task:
    """All corpora of a run. Without a source, a trained tagger is adapted. The tags of `target` are dropped; test parts
    are scored when training is over; the tagger's confidence in the tags of `watch` is recorded."""

    source: Corpus = NO_SOURCE
    source_dev: Corpus | None = None
    source_test: Corpus | None = None
    target: Corpus | None = None
    target_labelled: Corpus | None = None
    target_dev: Corpus | None = None
    target_test: Corpus | None = None
    watch: Corpus | None = None

    @property
    def has_source(self) -> bool:
        return len(self.source) > 0

    @property
    def gold_source(self) -> Corpus:
        """The source as people have labelled it."""
        return self.source

    @property
    def has_target(self) -> bool:
        """Whether there is any sentence of the target to learn from."""
        return any(corpus is not None and len(corpus) for corpus in (self.target, self.target_labelled))

    @property
    def fingerprints(self) -> dict[str, str | None]:
        """Of each corpus; None where there is none. `watch` changes no weight, and has no part in it."""
        corpora = {part.name: getattr(self, part.name) for part in fields(Task) if part.name != "watch"}
        return {name: None if corpus is None else corpus.fingerprint for name, corpus in corpora.items()}

    def fingerprint(self) -> str:
        """Of all corpora together."""
        parts = (f"{name}:{found or ''};" for name, found in self.fingerprints.items())
        return hashlib.sha256("".join(parts).encode()).hexdigest()

    @property
    def source_labels(self) -> LabelSet:
        return self.source.labels

    @property
    def target_labels(self) -> LabelSet | None:
        """All labels of the target; None without labelled sentences. Dev and test may show types that few sentences
        lack."""
        if self.target_labelled is None:
            return None
        labels = self.target_labelled.labels
        for part in (self.target_dev, self.target_test):
            if part is not None and part.is_labelled and part.kind == labels.kind:
                labels = labels | part.labels
        return labels

    @property
    def gold_test(self) -> Corpus | None:
        """The target's test with its tags, to score with."""
        return self.target_test

    def trains_target(self, recipe: str) -> bool:
        """Whether this recipe trains a tagger of the target's own here, with the labels of the target."""
        return find_recipe(recipe).trains_target(self.source, self.target_labelled)

    def labels_for(self, recipe: str) -> LabelSet:
        """The labels of the tagger that this recipe trains."""
        labels = self.target_labels if self.trains_target(recipe) else None
        return self.source_labels if labels is None else labels

    def map(self, change: Callable[[str, Corpus], Corpus]) -> Self:
        """The task with every corpus that it has changed; `change` is told its part, too."""
        parts = {part.name: getattr(self, part.name) for part in fields(Task)}
        return replace(self, **{name: change(name, corpus) for name, corpus in parts.items() if corpus is not None})

    def opened(self, labels: LabelSet, of_source: LabelSet) -> Self:
        """The task with every word open to the labels that nobody looked for (`Corpus.open_to`)."""
        return self.map(lambda part, corpus: corpus.open_to(of_source if part.startswith("source") else labels))

    def describe(self) -> str:
        source = f"{count(len(self.source), 'labelled source sentence')} ({describe_sources(self.source)})"
        parts = [source if self.has_source else "no source"]
        if self.target is not None:
            parts.append(f"{count(len(self.target), 'target sentence')} ({self.target.name})")
        if self.target_labelled is not None:
            parts.append(f"{count(len(self.target_labelled), 'labelled target sentence')}")
        return ", ".join(parts)


@dataclass(frozen=True)
class BlindTask(Task):
    """A task without the tags of its target test, as runs get it. The labels that exist were read before."""

    known_source_labels: LabelSet | None = None
    known_target_labels: LabelSet | None = None

    @classmethod
    def of(cls, task: Task) -> BlindTask:
        """Of a task with gold tags; without `watch`, which is labelled."""
        corpora = {part.name: getattr(task, part.name) for part in fields(Task)}
        test = None if task.target_test is None else task.target_test.unlabelled()
        labels = {"known_source_labels": task.source_labels, "known_target_labels": task.target_labels}
        return cls(**{**corpora, "target_test": test, "watch": None, **labels})

    @property
    def gold_test(self) -> None:
        return None

    @property
    def source_labels(self) -> LabelSet:
        return super().source_labels if self.known_source_labels is None else self.known_source_labels

    @property
    def target_labels(self) -> LabelSet | None:
        return super().target_labels if self.known_target_labels is None else self.known_target_labels


@dataclass(frozen=True)
class StudentTask(Task):
    """A task whose source holds text that other taggers have labelled. `gold` is the source without it."""

    gold: Corpus = NO_SOURCE

    @property
    def gold_source(self) -> Corpus:
        return self.gold


def tagger_for(task: Task, settings: RunSettings) -> Tagger:
    """A new tagger with the labels and words that this recipe needs; or the trained one to start from."""
    choice = settings.tagger
    if choice.start is not None:
        require_start(choice, task.has_source)
        return Tagger.load(choice.start)
    sizes = choice.lstm if choice.encoder == CNN_LSTM else choice.transformer
    text, more = task.source, task.target
    if task.target_labelled is not None and task.trains_target(settings.recipe):
        # words of the source and of the target's other text are known if the vectors know them
        text = task.target_labelled
        more = task.source if more is None else task.source + more
    else:
        recipe = find_recipe(settings.recipe)
        second = None if recipe.sibling is None else recipe.sibling.text(recipe.complete(settings.options))
        learnt = (task.target_labelled, task.source_dev if settings.train_on_dev else None, second)
        text = sum((corpus.unlabelled() for corpus in learnt if corpus is not None), text)
    return Tagger.build(
        choice.encoder,
        labels=task.labels_for(settings.recipe),
        head=choice.head,
        scheme=choice.scheme,
        boundary_scores=choice.boundary_scores,
        constrain_training=choice.constrain_training,
        text=text,
        more_text=more,
        **sizes.model_dump(),
    )


def require_start(choice: TaggerSettings, has_source: bool) -> None:
    """Refuse a trained tagger to start from beside what would make a new one."""
    if choice.start is None:
        return
    if has_source:
        raise UsageError(
            f"A run starts from a trained tagger ({argument('start')}) or trains one on a source "
            f"({argument('source')}): leave one of them out."
        )
    usual = TaggerSettings(start=choice.start)
    others = [name for name in TaggerSettings.model_fields if getattr(choice, name) != getattr(usual, name)]
    if others:
        names = ", ".join(argument(name) if name == "encoder" else f"tagger.{name}" for name in others)
        raise UsageError(f"The tagger {choice.start} is trained, and has a make of its own: leave out {names}.")


@dataclass(frozen=True)
class FittedStart:
    """A trained tagger and a task as they fit each other."""

    tagger: Tagger
    task: Task
    new_labels: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, tagger: Tagger, task: Task) -> FittedStart:
        """The tagger with the labels of the labelled target sentences besides its own. Where these do not name a label
        that it knows, words are open to it, and not learnt as O."""
        few, labels = task.target_labelled, task.target_labels
        if few is None or labels is None or labels.kind != tagger.labels.kind:
            return cls(tagger, task)
        new = tuple(label for label in labels if label not in tagger.labels)
        if not new:
            return cls(tagger, task, remarks=_unlearnt_labels(tagger, few, labels))
        tagger = tagger.with_labels(labels)
        remarks = [f"The tagger learns {', '.join(new)} besides what it knows."]
        if hidden := [label for label in tagger.labels if label not in (few.annotates or labels)]:
            remarks.append(
                f"{few.name} does not annotate {', '.join(hidden)}: its other words may hide such a name, and are not "
                "learnt as O."
            )
        annotated = task.map(lambda part, corpus: replace(corpus, annotates=corpus.annotates or labels.names))
        return cls(tagger, annotated, new, tuple(remarks))


def _unlearnt_labels(tagger: Tagger, few: Corpus, labels: LabelSet) -> tuple[str, ...]:
    """A remark on labels that the tagger unlearns if nobody looked for them."""
    silent = [] if few.annotates else [label for label in tagger.labels if label not in labels]
    if not silent or labels.kind == "plain":
        return ()
    return (
        f"{few.name} names no {', '.join(silent)}, so such names are learnt as O there. If nobody looked for them, say "
        "so: `annotates: [...]` in its label map.",
    )
