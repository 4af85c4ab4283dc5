"""Words and sentences of raw text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.words import find_blank_separated, find_lines, find_sentences, find_words

ANYTHING = st.text() | st.text(alphabet="aA1.,'’-@#:)(/<3&;!? \n\u200d\ufe0f😀🇺🇸👍🏽東é\u0301\u00a0nts$")


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in find_words(text)]


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text)]


@given(text=ANYTHING)
def test_every_character_but_white_space_is_in_exactly_one_word(text):
    covered = [place for start, end in find_words(text) for place in range(start, end)]
    assert covered == [place for place, character in enumerate(text) if not character.isspace()]


@given(text=ANYTHING)
def test_every_word_holds_a_character(text):
    assert all(start < end for start, end in find_words(text))


@given(text=ANYTHING)
def test_sentences_cover_all_words_and_cut_none(text):
    borders = find_sentences(text)
    assert all(any(a <= start and end <= b for a, b in borders) for start, end in find_words(text))


@given(text=ANYTHING)
def test_sentences_come_in_order_without_white_space_around(text):
    borders = find_sentences(text)
    assert borders == sorted(borders)
    assert all(text[start:end] == text[start:end].strip() for start, end in borders)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't go.", "Do|n't|go|."),
        ("I can’t, won't", "I|ca|n’t|,|wo|n't"),
        ("Anna's dog, they'll, I'm", "Anna|'s|dog|,|they|'ll|,|I|'m"),
        ("O'Brien's rock'n'roll", "O'Brien|'s|rock'n'roll"),
        ("state-of-the-art COVID-19 (X-ray)", "state-of-the-art|COVID-19|(|X-ray|)"),
        ("It cost $1,000.50, or 5%.", "It|cost|$|1,000.50|,|or|5|%|."),
        ("at 5:30 on 2020-05-01", "at|5:30|on|2020-05-01"),
        ("Dr. J. Smith of the U.S. spoke, e.g. here.", "Dr.|J.|Smith|of|the|U.S.|spoke|,|e.g.|here|."),
        ("AT&T and R&D", "AT&T|and|R&D"),
        ("“Yes”—he said…", "“|Yes|”|—|he|said|…"),
        ("wait...what?!", "wait|...|what|?!"),
        ("write to a.b@c.org now", "write|to|a.b@c.org|now"),
    ],
)
def test_news_is_split_like_the_penn_treebank(text, expected):
    assert words(text) == expected.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RT @user_1: omg #NYC!!!", "RT|@user_1|:|omg|#NYC|!!!"),
        ("see http://t.co/aB3?x=1.", "see|http://t.co/aB3?x=1|."),
        ("(www.a.com/b_(c))", "(|www.a.com/b_(c)|)"),
        ("bit.ly/abc, youtube.com", "bit.ly/abc|,|youtube.com"),
        ("so happy:) :-D ;P <3 ^_^", "so|happy|:)|:-D|;P|<3|^_^"),
        ("👍🏽🇺🇸👩‍👩‍👧‍👦 1️⃣", "👍🏽|🇺🇸|👩‍👩‍👧‍👦|1️⃣"),
        ("love❤️it", "love|❤️|it"),
        ("$AAPL up, A &amp; B", "$AAPL|up|,|A|&amp;|B"),
        ("#東京 is great", "#|東|京|is|great"),
    ],
)
def test_tweets_keep_their_own_words_whole(text, expected):
    assert words(text) == expected.split("|")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BP 120/80, T 98.6F.", "BP|120/80|,|T|98.6F|."),
        ("ASA 81mg p.o. q.i.d.", "ASA|81mg|p.o.|q.i.d."),
        ("c/o SOB; Dx:(1) CHF", "c|/|o|SOB|;|Dx|:|(|1|)|CHF"),
        ("pain.Denies fever", "pain|.|Denies|fever"),
        ("at 5:30p.m. daily", "at|5:30|p.m.|daily"),
    ],
)
def test_clinical_notes_are_split_sensibly(text, expected):
    assert words(text) == expected.split("|")


def test_chinese_characters_are_words_and_hindi_words_stay_whole():
    assert words("東京は नमस्ते 안녕") == ["東", "京", "は", "नमस्ते", "안녕"]


def test_a_combining_accent_stays_on_its_letter():
    assert words("cafe\u0301 noir") == ["cafe\u0301", "noir"]


def test_text_split_already_is_split_only_at_ascii_blanks():
    text = "do n't\tsay\u00a0it :)"
    assert [text[a:b] for a, b in find_blank_separated(text)] == ["do", "n't", "say\u00a0it", ":)"]


def test_lines_end_only_at_line_ends():
    text = "a\u2028b\x0cc\x85d\r\n\n e"
    assert [text[a:b] for a, b in find_lines(text)] == ["a\u2028b\x0cc\x85d", " e"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", "One.|Two!|Three?|Four"),
        ("Dr. Smith met Mr. J. R. Jones on Jan. 5. He left.", "Dr. Smith met Mr. J. R. Jones on Jan. 5.|He left."),
        ("It rose 3.5 percent. See Fig. 2.", "It rose 3.5 percent.|See Fig. 2."),
        ("The U.S. President works at Foo Inc. The end.", "The U.S. President works at Foo Inc.|The end."),
        ('He said "No." Then he left.', 'He said "No."|Then he left.'),
        ("“Stop!” he said. (Really.) Yes.", "“Stop!” he said.|(Really.)|Yes."),
        ("Well... maybe. Hm... Then no.", "Well... maybe.|Hm...|Then no."),
        ("1. First item. 2. Second", "1. First item.|2. Second"),
        ("no stop\nnew line\r\n\r\nanother", "no stop|new line|another"),
        ("東京。大阪！", "東京。|大阪！"),
        ("  \n ", ""),
    ],
)
def test_sentences_end_where_a_reader_would_say_so(text, expected):
    assert sentences(text) == [part for part in expected.split("|") if part]


@pytest.mark.parametrize(
    "piece",
    ["a", "AB.", "http://(", "1.", "1-", "a@", ":(", "<3", "a'", "-_", "¯\\_(", "A&", "a.", "A.", "\u200d", "😀\u200d",
     "&#1", "ca", "www.", "a.com/(", "#", "=D", '."', "Inc. ", " ", "(x", "[", "n't", "'s", "東", "_", "...", "!?"],
)  # fmt: skip
def test_no_text_takes_more_than_linear_time(piece):
    def seconds(times: int) -> float:
        text = piece * times + "!"
        started = time.process_time()
        find_words(text)
        find_sentences(text)
        return time.process_time() - started

    find_words("warm up")
    assert seconds(16000) < 20 * seconds(2000) + 0.2  # eight times the text; quadratic would be 64 times the time
