"""Labels of a dictionary in the place of a person's (MSLM's appendix G)."""

from __future__ import annotations

from acclimate.data.concepts.dictionary import ConceptDictionary
from acclimate.data.concepts.files import load_concepts
from acclimate.data.concepts.labelling import Labeller
from acclimate.data.concepts.mentions import Groups
from acclimate.data.corpus import Corpus
from acclimate.settings import Settings


class WeakLabels(Settings):
    """Which names, and which label each type of them gets."""

    concepts: tuple[str, ...]
    groups: str = "table-12"
    label: str | None = None  # of names without a type


def weakly_labelled(corpus: Corpus, settings: WeakLabels) -> Corpus:
    """The same text under the dictionary's labels."""
    groups = Groups.load(settings.groups, single=settings.label)
    dictionary = ConceptDictionary.of({name: load_concepts(name) for name in settings.concepts}, groups)
    return Corpus.of(Labeller(dictionary, groups).label(corpus.unlabelled()), f"{corpus.name}, weak labels")
