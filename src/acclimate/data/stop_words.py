"""English words that say little about a domain, written down for this project: closed classes, no nouns, no numbers."""

from __future__ import annotations

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
