"""Noise along a gradient: as long as the radius in every sentence, nothing on padding, whatever the batch-mates."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from slow_noise import LONG, NOBODY, RADII, gradients, places, slow_noise, view_of
from torch import Tensor

from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Tagging
from acclimate.methods.perturbation.adversarial import along, noise_for, norms
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

# Oracle 6b_perturbation_scope: two sentences of two words
WORDS = torch.tensor([[[3.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.6, 0.8]]])
NOISY_WORDS = {
    "sentence": [[[0.24, 0.0], [0.0, 0.32]], [[0.0, 0.0], [0.24, 0.32]]],
    "token": [[[0.4, 0.0], [0.0, 0.4]], [[0.0, 0.0], [0.24, 0.32]]],
    "batch": [
        [[0.23533936216582088, 0.0], [0.0, 0.31378581622109447]],
        [[0.0, 0.0], [0.04706787243316417, 0.0627571632442189]],
    ],
}
# Oracle 6d_char_perturbation_scope: one sentence of two words of two letters
LETTERS = torch.tensor([[[1.0, 2.0], [2.0, 0.0]], [[0.0, 2.0], [4.0, 1.0]]])
NOISY_LETTERS = [
    [[0.03651483716701107, 0.07302967433402215], [0.07302967433402215, 0.0]],
    [[0.0, 0.07302967433402215], [0.1460593486680443, 0.03651483716701107]],
]
PER_DIMENSION = [  # what a released code does instead
    [[0.043643578047198484, 0.13333333333333333], [0.08728715609439697, 0.0]],
    [[0.0, 0.13333333333333333], [0.17457431218879393, 0.06666666666666667]],
]
BOTH, ONE = torch.arange(2), torch.zeros(2, dtype=torch.long)
scopes = pytest.mark.parametrize("scope", ["sentence", "token", "batch"])
encoders = pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert", "roberta"])


@scopes
def test_the_oracle_s_noise_on_words_comes_out(scope: str) -> None:
    found = along(WORDS, norms(WORDS, scope, BOTH, 2), 0.4)
    torch.testing.assert_close(found, torch.tensor(NOISY_WORDS[scope]))


def test_the_oracle_s_noise_on_letters_comes_out_and_not_that_of_a_norm_per_dimension() -> None:
    found = along(LETTERS, norms(LETTERS, "sentence", ONE, 1, rows_are_words=True), 0.2)
    torch.testing.assert_close(found, torch.tensor(NOISY_LETTERS))
    assert found.norm().item() == pytest.approx(0.2)
    assert not torch.allclose(found, torch.tensor(PER_DIMENSION), rtol=0.01)


def test_letter_by_letter_means_all_letters_of_a_word_together() -> None:
    found = along(LETTERS, norms(LETTERS, "token", ONE, 1, rows_are_words=True), 0.2)
    torch.testing.assert_close(found[0], 0.2 * LETTERS[0] / 3)
    torch.testing.assert_close(found[1], 0.2 * LETTERS[1] / 21**0.5)


@scopes
def test_where_there_is_no_direction_there_is_no_noise(scope: str) -> None:
    half = torch.stack([torch.zeros(2, 2), WORDS[1]])
    for values in (torch.zeros(2, 2, 2), half):
        found = along(values, norms(values, scope, BOTH, 2), 0.4)
        assert found.isfinite().all()
        assert found[0].eq(0).all()
    assert found[1].norm().item() == pytest.approx(0.4)


@scopes
@pytest.mark.parametrize("size", [1e-25, 1e12])
def test_a_tiny_and_a_huge_gradient_have_a_direction_too(scope: str, size: float) -> None:
    expected = torch.tensor(NOISY_WORDS[scope])
    torch.testing.assert_close(along(size * WORDS, norms(size * WORDS, scope, BOTH, 2), 0.4), expected)


@scopes
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_gradient_that_is_no_number_any_more_gives_no_noise(scope: str, value: float) -> None:
    values = WORDS.clone()
    values[0, 0, 0] = value
    found = along(values, norms(values, scope, BOTH, 2), 0.4)
    assert found.isfinite().all()
    assert not found[0, 0].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_halves_are_normed_in_single_and_doubles_in_double_precision(dtype: torch.dtype) -> None:
    norm = norms(WORDS.to(dtype), "sentence", BOTH, 2)
    exact = torch.promote_types(dtype, torch.float32)
    assert norm.dtype == exact
    torch.testing.assert_close(norm.flatten(), WORDS.to(dtype).to(exact).flatten(1).norm(dim=1))


def test_the_noise_does_not_belong_to_any_graph() -> None:
    values = WORDS.clone().requires_grad_()
    assert not along(values, norms(values, "sentence", BOTH, 2), 0.4).requires_grad


# --- on a tagger ---


@pytest.fixture(scope="module")
def taggers(build: Callable[..., Tagger]) -> Callable[[str], Tagger]:
    found: dict[str, Tagger] = {}

    def tagger(encoder: str) -> Tagger:
        if encoder not in found:
            found[encoder] = build(encoder).double().eval()
            found[encoder].encoder.stand_alone()
        return found[encoder]

    return tagger


def directed(view: View) -> dict[str, Tensor]:
    return gradients(Tagging()(view, NOBODY), view)


@encoders
def test_the_noise_equals_a_slow_loop_over_sentences(taggers, news: Corpus, encoder: str) -> None:
    view = view_of(taggers(encoder), *news[:4], LONG)
    directions = directed(view)
    found, expected = noise_for(view, directions, RADII), slow_noise(view, directions, RADII)
    assert found.keys() == expected.keys()
    for name in found:
        torch.testing.assert_close(found[name], expected[name])


@encoders
def test_every_sentence_has_as_much_noise_as_the_radius_and_padding_has_none(taggers, news: Corpus, encoder) -> None:
    view = view_of(taggers(encoder), *news[:6])
    for name, noise in noise_for(view, directed(view), RADII).items():
        rest = noise.clone()
        for held in places(view, name):
            rows = torch.stack([noise[place] for place in held])
            own = torch.stack([view.embeddings[name][place] for place in held])
            unit = own.square().mean().sqrt().item() if name == "pieces" else 1.0
            assert rows.norm().item() == pytest.approx(RADII[name] * unit)
            for place in held:
                rest[place] = 0
        assert rest.eq(0).all()


@encoders
def test_directions_on_padding_count_nothing(taggers, news: Corpus, encoder: str) -> None:
    view = view_of(taggers(encoder), *news[:6])
    directions = {name: torch.randn_like(value) for name, value in view.embeddings.items()}
    found, expected = noise_for(view, directions, RADII), slow_noise(view, directions, RADII)
    assert all(torch.allclose(found[name], expected[name]) for name in expected)


@encoders
def test_a_sentence_s_noise_is_the_same_alone_or_in_a_batch(taggers, news: Corpus, encoder: str) -> None:
    together = view_of(taggers(encoder), *news[:5], LONG)
    found = noise_for(together, directed(together), RADII)
    for number, sentence in enumerate(together.originals):
        alone = view_of(together.tagger, sentence)
        expected = noise_for(alone, directed(alone), RADII)
        for name in found:
            here, there = list(places(together, name))[number], next(places(alone, name))
            torch.testing.assert_close(
                torch.stack([found[name][place] for place in here]),
                torch.stack([expected[name][place] for place in there]),
            )


@pytest.mark.parametrize("encoder", ["bert", "roberta"])
def test_the_windows_of_a_long_sentence_share_one_norm(taggers, news: Corpus, encoder: str) -> None:
    view = view_of(taggers(encoder), news[0], LONG, news[1])
    owners = view.encoder.embedding_rows(view.inputs)["pieces"].owners.tolist()
    assert owners == sorted(owners)
    assert set(owners) == {0, 1, 2}
    assert owners.count(1) > 1
    noise = noise_for(view, directed(view), RADII)["pieces"]
    windows = view.inputs["sentences"] == 1
    inside = view.inputs["attention"][windows]
    numbers = view.embeddings["pieces"][windows][inside]
    assert noise[windows].norm().item() == pytest.approx(0.3 * numbers.square().mean().sqrt().item())


@pytest.mark.parametrize("scope", ["token", "batch"])
def test_other_scopes_are_normed_over_words_and_over_the_batch(taggers, news: Corpus, scope: str) -> None:
    view = view_of(taggers("character-cnn-lstm"), *news[:5])
    noise = noise_for(view, directed(view), RADII, scope)
    if scope == "batch":
        assert noise["words"].norm().item() == pytest.approx(0.4)
        assert noise["characters"].norm().item() == pytest.approx(0.2)
        return
    torch.testing.assert_close(noise["words"].norm(dim=-1), 0.4 * view.sentences.mask.double())
    words = noise["characters"].flatten(1).norm(dim=1)
    torch.testing.assert_close(words, torch.tensor([0.0, *[0.2] * (len(words) - 1)]).double())


def test_a_sentence_without_tags_gets_no_noise_among_others_that_do(taggers, news: Corpus) -> None:
    view = view_of(taggers("character-cnn-lstm"), news[0], news[1].with_tags(None))
    noise = noise_for(view, directed(view), RADII)["words"]
    assert noise[0].any()
    assert noise[1].eq(0).all()


def test_letters_that_sentences_share_belong_to_none_of_them(build: Callable[..., Tagger], news: Corpus) -> None:
    view = view_of(build().eval(), *news[:4])
    with pytest.raises(ValueError, match=r"letters of a word are shared .* call stand_alone\(\) first"):
        noise_for(view, directed(view), RADII)
