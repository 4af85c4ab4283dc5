"""What `acclimate report` makes: a page, or with --only some parts as text, JSON and tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer
from pydantic import Field, NonNegativeInt, PositiveInt

from acclimate.analysis.curves import compare_curves, read_curves, render_curves
from acclimate.analysis.features import (
    FeaturePoints,
    domain_separability,
    feature_points,
    project,
    readers_of,
    require_scikit_learn,
)
from acclimate.analysis.masks import Yardsticks, mask_statistics, mask_tables, render_masks
from acclimate.analysis.run_records import read_masks
from acclimate.analysis.terms import compare_term_confidences
from acclimate.cli.outputs import check_file_to_write, check_folder_to_write, sentence_bar, stderr_console, warn
from acclimate.cli.reading import ReadingSettings, read, short_names, tell_notes
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.writers.shared import encoded, save, write_tables
from acclimate.inference.loading import choose_device, require_finished
from acclimate.inference.part_of_speech import part_of_speech_tagger
from acclimate.inference.predict import guess_terms, require_scorable
from acclimate.model.shipped import resolved_tagger
from acclimate.model.siblings import load_sibling
from acclimate.model.tagger import Tagger
from acclimate.reporting.report import Look, report_page
from acclimate.reporting.run_data import collect_run
from acclimate.runs.run import TARGET, read_features
from acclimate.settings import Seed, Settings, UsageError

NO_TAGGER = "none"


class ReportSettings(Settings):
    """What `acclimate report` looks at, and how."""

    title: str | None = None
    """Title of the page; null: "source → target"."""
    quick: bool = False
    """Skip the slow parts of the page: distances between features, and the feature map."""
    sentences: NonNegativeInt = 8
    """Number of sentences in each group of the error gallery; 0: all."""
    compare: bool = False
    """Curves: compare the stages of a single run in the way that several runs are compared."""
    csv: str | None = None
    """Folder for the tables of the parts, a CSV file each; null: none."""
    gold: str | None = None
    """Confidence: labelled sentences with the terms to look at; null: the target test that the run has kept."""
    source: str | None = None
    """Source corpus: the reference for the density ratio in masks, and one side of feature-map; null: not given."""
    target: str | None = None
    """Target corpus: the reference for the density ratio in masks, and one side of feature-map; null: not given."""
    reading: ReadingSettings = ReadingSettings()
    """How the corpora named here are read; a label map renames the labels of the gold corpus."""
    parts_of_speech: str = "acclimate"
    """Masks: part-of-speech tagger: acclimate, spacy, spacy:MODEL, a tagger's folder, or none."""
    every: PositiveInt | None = None
    """Masks: length of a reporting period in updates; null: a tenth of the longest run."""
    lower_case: bool = True
    """Masks: ignore case when comparing words."""
    terms: PositiveInt = 20
    """Confidence: number of terms to show, the most frequent first."""
    unit: Literal["word", "sentence"] = "word"
    """Feature-map: what a point represents: a word, or a sentence (the mean of its words)."""
    points: PositiveInt = 2000
    """Feature-map: maximum number of points from each corpus."""
    seed: Seed = 0
    """Feature-map: random seed for sampling points, splitting them into halves, and projecting them."""
    device: str = Field("auto")
    """Device for taggers: auto, cpu or cuda."""


@dataclass(frozen=True)
class Request:
    """What the parts are made of."""

    folders: Sequence[str]
    settings: ReportSettings

    @property
    def names(self) -> dict[str, str]:
        return short_names(self.folders)

    def read(self, name: str) -> Corpus:
        return read(name, self.settings.reading, tell=warn)


@dataclass(frozen=True)
class Part:
    """One part of a report, ready to be printed; `tables` for CSV files."""

    text: str
    result: Mapping[str, Any]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]


def curves_part(request: Request) -> Part:
    """How training went, or when one run reaches the best score of another."""
    stages = {name: read_curves(place) for name, place in request.names.items()}
    if len(stages) > 1 or request.settings.compare:
        compared = compare_curves(stages)
        return Part(
            "\n\n".join(one.render() for one in compared),
            {"runs": list(request.folders), "compared": [one.as_dict() for one in compared]},
            {"scores": [row for one in compared for row in one.as_rows()]},
        )
    (curves,) = stages.values()
    return Part(
        render_curves(curves),
        {"run": request.folders[0], "stages": [stage.as_dict() for stage in curves]},
        {"curves": [row for stage in curves for row in stage.as_rows()]},
    )


def masks_part(request: Request) -> Part:
    """What runs hid, side by side."""
    settings = request.settings
    if settings.target is not None and settings.source is None:
        raise UsageError("--set target=… needs --set source=…: the density ratio compares the two.")
    tagger = settings.parts_of_speech
    yardsticks = Yardsticks(
        source=None if settings.source is None else request.read(settings.source),
        target=None if settings.target is None else request.read(settings.target),
        tagger=None if tagger == NO_TAGGER else part_of_speech_tagger(tagger, choose_device(settings.device)),
        lower_case=settings.lower_case,
    )
    logs = {name: read_masks(place) for name, place in request.names.items()}
    with sentence_bar(stderr_console(), "reading masks") as advance:
        runs = mask_statistics(logs, yardsticks, every=settings.every, progress=advance)
    return Part(render_masks(runs), {"runs": [run.as_dict() for run in runs]}, mask_tables(runs))


