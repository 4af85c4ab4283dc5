"""The data check: what one would want to know of the corpora before a run, how bad it is, and what to do about it.

Every check is one small generator of findings, named in one of three lists: those that look at one corpus (`ALONE`), at
two (`PAIRS`), at all (`TOGETHER`). A corpus is counted through once (`_Survey`) and all else is sets and dictionaries,
so that big sets take seconds. What a corpus is for is read from its name: `train` or `source` teach, `dev` or `test`
are held out; when no name says so, the first one teaches.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, Literal

from acclimate.data.corpus import Corpus
from acclimate.data.problems import shorten
from acclimate.data.schemes import OUTSIDE, Span, looks_like_span_tag
from acclimate.data.subsets import bare_text

Severity = Literal["error", "warning", "fact"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "fact")  # the worst first

FEW_EXAMPLES, VERY_FEW_EXAMPLES = 50, 10
REAL_SENTENCE = 6  # words; shorter ones ("Results", "By our reporter") repeat without harm
LONG_SENTENCE, LONG_SPAN, LONG_WORD = 200, 10, 40
ENOUGH_SPANS = 1000  # CoNLL-2003 has 3 neighbours of one label in 1,000 spans; fewer spans show nothing
ENOUGH_WORDS = 100  # to speak of letter case
TOLERATED = 0.01  # a share up to here is a fact, above it a warning

ADVICE = {
    "empty": "Look at the file and at how it was read.",
    "no-labels": "Is it the right tag column?",
    "partly-tagged": "Take corpus.labelled() to train on, and give the rest as unlabelled text.",
    "repaired-tags": "A few are slips of annotation; many mean that the scheme was guessed wrong: name it.",
    "skipped-lines": "Mend them in the file.",
    "border-misses": "Check the offsets of the export, or split words where the annotation does.",
    "no-span-tags": 'Read it with kind="plain", or choose another tag column.',
    "span-tags": 'Read it with kind="spans".',
    "parts-of-speech": "Right for part-of-speech tagging; if entities were meant, choose another tag column.",
    "kinds-differ": "They are two tasks: keep them apart, or read both from the same column.",
    "duplicates": "They count double in training and in scores; split() keeps equal sentences in one part.",
    "tagged-unlike": "One of the annotations at most can be right.",
    "very-few-examples": "Too few to learn from or to score: annotate more, join labels with a map, or drop them.",
    "few-examples": "Their scores will swing from seed to seed: annotate more, or join labels with a map.",
    "no-empty-sentence": "A tagger learns to find something everywhere: add sentences without, as the text of use has.",
    "long-sentences": "Often a sentence break is missing. They are read in windows, which costs memory and context.",
    "one-word-sentences": "Headings teach little; very many may mean that blank lines stand between the words.",
    "mentions-at-odds": "Some names are ambiguous, the rest are slips of annotation: read the examples.",
    "odd-borders": "Exact-match scores hang on borders: decide on a rule and keep to it.",
    "long-spans": "Read them: often two spans in one, or a missing O.",
    "io-tags": "Names in a row are glued together: compare scores with other corpora with care.",
    "perhaps-io-tags": "In IO tags names in a row are one span: look at the original, compare scores with care.",
    "glued-tags": "A separator is missing in the file: mend the line.",
    "invisible-characters": "Remove or normalise them: to a model they make another word of the same letters.",
    "broken-encoding": "The text was decoded wrongly at some time: read it as UTF-8, or get another copy.",
    "long-words": "Is a blank missing?",
    "urls": "One placeholder for all of them makes the vocabulary smaller.",
    "lower-cased": "Capitals are a strong sign of names: use an uncased model, or train on text of the same case.",
    "upper-cased": "Capitals say nothing here: use an uncased model, or train on text of the same case.",
    "shared-sentences": "Scores on them measure memory: take them out of the other text, or score the rest apart.",
    "labels-missing-in-training": "They cannot be learned and always count as missed: map the labels by name "
    "(map_labels), or compare spans alone (typeless).",
}

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
_URL = re.compile(r"(https?:)?//\S|www\.\S", re.IGNORECASE)
_BROKEN_ENCODING = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€")  # UTF-8 that was read as Latin-1 or Windows-1252
_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))  # inside a word they are spelling (emoji, Persian, Hindi)
_BRACKETS = {"(": ")", "[": "]", "{": "}", "-LRB-": "-RRB-", "-LSB-": "-RSB-"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. `code` is stable, for scripts; `numbers` are the figures of the message."""

    severity: Severity
    code: str
    about: str
    message: str
    examples: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def advice(self) -> str:
        """What to do about it; empty where there is nothing to be done."""
        return ADVICE.get(self.code, "")


