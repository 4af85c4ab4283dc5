"""`acclimate data subset` and `acclimate data split`: smaller corpora, seeded and nested, and corpora in parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acclimate.cli.options import Json, Overwrite, Quiet, ReadingSet
from acclimate.cli.places import check_file_to_write, check_folder_to_write, check_place_to_write, remark_on_folder

if TYPE_CHECKING:
    from acclimate.data.corpus import Corpus
    from acclimate.data.subsets import Size

_Seed = Annotated[int, typer.Option(help="Which sentences: the same seed gives the same ones.")]


def subset_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="A labelled or unlabelled corpus.")],
    result: Annotated[str, typer.Argument(metavar="OUT", help="Where to write; - for standard output.")],
    sentences: Annotated[int | None, typer.Option(min=1, metavar="N", help="So many sentences.")] = None,
    words_share: Annotated[float | None, typer.Option(help="Sentences until this share of the words, 0 to 1.")] = None,
    few_shot: Annotated[int | None, typer.Option(min=1, metavar="K", help="At least K examples of each label.")] = None,
    seed: _Seed = 0,
    assignments: ReadingSet = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Take a part of a corpus. Smaller parts lie within larger ones of the same seed."""
    from acclimate.cli.data_settings import reading_of
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.cli.reading import read
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.table import count

    check_place_to_write("OUT", result, overwrite, [source])
    console = stderr_console(quiet)
    corpus = read(source, reading_of(assignments), tell=warn)
    taken, remark = _take(corpus, sentences, words_share, few_shot, seed)
    written = write_corpus(taken, result)
    size = f"{count(len(taken), 'sentence')}, {count(taken.word_count, 'word')}"
    console.print(f"{taken.name}: {size}{remark}")
    if others := remark_on_folder(result, written):
        warn(others)


def _take(
    corpus: Corpus, sentences: int | None, words_share: float | None, few_shot: int | None, seed: int
) -> tuple[Corpus, str]:
    from acclimate.data import subsets
    from acclimate.settings import UsageError

    if sum(size is not None for size in (sentences, words_share, few_shot)) != 1:
        raise UsageError("Say how much to take: one of --sentences, --words-share and --few-shot.")
    if sentences is not None:
        return subsets.take_sentences(corpus, sentences, seed), ""
    if words_share is not None:
        return subsets.take_share_of_words(corpus, words_share, seed), ""
    assert few_shot is not None
    found = subsets.few_shot(corpus, few_shot, seed)
    short = ", ".join(f"{label} ({count})" for label, count in found.short.items())
    return found.corpus, f"; fewer than {few_shot} examples exist of {short}" if short else ""


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
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Divide a corpus, by default into train 0.8, dev 0.1 and test 0.1.

    No sentence (or document) stands in two parts; equal sentences go to the same one.

    With --few-labels the parts are labelled, dev, unlabelled and test. Dev and test do not depend on N.
    """
    from acclimate.cli.data_settings import reading_of
    from acclimate.cli.progress import stderr_console, warn
    from acclimate.cli.reading import read
    from acclimate.data.subsets import FEW_SHOT_PARTS, few_shot_split, split
    from acclimate.data.writing import write_corpus
    from acclimate.evaluation.table import count
    from acclimate.settings import UsageError

    if parts and few_labels is not None:
        raise UsageError("--part and --few-labels both say what the parts are: give one of them.")
    check_folder_to_write("--out", out, "a corpus in parts")
    sizes = _sizes(parts or ["train=0.8", "dev=0.1", "test=0.1"])
    for name in sizes if few_labels is None else FEW_SHOT_PARTS:
        check_file_to_write("--out", out / f"{name}.conll", overwrite, [source])
    console = stderr_console(quiet)
    corpus = read(source, reading_of(assignments), tell=warn)
    divided = split(corpus, sizes, seed) if few_labels is None else few_shot_split(corpus, few_labels, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    for name, corpus in divided.items():
        write_corpus(corpus, out / f"{name}.conll")
        console.print(f"{out / name}.conll: {count(len(corpus), 'sentence')}")
    if as_json:
        typer.echo(json.dumps({name: len(corpus) for name, corpus in divided.items()}))


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