def confidence_part(request: Request) -> Part:
    """How sure taggers are of the class of each term, right or wrong. The tags only say where the terms are."""
    gold = _gold(request)
    if gold.kind == "plain":
        raise InputError(f"{gold.name} has plain tags, one per word: they mark no terms.")
    guesses = {}
    for name, place in request.names.items():
        folder = resolved_tagger(place)
        require_finished(folder)
        tagger = Tagger.load(folder, choose_device(request.settings.device))
        require_scorable(tagger.labels, gold)
        with sentence_bar(stderr_console(), name, len(gold)) as advance:
            guesses[name] = guess_terms(tagger, gold, progress=advance)
    found = compare_term_confidences(gold, guesses, request.settings.terms)
    return Part(found.render(), {"gold": gold.name, **found.as_dict()}, {"confidence": found.as_rows()})


def _gold(request: Request) -> Corpus:
    """The corpus that was named; else the target test that the first run has kept with its predictions."""
    if request.settings.gold is not None:
        return request.read(request.settings.gold)
    folder = resolved_tagger(request.folders[0])
    require_finished(folder)
    kept = collect_run(folder).answers if (folder / "report.json").is_file() else {}
    if TARGET not in kept:
        raise UsageError(
            "--only confidence: this run has kept no target test. Name labelled sentences with --set gold=CORPUS."
        )
    return kept[TARGET].gold


def feature_map_part(request: Request) -> Part:
    """How well source and target can be told apart by a tagger's features, and where these lie on a map."""
    settings = request.settings
    if (settings.source is None) != (settings.target is None):
        lacking = "source" if settings.source is None else "target"
        raise UsageError(f"--only feature-map needs --set {lacking}=CORPUS, too, or neither: then the run's own words.")
    texts, results, tables = [], [], {}
    for name, place in request.names.items():
        folder = resolved_tagger(place)
        require_finished(folder)
        for when, points in _points(request, place, folder).items():
            apart = domain_separability(points, settings.seed)
            shown = apart.render(points.names, points.unit)
            texts.append(f"{name}, {when}: {shown}" if when else shown)
            head = {"tagger": place, "when": when or "after", "source": settings.source, "target": settings.target}
            shape = {"unit": points.unit, "seed": settings.seed, "width": points.points.shape[1]}
            results.append({**head, **shape, **apart.as_dict()})
            if settings.csv is not None:
                table = "-".join(filter(None, ["points", name if len(request.names) > 1 else "", when]))
                tables[table] = points.as_rows(project(points.points, settings.seed))
    return Part("\n\n".join(texts), {"maps": results}, tables)


def _points(request: Request, place: str, folder: Path) -> Mapping[str, FeaturePoints]:
    """Of the corpora that are named, as the adapted tagger sees them; else those that the run has kept."""
    settings = request.settings
    if settings.source is None or settings.target is None:
        kept = read_features(folder)
        if not kept:
            raise InputError(
                "no features are kept here. Name corpora: --set source=CORPUS --set target=CORPUS.", file=folder
            )
        return kept
    on = choose_device(settings.device)
    tagger, source_tagger = Tagger.load(folder, on), load_sibling(folder, "source", on)
    corpora = {}
    for domain, name in (("source", settings.source), ("target", settings.target)):
        corpus = read(name, settings.reading.model_copy(update={"borders": "drop"}))
        tell_notes(corpus, warn, of_tags=False)
        corpora[f"{domain} ({Path(name).name if Path(name).is_file() else name})"] = corpus
    readers = readers_of(tagger, source_tagger, corpora, next(iter(corpora)))
    with sentence_bar(stderr_console(), "reading") as advance:
        return {"": feature_points(readers, corpora, settings.unit, settings.points, settings.seed, advance)}


PARTS: Mapping[str, Callable[[Request], Part]] = {
    "curves": curves_part,
    "masks": masks_part,
    "confidence": confidence_part,
    "feature-map": feature_map_part,
}
PRINTED = tuple(PARTS)


def write_page(
    folders: Sequence[str], parts: Sequence[str], out: Path | None, settings: ReportSettings, as_json: bool
) -> None:
    """Write the page of one folder, or some parts of it."""
    if len(folders) > 1:
        raise UsageError("A page is of one folder. Several go with --only curves, masks, confidence or feature-map.")
    folder = Path(folders[0])
    place = folder / "report.html" if out is None else out
    if folder.is_dir():  # what else it may be is told by who reads it
        check_file_to_write("--out", place, overwrite=True)
    console = stderr_console()
    with console.status("making the report"):
        look = Look(settings.quick, settings.sentences, console.print, settings.title, tuple(parts))
        page = report_page(folder, look)
    place.parent.mkdir(parents=True, exist_ok=True)
    save(encoded(page), place)
    result = {"report": str(place), "bytes": place.stat().st_size}
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else f"report: {place}")


def print_parts(folders: Sequence[str], names: Sequence[str], settings: ReportSettings, as_json: bool) -> None:
    """Print some parts as text or JSON, and write their tables."""
    csv = None if settings.csv is None else Path(settings.csv)
    check_folder_to_write("--set csv", csv)
    if csv is not None and "feature-map" in names:
        require_scikit_learn()
    request = Request(folders, settings)
    parts = {name: PARTS[name](request) for name in names}
    if csv is not None:
        write_tables({name: rows for part in parts.values() for name, rows in part.tables.items()}, csv)
    result = {name: part.result for name, part in parts.items()}
    text = "\n\n".join(part.text for part in parts.values())
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else text)
