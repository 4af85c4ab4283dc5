"""Entities found by one head and typed by another: against slow loops, and as a whole tagger."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, LabelSet, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import TYPELESS, is_legal, spans_from_tags
from acclimate.inference.predict import evaluate, predict, word_confidences
from acclimate.model.heads.entity_heads import EntityLayer, EntitySettings, SpanTypes
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

NAMES = ("A", "B", "C")
EXTRAS = ["shared", "token"]


def span_types(scheme: str = "IOB2", extra: str = "shared") -> SpanTypes:
    labels, bare = LabelSet(NAMES), LabelSet((TYPELESS,))
    layer = EntityLayer(5, 3, extra, 4, 0.0, pieces=9).double()  # type: ignore[arg-type]
    return SpanTypes(layer, labels.tags(scheme), bare.tags(scheme), NAMES)  # type: ignore[arg-type]


def numbers(rows: list[str], scheme: str = "IOB2", names: tuple[str, ...] = NAMES) -> Tensor:
    tags = LabelSet(names).tags(scheme)  # type: ignore[arg-type]
    return torch.tensor([[tags.index(tag) for tag in row.split()] for row in rows])


ROWS = ["B-A I-A O B-B B-C I-C", "O O B-C I-C I-C B-C", "B-B B-B B-B O O O", "O O O O O O"]


def by_loop(types: SpanTypes, features: Tensor, pieces: Tensor, rows: list[str]) -> list[float]:
    found = []
    for sentence, row in enumerate(rows):
        total = 0.0
        for span in spans_from_tags(row.split()):
            joined = types.layer.joined(features, pieces)[sentence, span.start : span.end].mean(0)
            total -= types.layer.decide(joined).log_softmax(-1)[NAMES.index(span.label)].item()
        found.append(total)
    return found


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_the_loss_is_that_of_the_gold_spans_means(scheme: str, extra: str) -> None:
    rows = ROWS
    if scheme == "BIOES":
        rows = ["B-A E-A O S-B B-C E-C", "O O B-C I-C E-C S-C", "S-B S-B S-B O O O", "O O O O O O"]
    types, features, pieces = span_types(scheme, extra), torch.randn(4, 6, 5).double(), torch.randint(9, (4, 6))
    mask = torch.ones(4, 6, dtype=torch.bool)
    found = types.losses(features, pieces, numbers(rows, scheme), mask)
    assert found.tolist() == pytest.approx(by_loop(types, features, pieces, rows))
    assert types.spans_begin(numbers(rows, scheme), mask).sum().item() == 8


def test_padding_has_no_spans() -> None:
    types, features = span_types(), torch.randn(1, 6, 5).double()
    short = torch.arange(6) < 3
    found = types.losses(features, None, numbers(ROWS[:1]), short.unsqueeze(0))
    assert found.tolist() == pytest.approx(by_loop(types, features, torch.zeros(1, 6).long(), ["B-A I-A O O O O"]))


def test_the_gradient_of_the_type_loss_is_the_true_one() -> None:
    types, tags = span_types(), numbers(ROWS)
    features = torch.randn(4, 6, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.ones_like(tags, dtype=torch.bool)
    assert torch.autograd.gradcheck(lambda given: types.losses(given, None, tags, mask), features)
    assert torch.autograd.grad(types.losses(features, None, tags, mask).sum(), features)[0][3].eq(0).all()


def test_all_words_of_a_span_get_one_type_and_the_tags_follow() -> None:
    types, features = span_types(), torch.randn(4, 6, 5).double()
    bare = types.bare[numbers(ROWS)]
    scores = types.scores(features, None, bare)
    typed = types.typed(bare, scores)
    assert torch.equal(types.bare[typed], bare)
    for sentence, row in enumerate(ROWS):
        for span in spans_from_tags(row.split()):
            best = int(
                types.layer.decide(types.layer.joined(features, None)[sentence, span.start : span.end].mean(0)).argmax()
            )
            assert set(types.types[typed[sentence, span.start : span.end]].tolist()) == {best}


def test_typed_marginals_add_up_to_the_bare_ones() -> None:
    types, bare = span_types(), torch.rand(2, 6, 3).double().softmax(-1)
    found = types.marginals(bare, torch.randn(2, 6, 3).double())
    assert torch.allclose(found.sum(-1), torch.ones(2, 6).double())
    for number in range(3):
        torch.testing.assert_close(found[..., types.bare == number].sum(-1), bare[..., number])


def test_a_shared_vector_does_what_a_bias_does() -> None:
    layer, features = EntityLayer(5, 3, "shared", 4, 0.0), torch.randn(2, 7, 5)
    weight = layer.inner.weight
    plain = features @ weight[:, :5].T + (layer.inner.bias + weight[:, 5:] @ layer.vector)
    torch.testing.assert_close(layer(features, None), layer.outer(plain.relu()))


def test_vectors_by_piece_need_pieces() -> None:
    with pytest.raises(ValueError, match="take extra='shared'"):
        EntityLayer(5, 3, "token")


# as a tagger

Build = Callable[..., Tagger]
KINDS = [*itertools.product(["crf", "softmax"], ["untyped", "typed"], EXTRAS)]


def entity_tagger(build: Build, encoder: str = "bert", head: str = "crf", **settings: object) -> Tagger:
    tagger = build(encoder, head=head, dropout=0.0)
    torch.manual_seed(1)
    tagger.find_entities(EntitySettings(**settings))  # type: ignore[arg-type]
    for weight in tagger.parameters():
        weight.data.add_(0.2 * torch.randn_like(weight))
    return tagger.eval()


@pytest.mark.parametrize(("head", "tags", "extra"), KINDS)
def test_save_and_load_give_the_same_tagger(
    build: Build, tmp_path: Path, news: Corpus, same_weights, head: str, tags: str, extra: str
) -> None:
    tagger = entity_tagger(build, head=head, tags=tags, extra=extra)
    assert (tagger.types is None) == (tags == "typed")
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert same_weights(tagger, loaded)
    assert loaded.entities == tagger.entities
    predicted = predict(loaded, news)
    assert predicted == predict(tagger, news)
    assert predicted.label_counts  # it finds something at all
    assert evaluate(loaded, news).span.f1 == evaluate(tagger, news).span.f1


@pytest.mark.parametrize(("encoder", "head"), [("bert", "crf"), ("character-cnn-lstm", "softmax")])
def test_the_likelihood_of_all_typed_taggings_is_that_of_all_bare_ones(build: Build, encoder: str, head: str) -> None:
    """So types add no probability and lose none."""
    tagger = entity_tagger(build, encoder, head)
    words, bare_tags = ("Anna", "Oslo"), LabelSet((TYPELESS,)).tags(tagger.scheme)

    def total(tags: tuple[str, ...], what: str) -> float:
        rows = [
            row
            for row in itertools.product(tags, repeat=2)
            if all(is_legal(a, b, tagger.scheme) for a, b in zip((None, *row), (*row, None), strict=True))
        ]
        if what == "bare":
            scores = View(tagger, tagger.tensorize([Sentence(words)])).scores.expand(len(rows), -1, -1)
            given = torch.tensor([[tags.index(tag) for tag in row] for row in rows])
            return (-tagger.head.loss(scores, given, torch.ones_like(given).bool())).exp().sum().item()
        view = View(tagger, tagger.tensorize([Sentence(words, tuple(row)) for row in rows]))
        return (-view.losses).exp().sum().item()

    assert total(tagger.tags, "typed") == pytest.approx(total(bare_tags, "bare"), rel=1e-5)


def test_decoded_tags_are_as_sure_as_their_marginals_say(build: Build, news: Corpus) -> None:
    tagger = entity_tagger(build, head="softmax")
    for sentence, row in zip(news[:5], word_confidences(tagger, news[:5]), strict=True):
        assert len(row) == len(sentence)
        assert all(0 < sure <= 1 + 1e-6 for sure in row)
    view = tagger.view(list(news[:5]))
    assert view.marginals.shape[-1] == len(tagger.tags)
    torch.testing.assert_close(view.marginals.sum(-1), view.sentences.mask.float())


def test_with_a_single_type_there_is_nothing_to_classify(build: Build, news: Corpus) -> None:
    tagger = build("bert", labels=["PER"])
    tagger.find_entities(EntitySettings())
    assert tagger.types is None
    assert tagger.tags == ("O", "B-PER", "I-PER")


def test_batch_mates_and_padding_change_no_tag(build: Build, news: Corpus) -> None:
    tagger = entity_tagger(build, extra="token")
    alone = [View(tagger, tagger.tensorize([sentence])) for sentence in news[:6]]
    together = View(tagger, tagger.tensorize(news[:6].sentences))
    for number, view in enumerate(alone):
        length = len(news[number])
        torch.testing.assert_close(together.losses[number], view.losses[0], rtol=1e-4, atol=1e-4)
        assert together.decoded[number, :length].tolist() == view.decoded[0].tolist()
        assert together.decoded[number, length:].eq(0).all()


def test_what_has_no_entities_or_hides_where_they_begin_is_refused(build: Build, part_of_speech: Corpus) -> None:
    plain = build("bert", text=part_of_speech)
    with pytest.raises(InputError, match="one tag per word"):
        plain.find_entities(EntitySettings())
    with pytest.raises(InputError, match="take IOB2 or BIOES"):
        build("bert", scheme="IO").find_entities(EntitySettings())
    build("bert", scheme="IO").find_entities(EntitySettings(tags="typed"))
    with pytest.raises(ValueError, match="take extra='shared'"):
        build().find_entities(EntitySettings(extra="token"))


def test_a_tagger_saved_by_an_earlier_version_opens(build: Build, tmp_path: Path, news: Corpus) -> None:
    from acclimate.model.storage import read_json, seal, write_json

    tagger = build("bert").eval()
    tagger.save(tmp_path / "tagger")
    description = read_json(tmp_path / "tagger" / "tagger.json")
    assert description.pop("entities", "there") is None
    write_json(tmp_path / "tagger" / "tagger.json", description)
    seal(tmp_path / "tagger")
    assert predict(Tagger.load(tmp_path / "tagger"), news) == predict(tagger, news)


def test_the_confidence_of_a_sentence_is_its_likelihood(build: Build, news: Corpus) -> None:
    from acclimate.training.stage import Confidence

    tagger = entity_tagger(build)
    told = Confidence(news[:2], tagger)(tagger)["sentences"]
    view = View(tagger, tagger.tensorize(news[:2].sentences))
    assert [row["probability"] for row in told] == pytest.approx(
        [math.exp(-loss) for loss in view.losses.tolist()], rel=1e-3
    )
