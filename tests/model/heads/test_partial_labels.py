"""Learning from words whose tag is not known: all paths that agree with what is known, by brute force."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.schemes import ANY_LABEL, hidden_labels, is_legal, spans_from_tags, split_tag
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.tagger import Tagger

LABELS = ("LOC", "PER")
ROWS = (
    "B-PER I-PER O|LOC O",
    "O|LOC|PER O|LOC|PER",
    "B-PER O|PER O|PER",
    "O B-LOC O|*",
    "O O B-PER I-PER",
)


def agrees(path: tuple[str, ...], tags: tuple[str, ...], scheme: str) -> bool:
    """Slow and plain: the path is legal, has every span that is marked, and where a word is open only what may hide
    there."""
    bordered = (None, *path, None)
    if not all(is_legal(one, other, scheme) for one, other in itertools.pairwise(bordered)):
        return False
    if not set(spans_from_tags(tags)) <= set(spans_from_tags(path)):
        return False
    for got, tag in zip(path, tags, strict=True):
        label, hidden = split_tag(got)[1], hidden_labels(tag)
        if hidden and label and label not in hidden and ANY_LABEL not in hidden:
            return False
        if not hidden and split_tag(tag)[1] != label:
            return False
    return True


def tagger_for(**options: Any) -> Tagger:
    torch.manual_seed(3)
    text = Corpus.of_texts(["a b c d"])
    tagger = Tagger.build("character-cnn-lstm", labels=LABELS, text=text, **options).double().eval()
    if options.get("head", "crf") == "crf":
        torch.nn.init.normal_(tagger.head.transitions)
    return tagger


def sentence_of(row: str) -> Sentence:
    tags = tuple(row.split())
    return Sentence(tuple("abcd"[: len(tags)]), tags)


def log_probabilities(tagger: Tagger, scores: Tensor, constrained: bool) -> dict[tuple[str, ...], Tensor]:
    """Of every path through one sentence."""
    totals = {}
    for path in itertools.product(range(len(tagger.tags)), repeat=len(scores)):
        names = tuple(tagger.tags[tag] for tag in path)
        if constrained and not all(is_legal(*pair, tagger.scheme) for pair in itertools.pairwise((None, *names, None))):
            continue
        total = sum(scores[word, tag] for word, tag in enumerate(path))
        if tagger.head_name == "crf":
            total = total + sum(tagger.head.transitions[move] for move in itertools.pairwise(path))
            if tagger.head.start is not None:
                total = total + tagger.head.start[path[0]] + tagger.head.end[path[-1]]
        totals[names] = total
    everything = torch.stack(list(totals.values())).logsumexp(0)
    return {names: total - everything for names, total in totals.items()}


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
@pytest.mark.parametrize("crf", [{}, {"boundary_scores": True}, {"constrain_training": True}])
def test_the_crf_sums_over_all_paths_that_agree_with_what_is_known(scheme: str, crf: dict[str, bool]) -> None:
    tagger = tagger_for(scheme=scheme, **crf)
    sentences = [sentence_of(row) for row in ROWS]
    view = tagger.view(sentences)
    for number, sentence in enumerate(sentences):
        scores = view.scores[number, : len(sentence)]
        constrained = crf.get("constrain_training", False) or sentence.is_open
        paths = log_probabilities(tagger, scores, constrained)
        right = [logarithm for path, logarithm in paths.items() if agrees(path, sentence.tags or (), scheme)]
        assert right
        torch.testing.assert_close(view.losses[number], -torch.stack(right).logsumexp(0))


def test_softmax_sums_over_the_tags_that_each_word_may_have() -> None:
    tagger = tagger_for(head="softmax", scheme="IOB2")
    view = tagger.view([sentence_of("B-PER I-PER O O|LOC"), sentence_of("O|*")])
    words = view.scores.log_softmax(-1)
    at = {tag: number for number, tag in enumerate(tagger.tags)}
    hidden = words[0, 3, [at["O"], at["B-LOC"], at["I-LOC"]]].logsumexp(0)
    known = words[0, 0, at["B-PER"]] + words[0, 1, at["I-PER"]] + words[0, 2, at["O"]]
    torch.testing.assert_close(view.losses[0], -(hidden + known))
    torch.testing.assert_close(view.losses[1], torch.zeros(()).double(), atol=1e-12, rtol=0)


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_a_corpus_with_all_its_labels_is_learnt_bit_for_bit_as_before(head: str) -> None:
    tagger = tagger_for(head=head)
    view = tagger.view([sentence_of("B-PER I-PER O O"), sentence_of("O B-LOC")])
    assert view.sentences.odds is None
    expected = tagger.head.loss(view.scores, view.sentences.tags, view.sentences.mask)
    assert torch.equal(view.losses, expected)


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_one_open_sentence_does_not_change_the_loss_of_the_others(head: str) -> None:
    tagger = tagger_for(head=head)
    known = sentence_of("B-PER I-PER O O")
    alone, beside = tagger.view([known]).losses[0], tagger.view([known, sentence_of("O|PER O O O")]).losses[0]
    torch.testing.assert_close(alone, beside)


@pytest.mark.parametrize("options", [{}, {"constrain_training": True}, {"head": "softmax"}])
def test_the_loss_has_the_derivatives_of_finite_differences(options: dict[str, Any]) -> None:
    tagger = tagger_for(**options)
    sentences = tagger.tensorize([sentence_of(row) for row in ROWS[:3]])
    scores = torch.randn(3, 4, len(tagger.tags), dtype=torch.float64, requires_grad=True)
    inputs = [scores] if options.get("head") else [scores, tagger.head.transitions]

    def loss(scores: Tensor, *transitions: Tensor) -> Tensor:
        return tagger.head.loss(scores, sentences.tags, sentences.mask, sentences.odds)

    assert torch.autograd.gradcheck(loss, inputs)


def test_entities_found_first_and_typed_afterwards_honour_open_words() -> None:
    torch.manual_seed(3)
    tagger = tagger_for(scheme="IOB2")
    tagger.find_entities(EntitySettings())
    tagger.double()
    view = tagger.view([sentence_of("B-PER O|LOC O O")])
    paths = {}
    for path in itertools.product(range(3), repeat=4):  # O, B, I
        total = sum(view.scores[0, word, tag] for word, tag in enumerate(path))
        paths[path] = total + sum(tagger.head.transitions[move] for move in itertools.pairwise(path))
    legal = [total for path, total in paths.items() if not any(pair in ((0, 2),) for pair in bordered(path))]
    right = torch.stack([paths[1, 0, 0, 0], paths[1, 1, 0, 0]]).logsumexp(0)
    torch.testing.assert_close(view.tag_losses[0], torch.stack(legal).logsumexp(0) - right)


def bordered(path: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Each bare tag with the one before; the border counts as O."""
    return itertools.pairwise((0, *path))


