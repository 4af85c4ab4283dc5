"""Tag a labelled corpus and compare with its own tags."""

from __future__ import annotations

from acclimate.data.corpus import Corpus, LabelSet, kind_of_tags
from acclimate.data.problems import InputError, Place
from acclimate.evaluation.counts import Reading
from acclimate.evaluation.scores import Scores, score
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger


def evaluate(tagger: Tagger, gold: Corpus, *, reading: Reading = "lenient") -> Scores:
    """Scores of the tagger on a labelled corpus, seen and unseen words apart when it knows what it was trained on.

    Figures are fractions: `evaluate(tagger, gold).span.f1` lies between 0 and 1. `print` shows a table in percent.
    A gold label that the tagger does not know is an error: counted silently, it would look like a bad tagger.
    """
    require_comparable(tagger, gold)
    return score(gold, predict(tagger, gold), seen=tagger.seen, reading=reading)


def require_comparable(tagger: Tagger, gold: Corpus) -> None:
    """Refuse a corpus that the tagger cannot be scored on, and say what to do about it."""
    require_scorable(tagger.labels, gold)


def require_spans(*parts: Corpus | None) -> None:
    """Refuse parts that are to be scored by spans and have none: their F1 is 0 whatever a tagger says."""
    for part in parts:
        if part is not None and lacks_spans(part):
            file = part.sentences[0].place.file
            raise InputError(
                f"{part.name} has no labelled span: F1 would say nothing. Give sentences with entities, or leave it "
                "out.",
                file=None if file == part.name else file,  # read from the command line, it is named after its file
            )


def lacks_spans(gold: Corpus) -> bool:
    """Whether it is tagged, and nothing in it is labelled."""
    return gold.is_labelled and gold.kind == "spans" and not len(gold.labels)


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
