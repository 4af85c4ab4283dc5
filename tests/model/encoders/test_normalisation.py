"""Normalised tables: mean 0 and variance 1 over the running text, whatever the scale; and frozen tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.words import HIDDEN, PADDING, SPECIAL, UNKNOWN
from acclimate.inference.predict import predict
from acclimate.model.encoders.layers import Table, _Moments, shares_of
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
# Oracle 6c_embedding_normalisation
V = torch.tensor([[1.0, 2.0], [3.0, 0.0], [5.0, 4.0]])
WEIGHTED = [
    [-0.9045340337332909, 0.0],
    [0.30151134457776363, -1.414213562373095],
    [1.507556722888818, 1.414213562373095],
]
UNWEIGHTED = [[-1.224744871391589, 0.0], [0.0, -1.224744871391589], [1.224744871391589, 1.224744871391589]]
ROWS = torch.tensor([3, 4, 5])  # behind the special ones
kinds = pytest.mark.parametrize("kind", ["weighted", "unweighted"])


def oracle_table(kind: str, frozen: bool = False) -> Table:
    table = Table(6, 2, frozen)
    table.weight.data[3:] = V
    table.shares = shares_of(kind, {3: 20.0, 4: 10.0, 5: 10.0}, 6)
    return table


moments = _Moments.apply


def moments_of(rows: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance by a slow loop over rows."""
    mean = sum((share * row for share, row in zip(shares, rows, strict=True)), torch.zeros(rows.size(1)))
    return mean, sum((s * (r - mean) ** 2 for s, r in zip(shares, rows, strict=True)), torch.zeros(rows.size(1)))


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize(("kind", "expected"), [("weighted", WEIGHTED), ("unweighted", UNWEIGHTED)])
def test_the_oracle_s_table_comes_out(kind: str, expected: list[list[float]], frozen: bool) -> None:
    table = oracle_table(kind, frozen)
    torch.testing.assert_close(table(ROWS), torch.tensor(expected), atol=1e-6, rtol=1e-5)


def test_the_oracle_s_moments_come_out() -> None:
    mean, variance = moments(V, torch.tensor([0.5, 0.25, 0.25]))
    assert (mean.tolist(), variance.tolist()) == ([2.5, 2.0], [2.75, 2.0])


def test_a_table_far_from_zero_keeps_its_digits() -> None:
    far = V + 10_000
    torch.testing.assert_close(
        moments(far, torch.full((3,), 1 / 3))[1], torch.tensor([8 / 3, 8 / 3]), rtol=1e-3, atol=0
    )


@pytest.mark.parametrize("frozen", [True, False])
def test_the_gradient_passes_through_mean_and_variance(frozen: bool) -> None:
    table = oracle_table("weighted", frozen).double()
    table.shares = shares_of("weighted", {1: 2.0, 3: 20.0, 4: 10.0, 5: 10.0}, 6).double()
    numbers = torch.tensor([[1, 3, 0], [5, 2, 3]])
    (name, weight) = ("special", table.special) if frozen else ("weight", table.weight)

    def normalised(rows: Tensor) -> Tensor:
        rows = torch.cat([torch.zeros(1, 2, dtype=rows.dtype), rows[1:]])  # padding has no gradient
        found: Tensor = torch.func.functional_call(table, {name: rows}, (numbers,))
        return found

    assert torch.autograd.gradcheck(normalised, (weight.detach().clone().requires_grad_(),))


@pytest.mark.parametrize("frozen", [True, False])
def test_padding_is_nothing_and_learns_nothing(frozen: bool) -> None:
    table = oracle_table("weighted", frozen)
    found = table(torch.tensor([[3, PADDING], [PADDING, 5]]))
    assert found[0, 1].eq(0).all()
    assert found[1, 0].eq(0).all()
    found.square().sum().backward()
    learnt = table.special if frozen else table.weight
    assert learnt.grad is None or learnt.grad[PADDING].eq(0).all()


def test_a_dimension_that_never_varies_is_not_blown_up() -> None:
    table = oracle_table("weighted")
    table.weight.data[3:, 0] = 7.0
    assert table(ROWS)[:, 0].abs().max() < 0.01


def test_rows_that_are_never_seen_do_not_count() -> None:
    assert shares_of("unweighted", {3: 5.0, 4: 0.0}, 5).tolist() == [0, 0, 0, 1, 0]
    assert shares_of("weighted", {1: 1.0, 3: 3.0}, 5).tolist() == [0, 0.25, 0, 0.75, 0]
    assert shares_of("weighted", {}, 3).tolist() == [0, 0, 0]


