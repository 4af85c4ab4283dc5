"""Before any training: what chooses the state to keep, what a recipe is given, and whether all fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.sources import hidden_labels_by_source, mix_sources, sizes_of
from acclimate.data.subsets import split
from acclimate.evaluation.counts import require_gold
from acclimate.evaluation.seen import Shared, texts_in, texts_of
from acclimate.evaluation.seen import Vocabulary as SeenWords
from acclimate.inference.predict import require_scorable, require_spans
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, START, TARGET_ONLY, find_recipe, require_source
from acclimate.recipes.recipe import Plan, Recipe
from acclimate.runs.settings import RunSettings, SelectorName
from acclimate.runs.task import FittedStart, StudentTask, Task
from acclimate.settings import UsageError
from acclimate.spelling import argument, count, either
from acclimate.training.loop import require_device
from acclimate.training.settings import completed
from acclimate.training.stage import DevelopmentScore, LastUpdate, Selector

CHOSEN_WITH_TARGET_LABELS = "The model was chosen with target labels (target dev): this is not unsupervised adaptation."


@dataclass(frozen=True)
class Preparation:
    """All that training needs. `first` is what the recipe is compared with, its "before"."""

    tagger: Tagger
    recipe: Recipe
    first: Recipe
    plan: Plan
    selector: Selector
    tests: dict[str, Corpus | None]  # scored when all training is over
    remarks: tuple[str, ...]
    learnt: Shared | None  # how much of the target's test is learnt with labels
    gold: Corpus  # of the source

    @property
    def seen(self) -> SeenWords | None:
        """The words and mentions that count as seen: all labelled sentences to learn from, and what a trained tagger
        has seen before (None where that is unknown)."""
        now = SeenWords.of(self.gold, self.plan.target.labelled())
        if self.first is not START:
            return now
        return None if self.tagger.seen is None else self.tagger.seen | now

    @property
    def for_target(self) -> bool:
        """Whether the tagger is one of the target's own."""
        return self.first is TARGET_ONLY


def prepare(tagger: Tagger, task: Task, settings: RunSettings) -> Preparation:
    """Refuse what cannot be trained, and collect what training is given."""
    chosen = find_recipe(settings.recipe)
    require_source(chosen, task.has_source)
    if missing := missing_data(chosen, task.has_target, task.target_labelled is not None):
        raise UsageError(missing)
    begun = FittedStart(tagger, task) if task.has_source else FittedStart.of(tagger, task)
    tagger, task = begun.tagger, begun.task
    for_target = task.trains_target(settings.recipe)
    task = task.opened(tagger.labels, task.source_labels if for_target else tagger.labels)
    task, select, remarks = _what_chooses(task, settings, for_target)
    require_device(settings.training)
    training = completed(settings.training, tagger)
    source, selector, choice = choose_selector(task.source, task.source_dev, task.target_dev, select, settings.seed)
    judge = selector.corpus if isinstance(selector, DevelopmentScore) else None
    held_out = judge if judge is not None and select == "source-dev" else task.source_dev
    source = mix_sources(source.labelled(), settings.sources.weights, settings.sources.smoothing, settings.seed)
    plan = Plan(
        source,
        _target(task),
        training,
        chosen.complete(settings.options),
        settings.seed,
        {
            name: corpus.unlabelled()
            for name, corpus in ((SOURCE, held_out), (TARGET, task.target_dev))
            if corpus is not None
        },
        selector,
        for_target,
        begun.new_labels,
    )
    tagger.hidden_odds = settings.sources.hidden_odds if task.has_source else 1.0  # a trained tagger knows
    warnings = chosen.check(tagger, plan)
    if settings.sources.heads and (names := sizes_of(source)):
        if for_target:
            raise UsageError("sources.heads: the tagger is the target's own, and the source's has one head for all.")
        tagger.add_source_heads(list(names))
    remarks += (*begun.remarks, *choice, *warnings)
    remarks += tuple(_remarks_on_data(tagger, chosen, task, select, held_out, for_target))
    source_test = held_out if task.source_test is None else task.source_test
    tests = {"source": None if for_target else source_test, "target": task.gold_test}
    learnt, more = _what_is_learnt(chosen, task, select, for_target)
    teacher = None if for_target or not len(plan.source) else plan.source  # without any, the batches will say so
    for corpus in (teacher, task.target_labelled, task.watch, judge, *tests.values()):
        if corpus is not None:
            require_scorable(tagger.labels, corpus)
    for corpus in (task.watch, judge, *tests.values()):
        if corpus is not None:
            require_gold(corpus)
    first = TARGET_ONLY if for_target else BASELINE if task.has_source else START
    gold = task.gold_source if isinstance(task, StudentTask) else plan.source
    return Preparation(tagger, chosen, first, plan, selector, tests, (*remarks, *more), learnt, gold)


