"""Adversarial training of siblings in two processes: the inner gradients stay at home, the outer ones are averaged."""

from __future__ import annotations

import runpy
from pathlib import Path

import torch
from two_processes import in_two_processes

from acclimate.model.storage import read_tensors

PROGRAM = """
import os, sys
from pathlib import Path
import torch
from acclimate import Corpus, Sentence, Tagger
from acclimate.data.batches import Batches
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.methods.objective import TaggingOfAll
from acclimate.model.siblings import Siblings
from acclimate.model.storage import write_tensors
from acclimate.training.loop import build_engine
from acclimate.training.run import run_stages
from acclimate.training.stage import LastUpdate
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage

torch.set_num_threads(1)
news = Corpus.of([Sentence((f"Anna{n}", "met", f"Bob{n}"), ("B-PER", "O", "B-PER")) for n in range(24)], "news")
tweets = Corpus.of([Sentence((f"omg{n}", "ok", f"Øslo{n}"), ("O", "O", "B-PLACE")) for n in range(24)], "tweets")
sizes = {"lstm_width": 6, "word_width": 5, "dropout": 0.0, "forget_rare": 0.0, "normalise": "weighted"}
radii = {"words": 0.4, "characters": 0.2}

def learn(accumulate):
    tagger = Tagger.build("character-cnn-lstm", labels=news.labels, text=news, seed=1, **sizes)
    tagger.split()
    both = Siblings({"source": tagger, "target": tagger.sibling(tweets.labels, tagger.encoder.sibling(tweets))})
    settings = TrainingSettings(updates=4, device="cpu", optimizer="sgd", learning_rate=0.3, accumulate=accumulate)
    objectives = {"tag": AdversarialTraining(TaggingOfAll(), {"source": radii, "target": radii}, weight=0.7)}
    stage = Stage("both", objectives, Batches({"source": news, "target": tweets}, 12), settings, learner=both)
    run_stages(tagger, [stage], build_engine(settings, tagger), LastUpdate(), 1)
    return both.state_dict()

if __name__ == "__main__":
    write_tensors(Path(sys.argv[1]) / f"rank-{os.environ['RANK']}.safetensors", learn(1))
"""


def test_two_processes_end_where_one_ends_that_gathers_two_batches(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    in_two_processes(str(tmp_path / "program.py"), str(tmp_path))
    first, second = (read_tensors(tmp_path / f"rank-{rank}.safetensors") for rank in (0, 1))
    alone = runpy.run_path(str(tmp_path / "program.py"))["learn"](2)
    assert first.keys() == second.keys() == alone.keys()
    for name, value in alone.items():
        assert torch.equal(first[name], second[name]), name
        torch.testing.assert_close(first[name], value, msg=lambda told, name=name: f"{name}: {told}")
