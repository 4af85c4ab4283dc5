"""The data check: each finding appears when it should, and not on clean data."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.data.checks import check_corpora
from acclimate.data.corpus import BorderMiss, Corpus, ReadingNotes, Sentence
from acclimate.data.findings import ADVICE, Finding, Report
from acclimate.data.problems import Place, Skipped


def sentence(text: str, tags: str | None = None) -> Sentence:
    words = tuple(text.split(" "))
    return Sentence(words, tuple((tags or "O " * len(words)).split()))


def clean(start: int = 0, count: int = 150) -> Corpus:
    """Unlike sentences about unlike people and places; every third has none."""
    rows = []
    for number in range(start, start + count):
        rows.append(
            sentence(f"On day {number} nothing much happened there")
            if number % 3 == 0
            else sentence(f"Mr Name{number} went to Town{number} again", "O B-PER O O B-LOC O")
        )
    return Corpus.of(rows, "clean")


def with_more(*more: Sentence, corpus: Corpus | None = None) -> Corpus:
    corpus = corpus or clean()
    return replace(corpus, sentences=corpus.sentences + more)


def found(code: str, **corpora: Corpus) -> Finding:
    """The one finding of a code."""
    (finding,) = with_code(code, check_corpora(corpora))
    return finding


def with_code(code: str, report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def test_clean_data_gives_no_findings():
    report = check_corpora({"train": clean(), "dev": clean(1000), "test": clean(2000)})
    assert not report.findings
    assert report.worst is None


def test_every_corpus_is_summed_up():
    notes = ReadingNotes(scheme="IOB1", repaired=2)
    one = check_corpora({"train": replace(clean(), notes=notes)}).corpora[0]
    assert (one.sentences, one.words, one.labels) == (150, 950, {"PER": 100, "LOC": 100})
    assert (one.scheme, one.repaired, one.without_tags, one.without_spans) == ("IOB1", 2, 0.0, 1 / 3)


# One corpus


def test_an_empty_corpus_is_an_error():
    assert found("empty", train=Corpus.of([])).severity == "error"


def test_tags_that_are_all_outside_are_an_error():
    assert found("no-labels", train=Corpus.of([sentence("nothing here")])).severity == "error"


def test_sentences_without_tags_among_tagged_ones_are_counted():
    assert found("partly-tagged", train=with_more(Sentence(("untagged",)))).numbers == {"sentences": 1}


def test_what_the_reader_noted_is_passed_on():
    place = Place("news.conll", 7)
    miss = BorderMiss(place, 3, 5, "PER", "au", "dropped")
    notes = ReadingNotes(repaired=2, skipped=(Skipped(place, "No tag.", "Paul"),), border_misses=(miss,))
    corpus = replace(clean(), notes=notes)
    assert found("repaired-tags", train=corpus).numbers == {"count": 2}
    assert "news.conll, line 7: No tag." in found("skipped-lines", train=corpus).examples[0]
    assert "PER 'au' (3:5)" in found("border-misses", train=corpus).examples[0]


def test_duplicates_are_counted_exactly_and_by_letters_and_digits():
    twice = with_more(
        clean()[0], sentence("on day 0 nothing much -- happened there !"), sentence("Short ."), sentence("Short .")
    )
    assert found("duplicates", train=twice).numbers == {"exact": 2, "loose": 3, "real": 2}


def test_many_real_duplicates_are_a_warning():
    assert found("duplicates", train=with_more(clean()[0])).severity == "fact"
    assert found("duplicates", train=with_more(*clean()[:9])).severity == "warning"


def test_equal_sentences_under_unlike_tags_are_a_warning():
    twin = clean()[1].with_tags(["O"] * 6)
    assert found("tagged-unlike", train=with_more(twin)).examples == ("Mr Name1 went to Town1 again",)


def test_rare_labels_are_told_apart_by_how_rare_they_are():
    rare = with_more(
        *(sentence(f"a Thing{number} lay", "O B-MISC O") for number in range(10)), sentence("the Firm", "O B-ORG")
    )
    assert found("few-examples", train=rare).numbers == {"MISC": 10}
    assert found("very-few-examples", train=rare).numbers == {"ORG": 1}


def test_rare_labels_of_held_out_data_are_no_more_than_a_fact():
    assert found("very-few-examples", test=with_more(sentence("the Firm", "O B-ORG"))).severity == "fact"


def test_very_long_sentences_are_shown():
    long = sentence(" ".join(f"word{number}" for number in range(201)))
    assert found("long-sentences", train=with_more(long)).numbers == {"sentences": 1, "longest": 201}


def test_a_sentence_of_two_hundred_words_is_not_too_long():
    long = sentence(" ".join(f"word{number}" for number in range(200)))
    assert not with_code("long-sentences", check_corpora({"train": with_more(long)}))


def test_a_mention_with_two_labels_is_shown_with_its_counts():
    odd = with_more(sentence("in Town1 now", "O B-PER O"))
    assert found("mentions-at-odds", train=odd).examples == ("Town1: LOC 1, PER 1",)


def test_long_spans_are_shown():
    long = sentence("a b c d e f g h i j k", "B-PER" + " I-PER" * 10)
    assert found("long-spans", train=with_more(long)).numbers == {"spans": 1}


def test_a_big_corpus_without_neighbours_may_come_from_io_tags():
    assert found("perhaps-io-tags", train=clean(count=900)).numbers == {"spans": 1200}
    assert not with_code("perhaps-io-tags", check_corpora({"train": clean(count=600)}))


def test_one_label_alone_says_nothing_of_io_tags():
    people = clean(count=3000).map(lambda one: one.with_spans(span for span in one.spans if span.label == "PER"))
    assert not with_code("perhaps-io-tags", check_corpora({"train": people}))


def test_neighbours_show_that_tags_are_not_io():
    big = with_more(sentence("Ann Bob", "B-PER B-PER"), corpus=clean(count=900))
    assert not with_code("perhaps-io-tags", check_corpora({"train": big}))


def test_a_file_in_io_tags_is_a_warning_whatever_its_size():
    assert found("io-tags", train=replace(clean(), notes=ReadingNotes(scheme="IO"))).severity == "warning"


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("PaulI-PER", "glued-tags"),
        ("RomeB-LOC", "glued-tags"),
        ("AnnS-PER", "glued-tags"),
        ("Pa\u200bul", "invisible-characters"),
        ("co\u00adop", "invisible-characters"),
        ("It\x19s", "invisible-characters"),
        ("\ufeff", "invisible-characters"),
        ("na\ufffdve", "broken-encoding"),
        ("cafÃ©", "broken-encoding"),
    ],
)
def test_a_strange_word_is_found(word, code):
    assert found(code, train=with_more(sentence(f"the {word} is here"))).numbers == {"words": 1}


@pytest.mark.parametrize("word", ["NE-PER", "I-PER", "👩\u200d🚀", "می\u200cخواهم", "naïve", "café"])
def test_an_unusual_word_is_not_strange(word):
    assert {finding.code for finding in check_corpora({"train": with_more(sentence(f"the {word}"))}).findings} == set()


def test_invisible_characters_are_made_visible():
    assert found("invisible-characters", train=with_more(sentence("Pa\u200bul"))).examples == ("Pa<U+200B>ul",)


def test_text_in_one_case_throughout_is_a_warning():
    lower = clean().map(lambda one: replace(one, words=tuple(word.lower() for word in one.words)))
    upper = clean().map(lambda one: replace(one, words=tuple(word.upper() for word in one.words)))
    assert found("lower-cased", train=lower).severity == "warning"
    assert found("upper-cased", train=upper).severity == "warning"


def test_a_few_words_in_lower_case_show_nothing():
    assert check_corpora({"target": Corpus.of([Sentence(("only", "small", "letters"))])}).worst is None


def test_scripts_without_case_are_not_lower_cased():
    assert check_corpora({"train": Corpus.of([Sentence(("東京",) * 150)])}).worst is None


# Kinds of tags


def test_parts_of_speech_are_recognised():
    plain = Corpus.of([sentence("dogs bark loudly", "NOUN VERB ADV")], kind="plain")
    assert found("parts-of-speech", train=plain).severity == "fact"


def test_parts_of_speech_spelled_as_spans_are_a_warning():
    spans = Corpus.of([sentence("dogs bark loudly", "B-NNS B-VBP B-RB")])
    assert found("parts-of-speech", train=spans).severity == "warning"


def test_tags_that_fit_no_span_scheme_are_an_error_and_no_crash():
    assert found("no-span-tags", train=Corpus.of([sentence("dogs bark", "NNS VBP")])).severity == "error"


def test_span_tags_read_as_plain_ones_are_an_error():
    assert found("span-tags", train=Corpus.of([sentence("Ann sang", "B-PER O")], kind="plain")).severity == "error"


def test_span_tags_beside_plain_tags_are_an_error():
    plain = Corpus.of([sentence("dogs bark loudly", "NOUN VERB ADV")], kind="plain")
    assert (
        found("kinds-differ", train=clean(), dev=plain).message == "span tags and plain tags: train spans, dev plain."
    )


# Several corpora


def test_shared_sentences_are_counted_with_the_real_ones_apart():
    dev = with_more(
        clean()[1], sentence("mr name2 WENT to town2 , again !"), sentence("Short ."), corpus=clean(1000, 97)
    )
    train = with_more(sentence("Short ."))
    numbers = found("shared-sentences", train=train, dev=dev).numbers
    assert (numbers["exact"], numbers["loose"], numbers["real_exact"], numbers["real_loose"]) == (2, 3, 1, 2)
    assert (numbers["exact_share"], numbers["real_loose_share"]) == (2 / 100, 2 / 99)


def test_shared_sentences_are_a_warning_in_held_out_data_only():
    assert found("shared-sentences", train=clean(), test=clean(100)).severity == "warning"
    assert found("shared-sentences", train=clean(), unlabelled=clean(100).unlabelled()).severity == "fact"


def test_a_corpus_is_compared_with_the_one_that_teaches_whatever_their_order():
    assert found("shared-sentences", test=clean(100), train=clean()).about == "test in train"


def test_text_to_adapt_to_may_not_hold_the_test_unnoticed():
    assert found("shared-sentences", target=clean().unlabelled(), test=clean(100)).severity == "warning"


def test_labels_that_are_not_taught_are_an_error():
    dev = with_more(sentence("the Firm grew", "O B-ORG O"), corpus=clean(1000))
    assert found("labels-missing-in-training", train=clean(), dev=dev).numbers == {"ORG": 1}


def test_labels_that_differ_in_case_alone_are_pointed_out():
    dev = with_more(sentence("saw Ann", "O B-per"), corpus=clean(1000))
    assert "per and PER" in found("labels-missing-in-training", train=clean(), dev=dev).message


def test_taught_labels_that_are_never_asked_for_are_a_fact():
    train = with_more(sentence("the Firm grew", "O B-ORG O"))
    assert "ORG" in found("labels-only-in-training", train=train, dev=clean(1000)).message


def test_without_a_training_name_the_first_corpus_is_the_measure():
    web = with_more(sentence("the Firm grew", "O B-ORG O"), corpus=clean(1000))
    assert found("labels-missing-in-training", news=clean(), web=web).about == "web"


# The report


def test_the_worst_findings_come_first():
    dev = with_more(sentence("the Firm grew", "O B-ORG O"), corpus=clean(100))
    severities = [finding.severity for finding in check_corpora({"train": clean(), "dev": dev}).findings]
    assert severities == sorted(severities, key=("error", "warning", "fact").index)
    assert severities[0] == "error"


def test_the_report_is_ready_for_json():
    report = check_corpora({"train": clean(), "dev": clean(100)})
    assert json.loads(json.dumps(report.as_dict()))["worst"] == "warning"


def test_the_rendered_report_shows_figures_findings_and_advice_once():
    text = check_corpora({"train": with_more(clean()[0]), "dev": with_more(clean()[1]), "test": clean(5000)}).render()
    assert text.startswith("Data check: 0 errors, ")
    assert "train         151" in text
    assert text.count(ADVICE["duplicates"]) <= 1


def test_no_corpora_make_an_empty_report():
    report = check_corpora({})
    assert (report, report.worst) == (Report((), ()), None)
    assert report.render()


WORDS = st.lists(st.text(min_size=0, max_size=6), min_size=1, max_size=4)
TAGS = st.sampled_from(["O", "B-PER", "I-PER", "I-LOC", "S-LOC", "NN", "B", "-", ""])


@st.composite
def any_corpora(draw) -> Corpus:
    rows = []
    for words in draw(st.lists(WORDS, max_size=6)):
        tags = draw(st.none() | st.lists(TAGS, min_size=len(words), max_size=len(words)).map(tuple))
        rows.append(Sentence(tuple(words), tags))
    return Corpus.of(rows, kind=draw(st.sampled_from(["spans", "plain"])))


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["train", "dev", "target", "x"]), any_corpora(), max_size=3))
def test_nothing_that_can_be_read_breaks_the_check(corpora):
    report = check_corpora(corpora)
    assert json.loads(json.dumps(report.as_dict()))["worst"] == report.worst
    assert all(finding.about in report.render() for finding in report.findings)
