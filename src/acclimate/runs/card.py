"""The model card of a run: README.md beside its tagger, as model hubs show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.data.sources import sizes_of
from acclimate.model.card import About, code, codes, escaped, table, tagger_card
from acclimate.model.tagger import Tagger
from acclimate.recipes.baselines import START
from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import TUNING_STAGE
from acclimate.runs.result import Change, Outcome
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import StudentTask, Task
from acclimate.settings import flattened
from acclimate.spelling import count

# the papers, by their keys in papers.bib
PAPERS = {
    "mlm4uda": "vu-etal-2020-effective",
    "mat": "chen-etal-2020-enhance",
    "mslm": "abaho-etal-2024-improving",
    "pdaln": "zhang-etal-2021-pdaln",
    "datnet": "zhou-etal-2021-dual",
}
_OF_RECIPE = {"adversarial-masking": "mlm4uda", "mat": "mat", "mslm": "mslm", "pdaln": "pdaln", "datnet": "datnet"}
_OF_OBJECTIVE = {
    "mat": "mat",
    "discriminator": "datnet",
    **dict.fromkeys(("sentence-mmd", "word-mmd", "contrast", "distillation"), "pdaln"),
}


def run_card(outcome: Outcome, task: Task, settings: RunSettings) -> str:
    """What the run's tagger was made from, how good it is, and what it is not good for."""
    tagger = outcome.tagger
    assert tagger is not None
    sections = (_scores(outcome), _data(task), _training(tagger, outcome, settings))
    about = About(
        summary=_summary(task, outcome),
        sections="".join(f"\n{section}" for section in sections if section),
        ending=f"\n{_limits(tagger, task, outcome)}{_citation(outcome, settings)}",
    )
    return tagger_card(tagger, about)


def _summary(task: Task, outcome: Outcome) -> str:
    beginning = f"from {escaped(name_of(task.source))} " if task.has_source else ""
    target = _target(task)
    aim = "" if target is None else f"for {escaped(name_of(target))} "
    return f"Trained {beginning}{aim}by recipe {code(outcome.recipe)}."


def _target(task: Task) -> Corpus | None:
    return task.target or task.target_labelled or task.target_test


def name_of(corpus: Corpus) -> str:
    """Without the folder, where somebody named a corpus by its path."""
    return _last_part(corpus.name)


def _last_part(name: str) -> str:
    is_path = name.startswith(("/", "~", "./", "../", "\\")) or "\\" in name or Path(name).exists()
    return re.split(r"[/\\]", name.rstrip("/\\"))[-1] if is_path else name


def _changes(outcome: Outcome) -> list[tuple[str, Change]]:
    found = (("source", outcome.source), ("target", outcome.target))
    return [(domain, change) for domain, change in found if change is not None]


def _scores(outcome: Outcome) -> str:
    rows = []
    for domain, change in _changes(outcome):
        before, after = (f"{100 * scores.span.f1:.2f}" for scores in (change.before, change.after))
        moved = change.comparison
        shown = (
            "" if moved is None else f"{100 * moved.difference:+.2f} [{100 * moved.low:+.2f}, {100 * moved.high:+.2f}]"
        )
        size = f"{change.after.sentences:,}"
        rows.append((domain, escaped(_last_part(change.corpus)), size, before if moved else "", after, shown))
    if not rows:
        return ""
    head = ("test", "corpus", "sentences", "before", "after", "change [95 % interval]")
    scorer = _changes(outcome)[0][1].after.scorer
    lines = f"## Scores\n\n{table(head, rows, right=4)}\nIn percent: {escaped(scorer)}."
    if outcome.advice is not None:
        lines += f" Before: {_before(outcome)}. Intervals: paired bootstrap over sentences, one seed."
    return f"{lines}\n"


def _before(outcome: Outcome) -> str:
    if outcome.before == START.name:
        return "the tagger that it started from"
    return f"the same tagger by recipe {code(outcome.before or '')}, not adapted"


def _data(task: Task) -> str:
    rows = []
    for part, corpus, labels in _corpora(task):
        rows.append((part, escaped(name_of(corpus)), labels, f"{len(corpus):,}", f"{corpus.word_count:,}"))
    note = (
        "Given labels stood in the corpus: whether people gave them and how carefully, its own description must say. "
        "Only those of the first rows were learnt; tests were scored when all was over."
    )
    return f"## Data\n\n{table(('part', 'corpus', 'labels', 'sentences', 'words'), rows, right=2)}\n{note}\n"


def _corpora(task: Task) -> Iterator[tuple[str, Corpus, str]]:
    gold = task.gold_source
    names = sizes_of(gold) if len(sizes_of(gold)) > 1 else {}
    for name in names:
        own = gold.select([number for number, each in enumerate(gold) if each.source == name]).renamed(name)
        yield "source", own, _labels(own)
    if len(gold) and not names:
        yield "source", gold, _labels(gold)
    if isinstance(task, StudentTask):
        yield (
            "target",
            task.source[len(gold) :].renamed(task.target.name if task.target else "text"),
            "of other taggers",
        )
    elif task.target is not None:
        yield "target", task.target, "none used"
    if task.target_labelled is not None:
        yield "target, labelled", task.target_labelled, _labels(task.target_labelled)
    for part in ("source_dev", "target_dev", "source_test", "target_test"):
        corpus: Corpus | None = getattr(task, part)
        if corpus is not None:
            yield part.replace("_", " "), corpus, _labels(corpus)