def missing_data(recipe: Recipe, has_target: bool, has_target_labels: bool) -> str:
    """What of the target a recipe needs and is not given; empty if nothing is missing."""
    if "target labels" in recipe.needs and not has_target_labels:
        return f"Recipe {recipe.name} learns from labelled target sentences: give {argument('target_labelled')}."
    if "target" in recipe.needs and not has_target:
        return f"Recipe {recipe.name} needs target text: give {argument('target')}."
    return ""


def _what_chooses(task: Task, settings: RunSettings, for_target: bool) -> tuple[Task, SelectorName, tuple[str, ...]]:
    """The task as it is learnt, which sentences choose the state to keep, and remarks."""
    select, remarks = settings.select, tuple[str, ...]()
    if settings.train_on_dev:
        if task.source_dev is None:
            raise UsageError(
                f"{argument('train_on_dev', True)} needs {argument('source_dev')}, the sentences to train on as well."
            )
        if select == "source-dev":
            raise UsageError(
                f"With {argument('train_on_dev', True)} the source dev sentences cannot choose the model: "
                f"pass {argument('select', 'last')}, or none."
            )
        task = replace(task, source=task.source + task.source_dev, source_dev=None)
        select = "last" if select == "auto" else select
        remarks = ("The source dev sentences were learnt from, too.",)
    if select == "auto":
        own = for_target or not task.has_source
        select = "source-dev" if not own else "last" if task.target_dev is None else "target-dev"
    if select == "source-dev" and not task.has_source:
        raise UsageError("There is no source, so its sentences cannot choose the state. Select target-dev or last.")
    if for_target and select == "source-dev":
        raise UsageError("The tagger is the target's own: source sentences cannot choose its state. Select target-dev.")
    return task, select, remarks


def _target(task: Task) -> Corpus:
    """The target as a recipe sees it: text without tags, and behind it the labelled sentences."""
    text = Corpus(()) if task.target is None else task.target.unlabelled()
    labelled = task.target_labelled
    return text if labelled is None else (text + labelled.labelled()).renamed(text.name)


def _remarks_on_data(
    tagger: Tagger, recipe: Recipe, task: Task, select: SelectorName, held_out: Corpus | None, for_target: bool
) -> Iterator[str]:
    """What each corpus was used for, where that may surprise."""
    if task.source_test is None and select == "source-dev" and held_out is not None:
        yield "No source test given: the source score is on the sentences that also chose the model."
    if doubts := hidden_labels_by_source(task.source):
        hidden = "; ".join(f"{', '.join(labels)} in {name}" for name, labels in doubts.items())
        yield f"Learnt as O with doubt, because not every word was searched for them: {hidden}."
    known = set(tagger.labels) if not for_target else {*tagger.labels, *task.source_labels}
    for corpus in (task.source, task.target_labelled):
        if corpus is not None and (unknown := sorted(set(corpus.hidden_labels) - known)):
            yield (
                f"Words of {corpus.name} may hide labels that the tagger does not have, and these count as O: "
                f"{', '.join(unknown)}. Where one is another name of a label that it has, map it "
                f"({either('map_labels', argument('map', ...))})."
            )
    if task.target_labelled is not None:
        fate = "not learnt from" if recipe is BASELINE else "given to learn from"
        were = "was" if len(task.target_labelled) == 1 else "were"
        yield f"{count(len(task.target_labelled), 'labelled target sentence')} {were} {fate}."
    if not for_target:
        return
    if recipe.own_tagger != "always":
        yield "The labelled target sentences have labels of their own: the source has a head for itself."
    yield (
        "The tagger is the target's own. Before: trained on the labelled target sentences alone, without the "
        "source. It has no source score."
    )
    if task.target is not None and recipe.own_tagger == "always":
        yield "The target's unlabelled text was not learnt from."


def _what_is_learnt(
    recipe: Recipe, task: Task, select: SelectorName, for_target: bool
) -> tuple[Shared | None, list[str]]:
    """How much of the target's test is learnt with labels, and remarks on shared sentences."""
    scored = {TARGET_TEST: task.gold_test, "source test": None if for_target else task.source_test}
    choosing = {
        "source dev": task.source_dev if select == "source-dev" else None,
        "target dev": task.target_dev if select == "target-dev" else None,
    }
    require_spans(*scored.values(), *choosing.values())
    learnt = look_for_learnt({**scored, **choosing}, taught_by(recipe, task.gold_source, task.target_labelled))
    remarks = [*learnt.remarks, *remarks_on_choice(scored, choosing)]
    if recipe is not BASELINE and not (for_target and recipe.own_tagger == "always"):
        remarks += remarks_on_text(task.gold_test, task.target)
    return learnt.target, remarks


