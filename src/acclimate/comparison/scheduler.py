"""Which runs a comparison is made of, and how they are made side by side: in processes, on GPUs, on any executor."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from acclimate.data.problems import InputError
from acclimate.data.processes import CONTEXT, processes
from acclimate.evaluation.table import duration
from acclimate.inference.loading import visible_gpus
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.storage import StorageError
from acclimate.recipes.catalogue import BASELINE, RECIPES, find_recipe, for_target_labels
from acclimate.recipes.recipe import Recipe, has_other_labels
from acclimate.runs.budget import expected_cost
from acclimate.runs.prepare import missing_data
from acclimate.runs.run import PlannedRun, using_threads
from acclimate.runs.settings import RunSettings, SharedSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.settings import SettingsError, UsageError, complete, require_seed
from acclimate.spelling import describe_failure
from acclimate.training.rehearsal import RULE
from acclimate.training.run import Diverged


def with_baseline(recipes: Sequence[str], against: str) -> list[str]:
    """The recipes once each, with the one that they are compared with."""
    names = [find_recipe(name).name for name in dict.fromkeys(recipes)]
    if find_recipe(against).name not in names:
        names.insert(0, against)
    return names


def fitting_recipes(task: Task, encoder: str) -> list[str]:
    """All recipes that can be run on this data with this encoder, as they are."""

    def by_default(recipe: Recipe) -> bool:
        """Whether nothing has to be set otherwise."""
        if "target by default" in recipe.needs and not task.has_target:
            return False
        exchanges = "entities beside target labels" in recipe.needs and task.target_labelled is not None
        return not (exchanges and task.source.kind == "plain")

    return [name for name, recipe in RECIPES.items() if by_default(recipe) and not obstacle_for(recipe, task, encoder)]


def plan_runs(
    recipes: Sequence[str],
    seeds: Sequence[int],
    out: Path,
    task: Task,
    shared: SharedSettings,
    each: Mapping[str, Mapping[str, Any]],
) -> list[PlannedRun]:
    """All runs, seed by seed with the baseline first. `shared` are settings of all recipes, `each` those of single
    ones."""
    if not seeds:
        raise UsageError("a comparison needs one seed at least.")
    for seed in seeds:
        require_seed(seed)
    for name in each:
        if name not in recipes:
            raise SettingsError(f"settings for {name!r}, which is not compared. Compared: {', '.join(recipes)}.")
    settings = {name: _settings(name, shared, each.get(name, {})) for name in recipes}
    for name in recipes:
        obstacle = obstacle_for(find_recipe(name), task, settings[name].tagger.encoder)
        if obstacle:
            raise UsageError(obstacle)
    runs, baseline = [], settings.get(BASELINE.name)
    for seed in seeds:
        shared_folder = out / "runs" / BASELINE.name / f"seed-{seed}"
        for name in sorted(recipes, key=lambda name: name != BASELINE.name):
            own, folder = settings[name].model_copy(update={"seed": seed}), out / "runs" / name / f"seed-{seed}"
            shares = name != BASELINE.name and baseline is not None and _like(settings[name], baseline) == baseline
            runs.append(PlannedRun(own, folder, shared_folder if shares else None))
    return runs


def _like(settings: RunSettings, baseline: RunSettings) -> RunSettings:
    """The settings of a baseline that a run would train by itself."""
    return settings.model_copy(update={"recipe": baseline.recipe, "options": baseline.options})


def _settings(recipe: str, shared: SharedSettings, own: Mapping[str, Any]) -> RunSettings:
    where = f"settings of {recipe}"
    for name in ("recipe", "seed"):
        if name in own:
            raise SettingsError(f"{where}: {name} is not a recipe's own: all recipes are trained with every seed.")
    settings = complete(RunSettings, {**merged(shared.model_dump(), own), "recipe": recipe}, where=where)
    options = find_recipe(recipe).complete(settings.options).model_dump(mode="json")
    return settings.model_copy(update={"options": options})


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees of settings as one; where both say something, the second counts."""
    result = dict(below)
    for name, value in above.items():
        here = result.get(name)
        both = isinstance(here, Mapping) and isinstance(value, Mapping)
        result[name] = merged(here, value) if both else value  # type: ignore[arg-type]
    return result


def obstacle_for(recipe: Recipe, task: Task, encoder: str) -> str:
    """Why a recipe cannot be run; empty if it can."""
    if missing := missing_data(recipe, task.has_target, task.target_labelled is not None):
        return missing
    if "language model" in recipe.needs and encoder == CNN_LSTM:
        return f"Recipe {recipe.name} needs a pre-trained encoder, and {CNN_LSTM} is none."
    if "entities" in recipe.needs and task.source.kind == "plain":
        return f"Recipe {recipe.name} learns from entities, and the plain tags of {task.source.name} have none."
    few = task.target_labelled
    if few is not None and has_other_labels(task.source, few) and not recipe.trains_target(task.source, few):
        return (
            f"Recipe {recipe.name} has the source's labels, and the labelled target sentences have others. Compare "
            f"{for_target_labels()}, which train a tagger with the target's own labels, against target-only."
        )
    return ""


