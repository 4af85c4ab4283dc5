"""The corpora that ship are what their card says: natural, clean, apart from each other, and hard to cross."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.mapping import typeless
from acclimate.data.problems import InputError
from acclimate.data.reading import BUNDLED, Domain, load_bundled, read_corpus
from acclimate.data.schemes import Span
from acclimate.evaluation.scores import score

PARTS = ("train", "dev", "test", "unlabelled")
LABELS = {
    "news": ("LOC", "MISC", "ORG", "PER"),
    "social": ("LOC", "MISC", "ORG", "PER"),
    "clinical": ("DISEASE", "SYMPTOM", "TREATMENT"),
}
CORPORA = Path(__file__).parents[2] / "src" / "acclimate" / "data" / "corpora"
MOST_SHARED = 0.25  # of the words of two domains, those in both; measured: 0.19, 0.12 and 0.10
MOST_ALIKE = 3  # sentences with the same skeleton; measured: 1


@pytest.fixture(scope="module")
def domains() -> dict[str, Domain]:
    return {name: load_bundled(name) for name in BUNDLED}


@pytest.fixture(params=list(LABELS))
def domain(request: pytest.FixtureRequest, domains: dict[str, Domain]) -> Domain:
    return domains[request.param]


def labelled(domain: Domain) -> Iterator[Sentence]:
    return itertools.chain(domain.train, domain.dev, domain.test)


def letters_and_digits(sentence: Sentence) -> str:
    return "".join(letter for letter in " ".join(sentence.words).lower() if letter.isalnum())


def vocabulary(domain: Domain) -> set[str]:
    return {word.lower() for corpus in domain for sentence in corpus for word in sentence.words if word.isalpha()}


def skeleton(sentence: Sentence) -> str:
    """The sentence with its mentions replaced by their labels and its numbers by 0: what a template would leave."""
    words: list[str] = []
    place = 0
    for span in [*sentence.spans, Span(len(sentence), len(sentence), "")]:
        words += [re.sub(r"\d+", "0", word.lower()) for word in sentence.words[place : span.start]]
        words.append(span.label)
        place = span.end
    return " ".join(words)


def test_there_are_three_domains_and_enough_sentences(domains: dict[str, Domain]) -> None:
    assert set(domains) == set(LABELS)
    assert sum(len(corpus) for domain in domains.values() for corpus in domain) >= 1500
    assert all(len(corpus) >= 50 for domain in domains.values() for corpus in domain)


@pytest.mark.parametrize("name", LABELS)
def test_the_labels_are_those_documented(name: str, domains: dict[str, Domain]) -> None:
    domain = domains[name]
    for corpus in (domain.train, domain.dev, domain.test):
        assert tuple(corpus.labels) == LABELS[name]
        assert all(sentence.tags is not None for sentence in corpus)
    assert not domain.unlabelled.is_labelled
    assert all(label in BUNDLED[name] for label in LABELS[name])


@pytest.mark.parametrize("part", ["train", "dev", "test"])
@pytest.mark.parametrize("name", LABELS)
def test_the_tags_are_legal_iob2(name: str, part: str) -> None:
    corpus = read_corpus(CORPORA / name / f"{part}.conll", "conll")
    assert (corpus.notes.scheme, corpus.notes.repaired) == ("IOB2", 0)
    assert not corpus.notes.skipped


def test_no_sentence_stands_twice(domain: Domain) -> None:
    counts = Counter(letters_and_digits(sentence) for corpus in domain for sentence in corpus)
    assert [text for text, count in counts.items() if count > 1 or not text] == []


def test_no_sentence_stands_in_two_domains(domains: dict[str, Domain]) -> None:
    texts = [{letters_and_digits(s) for corpus in domain for s in corpus} for domain in domains.values()]
    assert not any(one & other for one, other in itertools.combinations(texts, 2))


def test_the_counts_on_the_card_are_true(domains: dict[str, Domain]) -> None:
    card = (CORPORA / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| ([A-Z, ]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", card, re.MULTILINE)
    assert {name: [int(count) for count in counts] for name, _, *counts in rows} == {
        name: [len(corpus) for corpus in domain] for name, domain in domains.items()
    }
    assert {name: tuple(sorted(labels.split(", "))) for name, labels, *_ in rows} == LABELS


def test_the_domains_speak_of_other_things(domains: dict[str, Domain]) -> None:
    for one, other in itertools.combinations(domains, 2):
        left, right = vocabulary(domains[one]), vocabulary(domains[other])
        assert len(left & right) / len(left | right) < MOST_SHARED, f"{one} and {other}"


def test_no_sentence_was_filled_into_a_template(domain: Domain) -> None:
    skeletons = Counter(map(skeleton, labelled(domain)))
    assert skeletons.most_common(1)[0][1] <= MOST_ALIKE, skeletons.most_common(3)


def test_no_phrase_comes_again_and_again(domain: Domain) -> None:
    phrases: Counter[tuple[str, ...]] = Counter()
    for sentence in itertools.chain(*domain):
        words = [word.lower() for word in sentence.words]
        phrases.update({tuple(words[place : place + 6]) for place in range(len(words) - 5)})
    assert phrases.most_common(1)[0][1] <= MOST_ALIKE, phrases.most_common(3)


def test_spans_begin_and_end_with_words(domain: Domain) -> None:
    """Not with punctuation. Words such as U.S., K+ and a hashtag that is a name are words."""
    ends = [(s, s.words[place]) for s in labelled(domain) for x in s.spans for place in (x.start, x.end - 1)]
    assert [f"{s.place}: {word}" for s, word in ends if not any(letter.isalnum() for letter in word)] == []


def test_nearly_every_part_has_sentences_with_and_without_mentions(domain: Domain) -> None:
    for corpus in (domain.train, domain.dev, domain.test):
        share = sum(not sentence.spans for sentence in corpus) / len(corpus)
        assert 0.05 < share < 0.6


def test_the_unlabelled_part_is_split_into_words_like_the_others(domain: Domain) -> None:
    for sentence in domain.unlabelled:
        glued = [word for word in sentence.words if re.fullmatch(r"\w{3,}[,;!?]", word)]
        assert not glued, f"{sentence.place}: {glued}"


def test_text_is_all_that_may_be_read_without_labels(domain: Domain) -> None:
    assert len(domain.text) == len(domain.train) + len(domain.unlabelled)
    assert not domain.text.is_labelled
    held_out = {sentence.words for sentence in (*domain.dev, *domain.test)}
    assert not held_out & {sentence.words for sentence in domain.text}


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no bundled corpus 'tweets'\. There are: news, social, clinical"):
        load_bundled("tweets")


def test_a_news_tagger_loses_on_the_other_domains(domains: dict[str, Domain]) -> None:
    """Type-less span F1, so that unlike label sets can be compared. Measured: news 87, social 45, clinical 8."""
    from acclimate.inference.predict import predict
    from acclimate.model.tagger import Tagger
    from acclimate.runs.train import adapt

    news = domains["news"]
    sizes = {"word_width": 50, "character_filters": 30, "lstm_width": 50}
    tagger = Tagger.build("character-cnn-lstm", labels=news.train.labels, text=news.train, **sizes)
    adapt(tagger, news.train, source_dev=news.dev, training={"updates": 300, "learning_rate": 0.01})

    def borders(gold: Corpus) -> float:
        return score(typeless(gold), typeless(predict(tagger, gold))).span.f1

    at_home = borders(news.test)
    assert at_home > 0.7
    assert borders(domains["social"].test) < at_home - 0.3
    assert borders(domains["clinical"].test) < at_home - 0.3
