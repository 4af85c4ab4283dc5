"""Train the part-of-speech tagger that comes with the package, on UD English EWT.

    python benchmarks/part_of_speech.py --data FOLDER [--out DIR] [--seed 1] [--set tagger.lstm.lstm_width=64]

FOLDER holds train, dev and test. Without --out only dev is scored: that is how the settings below were chosen. With it,
the tagger is written there with 16-bit weights, read again, and scored on test, once.

The encoder is frozen and comes with the package, so it is not in DIR: only what stands on it.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from pathlib import Path
from typing import Any

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
            "contextual": {
                "encoder": "acclimate-mini",
                "layers": 1,
                "pieces": "ends",
                "width": 128,
                "mix": "learned",
            },
        },
    },
}


def main() -> None:
    import torch

    from acclimate.cli.settings import AdaptSettings
    from acclimate.data.reading import read_corpus
    from acclimate.inference.predict import evaluate
    from acclimate.model.tagger import Tagger
    from acclimate.runs.train import adapt
    from acclimate.settings import complete, with_assignments

    options = arguments()
    settings = complete(AdaptSettings, with_assignments(SETTINGS, options.set))
    train, dev = (read_corpus(find(options.data, part), labels="plain") for part in ("train", "dev"))
    if options.limit is not None:
        print(f"!!! NOT THE REAL THING: only the first {options.limit:,} training sentences (--limit)")
        train = train[: options.limit]
    tagger = Tagger.build(
        labels=train.labels,
        encoder="character-cnn-lstm",
        head=settings.tagger.head,
        text=train,
        seed=options.seed,
        **settings.tagger.lstm.model_dump(),
    )
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
        small = copy.deepcopy(tagger).cpu().half()
        small.seen = None  # the words of the training text would be a third of the size
        small.save(options.out)
        read_again = Tagger.load(options.out)
        test = read_corpus(find(options.data, "test"), labels="plain")
        result["dev_accuracy_as_written"] = 100 * evaluate(read_again, dev).token.accuracy
        result["dev_accuracy_of_new_words"] = 100 * accuracy_of_new_words(read_again, dev, train)
        result["test_accuracy"] = 100 * evaluate(read_again, test).token.accuracy
        small.save(options.out, **{"README.md": card(result, settings.tagger.lstm.contextual)})
        files = [path for path in Path(options.out).rglob("*") if path.is_file()]
        result["megabytes"] = sum(path.stat().st_size for path in files) / 1e6
    print(json.dumps(result, indent=2))


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
    return f"""# part-of-speech

Universal parts of speech (17 tags) of English words. Trained by `benchmarks/part_of_speech.py`, which makes this folder
again.

- **What it is**: the first {layers} of `{context.encoder}`, frozen, a character CNN, a small table of words and a
  BiLSTM; each word's tag is chosen by itself. The encoder is not in this folder: it comes with the package, and only
  the very weights that this was trained on are accepted. 16-bit numbers.
- **Trained on**: Universal Dependencies English EWT, release 2.16 (web logs, news groups, e-mail, reviews, answers;
  204,577 training words). The treebank is licensed under CC BY-SA 4.0 (its authors: Silveira et al. 2014 and the
  contributors named there); this folder is given under the same licence, **CC BY-SA 4.0**, unlike the code of the
  package.
- **Accuracy**: {result["test_accuracy"]:.2f} % of the words of EWT test. Of dev, which chose the settings and the state
  that was kept, {result["dev_accuracy_as_written"]:.2f} %; of its words that the training text does not have,
  {result["dev_accuracy_of_new_words"]:.1f} % (most mistakes: a proper noun for a common one, or the other way round).
- **Limits**: English only. Words are expected as EWT splits them (`do n't`, `Anna 's`); text split otherwise is tagged
  less well. Trained on web text; how well it does on tweets or clinical notes was not measured. Tags follow EWT's
  guidelines, which differ from those behind other taggers (proper nouns, auxiliaries).
- **Use**: `acclimate predict part-of-speech TEXT`, or `acclimate.part_of_speech_tagger()`.
"""


def find(folder: str, part: str) -> Path:
    found = sorted(Path(folder).glob(f"{part}.*"))
    if not found:
        sys.exit(f"{folder}: no {part}.* there.")
    return found[0]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, metavar="FOLDER")
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C")
    parser.add_argument("--limit", type=int, metavar="N", help="for a trial: train on the first N sentences only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
