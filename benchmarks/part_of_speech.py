"""Train the part-of-speech tagger that comes with the package, on UD English EWT.

    python benchmarks/part_of_speech.py --data FOLDER [--out DIR] [--seed 1] [--set tagger.lstm.lstm_width=64]

FOLDER holds train, dev and test. Without --out only dev is scored: that is how the settings below were chosen. With it,
the tagger is written there with 16-bit weights, read again, and scored on test, once.

The encoder is frozen and comes with the package, so DIR holds only what stands on it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from shared import find, megabytes_of, parser, save_small

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
    train = train[: options.limit]
    lstm = settings.tagger.lstm
    about = {"encoder": "character-cnn-lstm", "head": settings.tagger.head, "seed": options.seed}
    tagger = Tagger.build(labels=train.labels, text=train, **about, **lstm.model_dump())
    started = time.monotonic()
    outcome = adapt(tagger, train, recipe="source-only", source_dev=dev, training=settings.training, seed=options.seed)
    result: dict[str, Any] = {
        "dev_accuracy": 100 * outcome.stages[0]["score"],
        "seconds": round(time.monotonic() - started, 1),
        "weights": sum(weight.numel() for weight in tagger.parameters() if weight.requires_grad),
        "settings": settings.model_dump(mode="json", include={"tagger", "training"}),
    }
    if options.out is not None:
        test = read_corpus(find(options.data, "", "test"), labels="plain")
        result |= ship(tagger, Path(options.out), train, dev, test, lstm.contextual)
    print(json.dumps(result, indent=2))


def ship(tagger: Any, out: Path, train: Any, dev: Any, test: Any, context: Any) -> dict[str, float]:
    """Write the tagger with 16-bit weights and its card, and score what was written."""
    from acclimate.evaluation.scores import score
    from acclimate.evaluation.seen import Vocabulary
    from acclimate.inference.predict import predict

    again = save_small(tagger, out)
    of_dev = score(dev, predict(again, dev), seen=Vocabulary.of(train, lower_cased=True))
    result = {
        "dev_accuracy_as_written": 100 * of_dev.token.accuracy,
        "dev_accuracy_of_new_words": 100 * of_dev.unseen.words["unseen"].recall,
        "test_accuracy": 100 * score(test, predict(again, test)).token.accuracy,
    }
    layers = "layer" if context.layers == 1 else f"{context.layers} layers"
    card = (Path(__file__).parent / "part_of_speech_card.md").read_text(encoding="utf-8")
    again.half().save(out, **{"README.md": card.format(layers=layers, encoder=context.encoder, **result)})
    return {**result, "megabytes": megabytes_of(out)}


if __name__ == "__main__":
    main()
