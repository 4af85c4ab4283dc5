"""Words hidden or swapped: at most one a sentence, as often as asked, and never by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import torch
from slow_noise import LONG, view_of

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.perturbation.word_changes import Substitutes, WordChanges, typical_distances
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
ENCODERS = ["character-cnn-lstm", "bert", "roberta"]


@pytest.fixture(scope="module", params=ENCODERS)
def tagger(request: pytest.FixtureRequest, build: Build) -> Tagger:
    return build(request.param).eval()


def within_chance(count: int, total: int, share: float) -> bool:
    """Within four standard errors."""
    return abs(count - total * share) <= 4 * (total * share * (1 - share)) ** 0.5


def test_sentences_are_picked_and_words_hidden_as_often_as_asked(build: Build, news: Corpus) -> None:
    changes = WordChanges(sorted(news.vocabulary), rate=0.06, hide=0.9, substitutes=Substitutes("random"))
    view = view_of(build(), *news.sentences * 400)
    drawn = changes.draw(view)
    hidden = sum(change.by is None for change in drawn)
    assert within_chance(len(drawn), len(view.sentences), 0.06)
    assert within_chance(hidden, len(view.sentences), 0.054)
    assert within_chance(len(drawn) - hidden, len(view.sentences), 0.006)


def test_every_word_of_a_sentence_is_as_likely_as_another(build: Build) -> None:
    sentences = [Sentence(("a", "b", "c", "d", "e"))] * 4000
    drawn = WordChanges(["a"], rate=1.0, hide=1.0).draw(view_of(build(), *sentences))
    counts = Counter(change.word for change in drawn)
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert all(within_chance(count, 4000, 0.2) for count in counts.values())


def test_a_picked_sentence_has_one_changed_word_and_names_it_rightly(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news, LONG)
    drawn = WordChanges(sorted(news.vocabulary), rate=1.0, hide=0.5).draw(view)
    assert [change.sentence for change in drawn] == list(range(len(news) + 1))
    flat = [word for sentence in view.originals for word in sentence.words]
    for change in drawn:
        word = view.originals[change.sentence].words[change.word]
        assert flat[change.number] == word
        assert change.by != word


@pytest.mark.parametrize("kind", ["random", "similar"])
def test_substitutes_come_from_the_list_and_fit_into_the_place(tagger: Tagger, news: Corpus, kind: str) -> None:
    words = sorted(news.vocabulary)
    view = view_of(tagger, *news.sentences * 5, LONG)
    drawn = WordChanges(words, rate=1.0, hide=0.0, substitutes=Substitutes(kind)).draw(view)
    swapped = [change for change in drawn if change.by is not None]
    assert len(swapped) > 60
    for change in swapped:
        word = view.originals[change.sentence].words[change.word]
        assert change.by in words
        assert view.encoder.sizes_of([change.by]) == view.encoder.sizes_of([word])


def test_where_nothing_fits_the_word_is_hidden(build: Build) -> None:
    view = view_of(build(), Sentence(("Anna",)), Sentence(("Bob",)))
    drawn = WordChanges(["Anna"], rate=1.0, hide=0.0).draw(view)
    assert [change.by for change in drawn] == [None, "Anna"]


def test_words_that_are_not_on_the_list_can_be_swapped(build: Build) -> None:
    view = view_of(build(), Sentence(("Unheard",)))
    assert {WordChanges(["Anna", "Bob"], 1.0, 0.0).draw(view)[0].by for _ in range(30)} == {"Anna", "Bob"}


SPELLED = ("Bank", "bank", "BANK", "1990", "1991", "Anna")


@pytest.mark.parametrize(
    ("word", "others"), [("Bank", {"1990", "1991", "Anna"}), ("1990", {"Bank", "bank", "BANK", "Anna"})]
)
def test_spellings_that_share_a_row_of_the_table_do_not_stand_in_for_each_other(
    build: Build, word: str, others: set[str]
) -> None:
    text = Corpus.of([Sentence(SPELLED * 2, ("O",) * 12)])
    changes = WordChanges(SPELLED, 1.0, 0.0, Substitutes("random"))
    drawn = changes.draw(view_of(build(text=text, labels=["X"]), *[Sentence((word,))] * 200))
    assert {change.by for change in drawn} == others


def test_a_word_with_no_other_row_to_offer_is_hidden(build: Build) -> None:
    text = Corpus.of([Sentence(("Bank", "bank") * 2, ("O",) * 4)])
    drawn = WordChanges(["Bank", "bank"], 1.0, 0.0).draw(view_of(build(text=text, labels=["X"]), Sentence(("BANK",))))
    assert [change.by for change in drawn] == [None]


def test_spellings_with_rows_of_their_own_do(build: Build) -> None:
    text = Corpus.of([Sentence(("Bank", "bank") * 2, ("O",) * 4)])
    tagger = build(text=text, labels=["X"], lower_case_words=False)
    drawn = WordChanges(["Bank", "bank"], 1.0, 0.0).draw(view_of(tagger, Sentence(("Bank",))))
    assert [change.by for change in drawn] == ["bank"]


def test_similar_substitutes_are_found_by_the_vectors_as_they_stand_in_the_table(build: Build) -> None:
    text = Corpus.of([Sentence(("near", "far", "it") * 2, ("O", "O", "B-X") * 2)])
    tagger = build(text=text, normalise="weighted")
    encoder, table = tagger.encoder, tagger.encoder.word_table.weight.data
    table.zero_()
    table[encoder.vocabulary.number("near"), 0], table[encoder.vocabulary.number("far"), 0] = 1.0, 9.0
    distribution = Substitutes(mean=1.0, deviation=0.5, normalise="sum")
    drawn = WordChanges(["near", "far", "it"], 1.0, 0.0, distribution).draw(view_of(tagger, *[Sentence(("it",))] * 40))
    assert {change.by for change in drawn} == {"near"}


def test_a_sentence_that_is_not_picked_is_read_as_before(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news)
    torch.manual_seed(1)
    changes = WordChanges(sorted(news.vocabulary), rate=0.3)
    drawn = changes.draw(view)
    torch.manual_seed(1)
    changed = changes(view)
    picked = {change.sentence for change in drawn}
    assert 0 < len(picked) < len(news)
    for number, sentence in enumerate(news):
        same = torch.allclose(
            changed.scores[number, : len(sentence)], view.scores[number, : len(sentence)], rtol=1e-5, atol=1e-6
        )
        assert same == (number not in picked)


def test_without_a_picked_sentence_the_view_is_the_same(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news)
    assert WordChanges(["a"], rate=0.0)(view) is view


def test_tags_and_sentences_stay_as_they_were(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news)
    changed = WordChanges(sorted(news.vocabulary), rate=1.0)(view)
    assert changed.originals == view.originals
    assert torch.equal(changed.sentences.tags, view.sentences.tags)
    assert torch.equal(changed.sentences.mask, view.sentences.mask)


def test_what_was_found_of_distances_is_kept_with_the_objective(build: Build, news: Corpus) -> None:
    changes = WordChanges(sorted(news.vocabulary), rate=1.0, hide=0.0)
    changes(view_of(build(), *news[:3]))
    again = WordChanges(sorted(news.vocabulary), rate=1.0, hide=0.0)
    again.load_state_dict(changes.state_dict())
    assert again.substitutes.mean[0] == changes.substitutes.mean[0] > 0


def many_sizes(build: Build, encoder: str, text: Corpus) -> tuple[View, WordChanges]:
    """Every word of the text as a sentence, each to be swapped."""
    words = sorted(text.vocabulary)
    view = view_of(build(encoder).eval(), *(Sentence((word,)) for word in [*words, "Unheard"]))
    return view, WordChanges(words, rate=1.0, hide=0.0)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_law_of_a_word_does_not_depend_on_which_word_was_swapped_before(
    build: Build, news: Corpus, encoder: str
) -> None:
    view, forth = many_sizes(build, encoder, news)
    _, back = many_sizes(build, encoder, news)
    for sentence in view.originals:
        forth._another(sentence.words[0], view.encoder)
    for sentence in reversed(view.originals):
        back._another(sentence.words[0], view.encoder)
    assert torch.equal(forth.substitutes.mean, back.substitutes.mean)
    assert torch.equal(forth.substitutes.deviation, back.substitutes.deviation)
    sizes = set(view.encoder.sizes_of(forth.words))
    assert len(sizes) == 1 or forth.substitutes.mean[forth.substitutes.mean >= 0].unique().numel() > 1


def test_words_of_many_pieces_are_measured_by_their_like(build: Build, news: Corpus) -> None:
    view, changes = many_sizes(build, "bert", news)
    changes.draw(view)
    words, sizes = changes.words, torch.tensor(view.encoder.sizes_of(changes.words))
    known = torch.tensor([row is not None for row in view.encoder.rows_of(words)])
    size = int(sizes.mode().values)
    expected = typical_distances(view.encoder.vectors_of(words), known & (sizes == size))
    assert float(changes.substitutes.mean[size - 1]) == pytest.approx(expected[0])
    assert float(changes.substitutes.deviation[size - 1]) == pytest.approx(expected[1])


# words that the table does not hold


def drawn_for(tagger: Tagger, word: str, words: list[str]) -> set[str | None]:
    changes = WordChanges(words, 1.0, 0.0, Substitutes("random"))
    return {change.by for change in changes.draw(view_of(tagger, *[Sentence((word,))] * 100))}


def test_a_word_that_is_read_as_unknown_never_stands_in_for_another(build: Build) -> None:
    text = Corpus.of([Sentence(("Anna", "Bob", "Anna", "Bob", "once"), ("O",) * 5)])
    tagger = build(text=text, labels=["X"], least_seen=2)
    assert drawn_for(tagger, "Anna", ["Anna", "Bob", "once", "never"]) == {"Bob"}
    assert drawn_for(tagger, "never", ["Anna", "Bob", "once", "never"]) == {"Anna", "Bob"}
    assert drawn_for(tagger, "Anna", ["Anna", "once", "never"]) == {None}


def test_nor_does_a_word_of_an_unknown_piece(build: Build) -> None:
    tagger = build("bert")
    assert tagger.encoder.rows_of(["☃", "☂"]) == [None, None]
    assert tagger.encoder.rows_of(["[MASK]"]) == [None]
    sizes = tagger.encoder.sizes_of(["☃", ",", "."])
    assert sizes == [1, 1, 1]
    assert drawn_for(tagger, ",", [",", ".", "☃", "☂"]) == {"."}
    assert drawn_for(tagger, "☃", [",", ".", "☃", "☂"]) == {",", "."}


def test_unknown_words_do_not_tell_what_distances_are_usual(build: Build, news: Corpus) -> None:
    tagger, words = build(), sorted(news.vocabulary)
    means = []
    for listed in (words, [*words, *(f"unheard-of-{number}" for number in "abcdefgh")]):
        changes = WordChanges(listed, 1.0, 0.0)
        changes.draw(view_of(tagger, *news[:3]))
        means.append(changes.substitutes.mean)
    assert torch.equal(*means)


def test_without_a_word_table_letters_tell_words_apart(build: Build, bert: str) -> None:
    tagger = build(word_width=0, contextual={"encoder": bert})
    assert drawn_for(tagger, "Anna", ["Anna", "anna", "Bob"]) == {"anna", "Bob"}
    drawn = WordChanges(["Anna", "Bob"], 1.0, 0.0).draw(view_of(tagger, Sentence(("Anna",))))
    assert [change.by for change in drawn] == ["Bob"]