def _labels(corpus: Corpus) -> str:
    if not corpus.is_labelled:
        return "none"
    guessed = sum(sentence.probabilities is not None for sentence in corpus)
    if guessed:
        return "guesses with probabilities" if guessed == len(corpus) else "given, and guesses with probabilities"
    return f"given, without {codes(corpus.hidden_labels)}" if corpus.hidden_labels else "given"


def _training(tagger: Tagger, outcome: Outcome, settings: RunSettings) -> str:
    updates = sum(stage["updates"] for stage in outcome.own_stages)
    lines = [
        f"- **Encoder**: {escaped(_encoder(tagger))}.",
        f"- **Stages**: {', '.join(code(stage['stage']) for stage in outcome.own_stages) or 'none'}; "
        f"{count(updates, 'update')} in all, seed {settings.seed}. State chosen by {escaped(outcome.selector)}.",
    ]
    if given := list(_options(settings)):
        lines.append(f"- **Options of the recipe**: {codes(given)}.")
    return "## Training\n\n" + "\n".join(lines) + "\n"


def _encoder(tagger: Tagger) -> str:
    model: Any = getattr(tagger.encoder, "model", None)
    if model is None:
        return "a character CNN with a BiLSTM"
    named = getattr(tagger.encoder, "origin", None)
    return (
        _last_part(str(named)) if named else f"a pre-trained {model.config.model_type}, {model.config.hidden_size} wide"
    )


def _options(settings: RunSettings) -> Iterator[str]:
    """Names with dots and values; of files only their names."""
    for name, value in flattened(settings.options):
        values = value if isinstance(value, list | tuple) else [value]
        plain = all(isinstance(each, str | int | float | bool) for each in values)
        yield f"{name}={' '.join(_last_part(str(each)) for each in values) if plain else '…'}"


def _limits(tagger: Tagger, task: Task, outcome: Outcome) -> str:
    target = _target(task) or task.source
    lines = [
        f"- **Domain.** Text unlike {escaped(name_of(target))} was not tried. Label a few hundred sentences of your "
        "own, and run `acclimate evaluate`, before you rely on it.",
        "- **Language.** It knows that of its text, and no other.",
        f"- **The gain.** {_gain(outcome)}",
        "- **Terms.** The corpora above have terms, which this card does not know: see to it that they let you share "
        f"what was learnt from them.{' Those of the tagger that it began with stand below.' if tagger.origin else ''}",
    ]
    return "## Limits\n\n" + "\n".join(lines) + "\n"


def _gain(outcome: Outcome) -> str:
    if outcome.advice is None:
        return "Nothing was adapted: there is no other tagger to compare it with."
    if outcome.target is not None and outcome.reservation is not None:
        return escaped(outcome.reservation.why)
    return escaped(f"Use the tagger {outcome.advice.tagger}: {outcome.advice.why}. That is one seed.")


def _citation(outcome: Outcome, settings: RunSettings) -> str:
    stages = [stage["stage"] for stage in outcome.own_stages]
    papers = papers_of(outcome.recipe, settings.options if outcome.recipe == settings.recipe else {}, stages)
    if not papers:
        return ""
    whose = "The recipe comes from this paper" if len(papers) == 1 else "Parts of the recipe come from these papers"
    entries = "\n".join(bibtex(paper) for paper in papers)
    return f"\n## Cite\n\n{whose}:\n\n```bibtex\n{entries}\n```\n"


def bibtex(paper: str) -> str:
    """The entry of a paper, to cite it by."""
    entries = Path(__file__).with_name("papers.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return next(entry for entry in entries if PAPERS[paper] in entry)


def papers_of(recipe: str, options: Mapping[str, Any], stages: Iterable[str]) -> list[str]:
    """The papers of a recipe, or of the parts that it was composed of in these stages; empty where it has none."""
    if recipe in _OF_RECIPE:
        return [_OF_RECIPE[recipe]]
    parts = {"compose": _of_composition, "acclimate": _of_acclimate}.get(recipe)
    found = [] if parts is None else list(parts(RECIPES[recipe].complete(options), set(stages)))
    return [paper for paper in PAPERS if paper in found]


def _of_composition(options: Any, stages: set[str]) -> Iterator[str]:
    for stage in options.stages:
        parts = {"mlm4uda": stage.domain_tuning, "mslm": stage.mslm}
        yield from (paper for paper, part in parts.items() if part is not None)
        yield from ("pdaln" for text in stage.learns or () if text == "anchors")
        yield from (_OF_OBJECTIVE[name] for name in stage.objectives if name in _OF_OBJECTIVE)


def _of_acclimate(options: Any, stages: set[str]) -> Iterator[str]:
    if TUNING_STAGE in stages:
        yield "mlm4uda"
    if options.noise:
        yield "mat"
    if any(stage.startswith("round") for stage in stages):
        yield "pdaln"
