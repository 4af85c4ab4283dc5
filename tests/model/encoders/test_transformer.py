"""A pre-trained encoder: any Hugging Face folder, read word by word, over-long sentences through windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import windows
from acclimate.model.encoders.pretrained import EncoderNotFound, load_backbone, load_tokenizer, longest_row
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger
from acclimate.settings import SettingsError

ENCODERS = ["bert", "roberta"]
SHORT = Sentence(("Anna", "flew", "to", "New", "York", "."))
LONG = Sentence(SHORT.words * 40)


def features(tagger: Tagger, *sentences: Sentence) -> Tensor:
    with torch.no_grad():
        return View(tagger, tagger.eval().tensorize(sentences)).features


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_short_sentence_does_not_notice_that_windows_exist(build, encoder: str) -> None:
    wide, narrow = build(encoder), build(encoder, longest_row=40)
    torch.testing.assert_close(features(narrow, SHORT), features(wide, SHORT))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_short_sentence_does_not_notice_a_long_one_beside_it(build, encoder: str) -> None:
    tagger = build(encoder)
    alone, beside = features(tagger, SHORT), features(tagger, LONG, SHORT)[1:, : len(SHORT)]
    torch.testing.assert_close(beside, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_each_word_of_a_long_sentence_is_read_in_the_window_that_keeps_it(build, encoder: str) -> None:
    tagger = build(encoder, longest_row=24)
    pieces = tagger.encoder.pieces
    counts = [len(row) for row in pieces.of_words(LONG.words)]
    parts = []
    for window in windows(counts, pieces.room):
        read = features(tagger, Sentence(LONG.words[window.start : window.end]))[0]
        parts.append(read[window.keep_from - window.start : window.keep_to - window.start])
    torch.testing.assert_close(features(tagger, LONG)[0], torch.cat(parts), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_pieces_are_counted_as_they_stand_in_a_row(build, encoder: str) -> None:
    tagger = build(encoder)
    sentences = [SHORT, Sentence(("ok",)), Sentence(SHORT.words[::-1])]
    assert tagger.encoder.count_pieces(sentences) == tagger.tensorize(sentences).inputs["attention"].sum(1).tolist()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_rows_fill_every_position_that_the_encoder_has_and_no_more(build, encoder: str) -> None:
    tagger = build(encoder)
    assert tagger.tensorize([LONG]).inputs["pieces"].size(1) == 64
    assert features(tagger, LONG).isfinite().all()


def test_positions_are_counted_from_behind_the_padding_number(byte_level: Any) -> None:
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    for kind, config, first in ((RobertaModel, RobertaConfig, 6), (BertModel, BertConfig, 0)):
        model = kind(config(vocab_size=60, max_position_embeddings=20, pad_token_id=5, **sizes))
        assert longest_row(byte_level, model) == 20 - first


def test_a_byte_level_tokenizer_puts_a_blank_before_every_word(roberta: str) -> None:
    tokenizer = load_tokenizer(roberta)
    rows = [tokenizer.tokenize(" Paris"), tokenizer.tokenize(" Anna")]
    assert tokenizer([["Paris"], ["Anna"]], is_split_into_words=True, add_special_tokens=False)["input_ids"] == [
        tokenizer.convert_tokens_to_ids(row) for row in rows
    ]
    assert all(row[0].startswith("Ġ") for row in rows)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_plain_transformers_refuses_a_tagger_and_opens_its_encoder_as_one(build, tmp_path: Path, encoder: str) -> None:
    from transformers import AutoModel, AutoTokenizer, pipeline

    tagger = build(encoder).eval()
    tagger.save(tmp_path / "tagger")
    with pytest.raises((OSError, ValueError)):  # it would tag other spans: pieces instead of words, and no CRF
        pipeline("token-classification", model=str(tmp_path / "tagger"))
    model = AutoModel.from_pretrained(tmp_path / "tagger" / "encoder").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tagger" / "encoder")
    assert not any("TokenClassification" in name for name in model.config.architectures)
    encoded = tokenizer([list(SHORT.words)], is_split_into_words=True, return_tensors="pt")
    firsts = [encoded.word_ids(0).index(word) for word in range(len(SHORT))]
    with torch.no_grad():
        theirs = model(**encoded).last_hidden_state[0, firsts]
    torch.testing.assert_close(theirs, features(tagger, SHORT)[0], atol=1e-5, rtol=1e-5)


def test_the_card_of_a_tagger_says_that_other_tools_give_other_answers(build, tmp_path: Path) -> None:
    build("bert").save(tmp_path / "tagger")
    card = (tmp_path / "tagger" / "README.md").read_text()
    for said in ("transformers.pipeline", "Words.", "CRF", "stride", "64 pieces", "acclimate predict"):
        assert said in card
    build("character-cnn-lstm").save(tmp_path / "own")
    assert "transformers.pipeline" not in (tmp_path / "own" / "README.md").read_text()


def test_a_tagger_s_folder_stands_for_its_encoder(build, tmp_path: Path, news, same_weights) -> None:
    tagger = build("bert")
    tagger.save(tmp_path / "tagger")
    again = Tagger.build(tmp_path / "tagger", labels=news.labels)
    assert same_weights(again.encoder.model, tagger.encoder.model)


def test_saving_leaves_the_run_s_random_numbers_alone(build, tmp_path: Path) -> None:
    tagger = build("bert")
    before = torch.get_rng_state()
    tagger.save(tmp_path / "tagger")
    Tagger.load(tmp_path / "tagger")
    assert torch.equal(torch.get_rng_state(), before)


def test_saving_and_loading_print_nothing(build, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tagger = build("bert")
    capfd.readouterr()
    tagger.save(tmp_path / "tagger")
    Tagger.load(tmp_path / "tagger")
    assert capfd.readouterr() == ("", "")


def test_a_half_precision_checkpoint_is_read_in_full_precision(bert: str, tmp_path: Path, word_piece: Any) -> None:
    from transformers import AutoModel

    AutoModel.from_pretrained(bert, dtype=torch.float16).save_pretrained(tmp_path)
    assert next(load_backbone(str(tmp_path)).parameters()).dtype == torch.float32


def test_an_encoder_that_does_not_exist_is_explained(tmp_path: Path, news) -> None:
    with pytest.raises(
        EncoderNotFound, match=r"No encoder under 'no/such-thing'\. It is no folder here.*acclimate-mini"
    ):
        Tagger.build("no/such-thing", labels=news.labels)
    with pytest.raises(EncoderNotFound, match="That folder was found but could not be loaded"):
        Tagger.build(str(tmp_path), labels=news.labels)


def test_a_hub_out_of_reach_is_asked_once_and_not_waited_for(monkeypatch: pytest.MonkeyPatch, news) -> None:
    import huggingface_hub

    asked: list[str] = []

    def unreachable(name: str, timeout: float) -> None:
        asked.append(name)
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "model_info", unreachable)
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it was tried again"))
    with pytest.raises(EncoderNotFound, match="No encoder under 'no/such-thing'"):
        Tagger.build("no/such-thing", labels=news.labels)
    assert asked == ["no/such-thing"]


def test_the_weights_of_a_saved_tagger_are_read_once(build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import PreTrainedModel

    build("bert").save(tmp_path / "tagger")
    read: list[str] = []
    really = PreTrainedModel.from_pretrained.__func__  # type: ignore[attr-defined]
    counted = classmethod(lambda cls, name, *rest, **more: read.append(name) or really(cls, name, *rest, **more))
    monkeypatch.setattr(PreTrainedModel, "from_pretrained", counted)
    Tagger.load(tmp_path / "tagger")
    assert len(read) == 1


def test_an_unknown_option_of_the_encoder_is_refused(build) -> None:
    with pytest.raises(SettingsError, match=r"unknown setting 'dropuot'\. Did you mean dropout"):
        build("bert", dropuot=0.2)


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
KINDS: dict[str, dict[str, Any]] = {
    "DistilBert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 66},
    "Electra": SIZES | {"embedding_size": 8, "max_position_embeddings": 66},
    "MPNet": SIZES | {"max_position_embeddings": 66},
    "ModernBert": SIZES | {"max_position_embeddings": 66, "local_attention": 8},  # a classifier of three layers
    "XLNet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24},  # positions without a limit
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_encoders_read_long_sentences_learn_and_come_back_from_disk(
    kind: str, byte_level: Any, news, tmp_path: Path, same_weights
) -> None:
    import transformers

    config = getattr(transformers, f"{kind}Config")(vocab_size=len(byte_level), pad_token_id=1, **KINDS[kind])
    getattr(transformers, f"{kind}Model")(config).save_pretrained(tmp_path / "encoder")
    byte_level.save_pretrained(tmp_path / "encoder")
    tagger = Tagger.build(str(tmp_path / "encoder"), labels=news.labels)
    View(tagger, tagger.tensorize(news[:2].sentences)).losses.sum().backward()
    assert all(weight.grad is not None for weight in (*tagger.scores.parameters(), *tagger.head.parameters()))
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert same_weights(loaded, tagger)
    assert torch.equal(features(loaded, SHORT, LONG), features(tagger, SHORT, LONG))
