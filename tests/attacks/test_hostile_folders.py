"""Folders that somebody made to do harm. Opening one never runs code, and never writes, deletes or reads elsewhere."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acclimate.data.corpus import Corpus
from acclimate.model.encoders.pretrained import (
    EncoderNotFound,
    load_backbone,
    load_masked_language_model,
    load_tokenizer,
)
from acclimate.model.storage import (
    MANIFEST,
    StorageError,
    _manifest_bytes,
    atomic_folder,
    finish_saving,
    remove_listed,
    seal,
    verify,
)
from acclimate.model.tagger import Tagger

ARRIVING = ".arriving"


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that hostile code would leave behind. Whoever asks on standard input is told to go on."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 20))
    return tmp_path / "the code ran"


@pytest.fixture
def encoder(tmp_path: Path, bert: str) -> Path:
    return shutil.copytree(bert, tmp_path / "foreign")


@pytest.fixture
def tagger(tmp_path: Path, build: Callable[..., Tagger]) -> Path:
    build("bert").save(tmp_path / "tagger")
    return tmp_path / "tagger"


def change(file: Path, **entries: Any) -> None:
    content = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**content, **entries}))


def put_code(folder: Path, canary: Path) -> None:
    (folder / "evil.py").write_text(
        f"open({str(canary)!r}, 'w').close()\n"
        "from transformers import BertConfig as Config, BertForTokenClassification as Model\n"
        "from transformers import BertTokenizerFast as Tokenizer\n"
    )


class Pickled:
    """Makes a file when it is read."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.canary), "w")


CODE: dict[str, tuple[str, dict[str, Any]]] = {
    "a class of its own": (
        "config.json",
        {
            "model_type": "evil",
            "auto_map": {"AutoConfig": "evil.Config", "AutoModelForTokenClassification": "evil.Model"},
        },
    ),
    "a class beside a known one": ("config.json", {"auto_map": {"AutoModelForTokenClassification": "evil.Model"}}),
    "code of another repository": ("config.json", {"auto_map": {"AutoConfig": "some/where--evil.Config"}}),
    "a class deep inside": ("config.json", {"text_config": [{"auto_map": {"AutoConfig": "evil.Config"}}]}),
    "a tokenizer": ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "evil.Tokenizer"]}}),
    "a tokenizer, as once": ("tokenizer_config.json", {"auto_map": ["evil.Tokenizer", "evil.Tokenizer"]}),
    "a kernel": ("config.json", {"attn_implementation": "some/kernel"}),
    "a kernel, within": ("config.json", {"_attn_implementation_internal": "some/kernel@main"}),
    "a kernel for a part": ("config.json", {"attn_implementation": {"": "sdpa", "text_config": "some/kernel"}}),
    "a kernel that stands in": ("config.json", {"_attn_implementation": "flash_attention_2"}),
    "a kernel of experts": ("config.json", {"experts_implementation": "some/kernel"}),
    "a quantizer": ("config.json", {"quantization_config": {"quant_method": "mxfp4"}}),
    "a pickle under another name": ("config.json", {"transformers_weights": "adapter_model.bin"}),
    "an adapter": ("adapter_config.json", {"base_model_name_or_path": "some/where"}),
    "shards elsewhere": ("model.safetensors.index.json", {"metadata": {}, "weight_map": {"a": "../other.safetensors"}}),
    "shards at the root": ("model.safetensors.index.json", {"metadata": {}, "weight_map": {"a": "/a.safetensors"}}),
    "shards that are pickles": ("model.safetensors.index.json", {"metadata": {}, "weight_map": {"a": "model.bin"}}),
}


@pytest.mark.parametrize("attack", CODE)
def test_an_encoder_that_asks_for_code_is_refused(encoder: Path, canary: Path, attack: str) -> None:
    name, entries = CODE[attack]
    put_code(encoder, canary)
    change(encoder / name, **entries)
    for load in (load_backbone, load_tokenizer, load_masked_language_model):
        with pytest.raises(EncoderNotFound, match=name.replace(".", r"\.")):
            load(encoder)
    assert not canary.exists()


