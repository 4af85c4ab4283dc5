"""Tag a labelled corpus and compare with its own tags."""

from __future__ import annotations

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.pairs import Reading
from acclimate.evaluation.scores import Scores, score
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger


def evaluate(tagger: Tagger, gold: Corpus, *, seen: Corpus | None = None, reading: Reading = "lenient") -> Scores:
    """Scores of the tagger on a labelled corpus. `seen` is the training text, for the seen/unseen split.

    A gold label that the tagger does not know is an error: counted silently, it would look like a bad tagger.
    """
    if not gold.is_labelled:
        raise InputError(f"{gold.name} has no tags to compare with.", file=gold[0].place.file if len(gold) else None)
    unknown = [name for name in gold.labels if name not in tagger.labels]
    if unknown:
        raise InputError(
            f"{gold.name} has labels that the tagger does not know: {', '.join(unknown)} "
            f"(it knows {', '.join(tagger.labels)}). Map them by name (--map) or compare type-less (--typeless)."
        )
    return score(gold, predict(tagger, gold), seen=seen, reading=reading)
