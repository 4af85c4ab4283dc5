"""Masked words: the cross-entropy of what was hidden, and of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, AutoTokenizer

from acclimate.analysis.run_records import read_masks
from acclimate.data.corpus import Corpus
from acclimate.methods.masked_words import Budget, MaskedWords, first_pieces, hidden_words
from acclimate.methods.masking.masked_batch import Corruption, MaskedBatch, hide
from acclimate.methods.masking.policy import Policy, Uniform
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.language_model import MaskedLanguageModel, MlmHead
from acclimate.model.learner import NoView, TextView
from acclimate.training.record import Record


class Chosen(Policy):
    """Wants to hide the places it was told, in that order."""

    def __init__(self, *places: list[int]) -> None:
        super().__init__()
        self.places = places

    def forward(self, batch: MaskedBatch) -> Tensor:
        self.batch = batch
        priorities = torch.zeros(batch.pieces.shape)
        for row, places in enumerate(self.places[: len(priorities)]):
            for rank, place in enumerate(places):
                priorities[row, place] = 10.0 - rank
        return priorities

    def reward(self, losses: Tensor) -> None:
        self.losses = losses


@pytest.fixture(scope="module")
def model(bert: str) -> Any:
    return AutoModelForMaskedLM.from_pretrained(bert).double().eval()


@pytest.fixture(scope="module")
def tokenizer(bert: str) -> Any:
    return AutoTokenizer.from_pretrained(bert)


def objective(tokenizer: Any, policy: Policy, swapped: float = 0.0, budget: Budget | None = None) -> MaskedWords:
    corruption = Corruption(tokenizer.mask_token_id, torch.arange(5, len(tokenizer)), swapped, 0.0)
    return MaskedWords(policy, corruption, tuple(tokenizer.all_special_ids), budget or Budget(0.5))


ROWS = torch.tensor([[2, 20, 21, 22, 23, 3], [2, 30, 31, 3, 0, 0]])
ATTENTION = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
CHOSEN = Chosen([1, 4], [2, 1])  # half of four pieces, and half of two


def loss_of(reader: MaskedLanguageModel, mlm: MaskedWords) -> Tensor:
    view = TextView(reader.encoder, {"pieces": ROWS, "attention": ATTENTION})
    view.mlm_head = reader.mlm_head
    return mlm(NoView("source"), view)


def by_hand(model: Any, mask: int) -> float:
    """`transformers` itself, with labels at the three hidden places."""
    shown, labels = ROWS.clone(), torch.full_like(ROWS, -100)
    for row, place in ((0, 1), (0, 4), (1, 2)):
        labels[row, place], shown[row, place] = ROWS[row, place], mask
    return float(model(input_ids=shown, attention_mask=ATTENTION.long(), labels=labels).loss.detach())


def test_it_is_the_loss_that_transformers_computes(model: Any, tokenizer: Any) -> None:
    reader = MaskedLanguageModel(model, tokenizer)
    view = TextView(reader.encoder, {"pieces": ROWS, "attention": ATTENTION})
    view.mlm_head = reader.mlm_head
    found = objective(tokenizer, CHOSEN)(NoView("source"), view)
    assert CHOSEN.losses.mul(torch.tensor([2, 1])).sum() / 3 == pytest.approx(float(found.detach()), rel=1e-5)
    assert not CHOSEN.losses.requires_grad
    assert float(found.detach()) == pytest.approx(by_hand(model, tokenizer.mask_token_id), rel=1e-5)


def test_special_pieces_and_padding_are_never_hidden(model: Any, tokenizer: Any) -> None:
    reader = MaskedLanguageModel(model, tokenizer)
    loss_of(reader, objective(tokenizer, CHOSEN))
    assert CHOSEN.batch.allowed.tolist() == [[False, True, True, True, True, False], [False, True, True] + [False] * 3]


def test_full_rows_need_no_mask(model: Any, tokenizer: Any) -> None:
    reader = MaskedLanguageModel(model, tokenizer)
    rows, whole = ROWS[:1], torch.ones(1, 6, dtype=torch.bool)
    torch.testing.assert_close(reader.encoder.states(rows), reader.encoder.states(rows, whole))
    torch.testing.assert_close(reader.encoder.states(rows), model.base_model(input_ids=rows).last_hidden_state)


def test_the_gradient_is_the_true_one(model: Any, tokenizer: Any) -> None:
    reader = MaskedLanguageModel(model, tokenizer)
    mlm = objective(tokenizer, CHOSEN)
    weight = model.base_model.encoder.layer[0].output.dense.weight

    def loss() -> Tensor:
        return loss_of(reader, mlm)

    (slope,) = torch.autograd.grad(loss(), weight)
    with torch.no_grad():
        weight[3, 5] += 1e-3
        above = loss()
        weight[3, 5] -= 2e-3
        below = loss()
        weight[3, 5] += 1e-3
    # the losses themselves are summed in float32
    assert float(slope[3, 5]) == pytest.approx(float(above - below) / 2e-3, rel=0.02, abs=1e-4)


def test_every_weight_that_matters_gets_a_gradient(bert: str, tokenizer: Any) -> None:
    model = AutoModelForMaskedLM.from_pretrained(bert)
    reader = MaskedLanguageModel(model, tokenizer)
    view = reader.view(ROWS[:1])
    objective(tokenizer, Uniform(), swapped=0.2)(view, view).backward()
    # the mean of a row of scores is all one to the softmax
    silent = [name for name, weight in reader.named_parameters() if weight.grad is None]
    assert silent == []


def test_the_domain_decides_which_text_is_read(model: Any, tokenizer: Any) -> None:
    reader = MaskedLanguageModel(model, tokenizer)
    view = reader.view(ROWS[:1])
    corruption = Corruption(4, torch.arange(5, 9))
    mlm = MaskedWords(Uniform(), corruption, (0, 1, 2, 3, 4), mlm_head=reader.mlm_head, domain="source")
    assert torch.isfinite(mlm(view, NoView("target")))


def test_without_a_head_it_says_what_is_missing(bert: str, tokenizer: Any) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    with pytest.raises(ValueError, match="language-model head"):
        objective(tokenizer, Uniform())(NoView("source"), TextView(encoder, {"pieces": ROWS}))


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_the_head_apart_scores_as_the_whole_model_does(kind: str, request: pytest.FixtureRequest) -> None:
    whole = AutoModelForMaskedLM.from_pretrained(request.getfixturevalue(kind)).eval()
    states = whole.base_model(input_ids=ROWS).last_hidden_state
    torch.testing.assert_close(MlmHead.of(whole)(states), whole(input_ids=ROWS).logits)


@pytest.mark.parametrize("kind", ["ModernBert", "DistilBert", "Electra", "Albert"])
def test_heads_of_other_kinds_are_found(kind: str) -> None:
    import transformers

    sizes: dict[str, Any] = {
        "ModernBert": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8},
        "DistilBert": {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 8},
        "Electra": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "embedding_size": 8},
        "Albert": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "embedding_size": 8},
    }
    config = getattr(transformers, f"{kind}Config")(vocab_size=60, pad_token_id=0, **sizes[kind])
    whole = getattr(transformers, f"{kind}ForMaskedLM")(config).eval()
    states = whole.base_model(input_ids=ROWS).last_hidden_state
    torch.testing.assert_close(MlmHead.of(whole)(states), whole(input_ids=ROWS).logits)


def test_a_model_without_such_a_head_is_refused() -> None:
    with pytest.raises(ValueError, match="Linear keeps its language-model head"):
        MlmHead.of(nn.Linear(2, 2))


def test_a_word_begins_where_no_piece_goes_on() -> None:
    continues = torch.tensor([False, True, False])
    rows = torch.tensor([[0, 2, 1, 1, 2, 0], [1, 1, 2, 2, 1, 0]])
    assert first_pieces(rows, continues).tolist() == [[0, 1, 1, 1, 4, 5], [0, 0, 2, 3, 3, 5]]


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_sentences_are_noted_with_the_words_that_were_hidden(
    kind: str, news: Corpus, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(kind)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    reader = MaskedLanguageModel(AutoModelForMaskedLM.from_pretrained(folder), tokenizer)
    mlm = objective(tokenizer, Uniform(), budget=Budget(0.4, by_words=True))
    mlm(NoView("source"), reader.view(news[:5]))
    noted = mlm.notes()
    assert noted is not None
    assert (noted["kind"], noted["policy"]) == ("masks", "random")
    for row, sentence in zip(noted["rows"], news[:5], strict=True):
        assert tuple(row["words"]) == sentence.words
        known = [
            word for word in sentence.words if tokenizer.unk_token_id not in reader.encoder.pieces.of_words([word])[0]
        ]
        assert len(row["hidden"]) == min(len(known), max(1, round(0.4 * len(known))))
        assert row["by"] == "random"


@pytest.mark.parametrize("by_words", [False, True])
def test_what_belongs_to_no_word_is_never_hidden(bert: str, news: Corpus, by_words: bool) -> None:
    """[CLS] and [SEP], whatever the tokenizer calls them."""
    tokenizer = AutoTokenizer.from_pretrained(bert)
    reader = MaskedLanguageModel(AutoModelForMaskedLM.from_pretrained(bert), tokenizer)
    mlm = objective(tokenizer, Uniform(), budget=Budget(0.3, by_words))
    mlm.special = torch.tensor([tokenizer.pad_token_id])
    batch = mlm.batch(reader.view(news[:4]))
    assert batch.words is not None
    assert not batch.allowed[batch.words < 0].any()
    assert batch.attention is not None
    assert batch.attention.sum() == (batch.words >= 0).sum() + 2 * 4  # they are read all the same


@pytest.mark.parametrize("by_words", [False, True])
def test_the_log_tells_what_chance_would_hide(bert: str, news: Corpus, tmp_path: Path, by_words: bool) -> None:
    """How often each word is hidden by chance is what the logged row says of it."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(bert)
    reader = MaskedLanguageModel(AutoModelForMaskedLM.from_pretrained(bert), tokenizer)
    mlm, text = objective(tokenizer, Uniform(), budget=Budget(0.3, by_words)), news[:4]
    batch = mlm.batch(reader.view(text))
    draws = 1_000
    times = [torch.zeros(len(sentence)) for sentence in text]
    for _ in range(draws):
        rows = hidden_words(batch, hide(batch, mlm.policy(batch)), mlm.policy, 4)
        for count, row in zip(times, rows, strict=True):
            count[row["hidden"]] += 1
    record = Record(tmp_path)
    record.add("masks", "tuning", 1, policy="random", rows=rows)
    for count, row in zip(times, read_masks(tmp_path), strict=True):
        assert (count / draws).tolist() == pytest.approx(row.probabilities, abs=0.06)
    longest = max(max(row["places"]) for row in rows)
    assert longest == 1 if by_words else longest > 1


def test_several_puzzles_of_a_batch_are_averaged(model: Any, tokenizer: Any) -> None:
    reader, policy = MaskedLanguageModel(model, tokenizer), Chosen([1, 4], [2, 1])
    once = loss_of(reader, objective(tokenizer, policy))
    thrice = loss_of(reader, objective(tokenizer, policy, budget=Budget(0.5, samples=3)))
    torch.testing.assert_close(once, thrice)