@pytest.mark.parametrize("attack", CODE)
def test_a_tagger_that_asks_for_code_is_refused(tagger: Path, canary: Path, attack: str) -> None:
    name, entries = CODE[attack]
    for folder in (tagger, tagger / "encoder"):
        put_code(folder, canary)
    change(tagger / "encoder" / name, **entries)
    seal(tagger)
    with pytest.raises(StorageError, match=name.replace(".", r"\.")):
        Tagger.load(tagger)
    assert not canary.exists()


def test_a_model_of_the_hub_that_asks_for_code_is_refused(
    bert: str, canary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    snapshot = tmp_path / "cache" / "models--some--where" / "snapshots" / ("0" * 40)
    shutil.copytree(bert, snapshot)
    (tmp_path / "cache" / "models--some--where" / "refs").mkdir()
    (tmp_path / "cache" / "models--some--where" / "refs" / "main").write_text("0" * 40)
    assert load_backbone("some/where") is not None
    assert load_tokenizer("some/where") is not None
    put_code(snapshot, canary)
    change(snapshot / "config.json", auto_map={"AutoModelForTokenClassification": "evil.Model"})
    for load in (load_backbone, load_tokenizer, load_masked_language_model):
        with pytest.raises(EncoderNotFound, match=r"some/where: config\.json names Python code"):
            load("some/where")
    assert not canary.exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.bin", "model.safetensors"])
def test_a_pickle_is_never_opened(encoder: Path, canary: Path, name: str) -> None:
    (encoder / "model.safetensors").unlink()
    (encoder / name).write_bytes(pickle.dumps({"weights": Pickled(canary)}))
    for load in (load_backbone, load_masked_language_model):
        why = "could not be loaded" if name == "model.safetensors" else "no safetensors weights.* pickles"
        with pytest.raises(EncoderNotFound, match=why):
            load(encoder)
    assert not canary.exists()


ODD: dict[str, dict[str, Any]] = {
    "fewer than no layers": {"num_hidden_layers": -1},
    "layers that are not there": {"num_hidden_layers": 4},
    "no heads": {"num_attention_heads": -2},
    "a word for a number": {"hidden_size": "wide"},
    "nothing for a number": {"vocab_size": None},
    "a huge table": {"vocab_size": 10**12},
    "a huge width": {"hidden_size": 2**40},
    "positions without end": {"max_position_embeddings": 10**12},
    "an unknown activation": {"hidden_act": "__import__('os')"},
    "padding outside": {"pad_token_id": 10**9},
    "a list for a type": {"model_type": ["bert"]},
    "another type": {"model_type": "gpt2"},
}


@pytest.mark.parametrize("oddity", ODD)
def test_an_odd_configuration_is_refused_in_words(encoder: Path, oddity: str) -> None:
    change(encoder / "config.json", **ODD[oddity])
    with pytest.raises(EncoderNotFound, match="foreign"):
        load_backbone(encoder)


def test_layers_without_end_are_refused_before_they_are_built(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(encoder / "config.json", num_hidden_layers=100_000)
    monkeypatch.setattr("transformers.AutoModelForTokenClassification.from_pretrained", pytest.fail)
    with pytest.raises(EncoderNotFound, match="num_hidden_layers 100000: expected a number from 0 to 1000"):
        load_backbone(encoder)


@pytest.mark.parametrize("content", ["", "[]", "null", "{", "[" * 100_000, "\xff"], ids=range(6))
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_file_that_holds_something_else_is_refused_in_words(encoder: Path, name: str, content: str) -> None:
    (encoder / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(EncoderNotFound, match="foreign"):
        load_tokenizer(encoder)


@pytest.mark.parametrize("damage", ["header", "length", "cut", "empty", "offsets"])
def test_damaged_safetensors_are_refused_in_words(encoder: Path, tagger: Path, damage: str) -> None:
    for file in (
        encoder / "model.safetensors",
        tagger / "encoder" / "model.safetensors",
        tagger / "weights.safetensors",
    ):
        whole = file.read_bytes()
        file.write_bytes(
            {
                "header": whole[:8] + b"\x00" * 40 + whole[48:],
                "length": (2**60).to_bytes(8, "little") + whole[8:],
                "cut": whole[: len(whole) // 2],
                "empty": b"",
                "offsets": whole.replace(b'"data_offsets":[', b'"data_offsets":[9', 1),
            }[damage]
        )
        if file.is_relative_to(encoder):
            with pytest.raises(EncoderNotFound, match="could not be loaded"):
                load_backbone(encoder)
        else:
            seal(tagger)
            with pytest.raises(StorageError, match="tagger"):
                Tagger.load(tagger)
        file.write_bytes(whole)


@pytest.mark.parametrize(
    "setting", [{"lstm_width": 10**6}, {"lstm_layers": 10**9}, {"highways": 10**9}, {"word_width": 10**10}], ids=str
)
def test_a_description_that_asks_for_all_memory_is_refused(
    tmp_path: Path, build: Callable[..., Tagger], setting: dict[str, int]
) -> None:
    build("character-cnn-lstm").save(tmp_path / "tagger")
    description = json.loads((tmp_path / "tagger" / "tagger.json").read_text())
    description["encoder_description"]["settings"] |= setting
    (tmp_path / "tagger" / "tagger.json").write_text(json.dumps(description))
    seal(tmp_path / "tagger")
    with pytest.raises(StorageError, match=f"do not fit|{next(iter(setting))}"):
        Tagger.load(tmp_path / "tagger")


@pytest.mark.parametrize("entry", ["labels", "kind", "scheme", "head", "crf", "encoder", "encoder_description"])
@pytest.mark.parametrize("value", [None, [], {}, "x", 7, ["x", 7]], ids=str)
def test_an_odd_description_is_refused_in_words(
    tmp_path: Path, small_tagger: bytes, entry: str, value: Any, unpack: Callable[[bytes, Path], None]
) -> None:
    unpack(small_tagger, tmp_path / "tagger")
    file = tmp_path / "tagger" / "tagger.json"
    change(file, **{entry: value})
    seal(tmp_path / "tagger")
    with pytest.raises(StorageError, match="tagger"):
        Tagger.load(tmp_path / "tagger")


OUTSIDE = [
    "../victim",
    "../../victim",
    "sub/../../victim",
    "{root}/victim",
    "",
    ".",
    "./model",
    "a//b",
    "C:victim",
    "..\\victim",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with something in it that nobody may touch, and another one inside."""
    (tmp_path / "victim").write_text("keep me")
    return tmp_path


def everything(folder: Path) -> dict[str, bytes | str]:
    """All that stands below a folder: the content of files, where links lead, and folders."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else (path.read_bytes() if path.is_file() else "folder")
        for path in sorted(folder.rglob("*"))
    }


def sealed(folder: Path, **contents: str) -> Path:
    with atomic_folder(folder) as aside:
        for name, text in contents.items():
            (aside / name).write_text(text)
    return folder


def list_in(folder: Path, name: str) -> None:
    """A manifest that is intact and lists one more file."""
    files = json.loads((folder / MANIFEST).read_bytes())["files"]
    (folder / MANIFEST).write_bytes(_manifest_bytes({**files, name: {"bytes": 7, "sha256": "0"}}))


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_manifest_that_names_files_elsewhere_is_refused(home: Path, name: str) -> None:
    folder = sealed(home / "folder", model="one")
    list_in(folder, name.format(root=home))
    before = everything(home)
    for read in (verify, Tagger.load):
        with pytest.raises(StorageError, match="no plain name"):
            read(folder)
    assert everything(home) == before
    sealed(folder, weights="two")  # writing over it takes nothing away that it names
    assert (home / "victim").read_text() == "keep me"


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_is_removed_with_a_folder(home: Path, name: str) -> None:
    folder = sealed(home / "folder", model="one")
    list_in(folder, name.format(root=home))
    remove_listed(folder)
    assert (home / "victim").read_text() == "keep me"


def test_nothing_behind_a_link_is_removed_with_a_folder(home: Path) -> None:
    folder = sealed(home / "folder", model="one")
    (folder / "sub").symlink_to(home)
    list_in(folder, "sub/victim")
    remove_listed(folder)
    assert (home / "victim").read_text() == "keep me"


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_interrupted_save_that_names_files_elsewhere_is_not_finished(home: Path, name: str) -> None:
    folder = sealed(home / "folder", model="one")
    list_in(folder, name.format(root=home))  # which the new version leaves behind
    sealed(folder / ARRIVING, model="two")
    before = everything(home)
    with pytest.raises(StorageError):
        Tagger.load(folder)
    assert everything(home) == before
    finish_saving(folder)
    assert (home / "victim").read_text() == "keep me"
    list_in(sealed(folder / ARRIVING, model="three"), name.format(root=home))
    with pytest.raises(StorageError, match="no plain name"):
        finish_saving(folder)
    assert (home / "victim").read_text() == "keep me"


def test_an_interrupted_save_does_not_go_through_a_linked_folder(home: Path) -> None:
    folder = sealed(home / "folder", model="one")
    (home / "elsewhere").mkdir()
    (folder / "sub").symlink_to(home / "elsewhere")
    with atomic_folder(folder / ARRIVING) as aside:
        (aside / "sub").mkdir()
        (aside / "sub" / "authorized_keys").write_text("mine")
    before = everything(home)
    verify(folder)
    with pytest.raises(StorageError, match="a link"):
        finish_saving(folder)
    with pytest.raises(StorageError, match="a link"):
        sealed(folder, model="two")
    assert everything(home) == before


def test_a_save_does_not_go_through_a_linked_folder(home: Path) -> None:
    folder = sealed(home / "folder", model="one")
    (home / "elsewhere").mkdir()
    (folder / "sub").symlink_to(home / "elsewhere")

    def save() -> None:
        with atomic_folder(folder) as aside:
            (aside / "sub").mkdir()
            (aside / "sub" / "file").write_text("mine")

    before = everything(home)
    with pytest.raises(StorageError, match="a link"):
        save()
    assert everything(home) == before


def test_a_linked_arrival_does_not_empty_another_folder(home: Path) -> None:
    folder, other = sealed(home / "folder", model="one"), sealed(home / "other", model="two", weights="three")
    (folder / ARRIVING).symlink_to(other)
    before = everything(home)
    verify(folder)
    for act in (finish_saving, lambda place: sealed(place, model="four")):
        with pytest.raises(StorageError, match="a link"):
            act(folder)
    assert everything(home) == before


@pytest.mark.parametrize("what", ["file", "folder", "manifest"])
def test_links_in_a_sealed_folder_are_refused(home: Path, what: str) -> None:
    folder = home / "folder"
    with atomic_folder(folder) as aside:
        (aside / "sub").mkdir()
        (aside / "sub" / "model").write_text("one")
    place = {"file": folder / "sub" / "model", "folder": folder / "sub", "manifest": folder / MANIFEST}[what]
    place.rename(home / "moved")
    place.symlink_to(home / "moved")
    before = everything(home)
    with pytest.raises(StorageError, match="a link"):
        verify(folder)
    assert everything(home) == before


def test_a_folder_may_be_named_by_a_link(home: Path) -> None:
    sealed(home / "folder", model="one")
    (home / "latest").symlink_to(home / "folder")
    assert verify(home / "latest") == {"model"}


def test_a_save_that_is_not_whole_is_not_finished(home: Path) -> None:
    folder = sealed(home / "folder", model="one")
    sealed(folder / ARRIVING, model="two", weights="three")
    (folder / ARRIVING / "weights").write_text("changed")
    before = everything(home)
    with pytest.raises(StorageError, match="damaged"):
        finish_saving(folder)
    assert everything(home) == before
    verify(folder)


def test_reading_a_tagger_writes_nothing(tagger: Path, news: Corpus) -> None:
    before = everything(tagger)
    Tagger.load(tagger)
    Tagger.build(tagger, labels=news.labels)
    assert everything(tagger) == before