def choose_selector(
    source: Corpus, source_dev: Corpus | None, target_dev: Corpus | None, select: SelectorName, seed: int
) -> tuple[Corpus, Selector, tuple[str, ...]]:
    """The selector, the source that is left to train on, and remarks."""
    if select == "last":
        return source, LastUpdate(), ()
    if select == "target-dev":
        if target_dev is None or not target_dev.is_labelled:
            raise InputError(
                f"{argument('select', 'target-dev')} needs labelled target development sentences "
                f"({argument('target_dev')})."
            )
        judge = DevelopmentScore(target_dev.labelled(), "target dev", of_target=True)
        return source, judge, (CHOSEN_WITH_TARGET_LABELS,)
    if select != "source-dev":
        raise UsageError(f"Unknown selector {select!r}. Known: source-dev, target-dev, last.")
    if source_dev is not None:
        return source, DevelopmentScore(source_dev.labelled(), "source dev"), ()
    source = source.labelled()
    gold = source.filter(lambda sentence: sentence.probabilities is None)  # guesses cannot choose
    if len(gold) < 20:
        few = "Too few source sentences to hold any out" if len(source) < 20 else "Guesses cannot choose the state"
        return source, LastUpdate(), (f"{few}: the last update is kept.",)
    parts = _hold_out(gold, seed)
    if parts is None:
        remark = "The source repeats itself too much to hold any of it out: the last update is kept."
        return source, LastUpdate(), (remark,)
    remark = f"No source dev given: {len(parts['dev']):,} of {len(source):,} source sentences were held out for it."
    guesses = source.filter(lambda sentence: sentence.probabilities is not None)
    train = parts["train"] + guesses if len(guesses) else parts["train"]
    return train, DevelopmentScore(parts["dev"], "held-out source"), (remark,)


def _hold_out(source: Corpus, seed: int) -> dict[str, Corpus] | None:
    """A tenth of the source: whole documents if possible, else single sentences."""
    for by_document in (True, False):
        for tied_from in (1, 6):  # equal headlines may tie everything into one lump
            with suppress(InputError):
                return split(source, {"train": 0.9, "dev": 0.1}, seed, by_document, tied_from)
    return None


TARGET_TEST = "target test"


@dataclass(frozen=True)
class LearntTests:
    """`target` says how much of the target's test was learnt with labels; None without such a test."""

    target: Shared | None
    remarks: tuple[str, ...]


def taught_by(recipe: Recipe, source: Corpus, target_labelled: Corpus | None) -> dict[str, Corpus]:
    """What a recipe learns with labels, by where a sentence of it stands."""
    taught = {
        "in the source": None if recipe is TARGET_ONLY else source,
        "among the labelled target sentences": None if recipe is BASELINE else target_labelled,
    }
    return {where: corpus for where, corpus in taught.items() if corpus is not None}


def look_for_learnt(held_out: Mapping[str, Corpus | None], taught: Mapping[str, Corpus]) -> LearntTests:
    """How much of the held-out parts is learnt, by where it stands."""
    parts = {name: part for name, part in held_out.items() if part is not None}
    wanted = set().union(*map(texts_of, parts.values()))
    found = {where: texts_in(corpus, wanted) for where, corpus in taught.items()}
    remarks = tuple(
        f"{shared.describe(name)} also stand {where}: the score on them measures memory."
        for name, part in parts.items()
        for where, texts in found.items()
        if (shared := Shared.count(part, texts)).is_noteworthy
    )
    test = parts.get(TARGET_TEST)
    return LearntTests(None if test is None else Shared.count(test, set().union(*found.values())), remarks)


def remarks_on_choice(tests: Mapping[str, Corpus | None], judges: Mapping[str, Corpus | None]) -> Iterator[str]:
    """Where the sentences that choose the model are those of a test."""
    for name, test in tests.items():
        for who, judge in judges.items():
            if test is None or judge is None:
                continue
            shared = Shared.count(test, texts_of(judge))
            if shared.is_noteworthy:
                overlap = f"{shared.describe(name)} also stand in the {who}, which chooses the model"
                yield f"{overlap}: their score is too high."


def remarks_on_text(test: Corpus | None, text: Corpus | None) -> Iterator[str]:
    """A remark where the target text holds the sentences of the test."""
    if test is None or text is None:
        return
    wanted = {sentence.words for sentence in test}
    found = {sentence.words for sentence in text if sentence.words in wanted}
    shared = Shared(sum(sentence.words in found for sentence in test), len(test))
    if shared.is_most:
        yield f"The target text holds {shared.describe(TARGET_TEST)}, without their labels."
