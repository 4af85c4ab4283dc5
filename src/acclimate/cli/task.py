"""What an `adapt` run works on: the corpora that its settings name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import Any

from acclimate.cli.reading import is_bundled, is_whole, read, read_sources, sources_of, title_of, weights_of
from acclimate.cli.settings import AdaptSettings, CompareSettings, CorporaSettings
from acclimate.comparison.scheduler import merged
from acclimate.data.corpus import Corpus, kind_of_tags
from acclimate.data.mapping import LabelMap, fitting_map, require_labels, shared_labels, typeless
from acclimate.data.problems import InputError
from acclimate.data.sources import all_labels
from acclimate.inference.loading import require_finished
from acclimate.layout import has_progress
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm, CharacterCnnLstmSettings
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.shipped import GENERAL, resolved_tagger
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import (
    AUTO,
    BASELINE,
    RECIPES,
    TARGET_ONLY,
    default_recipe,
    find_recipe,
    for_target_labels,
    require_source,
)
from acclimate.runs.fingerprint import changes
from acclimate.runs.folder import is_finished, stored_fingerprint
from acclimate.runs.prepare import missing_data
from acclimate.runs.task import NO_SOURCE, Task, require_start
from acclimate.settings import Settings, SettingsError, UsageError, complete, gathered

_OPTIONS = {  # that settings call otherwise
    "pool": "pool.files",
    "members": "committee.members",
    "start": "tagger.start",
    "encoder": "tagger.encoder",
    "map_name": "reading.map",
}
_NO_SETTINGS = ("out", "jobs", "dask", "config", "assignments", "overwrite", "quiet", "as_json")


def _as_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as settings. An option left out is None; of several sources, a single one is no list."""
    given = {
        _OPTIONS.get(name, name): None if value == [] else value
        for name, value in options.items()
        if name not in _NO_SETTINGS
    }
    for name in ("source", "source_dev"):
        several = given.get(name)
        if isinstance(several, list) and len(several) == 1:
            given[name] = several[0]
    return given


def adapt_settings(config: Path | None, given: Mapping[str, Any], assignments: Sequence[str] | None) -> AdaptSettings:
    """From a file and from the command line. Where no corpus is named, there is an example."""
    values = with_own_source(with_start(with_first_run(gathered(config, _as_settings(given), assignments))))
    if "target" in values and values["target"] is None and values.get("target_labelled") is None:
        values.setdefault("recipe", default_recipe(has_target=False))  # there is nothing to adapt to
    return complete(AdaptSettings, with_fitting_encoder(values), where=str(config or "adapt"))


