"""Sentences with hidden words: what is hidden, and what may be seen."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.masking.catalogue import policy_names
from acclimate.methods.mslm import JointMasking, MaskedTagger, MaskedView

Make = Callable[..., MaskedTagger]


def words_of(view: MaskedView, pieces: Tensor) -> set[tuple[int, ...]]:
    """The words whose pieces are marked, each with the marks of its pieces."""
    numbers = view.inputs["words"]
    return {(word, *pieces[numbers == word].int().tolist()) for word in numbers[pieces].tolist()}


# what is hidden


@pytest.mark.parametrize("encoder", ["bert", "roberta"])
def test_hidden_words_are_hidden_whole_and_the_two_kinds_never_meet(make: Make, news: Corpus, encoder: str) -> None:
    learner = make(encoder=encoder)
    view = learner.view(news[:12].sentences)
    masks, mask = view.masks, learner.encoder.pieces.tokenizer.mask_token_id
    assert masks.is_elm.any()
    assert masks.is_blm.any()
    assert not (masks.is_elm & masks.is_blm).any()
    for marked in (masks.is_elm, masks.is_blm):
        assert all(set(rest) == {1} for _, *rest in words_of(view, marked))
    hidden = masks.is_elm | masks.is_blm
    assert torch.equal(view.inputs["pieces"] == mask, hidden)
    assert torch.equal(view.inputs["pieces"][~hidden], view.clean.inputs["pieces"][~hidden])
    assert not (view.clean.inputs["pieces"] == mask).any()


def test_the_number_of_hidden_terms_is_the_rate_s_rounded_up(make: Make, news: Corpus) -> None:
    view = make(JointMasking(0.5, 0.0)).view(news.sentences)
    kinds, begin = view.masks.kinds.tolist(), 0
    for sentence in news:
        here = kinds[begin : begin + len(sentence)]
        begin += len(sentence)
        whole = sum(all(here[word] == 1 for word in range(span.start, span.end)) for span in sentence.spans)
        assert whole == math.ceil(len(sentence.spans) / 2)


def test_masks_are_drawn_anew_unless_they_belong_to_the_sentence(make: Make, news: Corpus) -> None:
    anew, fixed = make(static=False), make()
    rows = [tuple(anew.view(news[:6].sentences).masks.kinds.tolist()) for _ in range(5)]
    assert len(set(rows)) > 1
    rows = [tuple(fixed.view(news[:6].sentences).masks.kinds.tolist()) for _ in range(5)]
    assert len(set(rows)) == 1
    torch.manual_seed(3)
    first = anew.view(news[:6].sentences).masks.kinds
    torch.manual_seed(3)
    assert torch.equal(first, anew.view(news[:6].sentences).masks.kinds)


RIVALS = [name for name in policy_names() if "adversarial" not in name]


@pytest.mark.parametrize("name", RIVALS)
def test_another_policy_hides_as_many_words_of_each_sentence(make: Make, news: Corpus, name: str) -> None:
    sentences = [*news[:9], Sentence(("ok",), ("O",)), Sentence(("Oslo",), ("B-LOC",))]
    masking = JointMasking(1.0, 0.2)  # all terms: the number of words is the same in every draw
    joint, other = make(masking).view(sentences), make(masking, masked_by=name, text=news).view(sentences)
    sizes = [len(sentence) for sentence in sentences]
    for one, two in zip(joint.masks.kinds.split(sizes), other.masks.kinds.split(sizes), strict=True):
        assert (one > 0).sum() == (two > 0).sum()
    assert not other.masks.is_elm.any()
    assert all(set(rest) == {1} for _, *rest in words_of(other, other.masks.is_blm))
    assert other.inputs["pieces"].shape == other.clean.inputs["pieces"].shape


@pytest.mark.parametrize("name", ["span", "pmi", "mix-pmi"])
def test_runs_of_words_end_on_one_word_on_no_match_and_on_nothing_to_hide(make: Make, news: Corpus, name: str) -> None:
    odd = [Sentence(("x",), ("B-PER",)), Sentence(("q", "z"), ("O", "O")), Sentence(("\u200b",), ("O",))]
    everything = make(JointMasking(1.0, 1.0), masked_by=name, text=news).view(odd)
    assert everything.masks.kinds.gt(0).all()
    nothing = make(JointMasking(0.0, 0.0), masked_by=name, text=news).view(odd)
    assert nothing.masks.kinds.eq(0).all()


def test_a_policy_cannot_keep_a_sentence_s_masks(make: Make, news: Corpus) -> None:
    learner = make(masked_by="span", text=news)
    with pytest.raises(ValueError, match="span draws anew every time"):
        MaskedTagger(learner.tagger, None, learner.masking, learner.corruption, learner.policy, seed=1)


@pytest.mark.parametrize("masked_by", [None, "span"])
def test_a_word_in_two_overlapping_rows_is_hidden_in_both_and_asked_for_once(
    make: Make, news: Corpus, masked_by: str | None
) -> None:
    long = Sentence(sum((sentence.words for sentence in news[:6]), ()), sum((one.tags or () for one in news[:6]), ()))
    # all terms, so that every draw hides as many words
    learner = make(JointMasking(1.0, 0.2), options={"longest_row": 24}, masked_by=masked_by, text=news)
    view = learner.view([long])
    assert len(view.inputs["pieces"]) > 1
    hidden = view.masks.is_elm | view.masks.is_blm
    numbers = view.inputs["words"]
    twice = False
    for word in numbers[hidden].unique().tolist():
        assert hidden[numbers == word].all()
        rows = (numbers == word).any(1).sum()
        twice = twice or rows > 1
        assert (view.masks.asked & (numbers == word)).any(1).sum() == 1
    assert twice
    assert (view.masks.kinds > 0).sum() == (learner.masking.draw_fixed(long, 1) > 0).sum()


def test_an_unknown_piece_is_hidden_but_nobody_has_to_guess_it(make: Make) -> None:
    learner = make(JointMasking(1.0, 0.0))
    view = learner.view([Sentence(("Anna", "\u200b"), ("B-PER", "I-PER"))])
    unknown = view.clean.inputs["pieces"] == learner.encoder.pieces.tokenizer.unk_token_id
    assert view.masks.is_elm[unknown].all()
    assert not view.masks.asked[unknown].any()
    assert learner.predictable_pieces(["Anna", "\u200b"])[1] == 0


# what may be seen


@pytest.mark.parametrize("extra", ["shared", "token"])
def test_a_hidden_word_cannot_reach_the_heads(make: Make, extra: str) -> None:
    """C2.2: the released code looks the hidden word up again."""
    learner = make(JointMasking(1.0, 0.0), extra=extra)
    one, other = (
        learner.view([Sentence((name, "left", "."), ("B-PER", "O", "O"))]) for name in pair_of_like_pieces(learner)
    )
    assert not torch.equal(one.clean.inputs["pieces"], other.clean.inputs["pieces"])
    assert torch.equal(one.scores, other.scores)
    assert torch.equal(one.tag_losses, other.tag_losses)
    assert one.type_losses is not None
    assert other.type_losses is not None
    assert torch.equal(one.type_losses, other.type_losses)
    layer = learner.tagger.scores
    leaked = [layer(view.features, view.clean.shown) for view in (one, other)]  # as the released code does
    assert torch.equal(*leaked) == (extra == "shared")


def pair_of_like_pieces(learner: MaskedTagger) -> list[str]:
    """Two words of as many pieces, the first of which differ."""
    words = ["Anna", "Clara", "Farid", "Paris", "Oslo", "Acme", "Bob", "Stone", "York", "Lake"]
    pieces = learner.encoder.pieces.of_words(words)
    for one, first in zip(words, pieces, strict=True):
        for two, second in zip(words, pieces, strict=True):
            if len(first) == len(second) and first[0] != second[0]:
                return [one, two]
    raise AssertionError("no two words have as many pieces")


def test_the_gold_tags_decide_what_is_hidden_in_training_and_nothing_else(make: Make, news: Corpus) -> None:
    """C2.1: the tagger itself reads every word, whatever tags the sentences carry."""
    learner = make()
    tagger = learner.tagger.eval()
    turned = news.map(lambda sentence: sentence.with_tags(["B-PER"] * len(sentence)))
    one, other = (tagger.view(corpus[:9].sentences) for corpus in (news, turned))
    assert torch.equal(one.inputs["pieces"], other.inputs["pieces"])
    assert torch.equal(one.decoded, other.decoded)
    masked, mask = learner.view(news[:9].sentences), learner.encoder.pieces.tokenizer.mask_token_id
    assert (masked.inputs["pieces"] == mask).any()
    assert not (one.inputs["pieces"] == mask).any()
