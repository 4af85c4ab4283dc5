"""Perplexity: the same question for every model, whatever the batches, and nothing but the loss of hidden pieces."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import AutoModelForMaskedLM, AutoTokenizer

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.model.language_model import MaskedLanguageModel
from acclimate.recipes.domain_tuning import perplexity


@pytest.fixture(scope="module")
def reader(bert: str) -> MaskedLanguageModel:
    return MaskedLanguageModel(AutoModelForMaskedLM.from_pretrained(bert), AutoTokenizer.from_pretrained(bert))


def slow_loss(reader: MaskedLanguageModel, text: Corpus, share: float, seed: int) -> tuple[float, int]:
    """One sentence at a time through `transformers` itself."""
    tokenizer = reader.encoder.pieces.tokenizer
    losses: list[float] = []
    for number, sentence in enumerate(text):
        pieces = torch.tensor(tokenizer(list(sentence.words), is_split_into_words=True)["input_ids"])
        ordinary = [place for place, piece in enumerate(pieces) if int(piece) not in tokenizer.all_special_ids]
        lots = np.random.default_rng((seed, number)).random(len(pieces))
        count = max(1, int(torch.tensor(share * len(ordinary)).round()))
        hidden = sorted(ordinary, key=lambda place: -lots[place])[:count]
        shown = pieces.clone()
        shown[hidden] = tokenizer.mask_token_id
        reader.model.eval()
        with torch.no_grad():
            scores = reader.model(input_ids=shown[None]).logits[0]
        losses += functional.cross_entropy(scores[hidden], pieces[hidden], reduction="none").tolist()
    return sum(losses) / len(losses), len(losses)


@pytest.mark.parametrize(("share", "seed"), [(0.15, 0), (0.4, 7)])
def test_it_is_the_mean_loss_of_hidden_pieces(
    reader: MaskedLanguageModel, news: Corpus, share: float, seed: int
) -> None:
    found = perplexity(reader.encoder, reader.mlm_head, news, share, seed)
    loss, pieces = slow_loss(reader, news, share, seed)
    assert (found.pieces, found.sentences) == (pieces, len(news))
    assert found.loss == pytest.approx(loss, abs=1e-5)
    assert found.perplexity == pytest.approx(math.exp(loss), rel=1e-4)


@pytest.mark.parametrize("rows", [1, 5, 1000])
def test_the_batches_do_not_matter(reader: MaskedLanguageModel, news: Corpus, rows: int) -> None:
    usual, other = (perplexity(reader.encoder, reader.mlm_head, news, rows=size) for size in (64, rows))
    assert other.loss == pytest.approx(usual.loss, abs=1e-5)
    assert other.pieces == usual.pieces


def test_neither_tags_nor_random_numbers_nor_the_mode_matter(reader: MaskedLanguageModel, news: Corpus) -> None:
    reader.train()
    dice = torch.get_rng_state()
    first = perplexity(reader.encoder, reader.mlm_head, news)
    assert torch.equal(torch.get_rng_state(), dice)
    assert reader.training
    torch.manual_seed(5)
    assert perplexity(reader.encoder.eval(), reader.mlm_head.eval(), news.unlabelled()) == first


def test_another_seed_asks_other_questions(reader: MaskedLanguageModel, news: Corpus) -> None:
    first, other = (perplexity(reader.encoder, reader.mlm_head, news, seed=seed) for seed in (0, 1))
    assert first.loss != other.loss
    assert first.pieces == other.pieces


def test_a_head_that_knows_nothing_has_the_perplexity_of_the_vocabulary(
    reader: MaskedLanguageModel, news: Corpus
) -> None:
    class Blank(torch.nn.Module):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*states.shape[:-1], 150)

    assert perplexity(reader.encoder, Blank(), news).perplexity == pytest.approx(150, rel=1e-4)  # type: ignore[arg-type]


def test_long_sentences_are_read_in_parts(reader: MaskedLanguageModel) -> None:
    long = Corpus.of([Sentence(("Anna", "flew", "to", "Oslo") * 60)])
    assert perplexity(reader.encoder, reader.mlm_head, long).pieces >= 30


def test_text_that_has_nothing_to_hide_is_refused(reader: MaskedLanguageModel) -> None:
    with pytest.raises(InputError, match="no text to measure the perplexity on"):
        perplexity(reader.encoder, reader.mlm_head, Corpus(()))
