"""Several labelled corpora as one source: what each annotates, and how often each is seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from acclimate.data.corpus import Corpus, ReadingNotes, Sentence, kind_of_tags
from acclimate.data.problems import InputError
from acclimate.data.schemes import ANY_LABEL, hidden_labels
from acclimate.spelling import count


def join_sources(corpora: Sequence[Corpus]) -> Corpus:
    """One corpus of all sentences, each with the name of its corpus as its `source`.

    The labels are those of all corpora. Where a corpus does not annotate some of them (`annotated_labels`), its words
    outside of spans are open to them, and learnt as O with doubt.
    """
    if len(corpora) == 1:
        return corpora[0]
    _require_sources(corpora)
    labels = all_labels(corpora)
    sentences: list[Sentence] = []
    notes = ReadingNotes()
    for corpus in corpora:
        known = replace(corpus, annotates=annotated_labels(corpus)).open_to(labels)
        sentences += (replace(sentence, source=corpus.name) for sentence in known)
        notes += corpus.notes
    return Corpus(tuple(sentences), "+".join(corpus.name for corpus in corpora), corpora[0].kind, notes)


def annotated_labels(corpus: Corpus) -> tuple[str, ...]:
    """The labels that a corpus annotates: those it names (`Corpus.annotates`), or else those that occur in it."""
    return corpus.labels.names if corpus.annotates is None else corpus.annotates


def all_labels(corpora: Sequence[Corpus]) -> set[str]:
    """Every label that occurs or was looked for in one of them."""
    return {label for corpus in corpora for label in (*corpus.labels, *annotated_labels(corpus))}


def remarks_on_sources(corpora: Sequence[Corpus]) -> Iterator[str]:
    """What each corpus does not annotate, as a user should know it."""
    if len(corpora) == 1 or corpora[0].kind == "plain":
        return
    labels = all_labels(corpora)
    for corpus in corpora:
        missing = sorted(labels - set(annotated_labels(corpus)))
        if missing:
            yield (
                f"{corpus.name} does not annotate {', '.join(missing)}: its other words may hide such a name, and are "
                "learnt as O with doubt (sources.hidden_odds). If somebody looked for them, say so: `annotates: [...]` "
                "in its label map."
            )


def sizes_of(corpus: Corpus) -> dict[str, int]:
    """Sentences by the name of their source; empty where nothing was joined."""
    return dict(Counter(sentence.source for sentence in corpus if sentence.source is not None))


def hidden_labels_by_source(corpus: Corpus) -> dict[str, list[str]]:
    """The labels that words of each source may hide, by its name; only sources of which some may."""
    hidden_by_source: dict[str, set[str]] = {}
    for sentence in corpus:
        if sentence.source is not None and sentence.is_open:
            hidden = {label for tag in sentence.tags or () for label in hidden_labels(tag)} - {ANY_LABEL}
            hidden_by_source.setdefault(sentence.source, set()).update(hidden)
    return {name: sorted(labels) for name, labels in hidden_by_source.items() if labels}


def mix_sources(corpus: Corpus, weights: Mapping[str, float], smoothing: float, seed: int) -> Corpus:
    """The corpus with sentences of some sources repeated, so that a pass shows them more often.

    A source of n sentences is seen in proportion to `weight * n ** smoothing`: with 1 as often as it is large, with 0
    all alike. The source that is seen least, for its size, stands once; the others in whole copies and a random part.
    """
    sizes = sizes_of(corpus)
    if unknown := sorted(weights.keys() - sizes.keys()):
        names = ", ".join(sizes) or "there is only one"
        raise InputError(f"sources.weights: there is no source named {', '.join(unknown)}. Sources: {names}.")
    wanted = {name: weights.get(name, 1.0) * size ** (smoothing - 1) for name, size in sizes.items()}
    if len(set(wanted.values())) < 2:
        return corpus
    least = min(wanted.values())
    numbers: dict[str | None, list[int]] = {}
    for number, sentence in enumerate(corpus):
        numbers.setdefault(sentence.source, []).append(number)
    more: list[int] = []
    for name, own in numbers.items():
        factor = 1.0 if name is None else wanted[name] / least
        extra = round(factor * len(own)) - len(own)
        dice = Random(f"{seed} {name}")
        more += own * (extra // len(own)) + sorted(dice.sample(own, extra % len(own)))
    return corpus.select([*range(len(corpus)), *more])


def describe_sources(corpus: Corpus) -> str:
    """`2 sources: a (1,000 sentences), b (20 sentences)`; the name alone of a single one."""
    sizes = sizes_of(corpus)
    shown = ", ".join(f"{name} ({count(size, 'sentence')})" for name, size in sizes.items())
    return f"{count(len(sizes), 'source')}: {shown}" if sizes else corpus.name


def _require_sources(corpora: Sequence[Corpus]) -> None:
    if not corpora:
        raise InputError("there is no source. Give one labelled corpus at least.")
    first = corpora[0]
    for corpus in corpora:
        if not corpus.is_labelled:
            raise InputError(f"the source {corpus.name} has no tags to learn from. Is it the right file, or column?")
        if corpus.kind != first.kind:
            kinds = f"has {kind_of_tags(corpus.kind)}, but {first.name} has {kind_of_tags(first.kind)}"
            raise InputError(f"the source {corpus.name} {kinds}: one tagger cannot learn both.")
    names = Counter(corpus.name for corpus in corpora)
    if twice := [name for name, times in names.items() if times > 1]:
        raise InputError(f"two sources are named {twice[0]}. Give each its own name.")
