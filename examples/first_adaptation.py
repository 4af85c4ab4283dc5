"""Adapt a small tagger from news to social posts, and see whether that helped.

python examples/first_adaptation.py [--updates 500]
"""

from __future__ import annotations

import argparse

from acclimate import Tagger, adapt, evaluate, load_bundled, predict

parser = argparse.ArgumentParser()
parser.add_argument("--updates", type=int, default=500)
updates = parser.parse_args().updates

news, posts = load_bundled("news"), load_bundled("social")
tagger = Tagger.build("character-cnn-lstm", labels=news.train.labels, text=news.train, more_text=posts.text, seed=1)
outcome = adapt(
    tagger,
    news.train,
    posts.text,  # without labels
    source_dev=news.dev,  # chooses the state to keep
    target_test=posts.test,  # scored once, when all training is over
    training={"updates": updates},
)

target = outcome.target
assert target is not None
assert target.before is not None
print(f"target F1 before {target.before.span.f1:.3f}, after {target.after.span.f1:.3f}")
print(evaluate(tagger, posts.test))
for sentence in predict(tagger, ["Anneliese flew from Doha to Izmir"]):
    print(sentence.words, sentence.spans)
