"""What the page computes on its own, beside Python: tags of answers, and the keys of labels."""

from __future__ import annotations

import random
from typing import Any

import pytest

from acclimate.data.answers import Answer
from acclimate.serving.application import text_of
from chromium import launched, needs_chromium

pytestmark = needs_chromium
LABELS = ["LOC", "PER", "MISC"]


def evaluated(script: str, given: Any) -> Any:
    with launched() as browser:
        page = browser.new_page()
        page.add_script_tag(content=text_of(["labelling/page/spans.js"]))
        return page.evaluate(script, given)


def some_answer(dice: random.Random, length: int) -> dict[str, Any]:
    """Spans that do not overlap, and any others that were rejected or left open."""

    def any_span() -> list[Any]:
        start = dice.randrange(length)
        return [start, dice.randint(start + 1, length), dice.choice(LABELS)]

    free, spans = 0, []
    while free < length and dice.random() < 0.7:
        start = dice.randrange(free, length)
        free = dice.randint(start + 1, length)
        spans.append([start, free, dice.choice(LABELS)])
    others = {name: [any_span() for _ in range(dice.randrange(4))] for name in ("rejected", "open")}
    return {"sentence": "a", "status": dice.choice(["done", "part"]), "spans": spans, **others, "seen": 0}


def test_a_page_without_a_server_gives_words_the_tags_that_python_gives() -> None:
    dice = random.Random(4)
    given = [(some_answer(dice, length), length) for length in [1, 2, 3, 5, 9] * 80]
    script = "(all) => all.map(([answer, length]) => labelling.spans.tagsOf(answer, length, ['LOC', 'PER', 'MISC']))"
    for (answer, length), found in zip(given, evaluated(script, given), strict=True):
        assert tuple(found) == Answer.of(answer, "zoe").tags(length, LABELS), answer


@pytest.mark.parametrize(
    ("labels", "keys"),
    [
        (["LOC", "PER", "ORG"], ["l", "p", "o"]),
        (["PER", "PLACE", "LOC"], ["pe", "pl", "l"]),
        (["AA", "AAA", "A"], ["aa", "a1", "a2"]),
        (["-x", "Über", "人", "!"], ["x", "ü", "01", "02"]),
    ],
)
def test_the_initial_of_a_label_is_its_key_and_a_second_one_follows_where_it_is_shared(
    labels: list[str], keys: list[str]
) -> None:
    assert evaluated("(labels) => labels.map((one) => labelling.spans.keysOf(labels).get(one))", labels) == keys


def test_any_number_of_labels_have_keys_of_which_none_begins_another() -> None:
    sets = [[f"{letter}{number}" for letter in "AB" for number in range(size)] for size in (1, 11, 60, 150)]
    for labels in sets:
        keys = evaluated("(labels) => labels.map((one) => labelling.spans.keysOf(labels).get(one))", labels)
        assert len(set(keys)) == len(labels)
        assert not [(one, other) for one in keys for other in keys if one != other and other.startswith(one)]
