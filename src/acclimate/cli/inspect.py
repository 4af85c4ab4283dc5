"""`acclimate data inspect`: how far apart two corpora are, and what that suggests, before anything is trained."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from acclimate.cli.options import Json, Map, Overwrite, Quiet
from acclimate.cli.places import check_file_to_write
from acclimate.cli.select import spelled_out

if TYPE_CHECKING:
    from acclimate.data.corpus import Corpus

MOST_READ = 50_000  # sentences of raw text: more of them change no figure that is shown


class InspectCommand(TyperCommand):
    """`--extra` takes all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spelled_out(args, ("--extra",)))


def inspect_command(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Labelled source: a file, or a bundled corpus by name.")
    ] = "news",
    target: Annotated[
        str | None,
        typer.Argument(metavar="TARGET", help="Target: text, or a corpus.", show_default="social"),
    ] = None,
    target_labelled: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="A few labelled target sentences to learn from.")
    ] = None,
    extra: Annotated[
        list[str] | None, typer.Option(metavar="TEXT...", help="More raw text that may be like the target's.")
    ] = None,
    encoder: Annotated[
        str, typer.Option(help="What reads both: acclimate-mini, or a Hugging Face model by name or folder.")
    ] = "acclimate-mini",
    map_name: Map = None,
    sentences: Annotated[
        int, typer.Option(min=4, help="Random sentences of each corpus that the figures of text are of.")
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Decides which sentences are drawn.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Also write it as Markdown.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Look two corpora over: how they differ, what an encoder makes of them, which labels lack support, what to try.

    Example: acclimate data inspect news.conll tweets.txt --target-labelled tweets-100.conll

    Nothing is trained. Tags in TARGET are looked at for label counts only. Without arguments: news and social.
    """
    if out is not None:
        check_file_to_write("--out", out, overwrite, [source, target, target_labelled, *(extra or ())])
    from acclimate.analysis.inspection.facts import Given
    from acclimate.analysis.inspection.inspection import inspect_corpora, markdown, render
    from acclimate.cli.corpora import open_corpus
    from acclimate.cli.progress import sentence_bar, stderr_console, warn
    from acclimate.settings import UsageError, require_seed

    require_seed(seed)
    if target is None:
        if source != "news":
            raise UsageError("TARGET is missing: acclimate data inspect SOURCE TARGET.")
        target = "social"
    console = stderr_console(quiet)
    cut = set()
    with console.status("reading the corpora"):
        labelled = open_corpus(source, tell=warn)
        few = None if target_labelled is None else open_corpus(target_labelled, map_name=map_name, tell=warn)
        text, is_cut = _open_target(target, map_name if few is None else None)
        cut |= {"target"} if is_cut else set()
        more, is_cut = _open_extra(extra or [])
        cut |= {"extra"} if is_cut else set()
    with sentence_bar(console, f"{encoder} reads") as bar:
        task = bar.add_task("", total=None)
        found = inspect_corpora(
            labelled,
            text,
            target_labelled=few,
            extra=more,
            given=Given(source, target, target_labelled, tuple(extra or ()), map_name),
            encoder=encoder,
            sentences=sentences,
            cut=frozenset(cut),
            seed=seed,
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(markdown(found), encoding="utf-8")
    typer.echo(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else render(found))


def _open_target(name: str, map_name: str | None) -> tuple[Corpus, bool]:
    """The target as `adapt` reads it, a bundled one with its unlabelled part; and whether only a part was read."""
    from acclimate.cli.corpora import is_bundled, open_corpus
    from acclimate.cli.progress import warn

    if is_bundled(name):
        corpus = open_corpus(name, map_name=map_name)
        return (corpus if "/" in name else (corpus + open_corpus(f"{name}/unlabelled")).renamed(name)), False
    if _is_raw(name):
        return _beginning([name], name)
    return open_corpus(name, map_name=map_name, tell=warn), False


def _open_extra(names: list[str]) -> tuple[Corpus | None, bool]:
    from acclimate.settings import UsageError

    for name in names:
        if not _is_raw(name):
            raise UsageError(f"--extra {name}: expected a file of raw text, a sentence a line; plain, .gz or .xz.")
    return _beginning(names, "extra") if names else (None, False)


def _is_raw(name: str) -> bool:
    from acclimate.data.selection.ngram_scores import detected_format

    return Path(name).is_file() and detected_format(name) == "text"


def _beginning(files: list[str], name: str) -> tuple[Corpus, bool]:
    from acclimate.cli.progress import warn
    from acclimate.data.corpus import Corpus, Sentence
    from acclimate.data.problems import InputError
    from acclimate.data.selection.text_files import SentenceStream
    from acclimate.evaluation.table import count

    stream = SentenceStream(files)
    rows = list(islice(stream, MOST_READ + 1))
    if stream.lines_too_long:
        warn(f"{count(stream.lines_too_long, 'line')} of more than a megabyte: left out, as no sentence is so long.")
    if not rows:
        raise InputError("there are no words in it.", file=", ".join(files))
    return Corpus.of((Sentence(tuple(row)) for row in rows[:MOST_READ]), name), len(rows) > MOST_READ
