"""Words and sentences of raw text, by offsets: `text[start:end]` is the word. Also stop words and a numbering of words.

Words are those of the Penn Treebank, and URLs, @mentions, #hashtags, emoticons, whole emoji, `120/80`, `q.i.d.`. Every
character that is not white space belongs to exactly one word. Chinese characters and kana are words of their own. Thai
and Khmer need a tokenizer of their own, and `tokenize="blanks"`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise

Offsets = list[tuple[int, int]]

_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_PICTURE = (  # close to Unicode's Extended_Pictographic, less the flags' letters and the skin tones
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_PICTURE_PART = "\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"  # variation, keycap, skin tone, tag
_APOSTROPHE = "'’＇"
_HYPHEN = "\\-\u2010\u2011"

# an address ends before what closes the sentence or the bracket around it
_URL_PART = r"(?:[^\s<>\"“”‘’«»()…，。、！？]|\([^\s()<>]{0,200}\))"
_URL_END = r"(?:[^\s<>\"“”‘’«»()…，。、！？.,;:!?'*\]}|]|\([^\s()<>]{0,200}\))"
_DOMAIN_ENDS = "com|org|net|edu|gov|info|biz|io|ly|tv|me|co|uk|de|fr|eu|jp|ca|au|ch|nl|gl|be|gd|to|fm"
_NEGATED = "ai|are|ca|could|dare|did|do|does|had|has|have|is|may|might|must|need|ought|sha|should|was|were|wo|would"

_TITLES = (
    "Mr Mrs Ms Mx Dr Drs Prof Rev Hon Gen Col Maj Capt Cpt Lt Sgt Cpl Pvt Adm Gov Sen Rep Supt Messrs Mme Mlle "
    "St Ste Mt Ft"
)
_BEFORE_NUMBERS = "Fig Figs Eq Eqs Ref Refs Sec Vol Tab vol pp ca approx cf est ext"
_OTHER_ABBREVIATIONS = (
    "Jr Sr Bros Inc Corp Ltd Co Cos Cie Dept Univ Assn Ave Blvd Rd Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec "
    "vs etc al resp dept pt pts hx dx tx rx"
)
_NEVER_LAST = frozenset(f"{_TITLES} {_BEFORE_NUMBERS} vs".lower().split())
_ABBREVIATIONS = frozenset(f"{_TITLES} {_BEFORE_NUMBERS} {_OTHER_ABBREVIATIONS}".lower().split())
# after `Inc.` or `U.S.` only these say that a new sentence begins: `U.S. President` does not
_STARTING_WORDS = (
    "a an and as at but by for he her his however i if in it its my no on our she so that the their there these they "
    "this those to we what when while with you your"
)
_STARTERS = frozenset(_STARTING_WORDS.split())


@cache
def _word_characters() -> str:
    """Letters, digits, their marks and joiners, as regular-expression ranges (vowel signs of Hindi included)."""
    cjk = re.compile(f"[{_CJK}]")
    ranges: list[list[int]] = []
    for code in (*range(0x20, 0x20000), *range(0xE0100, 0xE01F0)):
        character = chr(code)
        if not (character.isalnum() or unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf", "Pc")):
            continue
        if cjk.match(character):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@cache
def _word_pattern() -> re.Pattern[str]:
    """One alternative per kind of word. No text takes more than linear time: no repetition can be cut in two ways."""
    w = _word_characters()
    end, after_word, apart = f"(?![{w}])", f"(?<=[{w}])", f"(?<![{w}])"
    picture = f"[{_PICTURE}][{_PICTURE_PART}]*"
    negation = f"[nN][{_APOSTROPHE}][tT]{end}"
    clitic = f"[{_APOSTROPHE}](?:s|S|ll|LL|re|RE|ve|VE|d|D|m|M){end}"
    inner = f"[{_HYPHEN}]|(?!{clitic})[{_APOSTROPHE}]|\\.(?=[a-z0-9_])|(?<=[A-Z])&(?=[A-Z])|@(?=[{w}]{{1,80}}\\.[{w}])"
    with_stop = [  # letters before a full stop or an apostrophe; ſ is an s to `(?i:…)`
        f"(?i:{_NEGATED})(?={negation})|{after_word}{negation}",
        f"[A-Za-z](?:\\.[A-Za-z])+(?![@{w}])\\.?|(?:Ph|M|D|Sc|Ed)\\.(?:Phil|D|Sc|Ed|A){end}\\.?",  # U.S., e.g., Ph.D.
        f"(?:{_TITLES.replace(' ', '|')}|{_BEFORE_NUMBERS.replace(' ', '|')}|{_OTHER_ABBREVIATIONS.replace(' ', '|')})"
        f"\\.{end}|Nos?\\.(?=\\s?[0-9])",
        # an initial; not I, which ends many a sentence
        r"[A-HJ-Z]\.(?=\s?(?!(?:The|He|She|It|In|But|And|This|We|They)\b)[A-Z][a-z.])",
    ]
    kinds = [
        # most words: nothing to be careful about
        r"[A-Za-z]++(?:-[A-Za-z]++)*+(?=[ ,;!?\"()\]\n])|[.,;:!?)\"](?!\S)|[0-9]++(?= )|[\"(](?=[A-Za-z0-9])",
        f"(?:https?|ftp)://{_URL_PART}*{_URL_END}/?|www\\.{_URL_PART}*{_URL_END}/?",
        # bit.ly/abc; here and below one look ahead spares many words many others
        f"(?=[A-Za-z0-9-]{{1,60}}+\\.)(?:[A-Za-z0-9-]{{1,60}}\\.){{1,4}}(?:{_DOMAIN_ENDS})/{_URL_PART}*{_URL_END}/?",
        f"[0-9#*]\ufe0f?\u20e3|[\U0001f1e6-\U0001f1ff]{{2}}|{picture}(?:\u200d{picture})*",  # keycap, flag, family
        f"[@＠][A-Za-z0-9_]++{end}|[#＃][{w}]++|\\$[A-Z]{{1,5}}{end}",  # mention, hashtag, share ($AAPL)
        f"[:;=][-o^{_APOSTROPHE}]?[)(]+{end}",  # emoticons, these also at the end of a word (fine:))
        f"{apart}[<>]?[:;=][-o^{_APOSTROPHE}]?(?:[DPpdOo3]+|[\\]\\[}}{{|/\\\\*]){end}|8-\\)+",
        f"{apart}(?:</?3+|\\^[_.-]?\\^|-_+-|>[_.]<|[oO]_[oO]|[tT]_[tT]|¯\\\\_\\(ツ\\)_/¯){end}",
        r"&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{1,6});",
        # 3.5, 1,000,000, 5:30, 120/80, 2020-05-01; letters may follow at once (5mg, 2nd, 12-hour)
        f"[0-9]++(?:[.,:/{_HYPHEN}][0-9]++)*+(?:[{_HYPHEN}]?(?![ap]\\.m)[{w}]++)*+",
        f"(?=[A-Za-zſ]++[.{_APOSTROPHE}])(?:{'|'.join(with_stop)})|(?=[{_APOSTROPHE}]){after_word}{clitic}",
        f"[{w}]++(?:(?:{inner})[{w}]++)*+",  # a word, with inner hyphens, O'Brien, acclimate.py, a.b@c.org, AT&T
        f"[{_CJK}][\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef]*",
        r"\.{2,}|…+|[!?]+|-{2,}|={2,}|\*{2,}|~{2,}|[–—]{2,}|``|''|,,",
        r"\S",
    ]
    return re.compile(f"(?=\\S)(?:{'|'.join(kinds)})")  # the look ahead: white space is passed at one glance


def find_words(text: str) -> Offsets:
    """Where the words of a text stand. `Don't go.` → `Do`, `n't`, `go`, `.`"""
    return [match.span() for match in _word_pattern().finditer(text)]


def split_words(text: str) -> list[str]:
    """The words of `find_words` without their offsets, a third faster."""
    return _word_pattern().findall(text)


_BETWEEN_BLANKS = re.compile(r"[^ \t\r\n]+")


def find_blank_separated(text: str) -> Offsets:
    """Where the words of a text stand that was split into words already: only ASCII blanks and line ends separate."""
    return [match.span() for match in _BETWEEN_BLANKS.finditer(text)]


_LINE = re.compile(r"[^\r\n]+")


def find_lines(text: str) -> Offsets:
    """Where the lines of a text stand that hold more than blanks."""
    return [match.span() for match in _LINE.finditer(text) if match.group().strip(" \t")]


# what may end a sentence: full stops and the like, the quotes and brackets closed after them, and then a blank
_STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？｡]+[」』”’）)]*")
_LAST_WORD = re.compile(r"(?:[A-Za-z]\.)*[^\W_]+$")


def find_sentences(text: str) -> Offsets:
    """Where the sentences of a text stand, without the white space around them. A line end always ends a sentence."""
    sentences: Offsets = []
    for line_start, line_end in find_lines(text):
        start = line_start
        for stop in _STOP.finditer(text, line_start, line_end):
            if _ends_sentence(text, start, stop, line_end):
                sentences.append(trimmed(text, start, stop.end()))
                start = stop.end()
        if not text[start:line_end].isspace() and start < line_end:
            sentences.append(trimmed(text, start, line_end))
    return sentences


def _ends_sentence(text: str, start: int, stop: re.Match[str], line_end: int) -> bool:
    following = text[stop.end() : min(stop.end() + 40, line_end)].lstrip()
    if not following:
        return True
    mark, closed = stop.group()[0], stop.group()[-1] not in ".!?…。！？｡"
    if mark in "。！？｡":
        return True
    first = following.lstrip("\"'“‘«([")[:1]
    if mark in "!?":
        return not (closed and first.islower())
    if first.islower():
        return False
    before = _LAST_WORD.search(text, max(start, stop.start() - 30), stop.start())
    if before is None or stop.group().startswith(".."):
        return True
    return _may_be_last(before.group(), following, alone=not text[start : before.start()].strip())


def _may_be_last(word: str, following: str, alone: bool) -> bool:
    """Whether `word` and a full stop end a sentence, or are an abbreviation, an initial, or the number of an item."""
    if word.isdigit():
        return not alone
    if word.lower() in _NEVER_LAST or (word.lower() in ("no", "nos") and following[0].isdigit()):
        return False
    initial = len(word) == 1 and word.isupper() and word != "I"
    if initial or "." in word or word.lower() in _ABBREVIATIONS:
        next_word = re.match(r"\w*", following.lstrip("\"'“‘«(["))
        return next_word is not None and next_word.group().lower() in _STARTERS
    return True


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch of text without the white space at its ends."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves who whom whose which what this that these those someone anyone everyone
something anything everything nothing nobody somebody everybody one
"""
_DETERMINERS = "a an the some any no every each either neither both all few many much more most less several such other"
_VERBS = """
be am is are was were been being do does did done doing have has had having can could will would shall should may might
must ought
"""
_PREPOSITIONS = """
of in on at by for from to into onto out off over under with without within about above below between among through
during before after since until against across along around behind beside near toward towards upon per via up down
"""
_CONJUNCTIONS = "and or but nor so yet if then than as because while although though unless whether when where why how"
_ADVERBS = "not very too also just only even again once here there now ever never always still already quite rather own"
# contractions stand whole in some corpora and split in others: he's, or he and 's
_ENDINGS = ("'s", "'re", "'ve", "'ll", "'d", "'m", "n't")
_BEFORE_NOT = "ca could did do does had has have is are was were wo would should must ai"
_OPEN = "i you he she it we they that this there here what who where how"
_CONTRACTIONS = (
    *_ENDINGS,
    *(word + ending for word in _OPEN.split() for ending in _ENDINGS[:-1]),
    *(word + "n't" for word in _BEFORE_NOT.split()),
    *("ca", "wo", "'t"),
)