MAKES: dict[str, dict[str, Any]] = {
    "crf": {},
    "boundary scores": {"boundary_scores": True},
    "constrained": {"constrain_training": True},
    "IOB2": {"scheme": "IOB2"},
    "softmax": {"head": "softmax"},
    "softmax, IOB2": {"head": "softmax", "scheme": "IOB2"},
}


@pytest.mark.parametrize("extra", ["none", "entities", "source heads"])
@pytest.mark.parametrize("make", MAKES)
def test_a_sentence_of_which_nothing_is_known_teaches_no_label(make: str, extra: str) -> None:
    tagger = tagger_for(**MAKES[make])
    if extra == "entities":
        tagger.find_entities(EntitySettings(dropout=0))
        tagger.double()
    if extra == "source heads":
        tagger.add_source_heads(["a"])
        tagger.double().train()
    rows = [replace(sentence_of(row), source="a") for row in ("O|* O|* O|*", "O|LOC|PER O|LOC|PER", "O|*")]
    view = tagger.view(rows)
    torch.testing.assert_close(view.losses, torch.zeros(3).double(), atol=1e-12, rtol=0)
    view.losses.sum().backward()
    gradients = [weight.grad for weight in tagger.parameters() if weight.grad is not None]
    assert max(float(gradient.abs().max()) for gradient in gradients) < 1e-12


def test_words_that_may_hide_a_label_have_no_tag_to_compare_domains_by() -> None:
    tagger = tagger_for(scheme="IOB2")
    numbers = tagger.view([sentence_of("B-PER O|LOC O")]).sentences.numbers[0].tolist()
    assert numbers == [tagger.tags.index("B-PER"), -1, tagger.tags.index("O")]


def test_a_batch_moves_to_a_device_with_what_its_words_may_be() -> None:
    tagger = tagger_for()
    sentences = tagger.tensorize([sentence_of("O|LOC O")]).to("cpu")
    assert sentences.odds is not None
    assert sentences.odds.shape == (1, 2, len(tagger.tags))


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_a_label_that_nobody_looked_for_counts_by_its_odds_and_an_unread_word_may_be_anything(head: str) -> None:
    tagger = tagger_for(head=head, scheme="IOB2")
    tagger.hidden_odds = 0.2
    sentence = sentence_of("O|LOC O|* B-PER")
    view = tagger.view([sentence])
    every = log_probabilities(tagger, view.scores[0, :3], constrained=True)
    paths = {path: total for path, total in every.items() if agrees(path, sentence.tags or (), "IOB2")}
    weights = [0.2 if path[0] == "B-LOC" else 1.0 for path in paths]
    expected = (torch.stack(list(paths.values())) + torch.tensor(weights).double().log()).logsumexp(0)
    if head == "softmax":  # words apart, whatever the law says of two neighbours
        words, at = view.scores[0].log_softmax(-1), tagger.tags.index
        doubted = torch.stack(
            [words[0, at("O")], *(words[0, at(tag)] + torch.tensor(0.2).log() for tag in ("B-LOC", "I-LOC"))]
        )
        expected = doubted.logsumexp(0) + words[2, at("B-PER")]
    torch.testing.assert_close(view.losses[0], -expected, rtol=1e-6, atol=1e-6)


def test_other_odds_hold_for_a_sentence_that_was_read_before() -> None:
    tagger, sentence = tagger_for(), sentence_of("O|LOC")
    for odds in (1.0, 0.25):
        tagger.hidden_odds = odds
        found = tagger.tensorize([sentence]).odds
        assert found is not None
        assert found[0, 0, tagger.tags.index("B-LOC")] == odds


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_with_hardly_any_odds_a_hidden_label_is_learnt_as_outside(head: str) -> None:
    tagger = tagger_for(head=head, constrain_training=True)
    tagger.hidden_odds = 1e-9
    view = tagger.view([sentence_of("O|LOC O|PER B-PER"), sentence_of("O O B-PER")])
    torch.testing.assert_close(view.losses[0], view.losses[1])
