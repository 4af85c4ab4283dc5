"""The data check: problems of corpora to know before a run, how bad they are, and what to do.

Every check is a generator of findings. The name says what a corpus is for: `train` or `source`, `dev` or `test`. If no
name says so, the first one is for training.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from acclimate.data.corpus import Corpus
from acclimate.data.findings import (
    SEVERITIES,
    CorpusStatistics,
    Finding,
    Report,
    Severity,
    listed,
    named,
    out_of,
    percent,
    share,
)
from acclimate.data.problems import shorten
from acclimate.data.schemes import OUTSIDE, looks_like_span_tag, may_agree

FEW_EXAMPLES, VERY_FEW_EXAMPLES = 50, 10
REAL_SENTENCE = 6  # words; shorter ones ("Results", "By our reporter") repeat without harm
LONG_SENTENCE, LONG_SPAN, LONG_WORD = 200, 10, 40
ENOUGH_SPANS = 1000  # CoNLL-2003 has 3 neighbours of one label in 1,000 spans; fewer spans show nothing
ENOUGH_WORDS = 100  # to speak of letter case
TOLERATED = 0.01  # a share up to here is a fact, above it a warning

_UNIVERSAL_POS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_PENN_POS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP TO UH VB VBD VBG VBN VBP VBZ "
    "WDT WP WP$ WRB # $ . , : ( ) '' `` -LRB- -RRB- HYPH NFP ADD AFX GW XX"
)
_PARTS_OF_SPEECH = frozenset(f"{_UNIVERSAL_POS} {_PENN_POS}".split())
_URL = re.compile(r"(https?:)?//\S|www\.\S", re.IGNORECASE)
_BROKEN_ENCODING = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€")  # UTF-8 that was read as Latin-1 or Windows-1252
_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))  # inside a word they are spelling (emoji, Persian, Hindi)
_BRACKETS = {"(": ")", "[": "]", "{": "}", "-LRB-": "-RRB-", "-LSB-": "-RSB-"}


def _nothing_there(stats: CorpusStatistics) -> Iterator[Finding]:
    if not stats.size:
        yield Finding("error", "empty", stats.name, "has no sentences.")
    if stats.tagged and not stats.labels:
        yield Finding("error", "no-labels", stats.name, "has tags, but every one of them is O.")
    if stats.span_count and not stats.without_spans:
        yield Finding(stats.severity_of_few, "no-empty-sentence", stats.name, "no sentence is without a span.")
    bare = stats.size - stats.tagged
    if bare and stats.tagged:
        message = f"{out_of(bare, stats.size)} of its sentences have no tags."
        yield Finding("warning", "partly-tagged", stats.name, message, numbers={"sentences": bare})
    hidden = stats.corpus.open_words if stats.kind == "spans" else {}
    if hidden:
        message = f"words that may hide a label which nobody looked for there: {listed(hidden)}."
        yield Finding("fact", "open-words", stats.name, message, numbers=hidden)


def _how_it_was_read(stats: CorpusStatistics) -> Iterator[Finding]:
    notes = stats.corpus.notes
    for code, what, count, shown in (
        ("repaired-tags", "tags that broke the scheme and were read as the start of a span", notes.repaired, ()),
        ("skipped-lines", "bad lines that were passed over", len(notes.skipped), notes.skipped[:5]),
        ("border-misses", "spans that miss word borders", len(notes.border_misses), notes.border_misses[:5]),
    ):
        if count:
            examples = tuple(map(str, shown))
            yield Finding("warning", code, stats.name, f"{what}: {count:,}.", examples, {"count": count})
    for remark in notes.remarks:
        yield Finding("fact", "reading", stats.name, f"{remark}.")


def _kind_of_tags(stats: CorpusStatistics) -> Iterator[Finding]:
    """Tags of one sort under the name of another: the wrong column, or the wrong way to read it."""
    names = sorted(stats.labels)
    if stats.misfits:
        message = f"is said to have span tags, but these fit no span scheme: {named(stats.misfits)}."
        yield Finding("error", "no-span-tags", stats.name, message)
    elif stats.kind == "plain" and any("-" in tag for tag in names) and all(map(looks_like_span_tag, names)):
        message = f"is said to have plain tags, but they look like spans: {named(names)}."
        yield Finding("error", "span-tags", stats.name, message)
    if len(names) >= 3 and sum(name in _PARTS_OF_SPEECH for name in names) >= 0.8 * len(names):
        severity: Severity = "fact" if stats.corpus.kind == "plain" else "warning"
        message = f"the tags look like parts of speech: {named(names)}."
        yield Finding(severity, "parts-of-speech", stats.name, message)


def _duplicates(stats: CorpusStatistics) -> Iterator[Finding]:
    """Sentences that repeat an earlier one of the same corpus."""
    exact, loose = stats.size - len(stats.exact_set), stats.size - len(stats.text_set)
    seen: set[str] = set()
    real = 0
    for sentence, text in zip(stats.corpus, stats.texts, strict=True):
        real += text in seen and len(sentence) >= REAL_SENTENCE
        seen.add(text)
    if loose:
        severity: Severity = "warning" if real > TOLERATED * stats.size else "fact"
        message = (
            f"{out_of(exact, stats.size)} sentences repeat an earlier one, {out_of(loose, stats.size)} by letters "
            f"and digits; {real:,} of these have {REAL_SENTENCE} or more words."
        )
        numbers = {"exact": exact, "loose": loose, "real": real}
        yield Finding(severity, "duplicates", stats.name, message, numbers=numbers)


def _tagged_unlike(stats: CorpusStatistics) -> Iterator[Finding]:
    first: dict[tuple[str, ...], tuple[str, ...]] = {}
    tagged = ((sentence.words, sentence.tags) for sentence in stats.corpus if sentence.tags is not None)
    at_odds = {
        " ".join(words) for words, tags in tagged if not all(map(may_agree, first.setdefault(words, tags), tags))
    }
    if at_odds:
        examples = tuple(shorten(text, 100) for text in sorted(at_odds)[:3])
        message = f"sentences that occur again under other tags: {len(at_odds):,}."
        numbers = {"sentences": len(at_odds)}
        yield Finding("warning", "tagged-unlike", stats.name, message, examples, numbers)


def _rare_labels(stats: CorpusStatistics) -> Iterator[Finding]:
    steps = (("very-few-examples", 1, VERY_FEW_EXAMPLES), ("few-examples", VERY_FEW_EXAMPLES, FEW_EXAMPLES))
    for code, least, below in steps:
        rare = {label: count for label, count in stats.labels.most_common() if least <= count < below}
        if rare:
            message = f"labels with fewer than {below} examples: {listed(rare)}."
            yield Finding(stats.severity_of_few, code, stats.name, message, numbers=rare)


def _lengths(stats: CorpusStatistics) -> Iterator[Finding]:
    long = [sentence for sentence in stats.corpus if len(sentence) > LONG_SENTENCE]
    if long:
        longest = max(map(len, long))
        message = f"sentences of more than {LONG_SENTENCE} words: {len(long):,}; the longest has {longest:,}."
        examples = tuple(f"{sentence.place}: {shorten(' '.join(sentence.words), 60)}" for sentence in long[:3])
        numbers: dict[str, float] = {"sentences": len(long), "longest": longest}
        yield Finding("warning", "long-sentences", stats.name, message, examples, numbers)
    single = sum(len(sentence) == 1 for sentence in stats.corpus)
    if single > TOLERATED * stats.size:
        severity: Severity = "warning" if single > stats.size / 4 else "fact"
        message = f"{out_of(single, stats.size)} of its sentences have one word."
        numbers = {"sentences": single, "share": share(single, stats.size)}
        yield Finding(severity, "one-word-sentences", stats.name, message, numbers=numbers)


def _mentions_at_odds(stats: CorpusStatistics) -> Iterator[Finding]:
    """The same words under different labels: some are truly ambiguous (Washington), many are slips."""
    unsure = {text: counts for text, counts in stats.mentions.items() if len(counts) > 1}
    unusual = {text: counts.total() - max(counts.values()) for text, counts in unsure.items()}
    spans = sum(unusual.values())
    if unsure:
        severity: Severity = "warning" if spans > 0.05 * stats.span_count else "fact"
        message = (
            f"{len(unsure):,} of {len(stats.mentions):,} different mentions have more than one label; "
            f"{out_of(spans, stats.span_count)} spans do not have their mention's usual one."
        )
        top = sorted(unsure, key=lambda text: (-unusual[text], text))[:8]
        examples = tuple(f"{text}: {listed(dict(unsure[text].most_common()))}" for text in top)
        numbers = {"mentions": len(unsure), "spans": spans}
        yield Finding(severity, "mentions-at-odds", stats.name, message, examples, numbers)


def _span_borders(stats: CorpusStatistics) -> Iterator[Finding]:
    odd: Counter[str] = Counter()
    long: Counter[str] = Counter()
    for words, label in stats.each_span():
        if _has_odd_border(words):
            odd[f"{label}: {shorten(' '.join(words), 80)}"] += 1
        if len(words) > LONG_SPAN:
            long[f"{label}: {shorten(' '.join(words), 80)}"] += 1
    for code, counts, what in (
        ("odd-borders", odd, "begin or end with punctuation or blanks"),
        ("long-spans", long, f"have more than {LONG_SPAN} words"),
    ):
        if counts:
            severity: Severity = "warning" if counts.total() > TOLERATED * stats.span_count else "fact"
            message = f"{out_of(counts.total(), stats.span_count)} of its spans {what}."
            examples = tuple(text for text, _ in counts.most_common(5))
            yield Finding(severity, code, stats.name, message, examples, {"spans": counts.total()})


def _neighbours(stats: CorpusStatistics) -> Iterator[Finding]:
    """Two spans of one label side by side cannot be spelled in IO tags: where none are, those may be the origin."""
    rows = (pair for spans in stats.spans for pair in pairwise(spans))
    touching = sum(left.end == right.start and left.label == right.label for left, right in rows)
    numbers = {"spans": stats.span_count, "touching": touching}
    none = f"none of {stats.span_count:,} spans follows one of its own label directly"
    if touching:
        message = f"spans that follow one of their own label directly: {touching:,}."
        yield Finding("fact", "neighbours", stats.name, message, numbers=numbers)
    elif stats.corpus.notes.scheme == "IO" and stats.span_count:
        yield Finding("warning", "io-tags", stats.name, f"the tags are IO: {none}.", numbers=numbers)
    elif stats.span_count >= ENOUGH_SPANS and len(stats.labels) > 1:
        message = f"{none}: the corpus may come from IO tags."
        yield Finding("fact", "perhaps-io-tags", stats.name, message, numbers=numbers)


def _strange_words(stats: CorpusStatistics) -> Iterator[Finding]:
    labels = "|".join(map(re.escape, {"PER", "LOC", "ORG", "MISC", *stats.labels} - {OUTSIDE}))
    # TRE-DNA is a word, PaulI-PER is not: E and S count only after a small letter
    glued = re.compile(rf"([^\W_][BI]|[^\W_A-Z][ES])-({labels})$")
    kinds: tuple[tuple[str, Severity, str, Callable[[str], object]], ...] = (
        ("glued-tags", "warning", "that end in a tag", glued.search),
        ("invisible-characters", "warning", "with invisible characters", _hides_something),
        ("broken-encoding", "warning", "that look wrongly decoded", _BROKEN_ENCODING.search),
        ("long-words", "fact", f"of more than {LONG_WORD} letters", _is_long),
        ("urls", "fact", "that are web addresses", _URL.match),
    )
    for code, severity, what, is_strange in kinds:
        counts = Counter({word: count for word, count in stats.corpus.vocabulary.items() if is_strange(word)})
        if counts:
            message = f"words {what}: {out_of(counts.total(), stats.corpus.word_count)}."
            examples = tuple(
                "".join(letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in shorten(word, 80))
                for word, _ in counts.most_common(5)
            )
            yield Finding(severity, code, stats.name, message, examples, {"words": counts.total()})


def _letter_case(stats: CorpusStatistics) -> Iterator[Finding]:
    counts: Counter[str] = Counter()
    for word, count in stats.corpus.vocabulary.items():
        if word.lower() != word.upper():
            counts["lower" if word.islower() else "upper" if word.isupper() else "both"] += count
    for case in ("lower", "upper"):
        if counts.total() >= ENOUGH_WORDS and counts[case] > 0.99 * counts.total():
            message = f"{percent(counts[case], counts.total())} of its words are in {case} case."
            numbers = {"share": share(counts[case], counts.total())}
            yield Finding("warning", f"{case}-cased", stats.name, message, numbers=numbers)


def _has_odd_border(words: Sequence[str]) -> bool:
    """Whether a mark stands at an end. Brackets closed inside the span, as in `[ 3H ] thymidine`, are none."""
    opens = _BRACKETS.get(words[0], "\n") in words[:-1]
    closes = any(words[-1] == right and left in words[1:] for left, right in _BRACKETS.items())
    return (_is_mark(words[0]) and not opens) or (_is_mark(words[-1]) and not closes)


def _is_mark(word: str) -> bool:
    """Punctuation or blanks and nothing else. The signs that are named are part of a name often enough."""
    return all(unicodedata.category(letter)[0] in "PZC" and letter not in "%&@#*" for letter in word)


def _hides_something(word: str) -> bool:
    if word.isprintable():
        return False
    bare = word[0] + word[1:-1].translate(_JOINERS) + word[-1]
    return any(not letter.isprintable() and unicodedata.category(letter) != "Cn" for letter in bare)  # Cn: new emoji


def _is_long(word: str) -> bool:
    return len(word) > LONG_WORD and not _URL.match(word) and sum(map(str.isalnum, word)) > LONG_WORD


ALONE: tuple[Callable[[CorpusStatistics], Iterable[Finding]], ...] = (
    *(_nothing_there, _how_it_was_read, _kind_of_tags, _duplicates, _tagged_unlike, _rare_labels),
    *(_lengths, _mentions_at_odds, _span_borders, _neighbours, _strange_words, _letter_case),
)


def _shared_sentences(known: CorpusStatistics, other: CorpusStatistics) -> Iterator[Finding]:
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


def _labels_together(statistics: Sequence[CorpusStatistics]) -> Iterator[Finding]:
    """Labels and kinds of tags that do not fit those of the training corpora."""
    kind_of = {stats.name: stats.kind for stats in statistics if stats.tagged}
    if len(set(kind_of.values())) > 1:
        message = f"span tags and plain tags: {', '.join(f'{name} {kind}' for name, kind in kind_of.items())}."
        yield Finding("error", "kinds-differ", "all", message)
    taught = [stats for stats in statistics if stats.role == "training" and stats.labels]
    known = {label for stats in taught for label in stats.labels}
    kinds = {stats.kind for stats in taught}
    for stats in statistics:
        if stats.role == "training" or not stats.labels or kinds != {stats.kind}:
            continue
        missing = {label: count for label, count in stats.labels.most_common() if label not in known}
        absent = sorted(known - set(stats.labels))
        if missing:
            alike = {label.lower(): label for label in known}
            twins = [f"{label} and {alike[label.lower()]}" for label in missing if label.lower() in alike]
            message = f"labels that no training corpus has: {listed(missing)}."
            message += f" Only the letter case differs: {named(twins)}." if twins else ""
            yield Finding("error", "labels-missing-in-training", stats.name, message, numbers=missing)
        if absent:
            message = f"has no example of these labels, which are taught: {named(absent)}."
            yield Finding("fact", "labels-only-in-training", stats.name, message)


def _real(lengths: Iterable[int]) -> int:
    return sum(length >= REAL_SENTENCE for length in lengths)


PAIRS: tuple[Callable[[CorpusStatistics, CorpusStatistics], Iterable[Finding]], ...] = (_shared_sentences,)


def check_corpora(corpora: Mapping[str, Corpus]) -> Report:
    """Look the corpora over, each by itself and against the others. Nothing is changed, and nothing is refused."""
    statistics = [
        CorpusStatistics(name, corpus if corpus.annotates is None else corpus.open_to(corpus.labels))
        for name, corpus in corpora.items()
    ]
    if len(statistics) > 1 and all(stats.role != "training" for stats in statistics):
        statistics[0].role = "training"  # the others are compared with it
    findings = [finding for stats in statistics for check in ALONE for finding in check(stats)]
    ranked = sorted(statistics, key=lambda stats: ("training", "other", "held out").index(stats.role))
    findings += [finding for pair in combinations(ranked, 2) for compare in PAIRS for finding in compare(*pair)]
    findings += _labels_together(statistics)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(tuple(stats.summary for stats in statistics), tuple(findings))
