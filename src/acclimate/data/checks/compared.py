"""Checks that compare corpora: two, of which the one that teaches comes first, or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from acclimate.data.checks.alone import REAL_SENTENCE, TOLERATED
from acclimate.data.checks.report import Finding, Severity
from acclimate.data.checks.survey import Survey
from acclimate.data.checks.wording import listed, named, out_of, percent, share


def _shared_sentences(known: Survey, other: Survey) -> Iterator[Finding]:
    """Sentences of `other` that stand in `known`, too; those of six or more words are the ones that matter."""
    exact = [len(sentence) for sentence in other.corpus if sentence.words in known.exact_set]
    rows = zip(other.corpus, other.texts, strict=True)
    loose = [len(sentence) for sentence, text in rows if text in known.text_set]
    if not loose:
        return
    real = _real(map(len, other.corpus))
    numbers = {"exact": len(exact), "loose": len(loose), "real_exact": _real(exact), "real_loose": _real(loose)}
    totals = {"exact": other.size, "loose": other.size, "real_exact": real, "real_loose": real}
    shares = {f"{what}_share": share(count, totals[what]) for what, count in numbers.items()}
    severity: Severity = "warning" if other.role == "held out" and shares["real_loose_share"] > TOLERATED else "fact"
    counted = {what: out_of(count, totals[what]) for what, count in numbers.items()}
    message = (
        f"{counted['exact']} of {other.size:,} sentences, {counted['loose']} by letters and digits; of the {real:,} of "
        f"{REAL_SENTENCE} or more words {counted['real_exact']}, {counted['real_loose']} by letters and digits."
    )
    yield Finding(severity, "shared-sentences", f"{other.name} in {known.name}", message, (), {**numbers, **shares})


def _vocabulary_overlap(known: Survey, other: Survey) -> Iterator[Finding]:
    left, right = known.corpus.vocabulary, other.corpus.vocabulary
    both = len(left.keys() & right.keys())
    either = len(left) + len(right) - both
    if left and right:
        message = (
            f"{both:,} different words in common: {percent(both, len(left))} of {known.name}'s, "
            f"{percent(both, len(right))} of {other.name}'s, {percent(both, either)} of both together."
        )
        numbers = {"of_first": both / len(left), "of_second": both / len(right), "jaccard": both / either}
        yield Finding("fact", "vocabulary-overlap", f"{known.name} and {other.name}", message, numbers=numbers)


def _unseen(known: Survey, other: Survey) -> Iterator[Finding]:
    if known.role != "training" or other.role == "training" or not other.size:
        return
    words = sum(count for word, count in other.corpus.vocabulary.items() if word not in known.corpus.vocabulary)
    numbers = {"words": share(words, other.corpus.word_count)}
    message = f"{percent(words, other.corpus.word_count)} of the words"
    if known.span_count and other.span_count:
        mentions = sum(counts.total() for text, counts in other.mentions.items() if text not in known.mentions)
        numbers["mentions"] = share(mentions, other.span_count)
        message += f" and {percent(mentions, other.span_count)} of the mentions"
    about = f"{other.name} after {known.name}"
    yield Finding("fact", "unseen", about, f"{message} of {other.name} do not occur in {known.name}.", numbers=numbers)


def _labels_against_training(surveys: Sequence[Survey]) -> Iterator[Finding]:
    taught = [survey for survey in surveys if survey.role == "training" and survey.labels]
    known = {label for survey in taught for label in survey.labels}
    kinds = {survey.kind for survey in taught}
    for survey in surveys:
        if survey.role == "training" or not survey.labels or kinds != {survey.kind}:
            continue
        missing = {label: count for label, count in survey.labels.most_common() if label not in known}
        absent = sorted(known - set(survey.labels))
        if missing:
            alike = {label.lower(): label for label in known}
            twins = [f"{label} and {alike[label.lower()]}" for label in missing if label.lower() in alike]
            message = f"labels that no training corpus has: {listed(missing)}."
            message += f" Only the letter case differs: {named(twins)}." if twins else ""
            yield Finding("error", "labels-missing-in-training", survey.name, message, numbers=missing)
        if absent:
            message = f"has no example of these labels, which are taught: {named(absent)}."
            yield Finding("fact", "labels-only-in-training", survey.name, message)


def _kinds_differ(surveys: Sequence[Survey]) -> Iterator[Finding]:
    kinds = {survey.name: survey.kind for survey in surveys if survey.tagged}
    if len(set(kinds.values())) > 1:
        message = f"span tags and plain tags: {', '.join(f'{name} {kind}' for name, kind in kinds.items())}."
        yield Finding("error", "kinds-differ", "all", message)


def _real(lengths: Iterable[int]) -> int:
    return sum(length >= REAL_SENTENCE for length in lengths)


PAIRS: tuple[Callable[[Survey, Survey], Iterable[Finding]], ...] = (_shared_sentences, _vocabulary_overlap, _unseen)
TOGETHER: tuple[Callable[[Sequence[Survey]], Iterable[Finding]], ...] = (_labels_against_training, _kinds_differ)
