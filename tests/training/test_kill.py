"""A training process killed at random moments, again and again, ends with the weights of one that was left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TRAINS_AND_IS_KILLED = """
import gc, os, random, signal, sys, time
from pathlib import Path
import torch
from acclimate.data.corpus import Corpus, Sentence
from acclimate.model.tagger import Tagger
from acclimate.runs.train import adapt

torch.set_num_threads(1)
gc.freeze()  # the engine collects garbage after every stage
here, kills = Path(sys.argv[1]), int(sys.argv[2])
names = ["Anna", "Bob", "Clara"]
news = Corpus.of(
    Sentence((one, verb, other, "."), ("B-PER", "O", "B-PER", "O"))
    for one in names for verb in ("saw", "met", "called") for other in names
)
tweets = Corpus.of(Sentence((name.lower(), "is", "here")) for name in names)

def learn(out):
    torch.manual_seed(1)
    sizes = {"word_width": 6, "character_width": 4, "character_filters": 5, "lstm_width": 7}
    tagger = Tagger.build("character-cnn-lstm", labels=["PER"], text=news, **sizes)
    training = {"updates": 60, "words_per_batch": 16, "checkpoint_every": 3, "evaluate_every": 7, "learning_rate": 0.02}
    adapt(tagger, news, tweets, "self-training", training=training, out=out)
    tagger.save(out)

def in_a_child(out, seconds=None):
    '''Trains in a process of its own, which is killed after a while; forking spares a new start of Python each time.'''
    child = os.fork()
    if child == 0:
        learn(out)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status

started = time.monotonic()
assert in_a_child(here / "unbroken") == 0
whole = time.monotonic() - started
dice, died = random.Random(7), 0
for _ in range(kills):
    if (here / "broken" / "manifest.json").exists():
        break
    died += os.WIFSIGNALED(in_a_child(here / "broken", dice.uniform(0.05, 0.3) * whole))
assert in_a_child(here / "broken") == 0
print(died)
"""


def test_killed_again_and_again_it_ends_with_the_same_weights(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRAINS_AND_IS_KILLED, str(tmp_path), "12"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2
    weights = [(tmp_path / out / "weights.safetensors").read_bytes() for out in ("unbroken", "broken")]
    assert weights[0] == weights[1]
