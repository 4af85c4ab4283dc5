"""Look two corpora over: figures, what can be run with what is given, and what is worth a try. Nothing is trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from acclimate.analysis.inspection.encoder_view import FEATURE_WORDS, LOSS_WORDS, Progress, look_through
from acclimate.analysis.inspection.facts import ExtraText, Facts, Given
from acclimate.analysis.inspection.label_support import label_support
from acclimate.analysis.inspection.recipes_at_hand import Standing, standings
from acclimate.analysis.inspection.rules import suggestions
from acclimate.analysis.inspection.sampling import sampled
from acclimate.analysis.inspection.suggestion import Suggestion
from acclimate.analysis.inspection.surface import Surface
from acclimate.analysis.inspection.words_and_pieces import compare_words
from acclimate.analysis.text_comparison import DensityRatio
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.model.tagger import DEFAULT_ENCODER

SENTENCES = 2_000


@dataclass(frozen=True, slots=True)
class Inspection:
    """Everything that was found."""

    facts: Facts
    standings: tuple[Standing, ...]
    suggestions: tuple[Suggestion, ...]
    sampled: tuple[int, int]  # sentences of source and target that the figures of text are of
    notes: tuple[str, ...]  # what is to be known of how it was done

    def as_dict(self) -> dict[str, Any]:
        facts = self.facts
        return {
            "given": asdict(facts.given),
            "sampled": {
                "source_sentences": self.sampled[0],
                "target_sentences": self.sampled[1],
                "words_for_features": FEATURE_WORDS,
                "words_for_loss": LOSS_WORDS,
            },
            "surface": {"source": facts.source.as_dict(), "target": facts.target.as_dict()},
            "words": facts.words.as_dict(),
            "encoder": facts.encoder.as_dict(),
            "labels": facts.labels.as_dict(),
            "extra": facts.extra and facts.extra.as_dict(),
            "recipes": [standing.as_dict() for standing in self.standings],
            "suggestions": [suggestion.as_dict() for suggestion in self.suggestions],
            "notes": list(self.notes),
        }


def inspect_corpora(
    source: Corpus,
    target: Corpus,
    *,
    target_labelled: Corpus | None = None,
    extra: Corpus | None = None,
    given: Given | None = None,
    encoder: str = DEFAULT_ENCODER,
    sentences: int = SENTENCES,
    cut: frozenset[str] = frozenset(),
    seed: int = 0,
    progress: Progress | None = None,
) -> Inspection:
    """Compare a labelled source with a target, and say what that suggests.

    `target_labelled` are sentences to learn from. Where there are none, tags in `target` tell of labels and of nothing
    else. `given` is how the corpora are called in the commands; `cut` names those of which only the beginning was read
    ("target", "extra").
    """
    _require_fit(source, target, target_labelled)
    few = None if target_labelled is None else target_labelled.name
    named = Given(source.name, target.name, few) if given is None else given
    samples = sampled(source, sentences, seed), sampled(target, sentences, seed)
    words = compare_words(source, samples)
    labelled = target_labelled if target_labelled is not None else target.labelled() if target.is_labelled else None
    facts = Facts(
        given=named,
        source=Surface.of(source, samples[0]),
        target=Surface.of(target, samples[1]),
        words=words,
        encoder=look_through(encoder, source, samples, progress, seed),
        labels=label_support(source, labelled),
        extra=None if extra is None else _extra(extra, samples[1], sentences, seed, "extra" in cut),
    )
    notes = _notes(target, target_labelled, cut)
    return Inspection(facts, standings(facts), suggestions(facts), (len(samples[0]), len(samples[1])), notes)


def _require_fit(source: Corpus, target: Corpus, few: Corpus | None) -> None:
    for corpus in (source, target):
        if not len(corpus):
            raise InputError(f"{corpus.name} has no sentences to look at.")
    if not source.is_labelled or not source.label_counts:
        raise InputError(f"the source {source.name} has no tags to learn from. Is it the right file, or column?")
    if few is not None and not few.is_labelled:
        raise InputError(f"{few.name} is to be labelled target sentences, but has no tags.")


def _extra(extra: Corpus, target: Corpus, sentences: int, seed: int, cut: bool) -> ExtraText:
    distance = DensityRatio.of(sampled(extra, sentences, seed), target).distance
    return ExtraText(len(extra), extra.word_count, distance, cut)


def _notes(target: Corpus, few: Corpus | None, cut: frozenset[str]) -> tuple[str, ...]:
    notes = [f"Only the beginning of the {name} text was read; its size is that of the part." for name in sorted(cut)]
    if target.is_labelled:
        use = "not looked at" if few is not None else "looked at for the labels below, and for nothing else"
        notes.append(f"Tags in {target.name} were {use}; no recipe learns from them.")
    return tuple(notes)
