"""What every recipe owes to two sources of unlike labels, one of which says little of its words: nothing that nobody
looked for is learnt as O, and what is not known at all teaches nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from acclimate import adapt, join_sources
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import hidden_labels
from acclimate.model.learner import Sentences
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import RECIPES
from acclimate.runs.result import Outcome
from acclimate.settings import UsageError
from acclimate.training.loop import Progress
from acclimate.training.run import Nobody

TUNING = {"updates": 2, "rows_per_batch": 4, "quick": False}
OPTIONS: dict[str, dict[str, Any]] = {
    "adversarial-masking": TUNING,
    "acclimate": {"domain_tuning": TUNING},
    "datnet": {"carry": False},  # or its loss of tags would hold the discriminator's
}
NO_TARGET_LABELS = ("source-only", "adversarial-masking")  # recipes that learn none
QUICK = {"updates": 2, "words_per_batch": 60}
LEARN_TAGS = ("tag", "tags", "types", "tagging", "mat")  # what recipes call the losses that gold tags have a part in


def corpus_of(name: str, *rows: str, annotates: tuple[str, ...] | None = None) -> Corpus:
    """Rows of `word/tag`."""
    pairs = [[cell.rsplit("/", 1) for cell in row.split()] for row in rows]
    sentences = [Sentence(tuple(word for word, _ in row), tuple(tag for _, tag in row)) for row in pairs]
    return Corpus(tuple(sentences), name, annotates=annotates)


# words that begin with x are outside of all spans of a corpus in which not all was looked for
PEOPLE = corpus_of(
    "people",
    "Anna/B-PER xmet/O xoslo/O xbank/O",
    "Bob/B-PER Stone/I-PER Anna/B-PER xleft/O",
    "xacme/O|ORG xsaid/O Mayor/B-TITLE",  # only here, and only a word of one type is told to be doubtful
    "xall/O|* xof/O|* xit/O|* xunknown/O|*",
    "xalone/O",
    "xalone/O|*",
    "Eve/B-PER",
    annotates=("PER", "TITLE"),
)
PLACES = corpus_of(
    "",
    "rain/O in/O Oslo/B-LOC ./O",
    "Acme/B-ORG opens/O in/O New/B-LOC York/I-LOC ,/O said/O Clara/B-PER",
    "ok/O",
    "Blue/B-ORG Bank/I-ORG fell/O",
) + Corpus((Sentence(("",), ("O",)), Sentence(("\u200b", "y" * 300), ("O", "O"))))
PLACES = PLACES.renamed("places")
FEW = corpus_of("few", "omg/O Farid/B-PER xtweets/O", "xlol/O|*", "Anna/B-PER", annotates=("PER",))
TEXT = corpus_of("text", "omg/O anna/O luvs/O oslo/O", "lol/O", "bank/O sux/O", "so/O tired/O of/O it/O").unlabelled()
LABELS = ("LOC", "ORG", "PER", "TITLE")
UNSURE = {word for corpus in (PEOPLE, FEW) for word in corpus.vocabulary if word.startswith("x")}


class Losses(Nobody):
    """Every loss of every stage, and which words of doubt were read with tags."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        for name, loss in progress.losses.items():
            self.found.setdefault(f"{progress.stage}/{name}", []).append(float(loss))


def run(tagger: Tagger, source: Corpus | Sequence[Corpus], recipe: str, few: Corpus | None) -> tuple[Losses, Outcome]:
    losses = Losses()
    given = {"training": QUICK, "select": "last", "watcher": losses, "target_labelled": few, "progress": False}
    return losses, adapt(tagger, source, TEXT, recipe, **given, **OPTIONS.get(recipe, {}))


def encoder_for(recipe: str) -> str:
    return "bert" if "language model" in RECIPES[recipe].needs else "character-cnn-lstm"


