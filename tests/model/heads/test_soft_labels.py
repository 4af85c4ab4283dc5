"""Learning from soft labels: the expected loss, by enumerating every path that the distributions may draw."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import Scheme, convert_tags, is_legal
from acclimate.data.soft_labels import Row, ScoredSpan, rows_in_scheme, rows_of_spans, softened
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.heads.tag_heads import expected_moves
from acclimate.model.tagger import Tagger

LABELS = ("LOC", "PER")
GUESSES = (
    [ScoredSpan(0, 2, "PER", 0.6), ScoredSpan(0, 2, "LOC", 0.3), ScoredSpan(3, 4, "LOC", 0.5)],
    [ScoredSpan(0, 3, "PER", 0.5), ScoredSpan(0, 1, "PER", 0.2), ScoredSpan(1, 4, "LOC", 0.4)],
    [ScoredSpan(0, 1, "LOC", 0.7), ScoredSpan(1, 3, "LOC", 0.9)],
    [ScoredSpan(1, 2, "PER", 0.25)],
)
HARD = ("B-PER I-PER O O", "O B-LOC", "B-LOC B-LOC I-LOC O")


def tagger_for(**options: Any) -> Tagger:
    torch.manual_seed(3)
    text = Corpus.of_texts(["a b c d"])
    tagger = Tagger.build("character-cnn-lstm", labels=LABELS, text=text, **options).double().eval()
    if options.get("head", "crf") == "crf":
        torch.nn.init.normal_(tagger.head.transitions)
    return tagger


def guessed(spans: list[ScoredSpan], length: int = 4) -> Sentence:
    return softened(Sentence(tuple("abcd"[:length])), rows_of_spans(spans, length))


def hard(row: str) -> Sentence:
    tags = tuple(row.split())
    return Sentence(tuple("abcd"[: len(tags)]), tags)


def path_probability(path: tuple[str, ...], rows: list[Row], scheme: Scheme) -> float:
    """Slow and plain: the chain that draws tag after tag. A tag that goes on is drawn after those that it may
    follow, all others after what does not go on."""
    probability = rows[0].get(path[0], 0.0)
    for place in range(1, len(path)):
        before, after = rows[place - 1], rows[place]
        going = {tag: p for tag, p in after.items() if not is_legal(None, tag, scheme)}

        def share(tag: str, goes_on: str, before: Row = before, after: Row = after) -> float:
            sources = sum(p for other, p in before.items() if is_legal(other, goes_on, scheme))
            return after[goes_on] / sources if is_legal(tag, goes_on, scheme) else 0.0

        here, there = path[place - 1], path[place]
        if there in going:
            move = share(here, there)
        else:
            stays = 1 - sum(share(here, tag) for tag in going)
            move = stays * after.get(there, 0.0) / max(1 - sum(going.values()), 1e-300)
        probability *= move
        if not probability:
            return 0.0
    return probability


def path_score(tagger: Tagger, scores: Tensor, path: tuple[int, ...]) -> Tensor:
    total = sum(scores[word, tag] for word, tag in enumerate(path))
    if tagger.head_name == "crf":
        total = total + sum((tagger.head.transitions[move] for move in itertools.pairwise(path)), torch.zeros(()))
        if tagger.head.start is not None:
            total = total + tagger.head.start[path[0]] + tagger.head.end[path[-1]]
    return total


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
@pytest.mark.parametrize(
    "options", [{}, {"boundary_scores": True}, {"constrain_training": True}, {"head": "softmax"}], ids=str
)
def test_the_loss_is_that_of_all_paths_by_how_probable_they_are(scheme: Scheme, options: dict[str, Any]) -> None:
    tagger = tagger_for(scheme=scheme, **options)
    sentences = [guessed(spans) for spans in GUESSES]
    view = tagger.view(sentences)
    for number, sentence in enumerate(sentences):
        scores, rows = view.scores[number], rows_in_scheme(sentence, scheme)
        paths, totals = list(itertools.product(range(len(tagger.tags)), repeat=4)), []
        drawn, expected = 0.0, torch.zeros(()).double()
        for path in paths:
            names = tuple(tagger.tags[tag] for tag in path)
            legal = all(is_legal(*pair, scheme) for pair in itertools.pairwise((None, *names, None)))
            score = path_score(tagger, scores, path)
            totals += [score] if legal or not options.get("constrain_training") else []
            probability = path_probability(names, rows, scheme)
            assert legal or not probability
            drawn, expected = drawn + probability, expected + probability * score
        assert drawn == pytest.approx(1)
        torch.testing.assert_close(
            view.losses[number], torch.stack(totals).logsumexp(0) - expected, atol=1e-6, rtol=1e-6
        )


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES", "IO"])
@pytest.mark.parametrize("options", [{"boundary_scores": True}, {"constrain_training": True}, {"head": "softmax"}])
def test_probabilities_of_one_give_the_loss_of_hard_labels(scheme: Scheme, options: dict[str, Any]) -> None:
    tagger = tagger_for(scheme=scheme, **options)
    soft = [hard(row) for row in HARD]
    certain = [
        Sentence(one.words, one.tags, probabilities=tuple(((tag, 1.0),) for tag in one.tags or ())) for one in soft
    ]
    assert tagger.view(soft).sentences.soft is None
    torch.testing.assert_close(tagger.view(certain).losses, tagger.view(soft).losses)


@pytest.mark.parametrize("options", [{}, {"constrain_training": True}, {"head": "softmax"}], ids=str)
def test_the_loss_has_the_derivatives_of_finite_differences(options: dict[str, Any]) -> None:
    tagger = tagger_for(**options)
    sentences = tagger.tensorize([*(guessed(spans) for spans in GUESSES), hard(HARD[1])])
    scores = torch.randn(5, 4, len(tagger.tags), dtype=torch.float64, requires_grad=True)
    inputs = [scores] if options.get("head") else [scores, tagger.head.transitions]

    def loss(scores: Tensor, *transitions: Tensor) -> Tensor:
        return tagger.head.expected_loss(scores, sentences.soft, sentences.mask)

    assert torch.autograd.gradcheck(loss, inputs)


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_soft_hard_and_open_sentences_of_one_batch_do_not_disturb_each_other(head: str) -> None:
    tagger = tagger_for(head=head)
    each = [guessed(GUESSES[0]), hard(HARD[1]), hard("O|LOC B-PER O O"), Sentence(tuple("ab"))]
    together = tagger.view(each)
    assert together.sentences.labelled.tolist() == [True, True, True, False]
    for number in range(3):
        torch.testing.assert_close(together.losses[number], tagger.view([each[number]]).losses[0])


def test_words_that_are_surely_alike_draw_no_illegal_move() -> None:
    tagger = tagger_for(scheme="BIOES")
    soft = tagger.tensorize([guessed(spans) for spans in GUESSES]).soft
    assert soft is not None
    moves = expected_moves(soft.double(), tagger.head.legal_start, tagger.head.legal_moves)
    assert moves[:, ~tagger.head.legal_moves].abs().max() < 1e-6
    torch.testing.assert_close(moves.sum((1, 2)), torch.full((4,), 3.0).double())


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "BIOES", "IO"])
def test_distributions_are_spelled_in_a_scheme_as_the_spans_are(scheme: Scheme) -> None:
    for row in (*HARD, "B-PER B-PER B-LOC I-LOC"):
        tags = tuple(row.split())
        certain = Sentence(tuple("abcd"[: len(tags)]), tags, probabilities=tuple(((tag, 1.0),) for tag in tags))
        assert [dict.fromkeys([tag], 1.0) for tag in convert_tags(tags, scheme)] == rows_in_scheme(certain, scheme)
    for spans in GUESSES:
        for row in rows_in_scheme(guessed(spans), scheme):
            assert sum(row.values()) == pytest.approx(1)
            assert min(row.values()) >= 0


def test_entities_found_first_and_typed_afterwards_learn_both_softly() -> None:
    tagger = tagger_for(scheme="IOB2")
    torch.manual_seed(4)
    tagger.find_entities(EntitySettings())
    tagger.double().eval()
    sentence = guessed([ScoredSpan(0, 2, "PER", 0.5), ScoredSpan(0, 2, "LOC", 0.25)])
    view = tagger.view([sentence])
    assert view.type_losses is not None
    assert sentence.tags == ("B-PER", "I-PER", "O", "O")
    types = view.tagger.types.scores(view.features, view.shown, torch.tensor([[1, 2, 0, 0]]))[0, 0].log_softmax(-1)
    torch.testing.assert_close(view.type_losses[0], -(0.25 * types[0] + 0.5 * types[1]))
    scores = view.scores[0]  # O, B, I
    paths = {path: path_score(tagger, scores, path) for path in itertools.product(range(3), repeat=4)}
    expected = 0.75 * paths[1, 2, 0, 0] + 0.25 * paths[0, 0, 0, 0]
    torch.testing.assert_close(view.tag_losses[0], torch.stack(list(paths.values())).logsumexp(0) - expected)


def test_a_guess_of_a_label_that_the_tagger_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="tag 'B-ORG' is not among this tagger's labels"):
        tagger_for(scheme="IOB2").tensorize([guessed([ScoredSpan(0, 1, "ORG", 0.3)])])


def test_distributions_that_no_spans_have_are_refused() -> None:
    rows = ((("B-PER", 0.5), ("O", 0.5)), (("I-PER", 0.9), ("O", 0.1)))
    with pytest.raises(InputError, match=r"word 1 \('b'\): I-PER has more than"):
        tagger_for().tensorize([Sentence(("a", "b"), ("O", "O"), probabilities=rows)])
    with pytest.raises(InputError, match=r"word 0 \('a'\): the probabilities must"):
        tagger_for().tensorize([Sentence(("a",), ("O",), probabilities=((("O", 0.5),),))])


def test_a_batch_moves_to_a_device_with_its_soft_labels() -> None:
    sentences = tagger_for().tensorize([guessed(GUESSES[0])]).to("cpu")
    assert sentences.soft is not None
    assert sentences.soft.sum().item() == pytest.approx(4)
