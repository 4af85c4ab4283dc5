"""New sentences between two domains: an entity gives way to one of the same type from the other (PDALN, 4.1.1).

The target's sentences get the source's entities and the other way round, so that names of the one stand in sentences of
the other. Tags are right by construction, as far as the type says all: `LOC` of a city and of a lake are one here. When
the two domains name types alike but mean different things by them, the new sentences are wrong in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.mapping import shared_labels
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme, Span, detect_scheme
from acclimate.data.subsets import take_sentences
from acclimate.methods.augmentation.anchor_draws import Choice, Donors, draw_all, draw_one
from acclimate.methods.augmentation.anchor_report import Augmentation, Side, SideReport, Variant
from acclimate.methods.augmentation.anchors import Mention, mentions, replace_entities

Words = tuple[str, ...]


def augment_with_anchors(
    source: Corpus,
    target: Corpus,
    *,
    target_variants: int = 4,
    source_variants: int = 2,
    source_sentences: int | None = 500,
    ratio: float | None = None,
    all_entities: bool = False,
    seed: int = 1,
) -> Augmentation:
    """So many variants of each labelled target sentence, and of each of a sample of the source's sentences.

    source_sentences: how large the sample is; None takes all. `ratio` asks for so many source sentences for each target
    sentence instead: the paper's DA[1:7] is `ratio=7`.
    all_entities: exchange every entity of a sentence that has a donor, not one.
    seed: the sample and the donors. Fewer source sentences, or fewer variants each, lie within more, but for variants
    that another sentence came to have first.

    Donors are all entities of the other corpus. No variant has the words of another, or of a sentence handed in. Tags
    are spelled in the scheme of the corpus that the sentence is from. What could not be had is in `remarks()`.
    """
    _require_sizes(target_variants, source_variants, source_sentences, ratio)
    _require_entities(source, target)
    if ratio is not None:
        source_sentences = round(ratio * len(target.labelled()))
    taken = {sentence.words for corpus in (source, target) for sentence in corpus}
    draw = _Draw(all_entities, seed, taken)
    from_target, target_report = draw.side("target", target, Donors(mentions(source)), target_variants, None)
    from_source, source_report = draw.side(
        "source", source, Donors(mentions(target)), source_variants, source_sentences
    )
    return Augmentation((*from_target, *from_source), target_report, source_report, source_sentences, seed)


@dataclass(slots=True)
class _Draw:
    all_entities: bool
    seed: int
    taken: set[Words]  # texts that exist already

    def side(
        self, side: Side, corpus: Corpus, donors: Donors, each: int, count: int | None
    ) -> tuple[list[Variant], SideReport]:
        """The variants of one domain's sentences."""
        usable = corpus.filter(lambda sentence: bool(donors.for_sentence(sentence)))
        used = _sample(usable, count if each else 0, self.seed)
        scheme = detect_scheme(sentence.tags for sentence in corpus if sentence.tags is not None)
        made = [self._variants(side, sentence, donors.for_sentence(sentence), each, scheme) for sentence in used]
        return [variant for row in made for variant in row], _report(corpus, donors.mentions, each, len(usable), made)

    def _variants(
        self, side: Side, sentence: Sentence, donors: Mapping[Span, Sequence[Mention]], each: int, scheme: Scheme
    ) -> list[Variant]:
        dice = Random(f"{side} {self.seed} {sentence.words!r}")  # its own: what others draw changes nothing here
        choices = (draw_all if self.all_entities else draw_one)(donors, dice)
        new = (variant for choice in choices if (variant := self._new(side, sentence, choice, scheme)))
        return list(islice(new, each))

    def _new(self, side: Side, sentence: Sentence, choice: Choice, scheme: Scheme) -> Variant | None:
        """A variant, unless its words are there already."""
        changed = replace_entities(sentence, choice, scheme)
        if changed.words in self.taken:
            return None
        self.taken.add(changed.words)
        return Variant(side, changed, sentence, _moves(sentence, choice))


def _moves(sentence: Sentence, choice: Choice) -> tuple[tuple[Span, Span], ...]:
    """Where each replaced entity stood, and where its donor stands: those before it may have moved it."""
    moves = []
    shift = 0
    for old in sentence.spans:
        if old in choice:
            start, length = old.start + shift, len(choice[old])
            moves.append((old, Span(start, start + length, old.label)))
            shift += length - (old.end - old.start)
    return tuple(moves)


def _sample(usable: Corpus, count: int | None, seed: int) -> Corpus:
    if count is None or count >= len(usable):
        return usable
    return take_sentences(usable, count, seed) if count else usable[:0]


def _report(
    corpus: Corpus,
    partners: Mapping[str, Sequence[Mention]],
    each: int,
    usable: int,
    made: Sequence[Sequence[Variant]],
) -> SideReport:
    untagged = sum(sentence.tags is None for sentence in corpus)
    bare = sum(sentence.tags is not None and not sentence.spans for sentence in corpus)
    replaced = Counter(new.label for row in made for variant in row for _, new in variant.changed)
    return SideReport(
        name=corpus.name,
        given=len(corpus),
        untagged=untagged,
        without_entities=bare,
        without_donors=len(corpus) - untagged - bare - usable,
        not_sampled=usable - len(made),
        used=len(made),
        variants_each=each,
        made=sum(map(len, made)),
        short=sum(len(row) < each for row in made),
        replaced=dict(sorted(replaced.items())),
        lonely={label: count for label, count in sorted(corpus.label_counts.items()) if label not in partners},
    )


def _require_sizes(target_variants: int, source_variants: int, sentences: int | None, ratio: float | None) -> None:
    if min(target_variants, source_variants) < 0 or not target_variants + source_variants:
        raise InputError(
            f"{target_variants} variants of each target sentence and {source_variants} of each source sentence: "
            "neither may be below 0, and one must be above."
        )
    if ratio is None and sentences is not None and sentences < 0:
        raise InputError(f"the number of source sentences must not be below 0, and is {sentences}.")
    if ratio is not None and not 0 <= ratio < float("inf"):
        raise InputError(f"the ratio says how many source sentences come to a target sentence: not {ratio}.")


def _require_entities(source: Corpus, target: Corpus) -> None:
    for corpus in (source, target):
        if corpus.is_labelled and corpus.kind == "plain":
            raise InputError(f"{corpus.name} has one plain tag per word; anchors are entities, which need span tags.")
        if not corpus.label_counts:
            raise InputError(f"{corpus.name} has no entities, so there is nothing to exchange. Is it the right file?")
    shared = shared_labels(source, target)
    if not shared.both:
        raise InputError(
            f"{source.name} and {target.name} have no type of entity in common ({shared}). Rename the labels of one of "
            "them with map_labels."
        )
