"""Pre-training: the loss falls, the folder opens everywhere, and a killed run goes on."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from acclimate.data.problems import InputError
from acclimate.data.running_text import train_word_pieces
from acclimate.model.encoders.shipped import EncoderNotFound
from acclimate.model.storage import verify
from acclimate.model.tagger import Tagger
from acclimate.runs.pretrain import Pretrained, PretrainSettings, pretrain
from acclimate.settings import UsageError, complete, load_yaml
from interruptions import StopAt, Stopped

_WORDS = {
    "WHO": ["Anna", "Bob", "Clara", "Farid", "Ingrid", "Joao", "Kemal", "Lucia", "Mirko", "Nadia"],
    "WHERE": ["Paris", "Oslo", "Lagos", "Quito", "Hanoi", "Minsk", "Tunis", "Turin", "Malmo", "Perth"],
    "DID": ["visited", "left", "loved", "painted", "crossed", "described", "missed", "praised"],
    "WHAT": ["rivers", "bridges", "markets", "gardens", "towers", "harbours", "stations", "libraries"],
}


def made_up_text(size: int, seed: int = 0) -> str:
    """Paragraphs in which each word tells something about the next."""
    dice = random.Random(seed)
    lines: list[str] = []
    length = 0
    while length < size:
        line = " ".join(
            f"{dice.choice(_WORDS['WHO'])} {dice.choice(_WORDS['DID'])} the {dice.choice(_WORDS['WHAT'])} "
            f"of {dice.choice(_WORDS['WHERE'])} in {dice.randint(1, 400)} days ."
            for _ in range(dice.randint(1, 6))
        )
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two megabytes, and a tokenizer beside it: learnt twice, one would differ in a few rare pieces."""
    place = tmp_path_factory.mktemp("text") / "made-up.txt"
    place.write_text(made_up_text(2_000_000), encoding="utf-8")
    lines = made_up_text(200_000, seed=1).splitlines()
    train_word_pieces(lambda: lines, 150, 32).save_pretrained(place.parent / "tokenizer")
    return place


@pytest.fixture(scope="module")
def little(text: Path) -> Path:
    """The beginning of it, for what does not need much."""
    place = text.with_name("little.txt")
    place.write_text(text.read_text(encoding="utf-8")[:100_000], encoding="utf-8")
    return place


def small(text: Path, **training: Any) -> PretrainSettings:
    return PretrainSettings.model_validate(
        {
            "text": (str(text),),
            "vocabulary": 150,
            "held_out": 0.01,
            "tokenizer": str(text.parent / "tokenizer"),
            "encoder": {"layers": 2, "width": 32, "heads": 2, "row": 32},
            "training": {
                **{"updates": 60, "rows_per_batch": 24, "learning_rate": 0.03, "evaluate_every": 20, "device": "cpu"},
                **training,
            },
        }
    )


@pytest.fixture(scope="module")
def trained(text: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pretrained]:
    out = tmp_path_factory.mktemp("encoder") / "mine"
    return out, pretrain(small(text), out)


def test_on_two_megabytes_the_loss_falls(trained: tuple[Path, Pretrained]) -> None:
    _, done = trained
    assert [update for update, _ in done.evaluations] == [20, 40, 60]
    losses = [loss for _, loss in done.evaluations]
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] < losses[0] - 0.15
    assert losses[2] < math.log(done.vocabulary) - 1


def test_it_counts_what_it_read(trained: tuple[Path, Pretrained]) -> None:
    _, done = trained
    assert done.pieces_seen == 60 * 24 * 32
    assert done.pieces + done.held_out_pieces > 400_000
    assert 0.002 < done.held_out_pieces / done.pieces < 0.03


def test_plain_transformers_opens_it_and_finds_the_loss_that_was_reported(
    trained: tuple[Path, Pretrained], text: Path
) -> None:
    out, done = trained
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(out).eval(), AutoTokenizer.from_pretrained(out)
    assert model.config.model_type == "bert"
    assert done.parameters == sum(weight.numel() for weight in model.parameters())
    torch.manual_seed(0)
    pieces = tokenizer(text.read_text()[:20_000].splitlines(), truncation=True, padding=True, return_tensors="pt")
    allowed = pieces["input_ids"] > 4
    hidden = allowed & (torch.rand(allowed.shape) < 0.25)
    labels = pieces["input_ids"].masked_fill(~hidden, -100)
    shown = pieces["input_ids"].masked_fill(hidden, tokenizer.mask_token_id)
    loss = model(input_ids=shown, attention_mask=pieces["attention_mask"], labels=labels).loss
    assert loss.item() == pytest.approx(done.held_out_loss, abs=0.35)


