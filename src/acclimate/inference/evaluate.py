"""Tag a labelled corpus and compare with its own tags."""

from __future__ import annotations

from acclimate.data.corpus import Corpus
from acclimate.data.labels import LabelSet, kind_of_tags
from acclimate.data.problems import InputError, Place
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
    require_scorable(tagger.labels, gold)


def require_scorable(labels: LabelSet, gold: Corpus) -> None:
    """The same of any tagger that has these labels."""
    bare = next((sentence for sentence in gold if sentence.tags is None), None)
    if bare is not None or not len(gold):
        some = "has sentences without tags" if gold.is_labelled else "has no tags"
        advice = " Tag them, or leave them out." if gold.is_labelled else ""
        place = Place() if bare is None else bare.place
        raise InputError(f"{gold.name} {some} to compare with.{advice}", file=place.file, line=place.line)
    if gold.kind != labels.kind:
        raise InputError(
            f"{gold.name} has {kind_of_tags(gold.kind)}, but the tagger was trained on {kind_of_tags(labels.kind)}."
        )
    unknown = [name for name in gold.labels if name not in labels]
    if unknown:
        raise InputError(
            f"{gold.name} has labels that the tagger does not know: {', '.join(unknown)} "
            f"(it knows {', '.join(labels)}). Map them by name (--map) or compare type-less (--typeless)."
        )