# --- a tagger's tables ---


@kinds
def test_running_text_has_mean_0_and_variance_1_in_every_dimension(build: Build, news: Corpus, kind: str) -> None:
    encoder = build(normalise=kind, forget_rare=0.0).encoder
    for table in (encoder.word_table, encoder.character_table):
        rows = table(torch.arange(len(table.weight))).detach()
        mean, variance = moments_of(rows, table.shares)
        torch.testing.assert_close(mean, torch.zeros_like(mean), atol=1e-5, rtol=0)
        torch.testing.assert_close(variance, torch.ones_like(variance), atol=1e-3, rtol=0)
    embedded = View(build(normalise=kind, forget_rare=0.0), build().tensorize(news.sentences)).embeddings["words"]
    seen = embedded[build().tensorize(news.sentences).mask].detach()
    if kind == "weighted":
        torch.testing.assert_close(seen.mean(0), torch.zeros(6), atol=1e-5, rtol=0)
        torch.testing.assert_close(seen.var(0, correction=0), torch.ones(6), atol=1e-3, rtol=0)


def test_each_word_and_letter_counts_as_often_as_it_comes(build: Build) -> None:
    text = Corpus.of([Sentence(("ab", "AB", "b", "b", "once"), ("B-X", "O", "O", "O", "O"))])
    encoder = build(text=text, normalise="weighted", forget_rare=0.25).encoder
    words, letters = encoder.word_table.shares, encoder.character_table.shares
    number = encoder.vocabulary.number
    found = {word: round(float(words[number(word)]) * 5, 5) for word in ("ab", "b", "once", "unheard")}
    assert found == {"ab": 2, "b": 2, "once": 0.75, "unheard": 0.25}  # a word seen once is forgotten now and then
    assert words[HIDDEN] == words[PADDING] == 0
    counts = {letter: round(float(letters[encoder.alphabet.number(letter)]) * 10, 5) for letter in "abABonce"}
    assert counts == {"a": 1, "b": 3, "A": 1, "B": 1, "o": 1, "n": 1, "c": 1, "e": 1}


def test_all_words_and_letters_that_are_unknown_count_together(build: Build) -> None:
    encoder = build(text=Corpus.of([Sentence(("ab", "ab"), ("B-X", "O"))])).encoder
    encoder.normalise_by(Corpus.of([Sentence(("ab", "xyz", "yy"))]))
    assert encoder.word_table.shares[UNKNOWN].item() == pytest.approx(2 / 3)
    assert encoder.character_table.shares[UNKNOWN].item() == pytest.approx(5 / 7)


@kinds
@pytest.mark.parametrize("size", [10.0, 0.5])
def test_the_scale_of_the_tables_does_not_matter(build: Build, news: Corpus, kind: str, size: float) -> None:
    plain, scaled = (build(normalise=kind).eval() for _ in range(2))
    for table in (scaled.encoder.word_table, scaled.encoder.character_table):
        table.weight.data *= size
    views = [View(tagger, tagger.tensorize(news.sentences)) for tagger in (plain, scaled)]
    torch.testing.assert_close(views[1].scores, views[0].scores, atol=1e-4, rtol=1e-4)
    assert predict(scaled, news) == predict(plain, news)
    without = build().eval()
    without.encoder.word_table.weight.data *= size
    assert not torch.allclose(
        View(without, without.tensorize(news.sentences)).scores,
        View(build().eval(), without.tensorize(news.sentences)).scores,
    )


def test_normalising_can_be_taken_back(build: Build, news: Corpus) -> None:
    tagger, plain = build(normalise="weighted").eval(), build().eval()
    tagger.encoder.normalise_by(news, "none")
    assert torch.equal(
        View(tagger, tagger.tensorize(news.sentences)).scores, View(plain, plain.tensorize(news.sentences)).scores
    )
    assert tagger.state_dict().keys() == plain.state_dict().keys()


def test_the_table_is_normalised_anew_after_it_has_moved(build: Build, news: Corpus) -> None:
    encoder = build(normalise="weighted").encoder
    encoder.word_table.weight.data[5] += 3.0
    rows = encoder.word_table(torch.arange(len(encoder.word_table.weight))).detach()
    mean, variance = moments_of(rows, encoder.word_table.shares)
    torch.testing.assert_close(mean, torch.zeros_like(mean), atol=1e-5, rtol=0)
    torch.testing.assert_close(variance, torch.ones_like(variance), atol=1e-3, rtol=0)


