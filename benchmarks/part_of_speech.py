"""Train the part-of-speech tagger that comes with the package, on UD English EWT.

    python benchmarks/part_of_speech.py --data FOLDER [--out DIR] [--seed 1] [--set tagger.lstm.lstm_width=64]

FOLDER holds train, dev and test. Without --out only dev is scored: that is how the settings below were chosen. With it,
the tagger is written there with 16-bit weights, read again, and scored on test, once.

The encoder is frozen and comes with the package, so it is not in DIR: only what stands on it.
"""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

from shared import find, parser

# Chosen on dev, one seed each. What was tried: a word read at its first piece alone is 0.4 points worse than at both
# ends; no layer of the encoder, only its table of pieces, 0.2 worse at nearly three times the speed; two layers 0.3
# better at less than two thirds of the speed; no encoder at all 0.8 worse. Training the layer's biases too, or a
# low-rank change to its matrices, gained too little to be kept.
SETTINGS: dict[str, Any] = {
    "training": {"epochs": 10, "words_per_batch": 512, "learning_rate": 0.002, "clip": 1.0},
    "tagger": {
        "head": "softmax",
        "lstm": {
            "word_width": 48,
            "least_seen": 2,
            "character_filters": 64,
            "lstm_width": 128,
            "dropout": 0.33,
            "contextual": {"encoder": "acclimate-mini", "layers": 1, "pieces": "ends", "width": 128, "mix": "learned"},
        },
    },
}


def main() -> None:
    import torch

    from acclimate.cli.settings import AdaptSettings
    from acclimate.data.reading import read_corpus
    from acclimate.model.tagger import Tagger
    from acclimate.runs.train import adapt
    from acclimate.settings import complete, with_assignments

    made = parser(__doc__, "data limit set", seed=1)
    made.add_argument("--out", metavar="DIR")
    options = made.parse_args()
    settings = complete(AdaptSettings, with_assignments(SETTINGS, options.set))
    train, dev = (read_corpus(find(options.data, "", part), labels="plain") for part in ("train", "dev"))
    if options.limit is not None:
        print(f"!!! NOT THE REAL THING: only the first {options.limit:,} training sentences (--limit)")
        train = train[: options.limit]
    lstm = settings.tagger.lstm.model_dump()
    about = {"encoder": "character-cnn-lstm", "head": settings.tagger.head, "seed": options.seed}
    tagger = Tagger.build(labels=train.labels, text=train, **about, **lstm)
    started = time.monotonic()
    outcome = adapt(tagger, train, recipe="source-only", source_dev=dev, training=settings.training, seed=options.seed)
    stage = outcome.stages[0]
    result: dict[str, Any] = {
        "seed": options.seed,
        "dev_accuracy": 100 * stage["score"],
        "updates": stage["updates"],
        "kept_update": stage["kept_update"],
        "seconds": round(time.monotonic() - started, 1),
        "weights": sum(weight.numel() for weight in tagger.parameters() if weight.requires_grad),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "settings": settings.model_dump(mode="json", include={"tagger", "training"}),
    }
    if options.out is not None:
        result |= ship(tagger, Path(options.out), train, dev, options.data, settings.tagger.lstm.contextual)
    print(json.dumps(result, indent=2))


def ship(tagger: Any, out: Path, train: Any, dev: Any, data: str, context: Any) -> dict[str, float]:
    """Write the tagger with 16-bit weights and its card, and score what was written."""
    from acclimate.data.reading import read_corpus
    from acclimate.inference.predict import evaluate
    from acclimate.model.tagger import Tagger

    small = copy.deepcopy(tagger).cpu().half()
    small.seen = None  # the words of the training text would be a third of the size
    small.save(out)
    again = Tagger.load(out)
    test = read_corpus(find(data, "", "test"), labels="plain")
    result = {
        "dev_accuracy_as_written": 100 * evaluate(again, dev).token.accuracy,
        "dev_accuracy_of_new_words": 100 * accuracy_of_new_words(again, dev, train),
        "test_accuracy": 100 * evaluate(again, test).token.accuracy,
    }
    small.save(out, **{"README.md": card(result, context)})
    files = [path for path in out.rglob("*") if path.is_file()]
    return {**result, "megabytes": sum(path.stat().st_size for path in files) / 1e6}


def accuracy_of_new_words(tagger: Any, dev: Any, train: Any) -> float:
    from acclimate.inference.predict import predict

    known = {word.lower() for word in train.vocabulary}
    found = [
        gold == guess
        for sentence, tagged in zip(dev, predict(tagger, dev), strict=True)
        for word, gold, guess in zip(sentence.words, sentence.tags, tagged.tags, strict=True)
        if word.lower() not in known
    ]
    return sum(found) / max(1, len(found))


def card(result: dict[str, Any], context: Any) -> str:
    """What anybody should know who finds this folder."""
    layers = "layer" if context.layers == 1 else f"{context.layers} layers"
    text = (Path(__file__).parent / "part_of_speech_card.md").read_text(encoding="utf-8")
    return text.format(layers=layers, encoder=context.encoder, **result)


if __name__ == "__main__":
    main()
