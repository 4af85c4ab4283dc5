"""The three losses of MSLM: against slow ones, and what they may and may not depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.mslm import (
    EVEN,
    EntityClassification,
    EntityDetection,
    HiddenWords,
    JointMasking,
    MaskedTagger,
    MaskedView,
    MaskWeights,
)
from acclimate.methods.objective import Tagging
from acclimate.model.learner import NoView, View

NOBODY = NoView("target")
WEIGHTS = MaskWeights(0.6, 0.4)
Make = Callable[..., MaskedTagger]


def slow_loss(learner: MaskedTagger, sentences: Sequence[Sentence], weights: MaskWeights) -> float:
    """Piece by piece, from the whole masked text, as Eq. 6 says, over the number of hidden pieces."""
    view = learner.view(sentences)
    assert learner.mlm_head is not None
    scores = learner.mlm_head(view.last_layer).log_softmax(-1)
    total, count = 0.0, 0
    for row in range(len(scores)):
        for place in range(scores.shape[1]):
            if view.masks.asked[row, place]:
                weight = weights.elm if view.masks.is_elm[row, place] else weights.blm
                total -= weight * scores[row, place, view.clean.inputs["pieces"][row, place]].item()
                count += 1
    return total / count


def test_the_loss_of_hidden_words_is_the_slow_one(make: Make, news: Corpus) -> None:
    learner = make()
    found = HiddenWords(WEIGHTS)(learner.view(news[:7].sentences), NOBODY)
    assert found.item() == pytest.approx(slow_loss(learner, news[:7].sentences, WEIGHTS), rel=1e-5)


def test_places_that_are_not_hidden_cost_nothing(make: Make, news: Corpus) -> None:
    """Other states there, and with them other scores, change nothing (C2.5)."""
    learner, losses = make(), []
    for noise in (0.0, 9.0):
        view = learner.view(news[:5].sentences)
        hidden = view.masks.is_elm | view.masks.is_blm
        view.last_layer = torch.where(hidden.unsqueeze(2), view.last_layer, view.last_layer + noise)
        losses.append(HiddenWords(WEIGHTS)(view, NOBODY))
    assert torch.equal(*losses)


def test_more_padding_changes_no_loss(make: Make, news: Corpus) -> None:
    learner = make()
    view = learner.view(news[:5].sentences)
    padded = twice_as_wide(view)
    for term in (HiddenWords(WEIGHTS), EntityDetection("both"), EntityClassification("both")):
        torch.testing.assert_close(term(padded, NOBODY), term(view, NOBODY), rtol=1e-4, atol=1e-5)


def twice_as_wide(view: MaskedView) -> MaskedView:
    """The same rows with as much padding again behind them."""
    length = view.inputs["pieces"].shape[1]

    def widened(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        room = {"pieces": 0, "attention": 0, "words": -1}
        wide = {name: functional.pad(inputs[name], (0, length), value=value) for name, value in room.items()}
        return {**inputs, **wide, "first": inputs["first"] // length * 2 * length + inputs["first"] % length}

    names = ("is_elm", "is_blm", "asked")
    masks = replace(view.masks, **{name: functional.pad(getattr(view.masks, name), (0, length)) for name in names})
    clean = View(view.tagger, view.sentences.reading(widened(view.clean.inputs)))
    padded = MaskedView(clean, view.sentences.reading(widened(view.inputs)), masks, view.masked_by)
    padded.mlm_head = view.mlm_head
    return padded


def test_the_order_of_the_sentences_changes_no_sentence_s_loss(make: Make, news: Corpus) -> None:
    """C2.4: weights of one pass met the words of another. Here the masks stand with their sentences."""
    learner = make()
    term = HiddenWords(WEIGHTS)

    def by_sentence(order: list[int], together: int) -> dict[int, list[float]]:
        found = {}
        for start in range(0, len(order), together):
            numbers = order[start : start + together]
            view = learner.view([news[number] for number in numbers])
            losses = term.losses(view).detach()
            is_elm = view.masks.is_elm.gather(1, view.masks.hidden.places)
            for row, number in enumerate(numbers):
                counted = view.masks.hidden.counts[row]
                weights = torch.where(is_elm[row], WEIGHTS.elm, WEIGHTS.blm)
                found[number] = [(losses[row] * weights)[counted].sum().item(), view.tag_losses[row].item()]
        return found

    order = list(range(12))
    straight, shuffled = by_sentence(order, 4), by_sentence([7, 2, 11, 0, 5, 9, 1, 3, 10, 8, 6, 4], 3)
    for number in order:
        assert shuffled[number] == pytest.approx(straight[number], rel=1e-3, abs=1e-3)


def reached(learner: MaskedTagger, loss: Tensor) -> set[str]:
    """The parts that a gradient comes to."""
    learner.zero_grad()
    loss.backward()
    parts = {
        "encoder": list(learner.encoder.model.encoder.parameters()),  # type: ignore[operator, union-attr]
        "guesser": [
            weight
            for name, weight in learner.mlm_head.named_parameters()  # type: ignore[union-attr]
            if "decoder.weight" not in name
        ],
        "tags": [*learner.tagger.scores.parameters(), *learner.tagger.head.parameters()],
        "types": list(learner.tagger.types.parameters()),  # type: ignore[union-attr]
    }
    return {name for name, weights in parts.items() if any(w.grad is not None and w.grad.any() for w in weights)}


@pytest.mark.parametrize("extra", ["shared", "token"])
def test_each_loss_reaches_the_encoder_and_its_own_head(make: Make, news: Corpus, extra: str) -> None:
    learner = make(extra=extra)
    terms = {"guesser": HiddenWords(WEIGHTS), "tags": EntityDetection(), "types": EntityClassification()}
    for head, term in terms.items():
        assert reached(learner, term(learner.view(news[:6].sentences), NOBODY)) == {"encoder", head}


def test_every_part_of_the_heads_learns(make: Make, news: Corpus) -> None:
    learner = make()
    view = learner.view(news[:9].sentences)
    (EntityDetection()(view, NOBODY) + EntityClassification()(view, NOBODY)).backward()
    for part in (learner.tagger.scores, learner.tagger.types):
        assert part is not None
        assert all(weight.grad is not None and weight.grad.any() for weight in part.parameters())


def test_the_entity_losses_are_per_word_and_per_span(make: Make, news: Corpus) -> None:
    learner = make()
    view = learner.view(news[:8].sentences)
    words, spans = sum(map(len, news[:8])), sum(len(sentence.spans) for sentence in news[:8])
    assert view.type_losses is not None
    torch.testing.assert_close(EntityDetection()(view, NOBODY), view.tag_losses.sum() / words)
    torch.testing.assert_close(EntityClassification()(view, NOBODY), view.type_losses.sum() / spans)
    both = EntityDetection("both")(view, NOBODY)
    clean = EntityDetection("clean")(view, NOBODY)
    torch.testing.assert_close(both, (EntityDetection()(view, NOBODY) + clean) / 2)
    assert not torch.equal(clean, both)
    plain = Tagging()(view.clean, NOBODY) * words
    torch.testing.assert_close(clean * words + EntityClassification("clean")(view, NOBODY) * spans, plain)


def test_sentences_without_any_entity_or_anything_hidden_cost_what_they_must(make: Make) -> None:
    learner = make(JointMasking(1.0, 0.0))
    view = learner.view([Sentence(("it", "rained"), ("O", "O")), Sentence(("ok",), ("O",))])
    assert HiddenWords(WEIGHTS)(view, NOBODY) == 0
    assert EntityClassification()(view, NOBODY) == 0
    assert EntityDetection()(view, NOBODY) > 0
    (HiddenWords(WEIGHTS)(view, NOBODY) + EntityDetection()(view, NOBODY)).backward()


def test_what_an_objective_lacks_is_said(make: Make, news: Corpus) -> None:
    learner = make(labels=["PER"])
    person = Sentence(("Anna", "left"), ("B-PER", "O"))
    with pytest.raises(ValueError, match="nothing to classify"):
        EntityClassification()(learner.view([person]), NOBODY)
    with pytest.raises(ValueError, match="let a MaskedTagger read them"):
        HiddenWords()(learner.tagger.view([person]), NOBODY)
    mute = MaskedTagger(learner.tagger, None, learner.masking, learner.corruption)
    with pytest.raises(ValueError, match="somebody to guess them"):
        HiddenWords()(mute.view([person]), NOBODY)


def test_the_words_that_were_hidden_are_noted_with_their_weights(make: Make, news: Corpus) -> None:
    term = HiddenWords(EVEN)
    assert term.notes() is None
    learner = make()
    term(learner.view(news[:3].sentences), NOBODY)
    noted = term.notes()
    assert noted is not None
    assert (noted["kind"], noted["policy"], noted["weights"]) == ("masks", "joint", {"elm": 0.5, "blm": 0.5})
    for row, sentence in zip(noted["rows"], news[:3], strict=True):
        assert tuple(row["words"]) == sentence.words
        kinds = learner.masking.draw_fixed(sentence, 1)
        assert row["hidden"] == [word for word, kind in enumerate(kinds) if kind]
