"""What meets the eye in a text: lengths, capitals, digits, links, user names, emoji, the ends of sentences."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from acclimate.data.corpus import Corpus
from acclimate.evaluation.tally import ratio

Words = tuple[str, ...]
_LINK = re.compile(r"(https?://|www\.)\S", re.IGNORECASE)
_USER = re.compile(r"@\w")
_HASHTAG = re.compile(r"#\w")
_EMOJI = re.compile("[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf]")
_EMOTICON = re.compile(r"[:;=8]['-]?[()DPp/|3]+$|[()]['-]?[:;=]$|<3+$")
_CLOSING = "\"'”’»)]}`"
_ENDS = ".!?…。！？"


def _begins_with_capital(words: Words) -> bool:
    return words[0][0].isupper()


def _is_lower_case(words: Words) -> bool:
    text = "".join(words)
    return text == text.lower() and text != text.upper()


def _is_in_capitals(words: Words) -> bool:
    text = "".join(words)
    return text == text.upper() and text != text.lower()


def _ends_a_sentence(words: Words) -> bool:
    text = "".join(words[-3:]).rstrip(_CLOSING)
    return text.endswith(tuple(_ENDS))


def _any(of_word: Callable[[str], Any]) -> Callable[[Words], bool]:
    return lambda words: any(of_word(word) for word in words)


OF_SENTENCES: dict[str, Callable[[Words], bool]] = {
    "begin with a capital": _begins_with_capital,
    "all in lower case": _is_lower_case,
    "all in capitals": _is_in_capitals,
    "end with . ! or ?": _ends_a_sentence,
    "with a link": _any(_LINK.match),
    "with a user name": _any(_USER.match),
    "with a hashtag": _any(_HASHTAG.match),
    "with an emoji or emoticon": _any(lambda word: _EMOJI.search(word) or _EMOTICON.match(word)),
}
OF_WORDS: dict[str, Callable[[str], bool]] = {
    "with a capital letter first": lambda word: word[0].isupper(),
    "in capitals": lambda word: len(word) > 1 and word.isalpha() and word.isupper(),
    "with a digit": lambda word: any(letter.isdigit() for letter in word),
    "other letters than A to Z": lambda word: any(letter.isalpha() and not letter.isascii() for letter in word),
}


@dataclass(frozen=True, slots=True)
class Surface:
    """Sizes are of the whole corpus, all other figures of the sample. Shares lie between 0 and 1."""

    sentences: int
    words: int
    mean_length: float  # words per sentence
    long_length: int  # a tenth of the sentences have more words than that
    of_sentences: dict[str, float]
    of_words: dict[str, float]

    @classmethod
    def of(cls, corpus: Corpus, sample: Corpus | None = None) -> Surface:
        sample = corpus if sample is None else sample
        rows = [sentence.words for sentence in sample]
        lengths = sorted(map(len, rows))
        counts = sample.vocabulary
        return cls(
            sentences=len(corpus),
            words=corpus.word_count,
            mean_length=ratio(sum(lengths), len(lengths)),
            long_length=lengths[(9 * len(lengths) - 1) // 10] if lengths else 0,
            of_sentences={name: ratio(sum(map(test, rows)), len(rows)) for name, test in OF_SENTENCES.items()},
            of_words={
                name: ratio(sum(count for word, count in counts.items() if test(word)), counts.total())
                for name, test in OF_WORDS.items()
            },
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "sentences": self.sentences,
            "words": self.words,
            "mean_length": self.mean_length,
            "long_length": self.long_length,
            "of_sentences": self.of_sentences,
            "of_words": self.of_words,
        }
