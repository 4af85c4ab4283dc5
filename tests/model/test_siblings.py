"""Taggers that share parts: shared means the very same, saved once, and each tagger whole by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, LabelSet, Sentence
from acclimate.data.problems import InputError
from acclimate.inference.predict import predict
from acclimate.methods.objective import Tagging, TaggingOfAll
from acclimate.model.learner import View
from acclimate.model.siblings import Siblings
from acclimate.model.storage import read_tensors, write_tensors
from acclimate.model.tagger import Tagger
from acclimate.training.stage import TrainingStep

Build = Callable[..., Tagger]
CHATTER = Corpus.of(
    [
        Sentence(("omg", "Ænna", "is", "in", "Paris", "!!!"), ("O", "B-PERSON", "O", "O", "B-PLACE", "O")),
        Sentence(("ok",), ("O",)),
        Sentence(("i", "love", "Øslo", "😀"), ("O", "O", "B-PLACE", "O")),
    ],
    "chatter",
)
KINDS = ["full", "private", "bert", "bert-private", "tasks", "normalised"]


def family(build: Build, kind: str, **more: Any) -> Siblings:
    """Source and target taggers: full or private (DATNet-F, DATNet-P), or two tasks on one encoder (MAT)."""
    options = {"normalised": {"normalise": "weighted"}}.get(kind, {})
    source = build("bert" if kind.startswith("bert") else "character-cnn-lstm", **options, **more)
    if kind.endswith("private"):
        source.split()
    encoder = source.encoder if kind == "tasks" else source.encoder.sibling(CHATTER)
    return Siblings({"source": source, "target": source.sibling(CHATTER.labels, encoder)})


@pytest.fixture(params=KINDS)
def siblings(request: pytest.FixtureRequest, build: Build) -> Siblings:
    return family(build, request.param).eval()


def scores(tagger: Tagger, corpus: Corpus) -> Tensor:
    return View(tagger, tagger.tensorize(corpus.unlabelled().sentences)).scores.detach()


def stirred(learner: torch.nn.Module) -> None:
    """Every trainable weight moved, each by something else."""
    with torch.no_grad():
        for weight in learner.parameters():
            if weight.requires_grad:
                weight += 0.1 * torch.randn_like(weight)


# --- what is shared ---


def test_letters_and_the_shared_lstm_are_the_same_objects_and_words_are_not(build: Build) -> None:
    siblings = family(build, "private")
    one, other = (tagger.encoder for tagger in siblings)
    for name in ("character_table", "filters", "highways", "lstm"):
        assert getattr(one, name) is getattr(other, name)
    for name in ("word_table", "private_lstm", "vocabulary"):
        assert getattr(one, name) is not getattr(other, name)
    assert siblings["source"].scores is not siblings["target"].scores
    assert siblings["source"].head is not siblings["target"].head


def test_a_transformer_is_shared_but_for_its_private_layer(build: Build) -> None:
    one, other = (tagger.encoder for tagger in family(build, "bert-private"))
    assert one.model is other.model
    assert one.feed_forward is other.feed_forward
    assert one.pieces is other.pieces
    assert one.private is not other.private
    assert not torch.equal(one.private[0].weight, other.private[0].weight)


def test_frozen_features_of_the_context_are_shared(build: Build, bert: str) -> None:
    one, other = (tagger.encoder for tagger in family(build, "full", contextual={"encoder": bert, "width": 3}))
    assert one.context is other.context


def test_two_tasks_stand_on_one_encoder(build: Build) -> None:
    siblings = family(build, "tasks")
    assert siblings["source"].encoder is siblings["target"].encoder is siblings.encoder


def test_every_encoder_learns_whether_its_sentences_stand_alone(build: Build) -> None:
    siblings = family(build, "private")
    for alone in (True, False):
        siblings.stand_alone(alone)
        assert [tagger.encoder.share_characters for tagger in siblings] == [not alone] * 2
    assert siblings.encoder is siblings["source"].encoder


def test_parameters_have_no_duplicates(siblings: Siblings) -> None:
    found = [id(weight) for weight in siblings.parameters()]
    assert len(found) == len(set(found))
    apart = {id(weight) for tagger in siblings for weight in tagger.parameters()}
    assert set(found) == apart
    assert len(found) < sum(len(list(tagger.parameters())) for tagger in siblings)


# --- words, letters and labels of its own ---


def test_each_has_its_own_words_and_labels(build: Build, news: Corpus) -> None:
    siblings = family(build, "full")
    source, target = siblings["source"], siblings["target"]
    assert (source.labels, target.labels) == (news.labels, CHATTER.labels)
    assert "omg" in target.encoder.vocabulary
    assert "omg" not in source.encoder.vocabulary
    assert {label for s in predict(target, CHATTER) for label in (span.label for span in s.spans)} <= {
        "PERSON",
        "PLACE",
    }
    assert len(predict(source, news)) == len(news)


@pytest.mark.parametrize("kind", ["full", "normalised"])
def test_letters_that_are_new_are_learnt_by_both_and_the_old_ones_stay(build: Build, news: Corpus, kind: str) -> None:
    alone = build(normalise="weighted" if kind == "normalised" else "none").eval()
    siblings = family(build, kind).eval()
    old, new = alone.encoder, siblings["source"].encoder
    assert new.alphabet.items[: len(old.alphabet.items)] == old.alphabet.items
    assert {"Æ", "Ø", "😀"} <= set(new.alphabet.items[len(old.alphabet.items) :])
    assert siblings["target"].encoder.alphabet.items == new.alphabet.items
    rows = len(old.character_table.weight)
    assert torch.equal(new.character_table.weight[:rows], old.character_table.weight)
    assert len(new.character_table.weight) == len(new.alphabet)
    if kind == "full":
        torch.testing.assert_close(scores(siblings["source"], news), scores(alone, news))
    for tagger in siblings:
        letters = tagger.encoder.tensorize([Sentence(("Øslo",))])["characters"][1]
        assert letters[0] == new.alphabet.number("Ø") >= rows


def test_a_word_that_was_spelled_before_its_letters_were_known_is_spelled_anew(build: Build) -> None:
    tagger = build()
    before = tagger.encoder.tensorize([Sentence(("Øslo",))])["characters"]
    tagger.encoder.sibling(CHATTER)
    assert tagger.encoder.tensorize([Sentence(("Øslo",))])["characters"][1, 0] != before[1, 0]


def test_normalised_letters_count_half_for_each_domain(build: Build, news: Corpus) -> None:
    before = build(normalise="weighted").encoder
    encoder = family(build, "normalised")["target"].encoder
    shares, letters = encoder.character_table.shares, "".join(word for s in CHATTER for word in s.words)
    assert shares.sum().item() == pytest.approx(1)
    for letter in "aÆ!":
        old = float(before.character_table.shares[before.alphabet.number(letter)]) if letter in before.alphabet else 0.0
        expected = old / 2 + letters.count(letter) / len(letters) / 2
        assert shares[encoder.alphabet.number(letter)].item() == pytest.approx(expected, abs=1e-6)


def test_each_word_table_is_normalised_by_its_own_text(build: Build) -> None:
    one, other = (tagger.encoder for tagger in family(build, "normalised", forget_rare=0.0))
    for encoder in (one, other):
        rows = encoder.word_table(torch.arange(len(encoder.vocabulary))).detach()
        mean = encoder.word_table.shares @ rows
        torch.testing.assert_close(mean, torch.zeros_like(mean), atol=1e-5, rtol=0)
    assert len(other.word_table.shares) == len(other.vocabulary)


def test_a_third_sibling_shares_the_letters_with_the_first_two(build: Build) -> None:
    first = build()
    second = first.encoder.sibling(CHATTER)
    third = first.encoder.sibling([Sentence(("ğ",))])
    assert first.encoder.character_table is second.character_table is third.character_table
    assert len(second.character_table.weight) == len(third.alphabet) == len(second.alphabet) + 1
    again = second.tensorize([Sentence(("Ænna",))])["characters"]
    assert torch.equal(again, third.tensorize([Sentence(("Ænna",))])["characters"])


def test_a_sibling_brings_vectors_of_its_own(build: Build, tmp_path: Path) -> None:
    for name, row in (("a.txt", "paris 1 2 3"), ("b.txt", "omg 4 5 6"), ("c.txt", "omg 4 5")):
        (tmp_path / name).write_text(row + "\n", encoding="utf-8")
    encoder = build(vectors=str(tmp_path / "a.txt"), train_vectors=False).encoder
    other = encoder.sibling(CHATTER, str(tmp_path / "b.txt"))
    assert other.vocabulary.items == ("omg",)
    assert other.vectors_of(["omg"]).tolist() == [[4, 5, 6]]
    assert encoder.sibling(CHATTER).vocabulary.items == ("paris",)
    with pytest.raises(ValueError, match=r"must be of one size.*3 and 2 \(.*c\.txt\)"):
        encoder.sibling(CHATTER, str(tmp_path / "c.txt"))


def test_a_head_is_shared_when_asked_for_and_the_labels_are_equal(build: Build, news: Corpus) -> None:
    source = build()
    target = source.sibling(source.labels, source.encoder.sibling(CHATTER), share_head=True)
    assert target.head is source.head
    assert target.scores is not source.scores
    with pytest.raises(InputError, match="needs the same labels in both, not PERSON, PLACE and LOC, ORG, PER"):
        source.sibling(CHATTER.labels, source.encoder, share_head=True)


def test_a_sibling_has_the_same_scheme_or_plain_tags(build: Build, part_of_speech: Corpus) -> None:
    source = build()
    target = source.sibling(part_of_speech.labels, source.encoder.sibling(part_of_speech))
    assert target.tags == part_of_speech.labels.names
    assert len(predict(target, part_of_speech)) == len(part_of_speech)
    assert source.sibling(LabelSet.of(["X"]), source.encoder).scheme == source.scheme


# --- who depends on whom ---


@pytest.mark.parametrize("kind", ["private", "bert-private"])
def test_the_target_does_not_depend_on_what_is_the_source_s_own(build: Build, kind: str) -> None:
    siblings = family(build, kind).eval()
    before, features = scores(siblings["target"], CHATTER), scores(siblings["source"], CHATTER)
    private = {id(weight) for weight in siblings["target"].parameters()}
    with torch.no_grad():
        for weight in siblings["source"].parameters():
            if id(weight) not in private:
                weight += 1.0
    assert torch.equal(scores(siblings["target"], CHATTER), before)
    assert not torch.allclose(scores(siblings["source"], CHATTER), features)


@pytest.mark.parametrize("kind", KINDS)
def test_each_learns_from_its_own_sentences_and_the_shared_part_from_both(
    build: Build, news: Corpus, kind: str
) -> None:
    siblings = family(build, kind)
    views = siblings.view(news[:4].sentences, "source"), siblings.view(CHATTER.sentences, "target")
    loss = TaggingOfAll()(*views)
    torch.testing.assert_close(loss, Tagging("source")(*views) + Tagging("target")(*views))
    owned = [{id(weight) for weight in tagger.parameters() if weight.requires_grad} for tagger in siblings]
    for domain, (own, other) in (("source", owned), ("target", owned[::-1])):
        siblings.zero_grad()
        views = siblings.view(news[:4].sentences, "source"), siblings.view(CHATTER.sentences, "target")
        Tagging(domain)(*views).backward()
        moved = {id(weight) for weight in siblings.parameters() if weight.grad is not None and weight.grad.any()}
        assert moved <= own
        assert moved & other


def test_a_domain_is_seen_by_its_own_tagger(siblings: Siblings) -> None:
    for domain in ("source", "target"):
        view = siblings.view([Sentence(("ok",))], domain)
        assert view.tagger is siblings[domain]


# --- moving, training, saving ---


def test_modes_and_formats_reach_both(siblings: Siblings) -> None:
    siblings.train()
    assert all(tagger.training and tagger.encoder.training for tagger in siblings)
    siblings.eval()
    assert not any(module.training for tagger in siblings for module in tagger.modules())
    siblings.to(torch.float64)
    assert all(weight.dtype == torch.float64 for tagger in siblings for weight in tagger.parameters())
    siblings.to("meta")
    assert siblings.device.type == "meta"
    assert all(weight.is_meta for tagger in siblings for weight in (*tagger.parameters(), *tagger.buffers()))


def test_a_moved_family_still_shares(siblings: Siblings) -> None:
    before = siblings.copies()
    assert siblings.double().copies() == before != {}


def test_each_tensor_stands_once_in_the_saved_state(siblings: Siblings) -> None:
    state = siblings.state_dict()
    pointers = [tensor.data_ptr() for tensor in state.values() if tensor.numel()]
    assert len(pointers) == len(set(pointers))
    everything = {id(weight) for weight in siblings.parameters()}
    named = dict(siblings.named_parameters(remove_duplicate=False))
    assert {id(named[name]) for name in state if name in named} == everything


def test_a_saved_state_restores_both(build: Build, news: Corpus, tmp_path: Path) -> None:
    for kind in KINDS:
        first, second = family(build, kind).eval(), family(build, kind).eval()
        stirred(first)
        write_tensors(tmp_path / f"{kind}.safetensors", first.state_dict())
        assert not torch.allclose(scores(second["target"], CHATTER), scores(first["target"], CHATTER))
        second.load_state_dict(read_tensors(tmp_path / f"{kind}.safetensors"))
        assert torch.equal(scores(second["target"], CHATTER), scores(first["target"], CHATTER))
        assert torch.equal(scores(second["source"], news), scores(first["source"], news))


def test_it_is_restored_inside_a_training_step_too(build: Build, news: Corpus, tmp_path: Path) -> None:
    for kind in KINDS:
        first, second = (TrainingStep(family(build, kind), {"tag": TaggingOfAll()}).eval() for _ in range(2))
        stirred(first)
        write_tensors(tmp_path / f"{kind}.safetensors", first.state_dict())
        saved = read_tensors(tmp_path / f"{kind}.safetensors")
        names = set(saved)
        second.load_state_dict(saved)
        assert set(saved) == names  # the caller's own dictionary is not touched
        assert torch.equal(scores(second.learner["target"], CHATTER), scores(first.learner["target"], CHATTER))


def test_a_state_that_lacks_something_is_refused(siblings: Siblings) -> None:
    state = dict(siblings.state_dict())
    lost = next(name for name in state if name.startswith("taggers.source.encoder"))
    del state[lost]
    with pytest.raises(RuntimeError, match="Missing key"):
        siblings.load_state_dict(state)


def test_each_tagger_can_be_saved_whole(siblings: Siblings, tmp_path: Path) -> None:
    for domain in ("source", "target"):
        siblings[domain].save(tmp_path / domain)
        again = Tagger.load(tmp_path / domain)
        assert torch.equal(scores(again, CHATTER), scores(siblings[domain], CHATTER))


def test_a_shared_head_is_saved_once_and_with_each_tagger(build: Build, tmp_path: Path) -> None:
    source = build()
    siblings = Siblings({"source": source, "target": source.sibling(source.labels, source.encoder, share_head=True)})
    assert [name for name in siblings.state_dict() if name.endswith("transitions")] == [
        "taggers.source.head.transitions"
    ]
    siblings["target"].save(tmp_path / "target")
    assert torch.equal(Tagger.load(tmp_path / "target").head.transitions, source.head.transitions)
