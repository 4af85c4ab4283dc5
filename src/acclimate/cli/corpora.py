"""`acclimate data check`, `convert`, `subset`, `split` and `augment`: labelled corpora."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from acclimate.cli.options import AugmentSet, Json, Map, Overwrite, ReadingSet
from acclimate.spelling import count

if TYPE_CHECKING:
    from acclimate.data.corpus import Corpus
    from acclimate.data.subsets import Size
    from acclimate.methods.augmentation.anchors import Augmentation

_EXAMPLES = 3  # new sentences of each domain that are printed
_Seed = Annotated[int, typer.Option(help="Which sentences: the same seed gives the same ones.")]


def check_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS...", help="Files of one data set, the training part first; or folders."),
    ],
    assignments: ReadingSet = None,
    as_json: Json = False,
) -> None:
    """Check a data set: counts, labels, tag scheme, duplicates, sentences that two parts share, oddities.

    The first file counts as training data. The others are compared with it.

    Exit code 1 when something is wrong enough to be called an error.
    """
    from acclimate.cli.reading import expand, read, reading_of
    from acclimate.data.checks import check_corpora

    reading = reading_of(assignments)
    report = check_corpora({name: read(place, reading) for name, place in expand(files).items()})
    typer.echo(json.dumps(report.as_dict(), ensure_ascii=False) if as_json else report.render())
    if report.worst == "error":
        raise typer.Exit(1)


def convert_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="What to read: a file, a folder, - or a bundled corpus.")],
    result: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; - for standard output.")],
    to_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT; by its name if not given.")
    ] = None,
    scheme: Annotated[
        Literal["IOB1", "IOB2", "BIOES", "IO"], typer.Option(help="Tag scheme of OUT, where it has tags.")
    ] = "IOB2",
    map_name: Map = None,
    labelled_only: Annotated[
        bool, typer.Option("--labelled-only", help="Leave out sentences that nobody has annotated.")
    ] = False,
    assignments: ReadingSet = None,
    overwrite: Overwrite = False,
) -> None:
    """Convert a corpus into another format.

    The file names say the formats: .conll, .jsonl, .csv, …, also .gz and .xz. --to and reading.format win.
    """
    from acclimate.cli.outputs import check_place_to_write, stderr_console, warn
    from acclimate.cli.reading import read, reading_of
    from acclimate.data.problems import InputError

    check_place_to_write("OUT", result, overwrite, [source], to_format)
    corpus = read(source, reading_of(assignments, map_name), tell=warn)
    if labelled_only:
        corpus = corpus.labelled()
        if not len(corpus):
            raise InputError("no sentence has tags, so --labelled-only leaves nothing to write.", file=source)
    size = _written(corpus, result, to_format, scheme)
    as_brat = ", as brat" if os.path.isdir(result) else ""  # nobody may have asked for it: a folder is read as such
    stderr_console().print(f"{source} ({corpus.notes.format}) → {result}{as_brat}: {size}")


def subset_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="A labelled or unlabelled corpus.")],
    result: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; - for standard output.")],
    sentences: Annotated[int | None, typer.Option(min=1, metavar="N", help="So many sentences.")] = None,
    words_share: Annotated[float | None, typer.Option(help="Sentences until this share of the words, 0 to 1.")] = None,
    few_shot: Annotated[int | None, typer.Option(min=1, metavar="K", help="At least K examples of each label.")] = None,
    seed: _Seed = 0,
    assignments: ReadingSet = None,
    overwrite: Overwrite = False,
) -> None:
    """Take a part of a corpus. Smaller parts lie within larger ones of the same seed."""
    from acclimate.cli.outputs import check_place_to_write, stderr_console, warn
    from acclimate.cli.reading import read, reading_of
    from acclimate.data import subsets
    from acclimate.settings import UsageError

    check_place_to_write("OUT", result, overwrite, [source])
    if sum(size is not None for size in (sentences, words_share, few_shot)) != 1:
        raise UsageError("Say how much to take: one of --sentences, --words-share and --few-shot.")
    corpus, remark = read(source, reading_of(assignments), tell=warn), ""
    if sentences is not None:
        taken = subsets.take_sentences(corpus, sentences, seed)
    elif words_share is not None:
        taken = subsets.take_share_of_words(corpus, words_share, seed)
    else:
        assert few_shot is not None
        taken, rare = subsets.few_shot(corpus, few_shot, seed)
        short = ", ".join(f"{label} ({count})" for label, count in rare.items())
        remark = f"; fewer than {few_shot} examples exist of {short}" if short else ""
    stderr_console().print(f"{taken.name}: {_written(taken, result)}{remark}")


def _written(corpus: Corpus, result: str, to_format: str | None = None, scheme: str = "IOB2") -> str:
    """Write a corpus as a format can hold it: guesses as their likeliest tags, where there is no place for scores. Its
    size in words."""
    from acclimate.cli.outputs import warn
    from acclimate.data.writing import format_to_write, write_corpus

    format = format_to_write(result, to_format, corpus.is_labelled)
    if corpus.guess_count and format not in ("jsonl", "text"):
        what = f"{format} has no place for scores, so the likeliest tags are written"
        warn(f"{result}: {what}. Name it .jsonl to keep them.")
        corpus = corpus.likeliest()
    write_corpus(corpus, result, to_format, scheme=scheme)
    _warn_of_annotated(corpus)
    return f"{count(len(corpus), 'sentence')}, {count(corpus.word_count, 'word')}"


def _warn_of_annotated(corpus: Corpus) -> None:
    """Tell what a file of the corpus cannot say."""
    from acclimate.cli.outputs import warn

    if corpus.annotates is not None and corpus.is_labelled:
        names = corpus.annotates
        warn(
            f"only {', '.join(names)} were looked for in {corpus.name}, and a file cannot say so. Say it where you "
            f"read the file: --source FILE,annotates={'+'.join(names)}, or `annotates: [{', '.join(names)}]` in a "
            "label map."
        )


def split_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="The corpus to divide.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the parts, one file each.")],
    parts: Annotated[
        list[str] | None, typer.Option("--part", metavar="NAME=SIZE", help="A share, a number of sentences, or rest.")
    ] = None,
    few_labels: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Instead: N labelled, 100 dev, half of the rest test; the others lose their tags."
        ),
    ] = None,
    seed: _Seed = 0,
    assignments: ReadingSet = None,
    overwrite: Overwrite = False,
) -> None:
    """Divide a corpus, by default into train 0.8, dev 0.1 and test 0.1.

    No sentence (or document) stands in two parts; equal sentences go to the same one.

    With --few-labels the parts are labelled, dev, unlabelled and test. Dev and test do not depend on N.
    """
    from acclimate.cli.outputs import check_file_to_write, check_folder_to_write, stderr_console, warn
    from acclimate.cli.reading import read, reading_of
    from acclimate.data.subsets import FEW_SHOT_PARTS, few_shot_split, split
    from acclimate.data.writing import write_corpus
    from acclimate.settings import UsageError

    if parts and few_labels is not None:
        raise UsageError("--part and --few-labels both say what the parts are: give one of them.")
    check_folder_to_write("--out", out, "a corpus in parts")
    sizes = _sizes(parts or ["train=0.8", "dev=0.1", "test=0.1"])
    names = tuple(sizes) if few_labels is None else FEW_SHOT_PARTS

    def check_parts(ending: str) -> None:
        for name in names:
            check_file_to_write("--out", out / f"{name}.{ending}", overwrite, [source])

    check_parts("conll")  # the usual ending, before anything is read
    whole, ending = read(source, reading_of(assignments), tell=warn), "conll"
    if whole.guess_count:
        ending = "jsonl"  # which keeps the scores
        check_parts(ending)
    divided = split(whole, sizes, seed) if few_labels is None else few_shot_split(whole, few_labels, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    for name, corpus in divided.items():
        write_corpus(corpus, out / f"{name}.{ending}")
        stderr_console().print(f"{out / name}.{ending}: {count(len(corpus), 'sentence')}")
    _warn_of_annotated(whole)


def _sizes(parts: list[str]) -> dict[str, Size]:
    from acclimate.settings import UsageError

    sizes: dict[str, Size] = {}
    for part in parts:
        name, equals, size = part.partition("=")
        if name in sizes:
            raise UsageError(f"--part {part}: there is a part {name} already.")
        try:
            sizes[name] = "rest" if size == "rest" else float(size) if "." in size else int(size)
        except ValueError:
            equals = ""
        if not equals or not name or "/" in name:
            raise UsageError(f"--part {part}: expected NAME=SIZE, for example dev=0.1, test=500 or train=rest.")
    return sizes


def augment_command(
    source: Annotated[str, typer.Option(metavar="CORPUS", help="Labelled sentences of the source domain.")],
    target: Annotated[str, typer.Option(metavar="CORPUS", help="The few labelled sentences of the target domain.")],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where to write; the format by its name. - prints.")],
    assignments: AugmentSet = None,
    overwrite: Overwrite = False,
) -> None:
    """Make more labelled sentences: replace entities by others of the same type, from the other domain.

    Example: acclimate data augment --source news --target few.conll --out augmented.conll

    FILE holds the new sentences only; train on them together with the old ones.
    """
    from acclimate.cli.data_settings import AugmentSettings
    from acclimate.cli.outputs import check_place_to_write, warn
    from acclimate.cli.reading import read, settings_of
    from acclimate.data.writing import write_corpus
    from acclimate.methods.augmentation.anchors import augment_with_anchors
    from acclimate.settings import UsageError

    settings = settings_of(AugmentSettings, assignments)
    if settings.ratio is not None and "source_sentences" in settings.model_fields_set:
        raise UsageError("source_sentences and ratio both say how many source sentences to use: give one of them.")
    check_place_to_write("--out", out, overwrite, [source, target], settings.format, has_tags=True)
    made = augment_with_anchors(
        read(source, settings.reading.of_source(), tell=warn),
        read(target, settings.reading.of_target(), tell=warn),
        target_variants=settings.target_variants,
        source_variants=settings.source_variants,
        source_sentences=settings.source_sentences,
        ratio=settings.ratio,
        all_entities=settings.all_entities,
        seed=settings.seed,
    )
    write_corpus(made.corpus, out, settings.format, scheme=settings.scheme)
    for remark in made.remarks():
        warn(remark)
    typer.echo("\n".join(_account(made, out)), err=out == "-")


def _account(made: Augmentation, out: str) -> list[str]:
    """What was made, with some examples of each domain, each from another sentence."""
    lines = [f"{out}: {count(len(made.variants), 'new sentence')}, seed {made.seed}"]
    for side, report in (("target", made.target), ("source", made.source)):
        if report.variants_each:
            replaced = ", ".join(f"{label} {count:,}" for label, count in report.replaced.items()) or "none"
            used = f"{report.used:,} of {report.sentences:,} sentences, {report.variants_each} variants each"
            lines.append(f"{side}: {report.made:,} from {used}; entities replaced: {replaced}")
            variants = {one.original.words: one for one in made.variants if one.side == side}
            lines += [f"  {variant}" for variant in list(variants.values())[:_EXAMPLES]]
    return lines