_WORDS = " ".join((_PRONOUNS, _DETERMINERS, _VERBS, _PREPOSITIONS, _CONJUNCTIONS, _ADVERBS, *_CONTRACTIONS)).split()
STOP_WORDS = frozenset([*_WORDS, *(word.replace("'", "’") for word in _WORDS)])


PADDING, UNKNOWN, HIDDEN = 0, 1, 2
SPECIAL = ("<padding>", "<unknown>", "<hidden>")  # <hidden> is what a masked word, or each of its characters, becomes


class Vocabulary:
    """Items with a number each; anything else is `UNKNOWN`."""

    def __init__(self, items: Iterable[str]) -> None:
        self.items = tuple(dict.fromkeys(items))
        self._numbers = {item: number for number, item in enumerate(self.items, start=len(SPECIAL))}

    @classmethod
    def of_counts(cls, counts: Counter[str], at_least: int = 1) -> Vocabulary:
        """The items seen often enough, most frequent first (ties by spelling, so that the order never wavers)."""
        frequent = [(-count, item) for item, count in counts.items() if count >= at_least]
        return cls(item for _, item in sorted(frequent))

    def __len__(self) -> int:
        """How many rows a table for this vocabulary needs."""
        return len(SPECIAL) + len(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self._numbers

    def number(self, item: str) -> int:
        return self._numbers.get(item, UNKNOWN)


_NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


def bare_text(words: Sequence[str]) -> str:
    """A sentence by its letters and digits in lower case, which do not depend on how it was tokenized."""
    text = " ".join(words)
    return _NOT_LETTER_OR_DIGIT.sub("", text.lower()) or text


def joined_words(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The words with blanks between them, and their offsets."""
    ends = list(accumulate(len(word) + 1 for word in words))
    return " ".join(words), tuple((end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True))


def grouped(words: Offsets, borders: Offsets) -> Iterator[tuple[int, int]]:
    """Which words (from, to) make up each stretch: all that begin before the next stretch, so that none is left out."""
    starts = [start for start, _ in words]
    ends = [bisect_left(starts, start) for start, _ in borders[1:]]
    for first, last in pairwise((0, *ends, len(words))):
        if last > first:
            yield first, last
