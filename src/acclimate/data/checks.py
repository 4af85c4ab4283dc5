"""The data check: problems of corpora to know before a run, how bad they are, and what to do.

Every check is a generator of findings. The name says what a corpus is for: `train` or `source`, `dev` or `test`. If no
name says so, the first one is for training.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from acclimate.data.corpus import Corpus
from acclimate.data.findings import SEVERITIES, Finding, Report, Severity, Summary, listed, named, out_of, share
from acclimate.data.problems import shorten
from acclimate.data.schemes import OUTSIDE, looks_like_span_tag, may_agree
from acclimate.data.words import bare_text

FEW_EXAMPLES, VERY_FEW_EXAMPLES = 50, 10
REAL_SENTENCE = 6  # words; shorter ones ("Results", "By our reporter") repeat without harm
LONG_SENTENCE, LONG_SPAN = 200, 10  # words
ENOUGH_SPANS = 1000  # CoNLL-2003 has 3 neighbours of one label in 1,000 spans; fewer spans show nothing
ENOUGH_WORDS = 100  # to speak of letter case
TOLERATED = 0.01  # a share up to here is a fact, above it a warning

_ROLES = {
    "training": {"train", "training", "source"},
    "held out": {"dev", "devel", "development", "val", "valid", "validation", "eval", "test", "testa", "testb"},
}
_UNIVERSAL_POS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_PENN_POS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP TO UH VB VBD VBG VBN VBP VBZ "
    "WDT WP WP$ WRB # $ . , : ( ) '' `` -LRB- -RRB- HYPH NFP ADD AFX GW XX"
)
_PARTS_OF_SPEECH = frozenset(f"{_UNIVERSAL_POS} {_PENN_POS}".split())
_BROKEN_ENCODING = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€")  # UTF-8 that was read as Latin-1 or Windows-1252
_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))  # inside a word they are spelling (emoji, Persian, Hindi)


class CorpusStatistics:
    """Counts and sets of one corpus that several checks need. Its role is read from its name."""

    def __init__(self, name: str, corpus: Corpus):
        self.name, self.corpus, self.size = name, corpus, len(corpus)
        parts = set(re.split(r"[^a-z]+", name.lower()))
        self.role = next((role for role, names in _ROLES.items() if parts & names), "other")
        tags = Counter(tag for sentence in corpus for tag in sentence.tags or ())
        self.misfits = sorted(tag for tag in tags if not looks_like_span_tag(tag)) if corpus.kind == "spans" else []
        self.kind = "plain" if self.misfits else corpus.kind  # a corpus that says it has spans may be mistaken
        self.tagged = sum(sentence.tags is not None for sentence in corpus)
        self.texts = [bare_text(sentence.words) for sentence in corpus]
        self.exact_set, self.text_set = {sentence.words for sentence in corpus}, set(self.texts)
        self.spans = [sentence.spans if self.kind == "spans" else [] for sentence in corpus]
        self.mentions = [
            (" ".join(sentence.words[span.start : span.end]), span)
            for sentence, spans in zip(corpus, self.spans, strict=True)
            for span in spans
        ]
        self.labels = tags if self.kind == "plain" else Counter(span.label for _, span in self.mentions)
        self.severity_of_few: Severity = "fact" if self.role == "held out" else "warning"

    @property
    def summary(self) -> Summary:
        notes = self.corpus.notes
        without_spans = sum(not spans for spans in self.spans) - (self.size - self.tagged)
        return Summary(
            name=self.name,
            sentences=self.size,
            words=self.corpus.word_count,
            kind=self.kind if self.tagged else "no tags",
            labels=dict(self.labels.most_common()),
            without_tags=share(self.size - self.tagged, self.size),
            without_spans=share(without_spans, self.size) if self.kind == "spans" else 0.0,
            scheme=notes.scheme,
            repaired=notes.repaired,
            skipped=len(notes.skipped),
            border_misses=len(notes.border_misses),
        )


def _nothing_there(stats: CorpusStatistics) -> Iterator[Finding]:
    if not stats.size:
        yield Finding("error", "empty", stats.name, "has no sentences.")
    if stats.tagged and not stats.labels:
        yield Finding("error", "no-labels", stats.name, "has tags, but every one of them is O.")
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
        message = (
            f"{out_of(exact, stats.size)} sentences repeat an earlier one, {out_of(loose, stats.size)} by letters "
            f"and digits; {real:,} of these have {REAL_SENTENCE} or more words."
        )
        numbers = {"exact": exact, "loose": loose, "real": real}
        yield Finding(_severity(real, stats.size), "duplicates", stats.name, message, numbers=numbers)


def _severity(count: int, total: int, tolerated: float = TOLERATED) -> Severity:
    return "warning" if count > tolerated * total else "fact"


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
    spans = Counter(
        f"{span.label}: {shorten(text, 80)}" for text, span in stats.mentions if span.end - span.start > LONG_SPAN
    )
    if spans:
        total = len(stats.mentions)
        message = f"{out_of(spans.total(), total)} of its spans have more than {LONG_SPAN} words."
        examples = tuple(text for text, _ in spans.most_common(5))
        severity = _severity(spans.total(), total)
        yield Finding(severity, "long-spans", stats.name, message, examples, {"spans": spans.total()})


def _mentions_at_odds(stats: CorpusStatistics) -> Iterator[Finding]:
    """The same words under different labels: some are truly ambiguous (Washington), many are slips."""
    labels_of: dict[str, Counter[str]] = defaultdict(Counter)
    for text, span in stats.mentions:
        labels_of[text][span.label] += 1
    unusual = {text: counts.total() - max(counts.values()) for text, counts in labels_of.items() if len(counts) > 1}
    spans = sum(unusual.values())
    if unusual:
        message = (
            f"{len(unusual):,} of {len(labels_of):,} different mentions have more than one label; "
            f"{out_of(spans, len(stats.mentions))} spans do not have their mention's usual one."
        )
        top = sorted(unusual, key=lambda text: (-unusual[text], text))[:8]
        examples = tuple(f"{text}: {listed(dict(labels_of[text].most_common()))}" for text in top)
        severity = _severity(spans, len(stats.mentions), tolerated=0.05)
        numbers = {"mentions": len(unusual), "spans": spans}
        yield Finding(severity, "mentions-at-odds", stats.name, message, examples, numbers)


def _io_tags(stats: CorpusStatistics) -> Iterator[Finding]:
    """IO tags cannot spell two spans of one label side by side: where none are, they may be the origin."""
    rows = (pair for spans in stats.spans for pair in pairwise(spans))
    count = len(stats.mentions)
    if any(left.end == right.start and left.label == right.label for left, right in rows) or not count:
        return
    none = f"none of {count:,} spans follows one of its own label directly"
    if stats.corpus.notes.scheme == "IO":
        message = f"the tags are IO: {none}."
        yield Finding("warning", "io-tags", stats.name, message, numbers={"spans": count})
    elif count >= ENOUGH_SPANS and len(stats.labels) > 1:
        message = f"{none}: the corpus may come from IO tags."
        yield Finding("fact", "perhaps-io-tags", stats.name, message, numbers={"spans": count})


def _strange_words(stats: CorpusStatistics) -> Iterator[Finding]:
    labels = "|".join(map(re.escape, {"PER", "LOC", "ORG", "MISC", *stats.labels} - {OUTSIDE}))
    # TRE-DNA is a word, PaulI-PER is not: E and S count only after a small letter
    glued = re.compile(rf"([^\W_][BI]|[^\W_A-Z][ES])-({labels})$")
    kinds: tuple[tuple[str, str, Callable[[str], object]], ...] = (
        ("glued-tags", "that end in a tag", glued.search),
        ("invisible-characters", "with invisible characters", _hides_something),
        ("broken-encoding", "that look wrongly decoded", _BROKEN_ENCODING.search),
    )
    for code, what, is_strange in kinds:
        counts = Counter({word: count for word, count in stats.corpus.vocabulary.items() if is_strange(word)})
        if counts:
            message = f"words {what}: {out_of(counts.total(), stats.corpus.word_count)}."
            examples = tuple(
                "".join(letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in shorten(word, 80))
                for word, _ in counts.most_common(5)
            )
            yield Finding("warning", code, stats.name, message, examples, {"words": counts.total()})


def _hides_something(word: str) -> bool:
    if word.isprintable():
        return False
    bare = word[0] + word[1:-1].translate(_JOINERS) + word[-1]
    return any(not letter.isprintable() and unicodedata.category(letter) != "Cn" for letter in bare)  # Cn: new emoji


def _letter_case(stats: CorpusStatistics) -> Iterator[Finding]:
    counts: Counter[str] = Counter()
    for word, count in stats.corpus.vocabulary.items():
        if word.lower() != word.upper():
            counts["lower" if word.islower() else "upper" if word.isupper() else "both"] += count
    for case in ("lower", "upper"):
        part = share(counts[case], counts.total())
        if counts.total() >= ENOUGH_WORDS and part > 0.99:
            message = f"{100 * part:.1f} % of its words are in {case} case."
            yield Finding("warning", f"{case}-cased", stats.name, message, numbers={"share": part})


_ALONE: tuple[Callable[[CorpusStatistics], Iterable[Finding]], ...] = (
    *(_nothing_there, _how_it_was_read, _kind_of_tags, _duplicates, _tagged_unlike, _rare_labels),
    *(_lengths, _mentions_at_odds, _io_tags, _strange_words, _letter_case),
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


def _real(lengths: Iterable[int]) -> int:
    return sum(length >= REAL_SENTENCE for length in lengths)


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


def check_corpora(corpora: Mapping[str, Corpus]) -> Report:
    """Look the corpora over, each by itself and against the others. Nothing is changed, and nothing is refused."""
    statistics = [
        CorpusStatistics(name, corpus if corpus.annotates is None else corpus.open_to(corpus.labels))
        for name, corpus in corpora.items()
    ]
    if len(statistics) > 1 and all(stats.role != "training" for stats in statistics):
        statistics[0].role = "training"  # the others are compared with it
    findings = [finding for stats in statistics for check in _ALONE for finding in check(stats)]
    ranked = sorted(statistics, key=lambda stats: ("training", "other", "held out").index(stats.role))
    findings += [finding for known, other in combinations(ranked, 2) for finding in _shared_sentences(known, other)]
    findings += _labels_together(statistics)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(tuple(stats.summary for stats in statistics), tuple(findings))
