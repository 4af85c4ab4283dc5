"""Tag a labelled corpus and compare with its own tags."""

from __future__ import annotations

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.pairs import Reading
from acclimate.evaluation.scores import Scores, score
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger


def evaluate(tagger: Tagger, gold: Corpus, *, reading: Reading = "lenient") -> Scores:
    """Scores of the tagger on a labelled corpus, seen and unseen words apart when it knows what it was trained on.

    A gold label that the tagger does not know is an error: counted silently, it would look like a bad tagger.
    """
    require_comparable(tagger, gold)
    return score(gold, predict(tagger, gold), seen=tagger.seen, reading=reading)


def require_comparable(tagger: Tagger, gold: Corpus) -> None:
    """Refuse a corpus that the tagger cannot be scored on, and say what to do about it."""
    if not gold.is_labelled:
        raise InputError(f"{gold.name} has no tags to compare with.", file=gold[0].place.file if len(gold) else None)
    if gold.kind != tagger.labels.kind:
        raise InputError(f"{gold.name} has {gold.kind} tags, but the tagger was trained on {tagger.labels.kind} tags.")
    unknown = [name for name in gold.labels if name not in tagger.labels]
    if unknown:
        raise InputError(
            f"{gold.name} has labels that the tagger does not know: {', '.join(unknown)} "
            f"(it knows {', '.join(tagger.labels)}). Map them by name (--map) or compare type-less (--typeless)."
        )
