"""Encoders that come with the package: found by name, without a network, and the same in plain `transformers`."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate import Tagger, shipped_encoder_path
from acclimate.data.corpus import Sentence
from acclimate.model.encoders import shipped
from acclimate.model.encoders.contextual import ContextualSettings, FrozenContext
from acclimate.model.encoders.pretrained import load_backbone, load_tokenizer
from acclimate.model.encoders.shipped import SHIPPED, EncoderNotFound
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.learner import TextView

SENTENCES = [
    Sentence(("The", "German", "chancellor", "met", "Mr.", "Obama", "in", "New", "York", "on", "Tuesday", ".")),
    Sentence(("ok", "😀")),
    Sentence(("Patient", "denies", "dyspnoea", ",", "hydrochlorothiazide", "12.5", "mg", "daily", ".")),
]
OBVIOUS = {
    "Paris is the capital of [MASK] .": "France",
    "He was born in New [MASK] City .": "York",
    "The President of the United [MASK] visited Berlin .": "States",
    "She is one of the best players in the [MASK] .": "world",
    "They played two games and [MASK] both of them .": "won",
}


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bert: str) -> Path:
    """A tiny encoder in the place of the shipped ones."""
    for name in SHIPPED:
        shutil.copytree(bert, tmp_path / "package" / name)
    monkeypatch.setattr(shipped, "HOME", tmp_path / "package")
    return tmp_path / "package"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that may look at the hub but cannot reach it: whoever tries fails the test."""
    from huggingface_hub import constants

    def refuse(*_: Any) -> Any:
        pytest.fail("a shipped encoder was looked for on the network")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def pieces_table(model: Any) -> torch.Tensor:
    table: torch.Tensor = model.get_input_embeddings().weight
    return table


@pytest.mark.usefixtures("no_network")
def test_a_shipped_encoder_is_meant_wherever_an_encoder_is_named(stand_in: Path, news) -> None:
    expected = pieces_table(load_backbone(stand_in / "acclimate-mini"))
    context = FrozenContext.load(ContextualSettings(encoder="acclimate-mini"))
    tagger = Tagger.build("acclimate-mini", labels=news.labels)
    for model in (load_backbone("acclimate-mini"), context.model, tagger.encoder.model):
        assert torch.equal(pieces_table(model), expected)
    assert load_tokenizer("acclimate-mini").get_vocab() == tagger.encoder.pieces.tokenizer.get_vocab()
    assert shipped_encoder_path("acclimate-mini") == stand_in / "acclimate-mini"


def test_a_folder_of_that_name_is_found_by_its_path_only(
    stand_in: Path, roberta: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, news
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(roberta, tmp_path / "acclimate-mini")
    kinds = [load_backbone(place).config.model_type for place in ("acclimate-mini", "./acclimate-mini")]
    assert kinds == ["bert", "roberta"]
    assert Tagger.build(Path("acclimate-mini"), labels=news.labels).encoder.model.config.model_type == "roberta"


def test_a_tagger_saved_under_that_name_comes_back_as_itself(
    stand_in: Path, build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_weights
) -> None:
    monkeypatch.chdir(tmp_path)
    for tagger in (build("roberta"), build(contextual={"encoder": "acclimate-mini"})):
        tagger.save("acclimate-mini")
        assert same_weights(Tagger.load("acclimate-mini"), tagger)
        shutil.rmtree("acclimate-mini")


def test_one_that_does_not_come_with_the_package_is_refused(stand_in: Path) -> None:
    with pytest.raises(EncoderNotFound, match=r"No encoder called 'acclimate-maxi' comes .* there is acclimate-mini\."):
        shipped_encoder_path("acclimate-maxi")


def test_a_package_without_its_weights_says_so(stand_in: Path, news) -> None:
    (stand_in / "acclimate-mini" / "model.safetensors").unlink()
    with pytest.raises(EncoderNotFound, match=r"this installation lacks its weights .* Install the package again"):
        Tagger.build("acclimate-mini", labels=news.labels)


# what is in the package itself


@pytest.fixture(params=SHIPPED)
def folder(request: pytest.FixtureRequest) -> Path:
    return shipped.HOME / str(request.param)


def test_its_folder_holds_a_model_of_at_most_40_megabytes_and_its_card(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert (folder / "model.safetensors").stat().st_size <= 40_000_000


def test_its_features_are_those_of_plain_transformers(folder: Path) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    encoder = Transformer.build(folder.name, TransformerSettings()).eval()
    inputs = encoder.tensorize(SENTENCES)
    with torch.inference_mode():
        ours = TextView(encoder, inputs).features
        for place, sentence in enumerate(SENTENCES):
            encoded = tokenizer([list(sentence.words)], is_split_into_words=True, return_tensors="pt")
            firsts = [encoded.word_ids(0).index(word) for word in range(len(sentence))]
            theirs = model.base_model(**encoded).last_hidden_state[0, firsts]
            torch.testing.assert_close(ours[place, : len(sentence)], theirs, atol=1e-4, rtol=1e-4)


def test_its_rows_are_as_long_as_its_table_of_positions(folder: Path) -> None:
    encoder = Transformer.build(folder.name, TransformerSettings())
    inputs = encoder.tensorize([Sentence(("Paris",) * 300)])
    assert inputs["pieces"].shape[1] == encoder.model.config.max_position_embeddings
    with torch.inference_mode():
        assert TextView(encoder, inputs).features.isfinite().all()


def test_it_guesses_obvious_words(folder: Path) -> None:
    """Among its first twenty, all but one of them: random or damaged weights know none."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    guesses: dict[str, list[str]] = {}
    for text, word in OBVIOUS.items():
        encoded = tokenizer(text, return_tensors="pt")
        hidden = (encoded["input_ids"][0] == tokenizer.mask_token_id).nonzero().item()
        with torch.inference_mode():
            best = model(**encoded).logits[0, hidden].topk(20).indices
        guesses[word] = tokenizer.convert_ids_to_tokens(best.tolist())
    assert sum(word in found for word, found in guesses.items()) >= len(OBVIOUS) - 1, guesses


@pytest.mark.parametrize("name", SHIPPED)
def test_a_tagger_reads_words_with_their_case_and_accents(name: str) -> None:
    words = ("Müller", "MÜLLER", "muller", "Café", "cafe", "naïve")
    tagger = Tagger.build(name, labels=["PER"])
    encoder: Any = tagger.encoder
    tokenizer = encoder.pieces.tokenizer
    pieces = tokenizer.convert_ids_to_tokens(tagger.tensorize([Sentence(words)]).inputs["pieces"][0].tolist())
    spelled = "".join(piece if piece.startswith("##") else f" {piece}" for piece in pieces[1:-1])
    assert spelled.replace("##", "").split() == list(words)