@dataclass(frozen=True, slots=True)
class Summary:
    """One corpus in figures. `without_tags` and `without_spans` are shares of its sentences."""

    name: str
    sentences: int
    words: int
    kind: str
    labels: Mapping[str, int]
    without_tags: float
    without_spans: float
    scheme: str | None
    repaired: int
    skipped: int
    border_misses: int


@dataclass(frozen=True, slots=True)
class Report:
    """What `check_corpora` found, the worst first."""

    corpora: tuple[Summary, ...]
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Severity | None:
        return self.findings[0].severity if self.findings else None

    def with_code(self, code: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.code == code]

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries and numbers, ready for JSON."""
        findings = [{**asdict(finding), "advice": finding.advice} for finding in self.findings]
        return {"worst": self.worst, "corpora": [asdict(one) for one in self.corpora], "findings": findings}

    def render(self) -> str:
        """The report as text for people: figures, then the findings by kind, the worst first."""
        counts = Counter(finding.severity for finding in self.findings)
        lines = [
            "Data check: " + ", ".join(f"{counts[name]} {name}s" for name in SEVERITIES),
            "",
            *_table(self.corpora),
        ]
        for severity in SEVERITIES:
            lines += ["", f"{severity.upper()}S"] if counts[severity] else []
            by_code: dict[str, list[Finding]] = {}
            for finding in self.findings:
                if finding.severity == severity:
                    by_code.setdefault(finding.code, []).append(finding)
            lines += [line for same in by_code.values() for line in _paragraph(same)]
        return "\n".join(lines)


def check_corpora(corpora: Mapping[str, Corpus]) -> Report:
    """Look the corpora over, each by itself and against the others. Nothing is changed, and nothing is refused."""
    surveys = [_Survey(name, corpus) for name, corpus in corpora.items()]
    if len(surveys) > 1 and all(survey.role != "training" for survey in surveys):
        surveys[0].role = "training"  # somebody has to be the one the others are compared with
    found = [finding for survey in surveys for check in ALONE for finding in check(survey)]
    ranked = sorted(surveys, key=lambda survey: ("training", "other", "held out").index(survey.role))
    found += [finding for pair in combinations(ranked, 2) for compare in PAIRS for finding in compare(*pair)]
    found += [finding for look in TOGETHER for finding in look(surveys)]
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(tuple(survey.summary for survey in surveys), tuple(found))


class _Survey:
    """One corpus, counted through once for all the checks."""

    def __init__(self, name: str, corpus: Corpus):
        self.name, self.corpus, self.size = name, corpus, len(corpus)
        parts = set(re.split(r"[^a-z]+", name.lower()))
        self.role = next((role for role, names in _ROLES.items() if parts & names), "other")
        tags = {tag for sentence in corpus for tag in sentence.tags or ()}
        self.misfits = sorted(tag for tag in tags if not looks_like_span_tag(tag)) if corpus.kind == "spans" else []
        self.kind = "plain" if self.misfits else corpus.kind  # a corpus that says it has spans may be mistaken
        self.tagged = sum(sentence.tags is not None for sentence in corpus)
        self.texts = [bare_text(sentence.words) for sentence in corpus]
        self.exact_set, self.text_set = {sentence.words for sentence in corpus}, set(self.texts)

    @cached_property
    def spans(self) -> list[list[Span]]:
        return [sentence.spans if self.kind == "spans" else [] for sentence in self.corpus]

    @cached_property
    def labels(self) -> Counter[str]:
        """How often each label occurs; not `corpus.label_counts`, which would find all the spans again."""
        if self.kind == "plain":
            return Counter(tag for sentence in self.corpus for tag in sentence.tags or ())
        return Counter(span.label for spans in self.spans for span in spans)

    @cached_property
    def mentions(self) -> dict[str, Counter[str]]:
        """The text of each span, and how often it has which label."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for words, label in self.each_span():
            found[" ".join(words)][label] += 1
        return found

    def each_span(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Its words and its label."""
        for sentence, spans in zip(self.corpus, self.spans, strict=True):
            for span in spans:
                yield sentence.words[span.start : span.end], span.label

    @property
    def span_count(self) -> int:
        return self.labels.total() if self.kind == "spans" else 0

    @cached_property
    def without_spans(self) -> int:
        """Tagged sentences in which nothing is labelled."""
        tagged_bare = sum(not spans for spans in self.spans) - (self.size - self.tagged)
        return tagged_bare if self.kind == "spans" else 0

    @property
    def summary(self) -> Summary:
        notes = self.corpus.notes
        return Summary(
            name=self.name,
            sentences=self.size,
            words=self.corpus.word_count,
            kind=self.kind if self.tagged else "no tags",
            labels=dict(self.labels.most_common()),
            without_tags=_share(self.size - self.tagged, self.size),
            without_spans=_share(self.without_spans, self.size),
            scheme=notes.scheme,
            repaired=notes.repaired,
            skipped=len(notes.skipped),
            border_misses=len(notes.border_misses),
        )


# One corpus


def _nothing_there(survey: _Survey) -> Iterator[Finding]:
    if not survey.size:
        yield Finding("error", "empty", survey.name, "has no sentences.")
    if survey.tagged and not survey.labels:
        yield Finding("error", "no-labels", survey.name, "has tags, but every one of them is O.")
    bare = survey.size - survey.tagged
    if bare and survey.tagged:
        message = f"{_of(bare, survey.size)} of its sentences have no tags."
        yield Finding("warning", "partly-tagged", survey.name, message, numbers={"sentences": bare})


def _how_it_was_read(survey: _Survey) -> Iterator[Finding]:
    notes = survey.corpus.notes
    for code, what, count, shown in (
        ("repaired-tags", "tags that broke the scheme and were read as the start of a span", notes.repaired, ()),
        ("skipped-lines", "bad lines that were passed over", len(notes.skipped), notes.skipped[:5]),
        ("border-misses", "spans that miss word borders", len(notes.border_misses), notes.border_misses[:5]),
    ):
        if count:
            examples = tuple(map(str, shown))
            yield Finding("warning", code, survey.name, f"{what}: {count:,}.", examples, {"count": count})


def _kind_of_tags(survey: _Survey) -> Iterator[Finding]:
    """Tags of one sort under the name of another: the wrong column, or the wrong way to read it."""
    names = sorted(survey.labels)
    if survey.misfits:
        message = f"is said to have span tags, but these fit no span scheme: {_named(survey.misfits)}."
        yield Finding("error", "no-span-tags", survey.name, message)
    elif survey.kind == "plain" and any("-" in tag for tag in names) and all(map(looks_like_span_tag, names)):
        message = f"is said to have plain tags, but they look like spans: {_named(names)}."
        yield Finding("error", "span-tags", survey.name, message)
    if len(names) >= 3 and sum(name in _PARTS_OF_SPEECH for name in names) >= 0.8 * len(names):
        severity: Severity = "fact" if survey.corpus.kind == "plain" else "warning"
        message = f"the tags look like parts of speech: {_named(names)}."
        yield Finding(severity, "parts-of-speech", survey.name, message)


def _duplicates(survey: _Survey) -> Iterator[Finding]:
    """Sentences that repeat an earlier one of the same corpus."""
    exact, loose = survey.size - len(survey.exact_set), survey.size - len(survey.text_set)
    seen: set[str] = set()
    real = 0
    for sentence, text in zip(survey.corpus, survey.texts, strict=True):
        real += text in seen and len(sentence) >= REAL_SENTENCE
        seen.add(text)
    if loose:
        severity: Severity = "warning" if real > TOLERATED * survey.size else "fact"
        message = (
            f"{_of(exact, survey.size)} sentences repeat an earlier one, {_of(loose, survey.size)} by letters and "
            f"digits; {real:,} of these have {REAL_SENTENCE} or more words."
        )
        numbers = {"exact": exact, "loose": loose, "real": real}
        yield Finding(severity, "duplicates", survey.name, message, numbers=numbers)


def _tagged_unlike(survey: _Survey) -> Iterator[Finding]:
    first: dict[tuple[str, ...], tuple[str, ...]] = {}
    tagged = ((sentence.words, sentence.tags) for sentence in survey.corpus if sentence.tags is not None)
    at_odds = {" ".join(words) for words, tags in tagged if first.setdefault(words, tags) != tags}
    if at_odds:
        examples = tuple(shorten(text, 100) for text in sorted(at_odds)[:3])
        message = f"sentences that occur again under other tags: {len(at_odds):,}."
        numbers = {"sentences": len(at_odds)}
        yield Finding("warning", "tagged-unlike", survey.name, message, examples, numbers)


def _rare_labels(survey: _Survey) -> Iterator[Finding]:
    steps = (("very-few-examples", 1, VERY_FEW_EXAMPLES), ("few-examples", VERY_FEW_EXAMPLES, FEW_EXAMPLES))
    severity: Severity = "fact" if survey.role == "held out" else "warning"
    for code, least, below in steps:
        rare = {label: count for label, count in survey.labels.most_common() if least <= count < below}
        if rare:
            message = f"labels with fewer than {below} examples: {_listed(rare)}."
            yield Finding(severity, code, survey.name, message, numbers=rare)


def _spans_everywhere(survey: _Survey) -> Iterator[Finding]:
    if survey.span_count and not survey.without_spans:
        severity: Severity = "fact" if survey.role == "held out" else "warning"
        yield Finding(severity, "no-empty-sentence", survey.name, "no sentence is without a span.")


def _lengths(survey: _Survey) -> Iterator[Finding]:
    long = [sentence for sentence in survey.corpus if len(sentence) > LONG_SENTENCE]
    if long:
        longest = max(map(len, long))
        message = f"sentences of more than {LONG_SENTENCE} words: {len(long):,}; the longest has {longest:,}."
        examples = tuple(f"{sentence.place}: {shorten(' '.join(sentence.words), 60)}" for sentence in long[:3])
        numbers: dict[str, float] = {"sentences": len(long), "longest": longest}
        yield Finding("warning", "long-sentences", survey.name, message, examples, numbers)
    single = sum(len(sentence) == 1 for sentence in survey.corpus)
    if single > TOLERATED * survey.size:
        severity: Severity = "warning" if single > survey.size / 4 else "fact"
        message = f"{_of(single, survey.size)} of its sentences have one word."
        numbers = {"sentences": single, "share": _share(single, survey.size)}
        yield Finding(severity, "one-word-sentences", survey.name, message, numbers=numbers)


def _mentions_at_odds(survey: _Survey) -> Iterator[Finding]:
    """The same words under different labels: some are truly ambiguous (Washington), many are slips."""
    unsure = {text: counts for text, counts in survey.mentions.items() if len(counts) > 1}
    unusual = {text: counts.total() - max(counts.values()) for text, counts in unsure.items()}
    spans = sum(unusual.values())
    if unsure:
        severity: Severity = "warning" if spans > 0.05 * survey.span_count else "fact"
        message = (
            f"{len(unsure):,} of {len(survey.mentions):,} different mentions have more than one label; "
            f"{_of(spans, survey.span_count)} spans do not have their mention's usual one."
        )
        top = sorted(unsure, key=lambda text: (-unusual[text], text))[:8]
        examples = tuple(f"{text}: {_listed(dict(unsure[text].most_common()))}" for text in top)
        numbers = {"mentions": len(unsure), "spans": spans}
        yield Finding(severity, "mentions-at-odds", survey.name, message, examples, numbers)


def _span_borders(survey: _Survey) -> Iterator[Finding]:
    odd: Counter[str] = Counter()
    long: Counter[str] = Counter()
    for words, label in survey.each_span():
        if _has_odd_border(words):
            odd[f"{label}: {shorten(' '.join(words), 80)}"] += 1
        if len(words) > LONG_SPAN:
            long[f"{label}: {shorten(' '.join(words), 80)}"] += 1
    for code, found, what in (
        ("odd-borders", odd, "begin or end with punctuation or blanks"),
        ("long-spans", long, f"have more than {LONG_SPAN} words"),
    ):
        if found:
            severity: Severity = "warning" if found.total() > TOLERATED * survey.span_count else "fact"
            message = f"{_of(found.total(), survey.span_count)} of its spans {what}."
            examples = tuple(text for text, _ in found.most_common(5))
            yield Finding(severity, code, survey.name, message, examples, {"spans": found.total()})


def _neighbours(survey: _Survey) -> Iterator[Finding]:
    """Two spans of one label side by side cannot be spelled in IO tags: where none are, those may be the origin."""
    rows = (pair for spans in survey.spans for pair in pairwise(spans))
    touching = sum(left.end == right.start and left.label == right.label for left, right in rows)
    numbers = {"spans": survey.span_count, "touching": touching}
    none = f"none of {survey.span_count:,} spans follows one of its own label directly"
    if touching:
        message = f"spans that follow one of their own label directly: {touching:,}."
        yield Finding("fact", "neighbours", survey.name, message, numbers=numbers)
    elif survey.corpus.notes.scheme == "IO" and survey.span_count:
        yield Finding("warning", "io-tags", survey.name, f"the tags are IO: {none}.", numbers=numbers)
    elif survey.span_count >= ENOUGH_SPANS and len(survey.labels) > 1:
        message = f"{none}: the corpus may come from IO tags."
        yield Finding("fact", "perhaps-io-tags", survey.name, message, numbers=numbers)


def _strange_words(survey: _Survey) -> Iterator[Finding]:
    labels = "|".join(map(re.escape, {"PER", "LOC", "ORG", "MISC", *survey.labels} - {OUTSIDE}))
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
        found = Counter({word: count for word, count in survey.corpus.vocabulary.items() if is_strange(word)})
        if found:
            message = f"words {what}: {_of(found.total(), survey.corpus.word_count)}."
            examples = tuple(_visible(word) for word, _ in found.most_common(5))
            yield Finding(severity, code, survey.name, message, examples, {"words": found.total()})


def _letter_case(survey: _Survey) -> Iterator[Finding]:
    counts: Counter[str] = Counter()
    for word, count in survey.corpus.vocabulary.items():
        if word.lower() != word.upper():
            counts["lower" if word.islower() else "upper" if word.isupper() else "both"] += count
    for case in ("lower", "upper"):
        if counts.total() >= ENOUGH_WORDS and counts[case] > 0.99 * counts.total():
            message = f"{_percent(counts[case], counts.total())} of its words are in {case} case."
            numbers = {"share": _share(counts[case], counts.total())}
            yield Finding("warning", f"{case}-cased", survey.name, message, numbers=numbers)


# Two corpora: the one that teaches, if any does, comes first


def _shared_sentences(known: _Survey, other: _Survey) -> Iterator[Finding]:
    """Sentences of `other` that stand in `known`, too; those of six or more words are the ones that matter."""
    exact = [len(sentence) for sentence in other.corpus if sentence.words in known.exact_set]
    rows = zip(other.corpus, other.texts, strict=True)
    loose = [len(sentence) for sentence, text in rows if text in known.text_set]
    if not loose:
        return
    real = _real(map(len, other.corpus))
    numbers = {"exact": len(exact), "loose": len(loose), "real_exact": _real(exact), "real_loose": _real(loose)}
    totals = {"exact": other.size, "loose": other.size, "real_exact": real, "real_loose": real}
    shares = {f"{what}_share": _share(count, totals[what]) for what, count in numbers.items()}
    severity: Severity = "warning" if other.role == "held out" and shares["real_loose_share"] > TOLERATED else "fact"
    counted = {what: _of(count, totals[what]) for what, count in numbers.items()}
    message = (
        f"{counted['exact']} of {other.size:,} sentences, {counted['loose']} by letters and digits; of the {real:,} of "
        f"{REAL_SENTENCE} or more words {counted['real_exact']}, {counted['real_loose']} by letters and digits."
    )
    yield Finding(severity, "shared-sentences", f"{other.name} in {known.name}", message, (), {**numbers, **shares})


def _vocabulary_overlap(known: _Survey, other: _Survey) -> Iterator[Finding]:
    left, right = known.corpus.vocabulary, other.corpus.vocabulary
    both = len(left.keys() & right.keys())
    either = len(left) + len(right) - both
    if left and right:
        message = (
            f"{both:,} different words in common: {_percent(both, len(left))} of {known.name}'s, "
            f"{_percent(both, len(right))} of {other.name}'s, {_percent(both, either)} of both together."
        )
        numbers = {"of_first": both / len(left), "of_second": both / len(right), "jaccard": both / either}
        yield Finding("fact", "vocabulary-overlap", f"{known.name} and {other.name}", message, numbers=numbers)


def _unseen(known: _Survey, other: _Survey) -> Iterator[Finding]:
    if known.role != "training" or other.role == "training" or not other.size:
        return
    words = sum(count for word, count in other.corpus.vocabulary.items() if word not in known.corpus.vocabulary)
    numbers = {"words": _share(words, other.corpus.word_count)}
    message = f"{_percent(words, other.corpus.word_count)} of the words"
    if known.span_count and other.span_count:
        mentions = sum(counts.total() for text, counts in other.mentions.items() if text not in known.mentions)
        numbers["mentions"] = _share(mentions, other.span_count)
        message += f" and {_percent(mentions, other.span_count)} of the mentions"
    about = f"{other.name} after {known.name}"
    yield Finding("fact", "unseen", about, f"{message} of {other.name} do not occur in {known.name}.", numbers=numbers)


# All corpora


def _labels_against_training(surveys: Sequence[_Survey]) -> Iterator[Finding]:
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
            message = f"labels that no training corpus has: {_listed(missing)}."
            message += f" Only the letter case differs: {_named(twins)}." if twins else ""
            yield Finding("error", "labels-missing-in-training", survey.name, message, numbers=missing)
        if absent:
            message = f"has no example of these labels, which are taught: {_named(absent)}."
            yield Finding("fact", "labels-only-in-training", survey.name, message)


def _kinds_differ(surveys: Sequence[_Survey]) -> Iterator[Finding]:
    kinds = {survey.name: survey.kind for survey in surveys if survey.tagged}
    if len(set(kinds.values())) > 1:
        message = f"span tags and plain tags: {', '.join(f'{name} {kind}' for name, kind in kinds.items())}."
        yield Finding("error", "kinds-differ", "all", message)


ALONE: tuple[Callable[[_Survey], Iterable[Finding]], ...] = (
    *(_nothing_there, _how_it_was_read, _kind_of_tags, _duplicates, _tagged_unlike, _rare_labels, _spans_everywhere),
    *(_lengths, _mentions_at_odds, _span_borders, _neighbours, _strange_words, _letter_case),
)
PAIRS: tuple[Callable[[_Survey, _Survey], Iterable[Finding]], ...] = (_shared_sentences, _vocabulary_overlap, _unseen)
TOGETHER: tuple[Callable[[Sequence[_Survey]], Iterable[Finding]], ...] = (_labels_against_training, _kinds_differ)


# Words and numbers


def _has_odd_border(words: Sequence[str]) -> bool:
    """Whether a mark stands at an end. A bracket whose other half is inside, as in `[ 3H ] thymidine`, is none, unless
    the pair holds the whole span."""
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


def _visible(word: str) -> str:
    return "".join(letter if letter.isprintable() else f"<U+{ord(letter):04X}>" for letter in shorten(word, 80))


def _real(lengths: Iterable[int]) -> int:
    return sum(length >= REAL_SENTENCE for length in lengths)


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


def _percent(count: int, total: int) -> str:
    return f"{100 * _share(count, total):.1f} %"


def _of(count: int, total: int) -> str:
    return f"{count:,} ({_percent(count, total)})"


def _listed(counts: Mapping[str, int]) -> str:
    return _named([f"{name} {count:,}" for name, count in counts.items()])


def _named(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _table(summaries: Iterable[Summary]) -> list[str]:
    rows = [("corpus", "sentences", "words", "spans", "no span", "no tags", "scheme", "repaired", "skipped", "missed")]
    labels = []
    for one in summaries:
        spans = (f"{sum(one.labels.values()):,}", f"{one.without_spans:.0%}") if one.kind == "spans" else ("-", "-")
        notes = (one.scheme or "-", f"{one.repaired:,}", f"{one.skipped:,}", f"{one.border_misses:,}")
        rows.append((one.name, f"{one.sentences:,}", f"{one.words:,}", *spans, f"{one.without_tags:.0%}", *notes))
        labels.append(f"  {one.name}: {_listed(one.labels) or 'none'}")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return [lines[0], "─" * len(lines[0]), *lines[1:], "", "LABELS", *labels]


def _paragraph(findings: Sequence[Finding]) -> Iterator[str]:
    """Findings of one code, with the advice once."""
    yield f"  {findings[0].code}" + (f" → {findings[0].advice}" if findings[0].advice else "")
    for finding in findings:
        yield f"    • {finding.about}: {finding.message}"
        if finding.examples:
            yield f"        {' | '.join(finding.examples)}"