def test_a_tagger_can_stand_on_it(trained: tuple[Path, Pretrained]) -> None:
    assert Tagger.build(str(trained[0]), labels=["PER"]).encoder.width == 32


def test_the_folder_is_sealed_and_tells_what_it_is(trained: tuple[Path, Pretrained]) -> None:
    out, done = trained
    verify(out)
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "made-up.txt" in card
    assert f"{done.held_out_loss:.3f}" in card
    assert str(out.parent) not in card + (out / "settings.yaml").read_text().replace(str(out.parent.parent), "")
    assert json.loads((out / "report.json").read_text())["updates"] == 60


def test_a_finished_one_is_not_trained_again(trained: tuple[Path, Pretrained], text: Path) -> None:
    with pytest.raises(UsageError, match="already holds a finished encoder"):
        pretrain(small(text), trained[0])


def test_half_precision_halves_the_weights(little: Path, tmp_path: Path, trained: tuple[Path, Pretrained]) -> None:
    pretrain(small(little, updates=1).model_copy(update={"half": True}), tmp_path / "half")
    full, half = ((folder / "model.safetensors").stat().st_size for folder in (trained[0], tmp_path / "half"))
    assert half < 0.6 * full


KILLED = """
import sys
from pathlib import Path
import torch
from acclimate.runs.pretrain import PretrainSettings, pretrain

torch.set_num_threads(1)
pretrain(PretrainSettings.model_validate_json(Path(sys.argv[1]).read_text()), sys.argv[2])
"""


def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_happened(
    text: Path, tmp_path: Path, trained: tuple[Path, Pretrained]
) -> None:
    settings = small(text, checkpoint_every=3)
    (tmp_path / "settings.json").write_text(settings.model_dump_json(), encoding="utf-8")
    out = tmp_path / "mine"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "settings.json"), str(out)]
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    waited = time.monotonic()
    while not list(out.glob("training/*/checkpoint-*")) and process.poll() is None:
        assert time.monotonic() - waited < 120
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (out / "manifest.json").exists()
    done = pretrain(settings, out)
    one, other = (AutoModelForMaskedLM.from_pretrained(folder) for folder in (trained[0], out))
    for name, weight in one.state_dict().items():
        torch.testing.assert_close(weight, other.state_dict()[name], rtol=0, atol=0, msg=name)
    assert done.evaluations == trained[1].evaluations


