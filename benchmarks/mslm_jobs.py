"""The jobs of benchmarks/mslm.py: data, encoders, methods, one training and one test."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from grid import Row, file_name, find

HELD_OUT = 1000  # sentences, where a set has no train or no dev
LOOKS = 15  # at dev, along training
SHIPPED, TUNED = "acclimate-mini", "tuned"
ENCODERS = (SHIPPED, TUNED)
UNTOUCHED, VANILLA, MSLM, UNWEIGHTED = "untouched", "vanilla", "MSLM", "MSLM-unweighted"
MAIN_RATES = (1.0, 0.075)  # ELM, BLM

# recipe and options; `heads` is plain training of MSLM's heads: what those alone do
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    VANILLA: ("source-only", {}),
    "heads": ("mslm", {"tags_on": "clean", "losses": {"words": 0.0}}),
    MSLM: ("mslm", {"tags_on": "both"}),
    "MSLM-clean": ("mslm", {"tags_on": "clean"}),
    "MSLM-masked": ("mslm", {"tags_on": "masked"}),
    UNWEIGHTED: ("mslm", {"weighted": False, "tags_on": "both"}),
    "SPAN": ("mslm", {"masking": "span", "tags_on": "both"}),
    "PMI": ("mslm", {"masking": "pmi", "tags_on": "both"}),
}


@dataclass(frozen=True)
class DataSet:
    """A folder, its name in tables, and how many types it has in the end."""

    title: str
    label_map: str | None = None
    typed: bool = False


SETS = {
    "bc2gm": DataSet("BC2GM"),
    "ncbi_disease": DataSet("NCBI-disease"),
    "bc5cdr_chem": DataSet("BC5CDR-chem"),
    "jnlpba": DataSet("JNLPBA", label_map="jnlpba-to-gene"),
    "ebm_nlp_outcomes": DataSet("EBM-NLP", typed=True),
    "jnlpba_biobert": DataSet("JNLPBA (BioBERT's)"),
}


@dataclass(frozen=True)
class Job:
    """One training and one test; `untouched` trains nothing and is only asked for hidden words."""

    corpus: str
    encoder: str
    method: str
    elm: float = MAIN_RATES[0]
    blm: float = MAIN_RATES[1]
    seed: int = 0

    @property
    def rates(self) -> tuple[float, float]:
        return self.elm, self.blm

    @property
    def name(self) -> str:
        return f"{self.corpus}, {self.encoder}, {self.method}, ELM {self.elm:g}, BLM {self.blm:g}, seed {self.seed}"


def job_of(row: Row) -> Job:
    return Job(**{name: row[name] for name in Job.__dataclass_fields__})


@dataclass(frozen=True)
class Run:
    """What all jobs have in common."""

    data: str
    out: str
    training: dict[str, Any]
    mslm: dict[str, Any]
    limit: int | None


# ------------------------------------------------------------------------------------------------------------- data


@cache
def parts_of(data: str, corpus: str, limit: int | None) -> dict[str, Any]:
    """train, dev and test. Without train, dev is learnt from but for what is held out of it."""
    from acclimate.data.mapping import LabelMap, map_labels
    from acclimate.data.reading import read_corpus
    from acclimate.data.subsets import split

    there = [part for part in ("train", "dev", "test") if any((Path(data) / corpus).glob(f"{part}.*"))]
    parts = {part: read_corpus(find(data, corpus, part)) for part in dict.fromkeys([*there, "test"])}
    if len(there) < 3:
        learnt = parts.get("train") or parts["dev"]
        parts |= split(learnt, {"train": "rest", "dev": HELD_OUT})
    label_map = SETS[corpus].label_map
    if label_map is not None:
        parts = {part: map_labels(found, LabelMap.load(label_map)) for part, found in parts.items()}
    return {part: parts[part][:limit] for part in ("train", "dev", "test")}


def tuned_folder(out: str | Path) -> Path:
    return Path(out) / TUNED


def make_tuned(data: str, out: str, lines: int, settings: list[str]) -> None:
    """The shipped encoder, tuned to a sample of unlabelled PubMed text with random masking. Made once."""
    from acclimate.runs.domain_tune import DomainTuneSettings, domain_tune
    from acclimate.settings import complete, with_assignments

    folder = tuned_folder(out)
    if (folder / "report.json").is_file():
        return
    values = {"text": [str(sample_of(data, out, lines))], "encoder": SHIPPED, "masking": "random"}
    done = domain_tune(complete(DomainTuneSettings, with_assignments(values, settings)), folder)
    kept = f"kept update {done.kept_update:,} of {done.updates:,}, perplexity of held-out text"
    print(f"tuned: {kept} {done.perplexity_before} → {done.perplexity_after}", file=sys.stderr)
    if not done.kept_update:
        print("tuned: nothing was gained, so this is the shipped encoder itself.", file=sys.stderr)


def sample_of(data: str, out: str, lines: int) -> Path:
    """So many lines of the unlabelled text, always the same, in the order they have there."""
    place = Path(out) / "text" / "pubmed.txt.gz"
    if not place.is_file():
        with gzip.open(find(data, "pubmed", "unlabelled"), "rt", encoding="utf-8") as file:
            found = file.readlines()
        kept = sorted(random.Random(0).sample(range(len(found)), min(lines, len(found))))
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_suffix(".part")
        with gzip.open(aside, "wt", encoding="utf-8") as file:
            file.writelines(found[number] for number in kept)
        os.replace(aside, place)
    return place


# -------------------------------------------------------------------------------------------------------------- job


def do(run: Run, job: Job) -> list[Row]:
    from one_recipe import train

    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import guess_terms, predict
    from acclimate.methods.entities.masked_tagger import MaskedTagger
    from acclimate.model.tagger import Tagger

    parts = parts_of(run.data, job.corpus, run.limit)
    encoder = str(tuned_folder(run.out)) if job.encoder == TUNED else job.encoder
    labels = parts["train"].labels | parts["dev"].labels | parts["test"].labels
    tagger = Tagger.build(encoder, labels=labels, head="softmax", scheme="IOB2", seed=job.seed)
    if job.method == UNTOUCHED:
        return [{**asdict(job), "perplexity": perplexity_of(tagger, None, parts["dev"])}]
    recipe, options = METHODS[job.method]
    if recipe == "mslm":
        options = {**run.mslm, **options, "elm": job.elm, "blm": job.blm}
    training = dict(run.training)
    training.setdefault("evaluate_every", max(1, training["updates"] // LOOKS))
    # no folder: a job is short, and one that was cut off is done again
    done = train(tagger, recipe, parts["train"], None, parts["dev"], training=training, options=options, seed=job.seed)
    guesser = done.learner.guesser if isinstance(done.learner, MaskedTagger) else None
    found = predict(tagger, parts["test"])
    guesses = guess_terms(tagger, parts["test"]) if SETS[job.corpus].typed else []
    keep_answers(run.out, job, found, guesses)
    masks = [row for row in done.rows if row["kind"] == "masks" and row["policy"] == "joint"]
    return [
        {
            **asdict(job),
            **figures(score(parts["test"], found)),
            "perplexity": perplexity_of(tagger, guesser, parts["dev"]),
            "weights": masks[0]["weights"] if masks else None,
            "looks": [[row["update"], row["epoch"], row["score"]] for row in done.rows if row["kind"] == "look"],
            **done.facts(),
        }
    ]


def figures(scores: Any) -> Row:
    """In percent, but for counts and the mean length."""
    lengths = scores.by_length
    return {
        "em": 100 * scores.exact_match,
        "micro": 100 * scores.span.f1,
        "macro": 100 * scores.macro.f1,
        "precision": 100 * scores.span.precision,
        "short_em": 100 * lengths.short.exact_match,
        "long_em": 100 * lengths.long.exact_match,
        "mean_length": lengths.mean_length,
        "short_sentences": lengths.short.sentences,
        "long_sentences": lengths.long.sentences,
    }


def perplexity_of(tagger: Any, guesser: Any, text: Any) -> float:
    """E2.18. Without a head of its own, under the one that the encoder began with."""
    import torch

    from acclimate.model.language_model import guesser_for
    from acclimate.recipes.domain_tuning import perplexity

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    guesser = guesser_for(tagger.encoder) if guesser is None else guesser
    return perplexity(tagger.to(device).encoder, guesser.to(device), text).perplexity


def answers_file(out: str, job: Job) -> Path:
    return Path(out) / "tags" / f"{file_name(job.name)}.json.gz"


def keep_answers(out: str, job: Job, found: Any, guesses: Any) -> None:
    """Tags for the bootstrap; for several types also what each gold span is taken for."""
    place = answers_file(out, job)
    place.parent.mkdir(parents=True, exist_ok=True)
    told = [
        [one.sentence, one.span.start, one.span.end, one.span.label, one.predicted, round(one.probability, 5)]
        for one in guesses
    ]
    with gzip.open(place, "wt", encoding="utf-8") as file:
        json.dump({"tags": [sentence.tags for sentence in found], "guesses": told}, file)


def answers_of(out: str, job: Job) -> Row:
    found: Row = json.loads(gzip.decompress(answers_file(out, job).read_bytes()))
    return found
