"""Two processes on one machine: the same weights in both, and an epoch is an epoch."""

from __future__ import annotations

import json
from pathlib import Path

from two_processes import in_two_processes

from tiny_pretraining import TINY_PRETRAINING

PROGRAM = """
import hashlib, json, os, sys
import torch
from acclimate import Corpus, Sentence, Tagger, adapt

torch.set_num_threads(1)
news = Corpus.of([Sentence((f"Anna{n}", "met", f"Bob{n}"), ("B-PER", "O", "B-PER")) for n in range(24)], "news")
tagger = Tagger.build("character-cnn-lstm", labels=news.labels, text=news, lstm_width=6, word_width=5, seed=1)
training = {"epochs": 2, "words_per_batch": 12, "device": "cpu"}
outcome = adapt(tagger, news, source_dev=news, training=training)
digest = hashlib.sha256(b"".join(value.numpy().tobytes() for value in tagger.state_dict().values())).hexdigest()
place = f"{sys.argv[1]}/rank-{os.environ['RANK']}.json"
json.dump({"digest": digest, "updates": outcome.stages[0]["updates"]}, open(place, "w"))
"""


def test_two_processes_end_with_the_same_weights_after_as_many_passes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    in_two_processes(str(tmp_path / "program.py"), str(tmp_path))
    first, second = (json.loads((tmp_path / f"rank-{rank}.json").read_text()) for rank in (0, 1))
    assert first == second
    assert first["updates"] == 6  # 24 sentences, 4 a batch, 2 processes, 2 epochs


def test_two_processes_pre_train_on_twice_as_many_rows(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"The {n} cats of Oslo sleep all day ." for n in range(300)), encoding="utf-8")
    given = ["--text", str(text), "--out", str(tmp_path / "mine"), "--set", "training.updates=5", "-q"]
    done = in_two_processes("-m", "acclimate", "encoder", "pretrain", *given, *TINY_PRETRAINING)
    assert f"read {2 * 5 * 4 * 16} pieces in 5 updates" in done.stdout.decode()
    assert (tmp_path / "mine" / "manifest.json").is_file()
