"""`acclimate data weak-label`: tags for text that has none, from a dictionary of concepts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, tee
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Overwrite, Quiet, WeakLabelSet
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.cli.reading import ReadingSettings
    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.labelling import Coverage, Groups, Labeller
    from acclimate.data.corpus import Corpus, Sentence
    from acclimate.data.selection.text_files import RawText
    from acclimate.evaluation.agreement import Agreement

_AT_ONCE = 5_000  # sentences
_MOST = 10  # names and conflicts that are printed


def weak_label_command(
    texts: Annotated[
        list[str],
        typer.Option(
            "--text",
            metavar="TEXT...",
            help="Raw text (plain, .gz, .xz, a folder of .txt), or corpora; tags are dropped.",
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write, in the format of its name; - prints.")],
    concepts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE...",
            help="Names, synonyms, types: .csv, .tsv, .jsonl, .txt; clinical; package:diseases, package:drugs.",
        ),
    ] = None,
    groups: Annotated[
        str,
        typer.Option(
            metavar="MAP",
            help="Types to labels: a YAML file, table-12, clinical, or none: types are labels. auto: table-12 for UMLS "
            "types, else none.",
        ),
    ] = "auto",
    assignments: WeakLabelSet = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Label text with a dictionary of concepts. Where true labels are there, score the labels found.

    Example: acclimate data weak-label --concepts clinical --text clinical/test --out weak.conll

    Of overlapping names the longest is kept, then the leftmost. Names match whole words.

    `--set reading.map=MAP` renames true labels.
    """
    from acclimate.cli.data_settings import WeakLabelSettings
    from acclimate.cli.outputs import check_place_to_write, reading_bar, stderr_console, warn
    from acclimate.cli.reading import settings_of, warn_of_long_lines
    from acclimate.data.concepts.dictionary import ConceptDictionary
    from acclimate.data.concepts.files import load_concepts, read_names
    from acclimate.data.concepts.labelling import AUTO_GROUPS, Groups, Labeller
    from acclimate.data.corpus import Corpus
    from acclimate.data.problems import InputError
    from acclimate.data.selection.text_files import RawText
    from acclimate.data.writing import writing_parts
    from acclimate.evaluation.agreement import Agreement
    from acclimate.settings import UsageError

    settings = settings_of(WeakLabelSettings, assignments)
    check_place_to_write("--out", out, overwrite, [*texts, *(concepts or ()), settings.leave_out], has_tags=True)
    if not concepts:
        raise UsageError("Say where the names are: --concepts FILE, clinical, package:diseases or package:drugs.")
    listed = [load_concepts(source) for source in concepts]
    types = (type for each in listed for concept in each for type in concept.types)
    how = settings.others, settings.label
    grouped = Groups.suited_to(types, *how) if groups == AUTO_GROUPS else Groups.load(groups, *how)
    dictionary = ConceptDictionary(
        listed,
        grouped,
        case=settings.case,
        shortest=settings.shortest,
        exclude=() if settings.leave_out is None else read_names(settings.leave_out),
    )
    labeller = Labeller(dictionary, abbreviations=settings.abbreviations)
    started, agreement, written = time.monotonic(), Agreement(), 0
    with reading_bar(stderr_console(quiet)) as show, writing_parts(out) as parts:
        opened = [_open_text(name, settings.reading, show) for name in texts]
        sentences = (sentence for text in opened for sentence in _labelled(text, labeller, agreement))
        while batch := tuple(islice(sentences, _AT_ONCE)):
            parts.add(Corpus(batch, "weak labels"))
            written += len(batch)
        if not written:
            raise InputError("the text has no sentences. Is it the right file?")
    warn_of_long_lines(sum(text.lines_too_long for text in opened if isinstance(text, RawText)))
    for warning in _warnings(labeller.coverage, agreement):
        warn(warning)
    lines = [f"{out}: {count(written, 'sentence')}", *_about_names(dictionary, grouped)]
    lines += _about_text(labeller.coverage, time.monotonic() - started)
    if agreement.sentences:
        lines += ["", f"against the true labels of {count(agreement.sentences, 'sentence')}:", agreement.render()]
    typer.echo("\n".join(lines), err=out == "-")