def is_expected(failure: Exception) -> bool:
    """Whether data, settings or the machine are at fault, and not the program: other runs may still go well."""
    kinds = (InputError, UsageError, SettingsError, StorageError, Diverged, OSError)
    return isinstance(failure, kinds) or type(failure).__name__ == "OutOfMemoryError"


def sendable(failure: Exception) -> Exception:
    """The failure, or one with the same words where another process could not unpickle it."""
    try:
        pickle.loads(pickle.dumps(failure))
    except Exception:
        if is_expected(failure):
            return InputError(describe_failure(failure))
        return RuntimeError("".join(traceback.format_exception(failure)))
    return failure


_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A call of a plain function. It waits for the job of the name `after`, done or failed."""

    name: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    after: str | None = None


def ended(jobs: Sequence[Job], executor: Executor | None) -> Generator[tuple[Job, Callable[[], Any]]]:
    """Do each job as soon as the one it waits for is over; gives the jobs as they end, and what tells their result or
    raises their failure. Without an executor they are done here, in their order."""
    if executor is None:
        yield from ((job, partial(job.call, *job.arguments)) for job in jobs)
        return
    left = list(jobs)
    over: set[str] = set()
    waiting: dict[Future[Any], Job] = {}
    names = {job.name for job in jobs}
    is_pool = isinstance(executor, ProcessPoolExecutor)
    try:
        while left or waiting:
            ready = [job for job in left if job.after is None or job.after in over or job.after not in names]
            left = [job for job in left if job not in ready]
            for job in ready:
                send = partial(_answer, job.call, job.arguments) if is_pool else partial(job.call, *job.arguments)
                waiting[executor.submit(send)] = job
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                job = waiting.pop(future)
                over.add(job.name)
                yield job, future.result
    finally:
        for future in waiting:
            future.cancel()


def _answer(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A job in another process. A failure that cannot be sent from there would look like the end of the process."""
    try:
        return call(*arguments)
    except Exception as failure:
        raise sendable(failure) from None


@contextmanager
def workers(executor: Executor | None, jobs: int, gpus: Sequence[str] = ()) -> Iterator[Executor | None]:
    """The given executor, else `jobs` processes with one thread and one of the GPUs each, else None: work is done
    here."""
    if executor is not None or jobs < 2:
        yield executor
        return
    numbers = CONTEXT.SimpleQueue()
    for number in range(jobs):
        numbers.put(gpus[number % len(gpus)] if gpus else None)
    advice = "perhaps there was too little memory: name fewer jobs. The same command goes on where it stands"
    with processes(jobs, "made a run", advice, _start_worker, numbers) as pool:  # what is ended leaves its checkpoints
        yield pool


def _start_worker(numbers: Any) -> None:
    """Where and how a new process works."""
    os.environ |= {**dict.fromkeys(_ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"}
    gpu = numbers.get()
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu


def make_all(work: Sequence[Job], executor: Executor | None, jobs: int, tell: Callable[[str], Any]) -> dict[str, str]:
    """Do the work, whose calls return seconds; returns the reasons of failures, by name."""
    failures: dict[str, str] = {}
    gpus = visible_gpus() if jobs > 1 and executor is None else []
    with workers(executor, min(jobs, len(work)), gpus) as hands, closing(ended(work, hands)) as results:
        for number, (job, seconds) in enumerate(results, start=1):
            try:
                outcome = duration(seconds())
            except Exception as failure:
                if not is_expected(failure):
                    raise
                failures[job.name] = describe_failure(failure)
                outcome = f"FAILED: {failures[job.name]}"
            tell(f"{number} of {len(work)}: {job.name}{' ' if job.name in failures else ', '}{outcome}")
    return failures


def estimate_lines(left: Sequence[PlannedRun], task: BlindTask, jobs: int, threads: int | None) -> Iterator[str]:
    """The expected time of the remaining runs. A recipe that refuses is named; its runs will fail by themselves."""
    expected: dict[str, float] = {}
    for recipe, run in {run.recipe: run for run in left}.items():
        try:
            with using_threads(threads):
                expected[recipe] = expected_seconds(run, task)
        except Exception as failure:
            if not is_expected(failure):
                raise
            yield f"{recipe} cannot be timed, and its runs will fail: {describe_failure(failure)}"
    if expected:
        hands = min(jobs, len(left))
        parts = ", ".join(f"{recipe} {duration(seconds)}" for recipe, seconds in expected.items())
        shared = f" by {hands} processes" if hands > 1 else ""
        whole = duration(seconds_of_all(left, expected, hands))
        yield f"expected time: about {whole}{shared} ({RULE}; judging the runs comes on top). One run: {parts}."


def expected_seconds(run: PlannedRun, task: BlindTask) -> float:
    """Of one run. A baseline of its own is counted in, one that runs share is not."""
    return run.settings.share * expected_cost(task, run.settings, run.baseline is not None).seconds


def seconds_of_all(left: Sequence[PlannedRun], expected: Mapping[str, float], hands: int) -> float:
    """All runs shared out, but never less than one of them and the baseline that it waits for."""
    each = {run.folder: expected.get(run.recipe, 0.0) for run in left}
    chains = [each[run.folder] + (each.get(run.baseline, 0.0) if run.baseline else 0.0) for run in left]
    return max(sum(each.values()) / hands, *chains)
