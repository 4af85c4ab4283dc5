"""How far apart the domains are: by their words, and as the tagger sees them, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acclimate.reporting.figures import UNKNOWN, decimal, percent
from acclimate.reporting.markup import Markup, details, join, paragraph, table, tag
from acclimate.reporting.measures import Measures
from acclimate.reporting.section import Section, no_such
from acclimate.runs.evidence import AFTER, BEFORE, SOURCE, TARGET


def distance_section(
    text: Mapping[str, Any] | None, measured: Mapping[str, Measures], no_text: str, not_measured: str
) -> Section:
    """`measured` by before and after; empty where the taggers were not looked through, and `not_measured` says why."""
    if text is None and not measured:
        return no_such("distance", "Distance between the domains", no_text)
    about = (
        "The first lines compare the texts themselves, which no training changes. The others compare source and target "
        "as the tagger sees them, on words drawn at random: adaptation often makes them smaller, but smaller is not "
        "always better."
    )
    rows = [*_text_rows(text), *_feature_rows(measured)]
    body: list[Any] = [table(["measure", "before", "after", "how to read it"], rows, words=1, class_="last-words")]
    if not measured:
        body.append(paragraph(not_measured, class_="note"))
    body.append(paragraph(no_text, class_="note") if text is None else _texts(text))
    return Section("distance", "Distance between the domains", about, join(body))


def _text_rows(text: Mapping[str, Any] | None) -> list[list[Any]]:
    if text is None:
        return []
    shared = text["overlap"]["percents"][SOURCE][TARGET]
    ratio = text["density_ratio"]["mean"]
    return [
        [
            "vocabulary overlap",
            f"{shared:.1f} %",
            "same text",
            f"words of both in percent of all ({text['overlap']['words_compared']})",
        ],
        ["density ratio", decimal(ratio), "same text", "0: the same mix of words, 1: no word shared"],
    ]


def _feature_rows(measured: Mapping[str, Measures]) -> list[list[Any]]:
    if not measured:
        return []
    one, other = measured.get(BEFORE), measured.get(AFTER)
    chance = other.mmd_chance if other is not None else None
    told = "" if chance is None else f"; between two halves of the source it is {decimal(chance)}"
    return [
        [
            "MMD, squared",
            *(UNKNOWN if found is None else decimal(found.mmd) for found in (one, other)),
            f"0: features are spread alike{told}",
        ],
        [
            "proxy A-distance",
            *(_of_separability(found, "a_distance") for found in (one, other)),
            "0: domains cannot be told apart, 2: always",
        ],
        [
            "accuracy of telling them apart",
            *(_of_separability(found, "accuracy") for found in (one, other)),
            "linear classifier on held-out sentences; 0.5 is chance",
        ],
    ]


def _of_separability(found: Measures | None, name: str) -> str:
    return UNKNOWN if found is None or found.separability is None else decimal(getattr(found.separability, name))


def _texts(text: Mapping[str, Any]) -> Markup:
    """Sizes, and the words that are the target's own."""
    rows = [
        [
            f"{row['name']}: {text['names'][row['name']]}",
            f"{row['sentences']:,}",
            f"{row['words']:,}",
            decimal(row["mean_length"], 1),
            UNKNOWN if row["unseen_words"] is None else f"{percent(row['unseen_words'])} %",
        ]
        for row in text["statistics"]
    ]
    head = ["text", "sentences", "words", "words per sentence", "words the source lacks"]
    parts = [table(head, rows)]
    words = text["density_ratio"]["top_words"]
    if words:
        parts += [
            paragraph("Words that set the target apart (how often there, how often in the source):"),
            tag("ul", [_chip(word) for word in words], class_="chips"),
        ]
    return details("The texts themselves", parts)


def _chip(word: Mapping[str, Any]) -> Markup:
    return tag("li", word["word"], " ", tag("small", f"{word['in_target']:,} : {word['in_source']:,}"))