# --- frozen vectors ---


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text("paris 1 2 3\nanna 4 5 6\nflew -1 0 1\n<unknown> 9 9 9\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("normalise", ["none", "weighted"])
def test_of_a_frozen_table_only_the_special_rows_learn(
    build: Build, news: Corpus, vectors: str, normalise: str
) -> None:
    tagger = build(vectors=vectors, train_vectors=False, normalise=normalise).train()
    table = tagger.encoder.word_table
    before, special = table.weight.clone(), table.special.detach().clone()
    optimizer = torch.optim.SGD([p for p in tagger.parameters() if p.requires_grad], lr=1.0)
    tagger.view(news[:4].sentences).losses.sum().backward()
    optimizer.step()
    assert torch.equal(table.weight, before)
    assert not torch.equal(table.special[UNKNOWN], special[UNKNOWN])
    assert torch.equal(table.special[PADDING], special[PADDING])
    rows = table.raw()
    assert torch.equal(rows[: len(SPECIAL)], table.special)
    assert torch.equal(rows[len(SPECIAL) :], before[len(SPECIAL) :])
    numbers = torch.tensor([UNKNOWN, HIDDEN, tagger.encoder.vocabulary.number("paris")])
    if normalise == "none":
        assert torch.equal(table(numbers), rows[numbers])
        assert table(numbers)[2].tolist() == [1, 2, 3]


def test_a_word_without_a_vector_is_unknown_to_a_frozen_table(build: Build, news: Corpus, vectors: str) -> None:
    encoder = build(vectors=vectors, train_vectors=False).encoder
    assert set(encoder.vocabulary.items) == {"paris", "anna", "flew"}
    numbers = encoder.tensorize([Sentence(("Paris", "rained", "<unknown>"))])["words"][0].tolist()
    assert numbers == [encoder.vocabulary.number("paris"), UNKNOWN, UNKNOWN]
    assert encoder.rare_words == []
    assert "rained" in build(vectors=vectors).encoder.vocabulary


def test_vectors_that_know_no_word_leave_a_frozen_table_without_words(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "strange.txt"
    path.write_text("xyzzy 1 2 3\n", encoding="utf-8")
    assert build(vectors=str(path), train_vectors=False).encoder.vocabulary.items == ()


def test_a_word_of_a_frozen_table_can_be_moved_by_noise(build: Build, news: Corpus, vectors: str) -> None:
    tagger = build(vectors=vectors, train_vectors=False).eval()
    view = View(tagger, tagger.tensorize([Sentence(("Paris", "flew"))]))
    assert view.embeddings["words"].requires_grad
    (slope,) = torch.autograd.grad(view.losses.sum(), view.embeddings["words"])
    assert slope.any()


# --- growing ---


def test_a_table_grows_at_its_end_and_stays_the_same_table() -> None:
    table = oracle_table("weighted").double()
    weight = table.weight.detach().clone()
    table.grow(9)
    assert (table.weight.shape, table.num_embeddings, table.weight.dtype) == ((9, 2), 9, torch.float64)
    assert torch.equal(table.weight[:6], weight)
    assert table.weight[6:].ne(0).any(1).all()
    assert table.weight.requires_grad
    frozen = oracle_table("weighted", frozen=True)
    frozen.grow(7)
    assert not frozen.weight.requires_grad


# --- saved and loaded ---


@pytest.mark.parametrize(
    "options",
    [
        {"normalise": "weighted"},
        {"normalise": "unweighted", "private_width": 3},
        {"private_width": 5, "lstm_layers": 2, "highways": 1},
        {"normalise": "weighted", "train_vectors": False, "with_vectors": True},
        {"train_vectors": False, "with_vectors": True},
        {"normalise": "weighted", "word_width": 0},
    ],
    ids=str,
)
def test_a_saved_tagger_predicts_the_same(build, news, tmp_path: Path, vectors: str, same_weights, options) -> None:
    options = dict(options)
    if options.pop("with_vectors", False):
        options["vectors"] = vectors
    tagger = build(**options)
    optimizer = torch.optim.SGD([p for p in tagger.parameters() if p.requires_grad], lr=0.5)
    tagger.view(news.sentences).losses.mean().backward()
    optimizer.step()
    tagger.save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger")
    assert same_weights(again, tagger)
    tagger.eval()
    numbered = tagger.tensorize(news.sentences)
    assert torch.equal(View(again, numbered).scores, View(tagger, numbered).scores)
    assert predict(again, news) == predict(tagger, news)
    frozen = {name for name, parameter in tagger.named_parameters() if not parameter.requires_grad}
    assert frozen == {name for name, parameter in again.named_parameters() if not parameter.requires_grad}