def test_it_does_not_go_on_with_other_text_or_settings(little: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    (out / "training").mkdir(parents=True)
    with pytest.raises(Stopped):
        pretrain(small(little, updates=4), out, StopAt(2))
    with pytest.raises(UsageError, match="begun with other settings or data"):
        pretrain(small(little, updates=5), out)
    other = tmp_path / "made-up.txt"
    other.write_text(made_up_text(50_000, seed=1), encoding="utf-8")
    with pytest.raises(UsageError, match="begun with other settings or data"):
        pretrain(small(little, updates=4).model_copy(update={"text": (str(other),)}), out)


def test_a_tokenizer_of_ones_own_is_used_as_it_is(little: Path, tmp_path: Path, bert: str) -> None:
    settings = small(little, updates=1).model_copy(update={"tokenizer": bert})
    done = pretrain(settings, tmp_path / "mine")
    assert done.vocabulary == len(AutoTokenizer.from_pretrained(bert))


def test_a_tokenizer_without_a_mask_is_refused(little: Path, tmp_path: Path, word_piece: Any) -> None:
    from transformers import PreTrainedTokenizerFast

    bare = PreTrainedTokenizerFast(tokenizer_object=word_piece.backend_tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    bare.save_pretrained(tmp_path / "bare")
    with pytest.raises(UsageError, match=r"no \[MASK\]"):
        pretrain(small(little).model_copy(update={"tokenizer": str(tmp_path / "bare")}), tmp_path / "mine")


def test_widths_that_the_heads_cannot_share_are_refused(little: Path, tmp_path: Path) -> None:
    settings = small(little)
    odd = settings.model_copy(update={"encoder": settings.encoder.model_copy(update={"heads": 3})})
    with pytest.raises(UsageError, match="32 cannot be divided among 3 heads"):
        pretrain(odd, tmp_path)


def test_an_empty_file_is_refused(little: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    settings = small(little).model_copy(update={"text": (str(tmp_path / "empty.txt"),)})
    with pytest.raises(InputError, match="no text in"):
        pretrain(settings, tmp_path / "mine")


def test_without_a_tokenizer_one_is_learnt(little: Path, tmp_path: Path) -> None:
    settings = small(little, updates=1).model_copy(update={"tokenizer": None, "vocabulary": 130})
    assert pretrain(settings, tmp_path / "mine").vocabulary == 130


def test_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs text"):
        pretrain(PretrainSettings(), tmp_path)


def test_without_held_out_text_there_is_no_loss_to_report(little: Path, tmp_path: Path) -> None:
    done = pretrain(small(little, updates=1).model_copy(update={"held_out": 0.0}), tmp_path / "mine")
    assert (done.held_out_loss, done.evaluations) == (None, [])
    assert "No text was held out" in (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")


def test_whole_words_can_be_hidden_and_dropout_is_passed_on(little: Path, tmp_path: Path) -> None:
    settings = small(little, updates=1).model_dump()
    settings["masks"]["whole_words"], settings["encoder"]["dropout"] = True, 0.2
    pretrain(PretrainSettings.model_validate(settings), tmp_path / "mine")
    config = json.loads((tmp_path / "mine" / "config.json").read_text())
    assert (config["hidden_dropout_prob"], config["attention_probs_dropout_prob"]) == (0.2, 0.2)


def test_whole_words_need_a_tokenizer_that_marks_them(little: Path, tmp_path: Path, roberta: str) -> None:
    settings = small(little, updates=1).model_dump() | {"tokenizer": roberta}
    settings["masks"]["whole_words"] = True
    with pytest.raises(UsageError, match="needs a WordPiece tokenizer"):
        pretrain(PretrainSettings.model_validate(settings), tmp_path / "mine")


def going_on(little: Path, start: Path, **values: Any) -> PretrainSettings:
    training = small(little, updates=2, learning_rate=1e-4, evaluate_every=1).training
    return PretrainSettings.model_validate(
        {"text": (str(little),), "held_out": 0.01, "start": str(start), "training": training.model_dump(), **values}
    )


def test_it_goes_on_from_an_encoder_with_its_tokenizer_and_sizes(
    little: Path, tmp_path: Path, trained: tuple[Path, Pretrained]
) -> None:
    start, before = trained
    done = pretrain(going_on(little, start, encoder={"row": 32, "dropout": 0.1}), tmp_path / "more")
    assert (done.parameters, done.vocabulary) == (before.parameters, before.vocabulary)
    assert done.evaluations[0][1] < math.log(before.vocabulary) - 0.7  # from nothing it would be near log 150
    settings, config = ((tmp_path / "more" / name).read_text() for name in ("settings.yaml", "config.json"))
    assert "layers: 2" in settings
    assert json.loads(config)["hidden_dropout_prob"] == 0.1
    assert "trained further from mine" in (tmp_path / "more" / "README.md").read_text()


def test_going_on_keeps_the_dropout_and_its_settings_can_be_handed_back(
    little: Path, tmp_path: Path, trained: tuple[Path, Pretrained]
) -> None:
    pretrain(going_on(little, trained[0], encoder={"row": 32}), tmp_path / "more")
    assert json.loads((tmp_path / "more" / "config.json").read_text())["hidden_dropout_prob"] == 0.0
    again = complete(PretrainSettings, load_yaml(tmp_path / "more" / "settings.yaml"))
    pretrain(again, tmp_path / "again")
    one, other = (AutoModelForMaskedLM.from_pretrained(tmp_path / name) for name in ("more", "again"))
    for name, weight in one.state_dict().items():
        torch.testing.assert_close(weight, other.state_dict()[name], rtol=0, atol=0, msg=name)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"encoder": {"row": 32, "layers": 3}}, "encoder.layers is 3, but .* has 2"),
        ({"encoder": {"row": 64}}, "reads at most 32 pieces"),
        ({"encoder": {"row": 32}, "tokenizer": "elsewhere"}, "brings its own tokenizer"),
    ],
)
def test_what_cannot_change_on_the_way_is_refused(
    little: Path, tmp_path: Path, trained: tuple[Path, Pretrained], values: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        pretrain(going_on(little, trained[0], **values), tmp_path / "more")


def test_a_tagger_is_no_start(little: Path, tmp_path: Path, trained: tuple[Path, Pretrained]) -> None:
    Tagger.build(str(trained[0]), labels=["PER"]).save(tmp_path / "tagger")
    with pytest.raises(EncoderNotFound, match="is no masked language model"):
        pretrain(going_on(little, tmp_path / "tagger", encoder={"row": 32}), tmp_path / "more")
