"""Every file that a command reads again, with flipped bytes or cut short: it is named, or made again and told of. Never
a traceback, and never silence."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import BertForMaskedLM
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.writing import write_corpus
from acclimate.model.encoders.pretrained import load_backbone, load_masked_language_model, load_tokenizer
from acclimate.model.language_model import save_language_model
from acclimate.model.storage import CHECKSUMS, MANIFEST, StorageError, listed_files, verify
from acclimate.model.tagger import Tagger
from acclimate.reporting.report import Look, report_page
from acclimate.runs.pretrain import PretrainSettings, pretrain
from acclimate.runs.train import adapt
from acclimate.training.run import Nobody

SMALL = [
    *("--encoder", "character-cnn-lstm", "--set", "tagger.lstm.word_width=6", "--set", "tagger.lstm.lstm_width=7"),
    *("--set", "tagger.lstm.character_width=4", "--set", "tagger.lstm.character_filters=5"),
    *("--set", "training.updates=4", "--set", "training.words_per_batch=40", "--quiet"),
]


def acclimate(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def damages(file: Path) -> Iterator[str]:
    """Spoil a file in one way after the other, and put it right in the end."""
    whole = file.read_bytes()
    middle = len(whole) // 2
    for name, content in {
        "a flipped bit in the middle": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "flipped bits at the end": whole[:-1] + bytes([whole[-1] ^ 0xFF]),
        "many flipped bytes": bytes(byte ^ 0x55 if number % 7 == 0 else byte for number, byte in enumerate(whole)),
        "cut in half": whole[:middle],
        "one byte short": whole[:-1],
        "one byte more": whole + b" ",
        "empty": b"",
    }.items():
        file.write_bytes(content)
        yield name
    file.write_bytes(whole)


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def require_found(folder: Path, name: str, *readings: Callable[[Path], object]) -> None:
    """Each way to read the folder names the file, whatever has happened to it."""
    for what in damages(folder / name):
        for read in readings:
            with pytest.raises((StorageError, InputError)) as failure:
                read(folder)
            assert Path(name).name in str(failure.value), what
    for read in readings:
        read(folder)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory, make_corpus: Callable[..., Corpus], tweets: Corpus) -> list[str]:
    home = tmp_path_factory.mktemp("corpora")
    write_corpus(make_corpus(24), home / "news.conll")
    write_corpus(make_corpus(8, seed=5), home / "dev.conll")
    write_corpus(tweets, home / "tweets.conll")
    news, dev, target = (str(home / f"{name}.conll") for name in ("news", "dev", "tweets"))
    given = {"source": news, "source-dev": dev, "target": target, "target-test": target}
    options = [word for name, file in given.items() for word in (f"--{name}", file)]
    return [*options, "--set", f"source_test={dev}"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, corpora: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("damage") / "run"
    done = acclimate("adapt", *corpora, *SMALL, "--recipe", "self-training", "--out", folder)
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory, corpora: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("damage") / "comparison"
    chosen = ("--recipes", "source-only,self-training", "--seeds", "1", "--set", "selectors=entropy")
    done = acclimate("compare", *corpora, *SMALL, *chosen, "--out", folder)
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("kind", ["bert", "character-cnn-lstm"])
def test_a_tagger(tmp_path: Path, build: Callable[..., Tagger], kind: str) -> None:
    build(kind).save(tmp_path / "tagger")
    assert len(files_in(tmp_path / "tagger")) == (8 if kind == "bert" else 4)
    for name in files_in(tmp_path / "tagger"):
        require_found(tmp_path / "tagger", name, Tagger.load)


def test_an_encoder_of_one_s_own(tmp_path: Path, bert: str) -> None:
    model, tokenizer = BertForMaskedLM.from_pretrained(bert), load_tokenizer(bert)
    save_language_model(model, tokenizer, tmp_path / "mine", False, {"updates": 1}, {"README.md": "mine"})
    for name in files_in(tmp_path / "mine"):
        require_found(tmp_path / "mine", name, load_backbone, load_tokenizer, load_masked_language_model)


def test_an_encoder_that_the_command_line_names(tmp_path: Path, bert: str, corpora: list[str]) -> None:
    model, tokenizer = BertForMaskedLM.from_pretrained(bert), load_tokenizer(bert)
    save_language_model(model, tokenizer, tmp_path / "mine", False, {"updates": 1}, {})
    weights = tmp_path / "mine" / "model.safetensors"
    whole = bytearray(weights.read_bytes())
    whole[-1] ^= 1
    weights.write_bytes(whole)
    frozen = f"tagger.lstm.contextual.encoder={weights.parent}"
    for more in (("--encoder", weights.parent), ("--encoder", "character-cnn-lstm", "--set", frozen)):
        done = acclimate("adapt", *corpora, *more, "--out", tmp_path / "run")
        assert done.exit_code == 1, done.output
        assert "model.safetensors: damaged" in done.output
    assert not (tmp_path / "run" / "manifest.json").exists()


def read_briefly(folder: Path) -> str:
    return report_page(folder, Look(quick=True))


@pytest.mark.parametrize("name", ["report.json", "predictions.json", "domains.json", "settings.yaml", "manifest.json"])
def test_a_run(run: Path, name: str) -> None:
    require_found(run, name, read_briefly)


def test_the_features_of_a_run(run: Path) -> None:
    """The page is made without the map, and says why."""
    for _ in damages(run / "features.safetensors"):
        assert "features.safetensors: damaged" in report_page(run)
    assert "features.safetensors: damaged" not in report_page(run)


def test_the_records_of_a_training(run: Path) -> None:
    logs = [name for name in files_in(run) if name.startswith("training/") and name.endswith(".jsonl")]
    assert len(logs) == 2
    for name in logs:
        require_found(run, name, read_briefly)
        require_found(run, str(Path(name).with_name("checksums.json")), read_briefly)
        for _ in damages(run / name):
            done = acclimate("report", run, "--only", "curves")
            assert done.exit_code == 1, done.output
            assert "records.jsonl: damaged" in done.output


def test_every_file_of_a_run_is_sealed(run: Path) -> None:
    """But for the note of what it was begun with, which is compared with what is given. Taggers kept beside have
    manifests of their own."""
    manifests = list(run.rglob(MANIFEST))
    listed = {manifest.parent / name for manifest in manifests for name in listed_files(manifest.parent) or {}}
    others = {run / name for name in files_in(run)} - listed - set(manifests)
    assert {path.name for path in others} <= {"records.jsonl", CHECKSUMS, "run.json"}


@pytest.mark.parametrize("name", ["comparison.json", "material.json", "settings.yaml", "checksums.json"])
def test_a_comparison(comparison: Path, name: str) -> None:
    require_found(comparison, name, read_briefly)


@pytest.mark.parametrize("name", ["report.json", "predictions.json", "run.json", "seen.json", "manifest.json"])
def test_a_run_of_a_comparison(comparison: Path, name: str) -> None:
    folder = comparison / "runs" / "self-training" / "seed-1"
    require_found(folder, name, read_briefly)


def test_a_damaged_run_of_a_comparison_is_told_and_made_again(
    comparison: Path, corpora: list[str], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(comparison, tmp_path / "comparison"))
    before = (folder / "comparison.json").read_text()
    weights = folder / "runs" / "source-only" / "seed-1" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    chosen = ("--recipes", "source-only,self-training", "--seeds", "1", "--set", "selectors=entropy")
    loud = [word for word in SMALL if word != "--quiet"]
    done = acclimate("compare", *corpora, *loud, *chosen, "--out", folder)
    assert done.exit_code == 0, done.output
    assert "seed-1 is damaged: this run is made again" in done.output
    assert len((folder / "comparison.json").read_text()) > len(before) // 2
    read_briefly(folder)


class Stopped(Exception):
    """A training that ends in the middle."""


class StopsAt(Nobody):
    def __init__(self, update: int) -> None:
        self.update = update

    def advance(self, progress: Any, losses: Any) -> None:
        if progress.update == self.update:
            raise Stopped


def test_a_checkpoint(tmp_path: Path, build: Callable[..., Tagger], news: Corpus) -> None:
    training = {"updates": 8, "checkpoint_every": 3, "words_per_batch": 60}
    with pytest.raises(Stopped):
        adapt(build(), news, recipe="source-only", training=training, out=tmp_path, watcher=StopsAt(7))
    older, newest = sorted(tmp_path.glob("training/*/*/checkpoint-*"))
    assert len(files_in(newest)) == 6
    for name in files_in(newest):
        require_found(newest, name, verify)
    (newest / "step.safetensors").write_bytes((newest / "step.safetensors").read_bytes()[:-1])
    with pytest.warns(UserWarning, match=r"step\.safetensors: damaged.*passed over"):
        adapt(build(), news, recipe="source-only", training=training, out=tmp_path)
    assert older.name == "checkpoint-000000003"


def test_the_pieces_of_a_pre_training(tmp_path: Path, make_corpus: Callable[..., Corpus], bert: str) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(sentence.words) for sentence in make_corpus(400)))
    settings = PretrainSettings.model_validate(
        {
            "text": (str(text),),
            "tokenizer": bert,
            "held_out": 0.1,
            "encoder": {"layers": 1, "width": 16, "heads": 2, "row": 32},
            "training": {"updates": 6, "rows_per_batch": 4, "checkpoint_every": 2, "evaluate_every": 3},
        }
    )
    pretrain(settings, tmp_path / "whole")
    with pytest.raises(Stopped):
        pretrain(settings, tmp_path / "begun", StopsAt(4))
    for name in ("text.pieces", "held-out.pieces"):
        spoilt = shutil.copytree(tmp_path / "begun", tmp_path / name)
        pieces = spoilt / "training" / "pieces" / name
        pieces.write_bytes(bytes(byte ^ 0x55 for byte in pieces.read_bytes()))
        told: list[str] = []
        pretrain(settings, spoilt, tell=told.append)
        assert any(f"{name}: damaged" in line and "again" in line for line in told)
        weights = [folder / "model.safetensors" for folder in (spoilt, tmp_path / "whole")]
        assert weights[0].read_bytes() == weights[1].read_bytes()


def test_the_tokenizer_of_a_pre_training(tmp_path: Path, make_corpus: Callable[..., Corpus], bert: str) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(sentence.words) for sentence in make_corpus(400)))
    sizes = {"layers": 1, "width": 16, "heads": 2, "row": 32}
    settings = PretrainSettings.model_validate(
        {"text": (str(text),), "tokenizer": bert, "encoder": sizes, "training": {"updates": 4, "rows_per_batch": 4}}
    )
    with pytest.raises(Stopped):
        pretrain(settings, tmp_path / "begun", StopsAt(2))
    for _ in damages(tmp_path / "begun" / "training" / "tokenizer" / "tokenizer.json"):
        with pytest.raises(StorageError, match=r"tokenizer\.json: damaged"):
            pretrain(settings, tmp_path / "begun")
