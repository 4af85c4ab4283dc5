"""Policies: each hides as much as any other, and what it says it hides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.masked_words import Budget, MaskedWords
from acclimate.methods.masking.catalogue import PolicyContext, PolicySettings, build_policy, policy_names
from acclimate.methods.masking.masked_batch import Corruption, MaskedBatch, as_chosen, hide, pose
from acclimate.methods.masking.policy import (
    DensityRatio,
    Entropy,
    Mixture,
    PartOfSpeech,
    Policy,
    Uniform,
    density_ratios,
    entropies_of,
    entropy,
    piece_counts,
)
from acclimate.methods.masking.word_runs import spans
from acclimate.model.language_model import MaskedLanguageModel
from acclimate.settings import UsageError


def reader_of(folder: str) -> MaskedLanguageModel:
    torch.manual_seed(0)
    return MaskedLanguageModel(AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))


def objective(reader: MaskedLanguageModel, policy: Policy, budget: Budget | None = None) -> MaskedWords:
    tokenizer = reader.encoder.pieces.tokenizer
    corruption = Corruption(tokenizer.mask_token_id, torch.arange(5, len(tokenizer)), 0.0, 0.0)
    return MaskedWords(policy, corruption, tuple(tokenizer.all_special_ids), budget or Budget(0.3))


def puzzle_of(reader: MaskedLanguageModel, sentences: Sequence[Sentence], budget: Budget | None = None) -> MaskedBatch:
    return objective(reader, Uniform(), budget).to(reader.device).batch(reader.view(sentences))


def chosen_by(policy: Policy, batch: MaskedBatch) -> Tensor:
    return as_chosen(hide(batch, policy(batch)), batch.pieces.shape[1])


@pytest.mark.parametrize("by_words", [False, True])
@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("name", policy_names())
def test_each_hides_as_many_as_plain_chance_does(
    name: str, kind: str, by_words: bool, news: Corpus, tweets: Corpus, request: pytest.FixtureRequest
) -> None:
    reader = reader_of(request.getfixturevalue(kind))
    policy = build_policy(name, PolicyContext(reader.encoder, news, tweets, PolicySettings()))
    assert policy.name == name
    batch = puzzle_of(reader, news[:9], Budget(0.3, by_words))
    plain, found = hide(batch, Uniform()(batch)), hide(batch, policy(batch))
    if by_words:
        starts = batch.allowed
        assert torch.equal(*((as_chosen(one, starts.shape[1]) & starts).sum(1) for one in (plain, found)))
    else:
        assert torch.equal(plain.counts.sum(1), found.counts.sum(1))
    chosen = as_chosen(found, batch.pieces.shape[1])
    assert torch.equal(chosen.sum(1), found.counts.sum(1))  # no place twice
    assert not (chosen & ~batch.ordinary).any()


def test_an_unknown_name_gets_a_suggestion(news: Corpus, bert: str) -> None:
    with pytest.raises(UsageError, match=r"Unknown masking 'adverserial'\. Did you mean 'adversarial'"):
        build_policy("adverserial", PolicyContext(reader_of(bert).encoder, None, news, PolicySettings()))


def test_density_ratio_without_a_target_is_refused(news: Corpus, bert: str) -> None:
    with pytest.raises(UsageError, match="give target text as well"):
        build_policy("mix-density-ratio", PolicyContext(reader_of(bert).encoder, news, Corpus(()), PolicySettings()))


def test_density_ratio_without_a_source_is_refused(news: Corpus, bert: str) -> None:
    with pytest.raises(UsageError, match="compares two domains"):
        build_policy("density-ratio", PolicyContext(reader_of(bert).encoder, None, news, PolicySettings()))


# entropy


def test_the_entropy_is_that_of_the_softmax() -> None:
    scores = 5 * torch.randn(7, 11, dtype=torch.float64)
    probabilities = scores.softmax(-1)
    torch.testing.assert_close(
        entropy(scores).double(), -(probabilities * probabilities.log()).sum(-1), rtol=1e-5, atol=1e-6
    )


def test_only_some_places_are_scored_at_once_and_all_come_out_the_same(news: Corpus, bert: str) -> None:
    reader = reader_of(bert)
    states = puzzle_of(reader, news[:6]).states
    sizes: list[int] = []
    watch = reader.mlm_head.register_forward_pre_hook(lambda module, given: sizes.append(len(given[0])))
    found = entropies_of(reader.mlm_head, states, at_once=5)
    watch.remove()
    assert max(sizes) <= 5
    torch.testing.assert_close(found, entropy(reader.mlm_head(states)).detach())


@torch.no_grad()
def test_in_half_precision_weights_are_narrowed_once_and_entropies_are_those_of_autocast(bert: str) -> None:
    reader = reader_of(bert)
    states = torch.randn(3, 7, reader.encoder.state_width)
    table = reader.mlm_head.head.predictions.decoder
    table.weight.mul_(4)  # or all entropies are alike
    seen: list[Tensor] = []
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        wanted = entropy(reader.mlm_head(states))
        watch = table.register_forward_pre_hook(lambda layer, given: seen.append(layer.weight))
        found = entropies_of(reader.mlm_head, states, at_once=5)
        watch.remove()
        assert torch.is_autocast_enabled("cpu")
    assert len(seen) == 5
    assert all(weight is seen[0] and weight.dtype == torch.bfloat16 for weight in seen)
    assert table.weight.dtype == found.dtype == torch.float32
    torch.testing.assert_close(found, wanted, rtol=0, atol=0.05)
    assert wanted.std() > 0.2


def test_top_takes_the_highest_and_proportional_prefers_them(news: Corpus, bert: str) -> None:
    reader = reader_of(bert)
    with torch.no_grad():
        reader.mlm_head.head.predictions.decoder.bias[20:40] += 4.0  # or all entropies are alike
    batch = puzzle_of(reader, news[:8], Budget(0.2, quick=False))  # in half precision neighbours could change places
    entropies = entropies_of(reader.mlm_head, batch.states)
    top = chosen_by(Entropy("top"), batch)
    for row in range(len(top)):
        rest = batch.allowed[row] & ~top[row]
        assert entropies[row][top[row]].min() >= entropies[row][rest].max()
    assert torch.equal(top, chosen_by(Entropy("top"), batch))
    often = torch.stack([chosen_by(Entropy(), batch) for _ in range(400)]).float().mean(0)
    assert often[batch.allowed].min() > 0
    assert often[top].mean() > often[batch.allowed & ~top].mean()


def test_entropy_reads_the_text_without_dropout_and_leaves_training_on(news: Corpus, bert: str) -> None:
    reader = reader_of(bert).train()
    batch = puzzle_of(reader, news[:4])
    assert torch.equal(batch.states, puzzle_of(reader, news[:4]).states)
    assert reader.encoder.training
    assert not batch.states.requires_grad


def test_looking_first_takes_no_gradient_away_in_half_precision(news: Corpus, bert: str) -> None:
    """Autocast remembers weights it narrowed; remembered without a gradient they would learn nothing."""
    slopes = []
    for evaluations in (False, True):
        reader = reader_of(bert).eval()
        mlm = objective(reader, Uniform())
        view = reader.view(news[:4])
        torch.manual_seed(5)
        with torch.autocast("cpu", torch.bfloat16):
            batch = mlm.batch(view)
            if evaluations:
                entropies_of(reader.mlm_head, batch.states)
                Entropy()(batch)
            torch.manual_seed(5)
            hidden = hide(batch, Uniform()(batch))
            loss, _ = mlm.losses(*batch.model, batch.pieces, hidden, batch.attention)
        loss.backward()
        slopes.append({name: weight.grad for name, weight in reader.named_parameters()})
    assert all(slope is not None for slope in slopes[1].values())
    for name, slope in slopes[0].items():
        torch.testing.assert_close(slope, slopes[1][name], msg=name)


# parts of speech


class Spelled:
    """Tags by the first letter, and counts how often it is asked."""

    name = "spelled"

    def __init__(self) -> None:
        self.asked = 0

    def tag(self, corpus: Corpus, progress: Any = None) -> Corpus:
        self.asked += len(corpus)
        tags = [["NOUN" if word.startswith("n") else "DET" for word in sentence.words] for sentence in corpus]
        return Corpus(corpus.with_tags(tags).sentences, corpus.name, "plain")


def one_piece_words(reader: MaskedLanguageModel, count: int) -> list[str]:
    """Words that the tokenizer keeps whole."""
    tokenizer = reader.encoder.pieces.tokenizer
    found = [
        word for word in tokenizer.get_vocab() if word.isalpha() and len(reader.encoder.pieces.of_words([word])[0]) == 1
    ]
    return sorted(found)[:count]


def test_content_words_are_drawn_four_times_as_often(bert: str) -> None:
    reader = reader_of(bert)
    words = one_piece_words(reader, 10)
    sentence = Sentence(tuple(words))

    class Half(Spelled):
        def tag(self, corpus: Corpus, progress: Any = None) -> Corpus:
            tags = [["NOUN"] * 5 + ["DET"] * 5 for _ in corpus]
            return Corpus(corpus.with_tags(tags).sentences, corpus.name, "plain")

    batch = puzzle_of(reader, [sentence] * 3_000, Budget(0.1))
    often = chosen_by(PartOfSpeech(Half()), batch)[:, 1:11].float().mean(0)
    assert often[:5].sum() == pytest.approx(0.8, abs=0.03)  # one word of each sentence: five of weight 4, five of 1


def test_text_is_tagged_once(news: Corpus, bert: str) -> None:
    reader, tagger = reader_of(bert), Spelled()
    policy = PartOfSpeech(tagger)
    policy(puzzle_of(reader, news))
    once = tagger.asked
    assert once == len({sentence.words for sentence in news})
    policy(puzzle_of(reader, news[:4]))
    assert tagger.asked == once
    policy(puzzle_of(reader, [Sentence(("never", "seen"))]))
    assert tagger.asked == once + 1


# density ratio


def test_the_ratio_is_the_worked_one() -> None:
    names = ["the", "match", "bank", "goal", "loan", "absent"]
    source, target = torch.tensor([50, 20, 20, 10, 0, 0]), torch.tensor([40, 0, 30, 5, 25, 0])
    found = dict(zip(names, density_ratios(source, target).tolist(), strict=True))
    assert found == pytest.approx({"the": 0, "match": 0, "bank": 1 / 3, "goal": 0, "loan": 1, "absent": 0})


def test_pieces_of_the_target_are_preferred(news: Corpus, tweets: Corpus, bert: str) -> None:
    reader = reader_of(bert)
    counts = [piece_counts(reader.encoder, text) for text in (news, tweets)]
    assert counts[0].sum() == sum(len(pieces) for s in news for pieces in reader.encoder.pieces.of_words(s.words))
    policy = DensityRatio(*counts)
    batch = puzzle_of(reader, tweets)
    ratios = density_ratios(*counts)[batch.pieces]
    drawn = torch.stack([chosen_by(policy, batch) for _ in range(30)])
    assert ratios.expand_as(drawn)[drawn].mean() > ratios[batch.allowed].mean()


# runs of words


def test_spans_hide_neighbours(bert: str) -> None:
    reader = reader_of(bert)
    sentence = Sentence(tuple(one_piece_words(reader, 20)))
    chosen = chosen_by(spans((3,)), puzzle_of(reader, [sentence] * 50, Budget(0.15, by_words=True)))
    places = [row.nonzero().flatten().tolist() for row in chosen]
    assert all(len(row) == 3 for row in places)
    together = [row for row in places if row[2] - row[0] == 2]
    assert len(together) > 35  # the others were cut at the end of the sentence and filled up
    assert len(set(map(tuple, places))) > 5


# mixtures


class Told(Policy):
    """Wants the first places, and remembers what it heard."""

    name = "told"

    def forward(self, batch: MaskedBatch) -> Tensor:
        self.rows = len(batch.pieces)
        return torch.arange(batch.pieces.shape[1], 0, -1.0).expand(batch.pieces.shape)

    def reward(self, losses: Tensor) -> None:
        self.heard = losses


def test_half_of_the_rows_are_the_named_policys_and_only_those_are_rewarded() -> None:
    batch = pose(torch.ones(2_000, 12, dtype=torch.long), torch.tensor([0]), 0.25)
    told = Told()
    mixture = Mixture(told)
    chosen = chosen_by(mixture, batch)
    named = torch.tensor([by == "told" for by in mixture.chosen_by(2_000)])
    assert mixture.name == "mix-told"
    assert named.float().mean() == pytest.approx(0.5, abs=0.05)
    assert told.rows == named.sum()
    assert chosen[named][:, :3].all()
    assert not chosen[~named][:, :3].all(1).float().mean() > 0.05
    mixture.reward(torch.arange(2_000.0))
    assert torch.equal(told.heard, named.nonzero().flatten().float())


def unsure(news: Corpus, bert: str) -> tuple[MaskedLanguageModel, MaskedBatch]:
    """Many rows, and a guesser that is unlike sure of them."""
    reader = reader_of(bert)
    with torch.no_grad():
        reader.mlm_head.head.predictions.decoder.weight *= 30.0
    return reader, puzzle_of(reader, list(news) * 10, Budget(0.2, quick=False))


def mixture_of_entropy(reader: MaskedLanguageModel, news: Corpus, choice: str) -> Policy:
    settings = PolicySettings.model_validate({"entropy": choice})
    return build_policy("mix-entropy", PolicyContext(reader.encoder, None, news, settings))


def test_half_of_a_mixture_with_entropy_hides_the_highest_and_the_other_half_does_not(news: Corpus, bert: str) -> None:
    reader, batch = unsure(news, bert)
    policy = mixture_of_entropy(reader, news, "top")
    torch.manual_seed(3)
    chosen, top = chosen_by(policy, batch), chosen_by(Entropy("top"), batch)
    named = torch.tensor([by == "entropy" for by in policy.chosen_by(len(chosen))])
    assert 80 < named.sum() < 160
    assert torch.equal(chosen[named], top[named])
    assert (chosen[~named] == top[~named]).all(1).float().mean() < 0.5


def test_a_mixture_with_entropy_hides_what_is_harder_to_guess_than_plain_chance_does(news: Corpus, bert: str) -> None:
    """A mixture whose entropies were never computed would be plain chance under another name."""
    reader, batch = unsure(news, bert)
    entropies = entropies_of(reader.mlm_head, batch.states)
    policies = {"mixed": mixture_of_entropy(reader, news, "proportional"), "chance": Uniform(), "all": Entropy()}
    torch.manual_seed(3)
    means = {
        name: torch.stack([entropies[chosen_by(policy, batch)].mean() for _ in range(20)])
        for name, policy in policies.items()
    }
    assert means["chance"].max() < means["mixed"].min()
    assert means["mixed"].max() < means["all"].min()


def test_without_a_row_of_its_own_the_named_policy_is_not_asked() -> None:
    batch = pose(torch.ones(1, 8, dtype=torch.long), torch.tensor([0]), 0.25)
    mixture = Mixture(Told(), share=1e-9)
    assert chosen_by(mixture, batch).sum() == 2
    mixture.reward(torch.ones(1))
    assert not hasattr(mixture.policy, "heard")


def test_a_part_of_a_puzzle_is_a_puzzle(news: Corpus, bert: str) -> None:
    reader = reader_of(bert)
    whole = puzzle_of(reader, news[:6], Budget(0.3, quick=False))
    part = whole.some(torch.tensor([4, 1]))
    torch.testing.assert_close(part.states, whole.states[[4, 1]], rtol=1e-4, atol=1e-5)
    assert torch.equal(part.spread(torch.arange(100.0)), whole.spread(torch.arange(100.0))[[4, 1]])


def test_bare_pieces_have_no_words_to_go_by() -> None:
    batch = pose(torch.ones(1, 8, dtype=torch.long), torch.tensor([0]), 0.25)
    with pytest.raises(ValueError, match="came as sentences"):
        batch.spread(torch.ones(3))
    with pytest.raises(ValueError, match="asks a language model"):
        Entropy()(replace(batch))