def with_fitting_encoder(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the LSTM tagger (word vectors above all) choose that tagger; refuses them beside another encoder."""
    tagger = values.get("tagger")
    options = tagger.get("lstm") if isinstance(tagger, Mapping) else None
    if not isinstance(tagger, Mapping) or not isinstance(options, Mapping):
        return dict(values)
    usual = CharacterCnnLstmSettings().model_dump(mode="json")
    chosen = [f"tagger.lstm.{name}" for name, value in options.items() if name not in usual or value != usual[name]]
    encoder = tagger.get("encoder", CNN_LSTM)
    if chosen and encoder != CNN_LSTM:
        raise UsageError(
            f"The encoder {encoder} has no {', '.join(chosen)}: use --encoder {CNN_LSTM}, or leave it out."
        )
    return {**values, "tagger": {**tagger, "encoder": encoder}} if chosen else dict(values)


def options_of(recipe: str) -> type[Settings]:
    """The settings group of a recipe; recipe auto has no settings of its own."""
    return Settings if recipe == AUTO else find_recipe(recipe).options


def with_recipe_options(settings: AdaptSettings) -> AdaptSettings:
    """The settings with the recipe's own filled in; refuses a recipe that lacks what it needs."""
    require_text_reader(settings)
    name = settings.recipe
    recipe = replace(find_recipe(default_recipe()), name=AUTO) if name == AUTO else find_recipe(name)
    require_source(recipe, settings.source is not None)
    has_labels = settings.target_labelled is not None
    if missing := missing_data(recipe, settings.target is not None or has_labels, has_labels):
        raise UsageError(missing)
    require_start(settings.tagger, settings.source is not None)
    if settings.tagger.start is not None:
        require_finished(resolved_tagger(settings.tagger.start))
    options = complete(options_of(name), settings.options, where=f"options of recipe {name}")
    return settings.model_copy(update={"options": options.model_dump(mode="json")})


TUNING_RECIPES = ("acclimate", "adversarial-masking")  # they tune the encoder to text


def require_text_reader(settings: AdaptSettings) -> None:
    """Refuse more text of the target where the recipe does not read it."""
    files = {"--target-text": settings.target_text, "--pool": settings.pool.files}
    given = [option for option, names in files.items() if names]
    if given and settings.recipe not in TUNING_RECIPES:
        raise UsageError(
            f"Recipe {settings.recipe} does not tune the encoder to text, so {' and '.join(given)} would not be read: "
            f"take {' or '.join(TUNING_RECIPES)}, or put the text into --target."
        )
    if settings.pool.files and settings.target is None:
        raise UsageError("--pool selects sentences like the target's, and there is no --target.")
    for file in (*settings.target_text, *settings.pool.files):
        if not Path(file).is_file():
            raise InputError("there is no such text file.", file=file)


def with_text(settings: AdaptSettings, files: tuple[str, ...]) -> AdaptSettings:
    """The settings of a recipe that tunes on these files as on the target's own text."""
    if not files:
        return settings
    options = dict(settings.options)
    if settings.recipe == TUNING_RECIPES[0]:
        if options.get("tuning") is False:
            raise UsageError("options.tuning=false: there is no domain tuning that could read more text.")
        options["domain_tuning"] = _with_extra(options.get("domain_tuning") or {}, files)
    else:
        options = _with_extra(options, files)
    return settings.model_copy(update={"options": options})


def _with_extra(tuning: dict[str, Any], files: tuple[str, ...]) -> dict[str, Any]:
    return {**tuning, "extra": list(dict.fromkeys((*tuning.get("extra", ()), *files))), "extra_as_target": True}


def read_task(settings: AdaptSettings, tell: Callable[[str], Any]) -> Task:
    """Read every corpus named. A bundled source or target brings its own dev and test part along."""
    reading = settings.reading
    for name in (reading.map, reading.map_source):
        if name is not None:
            LabelMap.load(name)  # a mistake in it is told even where nothing is mapped
    # types are dropped last: what one corpus does not annotate is known when all are read
    of_source, of_target = (
        each.model_copy(update={"typeless": False}) for each in (reading.of_source(), reading.of_target())
    )

    def part(name: str | None, is_source: bool) -> Corpus | None:
        return None if name is None else read(name, of_source if is_source else of_target, tell=tell)

    source, source_dev, source_test = read_sources(
        settings.source, settings.source_dev, settings.source_test, of_source, tell
    )
    if source is not None and settings.source is not None and not source.is_labelled:
        raise InputError(
            f"the source {title_of(settings.source)} has no tags to learn from. Is it the right file, or column?"
        )
    target = part(settings.target, False)
    if target is not None:
        target = target.unlabelled()
        if settings.target and is_whole(settings.target):
            more = part(f"{settings.target}/unlabelled", False)
            assert more is not None
            target = (target + more).renamed(settings.target)
    few = part(settings.target_labelled, False)
    if few is not None:
        if not few.is_labelled:
            raise InputError(f"--target-labelled {settings.target_labelled} has no tags to learn from.")
        if settings.recipe == BASELINE.name:
            tell(f"Recipe {settings.recipe} learns from the source alone: --target-labelled is not used.")
    dev = _named(settings.target_dev, settings.target, "dev") if settings.source else settings.target_dev
    task = Task(
        NO_SOURCE if source is None else source,
        source_dev,
        source_test,
        target,
        None if few is None else few.labelled(),
        part(dev, False),
        part(_named(settings.target_test, settings.target, "test"), False),
    )
    task = _without_types(task) if reading.typeless else task
    few = task.target_labelled
    own = few is not None and trains_target(settings.recipe, task.source, few)
    watch = part(settings.watch, not own)
    task = replace(task, watch=typeless(watch) if watch is not None and reading.typeless else watch)
    if not task.has_source:
        return task  # the tagger to start from says whether the labels fit
    if own:
        _require_target_labels(task, settings.recipe)
        _tell_other_labels(settings.recipe, task, tell)
    else:
        _require_one_task(task)
    return task


def _without_types(task: Task) -> Task:
    """All parts with a single label. What one of them does not annotate, its words may hide."""
    labels = all_labels(_labelled(*(getattr(task, part.name) for part in fields(Task))))
    return task.map(lambda part, corpus: typeless(corpus, labels) if corpus.is_labelled else corpus)


def trains_target(recipe: str, source: Corpus, few: Corpus) -> bool:
    """Whether the tagger has the target's labels. A committee has those of the source."""
    return recipe != AUTO and find_recipe(recipe).trains_target(source, few)


def _tell_other_labels(recipe: str, task: Task, tell: Callable[[str], Any]) -> None:
    """What decided that the source and the target have a head each, and how to have one for both."""
    few, source = task.target_labelled, task.source
    if few is None or find_recipe(recipe).own_tagger == "always":
        return
    if few.kind != source.kind:
        tell(f"{few.name} has {kind_of_tags(few.kind)}, and the source {kind_of_tags(source.kind)}: each has its head.")
        return
    names = ", ".join(shared_labels(source, few).only_target)
    fitting = fitting_map(few, source.labels)
    same = "Where one means the same as a label of the source, map it by name (--map FILE): then both share it."
    if fitting:
        same = f"The bundled map {fitting} makes them the source's: --map {fitting}."
    tell(f"{few.name} has labels that the source has not ({names}): the tagger learns the target's labels. {same}")


def _require_target_labels(task: Task, recipe: str) -> None:
    """The source may have labels, and even a task, of its own; the target's parts must agree with each other."""
    few = task.target_labelled
    assert few is not None
    for corpus in _labelled(task.target_dev, task.target_test, task.watch):
        if corpus.kind != few.kind:
            raise InputError(
                f"{corpus.name} has {kind_of_tags(corpus.kind)}, but {few.name} has {kind_of_tags(few.kind)}."
            )
        require_labels(corpus, task.labels_for(recipe))


def _require_one_task(task: Task) -> None:
    """Better said now than after an hour of training: every part is tagged in the same way, under the same names."""
    source = task.source
    for corpus in _labelled(*(getattr(task, part.name) for part in fields(task))):
        if corpus.kind != source.kind:
            raise InputError(
                f"{corpus.name} has {kind_of_tags(corpus.kind)}, but the source {source.name} has "
                f"{kind_of_tags(source.kind)}: these are two tasks. "
                f"Choose another tag column with --set reading.target_column=…, or another file. {_own_labels(task)}"
            )
    for corpus in _labelled(task.source_dev, task.source_test):
        if unknown := shared_labels(source, corpus).only_target:
            raise InputError(
                f"{corpus.name} has labels that the source {source.name} has not: {', '.join(unknown)}. "
                "Rename them with --set reading.map_source=MAP, or leave types out with --set reading.typeless=true."
            )
    for corpus in _labelled(task.target_labelled, task.target_dev, task.target_test):
        try:
            require_labels(corpus, source.labels)
        except InputError as problem:
            raise InputError(f"{problem} {_own_labels(task)}") from None


def _labelled(*parts: Corpus | None) -> list[Corpus]:
    return [corpus for corpus in parts if corpus is not None and corpus.is_labelled]


def _own_labels(task: Task) -> str:
    """How to have a tagger for labels that the source does not teach."""
    give = "" if task.target_labelled is not None else "label a few target sentences (--target-labelled FILE) and "
    return f"Or {give}train a tagger with the target's own labels: --recipe {for_target_labels()}."


def _named(given: str | None, whole: str | None, part: str) -> str | None:
    """The part asked for, or the bundled corpus's own."""
    if given is None and whole is not None and is_whole(whole):
        return f"{whole}/{part}"
    return given


def print_coverage(
    tagger: Tagger, settings: AdaptSettings, tell: Callable[[str], Any], warn: Callable[[str], Any]
) -> None:
    """Print how many words of the text have a vector, and warn where none has."""
    coverage = tagger.encoder.coverage if isinstance(tagger.encoder, CharacterCnnLstm) else None
    if coverage is None:
        return
    tell(f"word vectors ({settings.tagger.lstm.vectors}): {coverage}")
    if not coverage.words_found:
        warn("No word of the text has a vector, so they are of no use. Are they for another language?")


FIRST_RUN = {"source": None, "target": None, "target_labelled": "social/few", "target_test": "social/test"}


def with_first_run(values: Mapping[str, Any]) -> dict[str, Any]:
    """Who names no corpus, recipe or tagger sees the example: `general`, adapted to posts by 100 labelled ones."""
    named = set(values) - {"seed", "training", "minutes"}
    if named and named <= {"target_dev", "target_test"}:
        raise UsageError(
            "There is nothing to learn from: --target-test and --target-dev are labelled sentences to score and to "
            "choose by. Give --target-labelled, --target or --source, too."
        )
    return dict(values) if named else {**values, **FIRST_RUN}


def with_start(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with a target or a start and no source adapt that tagger without a source."""
    tagger, recipe = values.get("tagger") or {}, default_recipe(has_source=False)
    named = isinstance(tagger, Mapping) and tagger.get("start") is not None
    without_source = "recipe" not in values or values["recipe"] in (recipe, TARGET_ONLY.name)
    has_target = values.get("target") or (without_source and values.get("target_labelled"))
    if values.get("source") is not None or not ("source" in values or named or has_target):
        return dict(values)
    values = {"recipe": recipe, "target": None, **values, "source": None}
    if named or values["recipe"] != recipe or not isinstance(tagger, Mapping):
        return values
    return {**values, "tagger": {**tagger, "start": GENERAL}}


def with_own_source(values: Mapping[str, Any]) -> dict[str, Any]:
    """A named source without a target has none. Weights beside sources become settings."""
    if "source" not in values:
        return dict(values)
    weights = weights_of(values["source"])
    mix = values.get("sources")
    if weights and (mix is None or isinstance(mix, Mapping)):
        more = {} if mix is None else mix
        values = {**values, "sources": {**more, "weights": {**weights, **(more.get("weights") or {})}}}
    return dict(values) if "target" in values else {**values, "target": None}


def default_folder(settings: AdaptSettings, fingerprint: Mapping[str, Any], overwrite: bool) -> Path:
    """runs/news-to-social-acclimate-seed-1; with a number behind it where that one is taken by another run."""
    name = f"{name_of_task(settings, settings.tagger.start)}-{Path(settings.recipe).stem}-seed-{settings.seed}"
    folders = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in folders if overwrite or _is_free(folder, fingerprint))


def name_of_task(settings: CorporaSettings, start: str | None = None) -> str:
    """news-to-social; with several sources, news-and-btc-to-social; without any, general-to-notes."""
    sources = "-and-".join(name.replace("/", "-") for name in sources_of(settings.source))
    sources = sources or (Path(start).name if start else "nothing")
    target = settings.target or settings.target_labelled
    if target is None:
        return sources
    return f"{sources}-to-{target.replace('/', '-') if is_bundled(target) else Path(target).name.split('.')[0]}"


def _is_free(folder: Path, fingerprint: Mapping[str, Any]) -> bool:
    if not has_progress(folder):
        return not is_finished(folder)
    try:
        return not changes(stored_fingerprint(folder), fingerprint)
    except StorageError:
        return False


def compare_settings(
    config: Path | None, given: Mapping[str, Any], assignments: Sequence[str] | None
) -> CompareSettings:
    """From a file and from the command line. A recipe's name in front makes a setting that recipe's own."""
    values = with_own_source(gathered(config, _as_settings(given), assignments))
    own = {name: values.pop(name) for name in list(values) if name in RECIPES}
    for name, given_alone in own.items():
        if not isinstance(given_alone, Mapping):
            raise SettingsError(f"{name}={given_alone}: name one of its settings, such as {name}.options.….")
    each = values.pop("each", None) or {}  # left empty in a file, it is None
    values["each"] = merged(each, own) if isinstance(each, Mapping) else each
    return complete(CompareSettings, with_fitting_encoder(values), where=str(config or "compare"))


def task_to_compare(settings: CompareSettings, tell: Callable[[str], Any]) -> Task:
    """The corpora as `adapt` reads them; the labels are the source's, unless every recipe has the target's."""
    if settings.source is None:
        raise UsageError("A comparison trains its recipes on a labelled source: give --source.")
    names = [*settings.recipe_names, settings.against] if settings.recipe_names else list(RECIPES)
    others = [name for name in names if name != BASELINE.name] or names
    own = [name for name in others if find_recipe(name).own_tagger != "never"]
    recipe = next((name for name in others if name not in own), others[0])
    shared = settings.model_dump(include=set(AdaptSettings.model_fields) & set(CompareSettings.model_fields))
    return read_task(AdaptSettings(**{**shared, "recipe": recipe}), tell)
