"""Advice of the library names options of the command that was given."""

from __future__ import annotations

import pytest
from command_line import Files, acclimate

from acclimate.cli.wording import in_options

OF_TRAINING = {
    "train_on_dev needs source_dev, the sentences.": (
        "--train-on-dev needs --source-dev, the sentences.",
        "--set train_on_dev=true needs --source-dev, the sentences.",
    ),
    "With train_on_dev the source dev sentences cannot: pass select=last, or none.": (
        "With --train-on-dev the source dev sentences cannot: pass --select last, or none.",
        "With --set train_on_dev=true the source dev sentences cannot: pass --set select=last, or none.",
    ),
    "select=target-dev needs sentences (target_dev).": (
        "--select target-dev needs sentences (--target-dev).",
        "--set select=target-dev needs sentences (--target-dev).",
    ),
    "choose another folder (out).": ("choose another folder (--out).", "choose another folder (--out)."),
}


@pytest.mark.parametrize("said", OF_TRAINING)
def test_arguments_of_training_become_options_or_settings(said: str) -> None:
    adapt, compare = OF_TRAINING[said]
    assert in_options(said, "adapt") == adapt
    assert in_options(said, "compare") == compare


def test_the_commands_say_it_so(files: Files) -> None:
    words = ["adapt", "--source", files.news, "--encoder", "character-cnn-lstm"]
    assert "--train-on-dev needs --source-dev" in acclimate(*words, "--train-on-dev", code=2).err
    assert "(--target-dev)" in acclimate(*words, "--select", "target-dev", code=1).err
    assert "Change the sizes." in in_options("Change the sizes, pass by_document=False, or tied_from=6.", "split")


@pytest.mark.parametrize("size", ["--few-shot", "--sentences"])
def test_a_size_of_nothing_is_told_by_its_option(size: str) -> None:
    assert f"'{size}'" in acclimate("data", "subset", "news", "-", size, "0", code=2).err