@pytest.fixture(params=sorted(RECIPES))
def recipe(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def read_with_tags(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The words of doubt that any tagger has read with tags; each time all tags that they may have must be allowed."""
    read: set[str] = set()
    usual = Tagger.tensorize

    def watched(self: Tagger, sentences: Sequence[Sentence]) -> Sentences:
        found = usual(self, sentences)
        for row, sentence in enumerate(sentences):
            for place, (word, tag) in enumerate(zip(sentence.words, sentence.tags or (), strict=False)):
                if word in UNSURE:
                    hidden = hidden_labels(tag)
                    assert hidden, f"{word} is learnt as {tag}"
                    assert found.odds is not None
                    assert int((found.odds[row, place] > 0).sum()) > 1
                    assert int(found.numbers[row, place]) == -1
                    read.add(word)
        return found

    monkeypatch.setattr(Tagger, "tensorize", watched)
    return read


@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("few", [None, FEW], ids=["without target labels", "with some"])
def test_no_recipe_learns_as_O_what_nobody_looked_for(
    build: Callable[..., Tagger], recipe: str, few: Corpus | None, head: str, read_with_tags: set[str]
) -> None:
    if few is None and "target labels" in RECIPES[recipe].needs:
        pytest.skip("learns from labelled target sentences alone")
    tagger = build(encoder_for(recipe), labels=LABELS, text=join_sources([PEOPLE, PLACES]), head=head)
    losses, outcome = run(tagger, [PEOPLE, PLACES], recipe, few)
    assert losses.found
    assert all(math.isfinite(loss) for row in losses.found.values() for loss in row), losses.found
    assert read_with_tags >= {"xoslo", "xalone", "xunknown"} or recipe == "target-only"
    assert few is None or recipe in NO_TARGET_LABELS or read_with_tags >= {"xtweets", "xlol"}
    assert outcome.tagger is tagger


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_what_is_not_known_at_all_teaches_no_recipe_a_tag(build: Callable[..., Tagger], recipe: str, head: str) -> None:
    unknown = join_sources([PEOPLE, PLACES]).map(lambda each: each.with_tags(["O|*"] * len(each)))
    few = TEXT[:2].map(lambda each: each.with_tags(["O|*"] * len(each)))
    given = few if "target labels" in RECIPES[recipe].needs else None
    tagger = build(encoder_for(recipe), labels=LABELS, text=unknown, head=head)
    losses, _ = run(tagger, unknown, recipe, given)
    learnt = {name: row for name, row in losses.found.items() if name.split("/")[1] in LEARN_TAGS}
    assert learnt
    for name, row in learnt.items():
        assert row == pytest.approx([0] * len(row), abs=2e-5), name


def test_labels_of_its_own_leave_the_source_s_words_open_to_the_source_s_labels(
    build: Callable[..., Tagger], read_with_tags: set[str]
) -> None:
    few = corpus_of("few", "nice/O pizza/B-FOOD", "ok/O")
    tagger = build(labels=("FOOD",), text=few)
    losses, outcome = run(tagger, [PEOPLE, PLACES], "datnet", few)
    assert all(math.isfinite(loss) for row in losses.found.values() for loss in row)
    assert "xoslo" in read_with_tags
    assert outcome.before == "target-only"


def test_a_tagger_that_is_trained_beside_doubts_as_much(build: Callable[..., Tagger]) -> None:
    tagger = build(labels=LABELS, text=PLACES)
    tagger.hidden_odds = 0.25
    assert tagger.sibling(tagger.labels, tagger.encoder).hidden_odds == 0.25


def test_a_single_source_that_does_not_annotate_what_the_tagger_knows_is_open_to_it(
    build: Callable[..., Tagger], read_with_tags: set[str]
) -> None:
    run(build(labels=LABELS, text=PEOPLE), PEOPLE, "source-only", None)
    assert "xoslo" in read_with_tags


def test_a_label_that_is_marked_and_was_not_looked_for_stays_possible_elsewhere() -> None:
    partial = replace(PLACES, annotates=("LOC",))
    joined = join_sources([partial, PEOPLE])
    assert {tag for sentence in joined if sentence.source == "places" for tag in sentence.tags or ()} >= {
        "O|ORG|PER|TITLE",
        "B-ORG",
    }


def test_labels_that_only_open_tags_name_are_told(build: Callable[..., Tagger]) -> None:
    source = corpus_of("source", "Anna/B-PER met/O|person Bob/B-PER", "it/O rained/O|person")
    _, outcome = run(build(labels=("PER",), text=source), source, "source-only", None)
    assert "Words of source may hide labels that the tagger does not have, and these count as O: person." in " ".join(
        outcome.remarks
    )


def test_open_words_of_plain_tags_are_refused(build: Callable[..., Tagger], part_of_speech: Corpus) -> None:
    first = part_of_speech[0]
    odd = part_of_speech.map(lambda each: each.with_tags(("O|*", *(each.tags or ())[1:])) if each == first else each)
    with pytest.raises((InputError, ValueError), match=r"O\|\*|plain"):
        run(build(labels=part_of_speech.labels, text=part_of_speech), odd, "source-only", None)


@pytest.mark.parametrize("heads", [False, True])
def test_python_takes_several_sources_and_says_how_they_are_learnt(build: Callable[..., Tagger], heads: bool) -> None:
    tagger = build(labels=LABELS, text=join_sources([PEOPLE, PLACES]))
    sources = {"weights": {"people": 3}, "smoothing": 0.5, "heads": heads}
    outcome = adapt(
        tagger, [PEOPLE, PLACES], recipe="source-only", training=QUICK, select="last", sources=sources, progress=False
    )
    assert outcome.tagger is tagger
    assert tagger.source_heads is None
    with pytest.raises(InputError, match=r"sources\.weights: there is no source named persons\. Sources: people, pl"):
        adapt(tagger, [PEOPLE, PLACES], recipe="source-only", sources={"weights": {"persons": 3}}, progress=False)


def test_every_recipe_gives_each_source_a_head_or_says_why_not(build: Callable[..., Tagger], recipe: str) -> None:
    tagger = build(encoder_for(recipe), labels=LABELS, text=join_sources([PEOPLE, PLACES]))
    trained: list[bool] = []

    class Heads(Nobody):
        def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
            trained.append(tagger.source_heads is not None)

    given = {"training": QUICK, "select": "last", "watcher": Heads(), "sources": {"heads": True}, "progress": False}
    few = FEW if "target labels" in RECIPES[recipe].needs else None
    refuses = recipe in ("mslm", "target-only")
    with pytest.raises((InputError, UsageError), match="head") if refuses else nullcontext():
        adapt(tagger, [PEOPLE, PLACES], TEXT, recipe, target_labelled=few, **given, **OPTIONS.get(recipe, {}))
    assert refuses or trained
    assert refuses or all(trained)
    assert refuses or tagger.source_heads is None


def test_two_sources_of_one_name_are_refused(build: Callable[..., Tagger]) -> None:
    with pytest.raises(InputError, match="two sources are named people"):
        adapt(build(labels=LABELS, text=PEOPLE), [PEOPLE, PEOPLE], recipe="source-only", progress=False)


def test_a_run_is_another_one_when_other_labels_were_looked_for() -> None:
    assert PEOPLE.fingerprint != replace(PEOPLE, annotates=("PER",)).fingerprint