def _open_text(name: str, reading: ReadingSettings, show: Callable[[int, int, int], None]) -> RawText | Corpus:
    """Raw text is read as it is labelled. A corpus is read whole, and its tags are only used to judge the labels."""
    from acclimate.cli.outputs import warn
    from acclimate.cli.reading import is_raw_text, open_raw_text, read

    if is_raw_text(name, reading):
        return open_raw_text(name, reading, show)
    return read(name, reading, tell=warn)


def _labelled(text: RawText | Corpus, labeller: Labeller, agreement: Agreement) -> Iterator[Sentence]:
    """The labelled sentences of a text, judged where true labels are there."""
    from acclimate.data.corpus import Corpus

    true_ones, unlabelled = tee(text if isinstance(text, Corpus) else text.sentences())
    for true, sentence in zip(true_ones, labeller.label(unlabelled), strict=True):
        if isinstance(text, Corpus) and text.kind == "spans" and true.tags is not None:
            labels = {span.label for span in sentence.spans}
            agreement.add(replace(text, sentences=(true,)).open_to(labels)[0], sentence)
        yield sentence


def _warnings(coverage: Coverage, agreement: Agreement) -> Iterator[str]:
    """What a user must hear even with --quiet."""
    if not coverage.spans:
        yield "Nothing was found: every word is O."
    gold_only, found_only = agreement.strangers
    if gold_only and found_only:
        yield (
            f"the true labels {', '.join(gold_only)} were never given, and {', '.join(found_only)} never true: "
            "are they the same under other names? --groups, --set label and --set reading.map rename labels."
        )


def _about_names(dictionary: ConceptDictionary, groups: Groups) -> Iterator[str]:
    from acclimate.data.concepts.labelling import NO_GROUPS

    notes = dictionary.notes
    labels = "labels: the types as they are" if groups.name == NO_GROUPS else f"types to labels: {groups.name}"
    yield f"{count(notes.concepts, 'concept')}, {count(notes.names, 'name')}; {len(dictionary):,} in use; {labels}"
    if notes.left_out:
        yield f"  not taken: {', '.join(f'{number:,} {why}' for why, number in notes.left_out.items())}"
    if notes.other_types:
        types = f"{notes.other_types.total():,} ({_counted(notes.other_types)})"
        yield f"  dropped, as the map {groups.name} does not label their types: {types}"
    if notes.conflicts:
        shown = [f"{each.name} ({each.kept}, not {each.lost})" for each in notes.conflicts[:_MOST]]
        rule = "a main name before a synonym, then the first"
        yield f"  {count(len(notes.conflicts), 'name')} with two labels ({rule}): {', '.join(shown) or '…'}"


def _about_text(coverage: Coverage, seconds: float) -> Iterator[str]:
    speed = f"{coverage.words / max(seconds, 1e-9):,.0f} words/s"
    size = f"{count(coverage.sentences, 'sentence')}, {count(coverage.words, 'word')}"
    yield f"{size} in {seconds:,.1f} s ({speed})"
    covered = f"{100 * coverage.covered_words / max(1, coverage.words):.1f} % of the words"
    labelled = f"{100 * coverage.labelled_sentences / max(1, coverage.sentences):.1f} % of the sentences"
    yield f"{count(coverage.spans.total(), 'span')} ({_counted(coverage.spans)}): {covered}, in {labelled}"
    frequent = Counter({name: number for (name, _), number in coverage.names.items()})
    yield f"  {count(len(frequent), 'name')} met: {_counted(frequent)}"
    if coverage.explained:
        spans = count(coverage.by_abbreviation, "span")
        yield f"  {count(coverage.explained, 'abbreviation')} explained in the text gave {spans}"


def _counted(counts: Counter[str]) -> str:
    shown = [f"{name} {number:,}" for name, number in counts.most_common(_MOST)]
    left = len(counts) - len(shown)
    return ", ".join([*shown, *([f"{left:,} more"] if left else [])]) or "none"
