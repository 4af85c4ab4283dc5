"""PMI as a policy: what no longer fits is cut, or passed over on request. SPAN and PMI end on any sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

from acclimate.data.collocations import Collocation, Collocations, build_collocations
from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.masked_words import Budget, MaskedWords
from acclimate.methods.masking.catalogue import PolicyContext, PolicySettings, build_policy
from acclimate.methods.masking.masked_batch import Corruption, MaskedBatch, as_chosen, hide
from acclimate.methods.masking.policy import Uniform
from acclimate.methods.masking.word_runs import RunsOfWords, collocations, lay_spans, room_of, spans
from acclimate.model.language_model import MaskedLanguageModel

KNOWN = Collocations(tuple(Collocation(tuple(row.split()), 5, 1.0) for row in ("New York", "Blue Bank")))
POLICIES = {
    "span": spans(),
    "pmi": collocations(KNOWN),
    "pmi, ranked": collocations(KNOWN, ranked=True),
    "pmi, whole": collocations(KNOWN, whole=True),
    "pmi, nothing known": collocations(Collocations(())),
}


@pytest.fixture
def reader(bert: str) -> MaskedLanguageModel:
    torch.manual_seed(0)
    return MaskedLanguageModel(AutoModelForMaskedLM.from_pretrained(bert), AutoTokenizer.from_pretrained(bert))


def puzzle_of(
    reader: MaskedLanguageModel, sentences: Sequence[Sentence], share: float = 0.3, by_words: bool = False
) -> MaskedBatch:
    tokenizer = reader.encoder.pieces.tokenizer
    corruption = Corruption(tokenizer.mask_token_id, torch.arange(5, len(tokenizer)), 0.0, 0.0)
    objective = MaskedWords(Uniform(), corruption, tuple(tokenizer.all_special_ids), Budget(share, by_words))
    return objective.batch(reader.view(sentences))


def hidden_words(policy: RunsOfWords, batch: MaskedBatch) -> list[list[tuple[int, int, int]]]:
    """By row: word, how many of its places are hidden, and how many it has."""
    chosen: Tensor = as_chosen(hide(batch, policy(batch)), batch.pieces.shape[1])
    assert batch.words is not None
    rows = []
    for words, row, allowed in zip(batch.words, chosen, batch.ordinary, strict=True):
        numbers = sorted(set(words[words >= 0].tolist()))
        counts = [(number, int(row[words == number].sum()), int(allowed[words == number].sum())) for number in numbers]
        rows.append(counts)
    return rows


@pytest.mark.parametrize("by_words", [False, True])
@pytest.mark.parametrize("name", POLICIES)
def test_it_ends_on_one_word_on_no_match_and_on_a_match_as_long_as_the_sentence(
    name: str, by_words: bool, reader: MaskedLanguageModel
) -> None:
    sentences = [Sentence(("Oslo",)), Sentence(("It", "rained")), Sentence(("New", "York")), Sentence(("a",) * 9)]
    batch = puzzle_of(reader, sentences, by_words=by_words)
    chosen = as_chosen(hide(batch, POLICIES[name](batch)), batch.pieces.shape[1])
    assert ((chosen & batch.allowed).sum(1) == batch.sizes).all()
    assert not (chosen & ~batch.ordinary).any()


@pytest.mark.parametrize("by_words", [False, True])
def test_whole_collocations_are_never_cut_while_single_words_are_left(
    by_words: bool, reader: MaskedLanguageModel
) -> None:
    sentence = Sentence(("Anna", "flew", "to", "New", "York", "with", "Blue", "Bank", "."))
    for share in (0.2, 0.35):
        batch = puzzle_of(reader, [sentence] * 40, share, by_words)
        words = {name: hidden_words(POLICIES[name], batch) for name in ("pmi", "pmi, whole")}
        cuts = {name: sum(map(is_cut, rows)) for name, rows in words.items()}
        assert cuts["pmi, whole"] == 0, share
        assert cuts["pmi"] > 0, share


def is_cut(row: list[tuple[int, int, int]]) -> bool:
    """Whether of New York, or of Blue Bank, a part is hidden and a part is not."""
    counts = [(hidden, size) for _, hidden, size in row]
    for places in ((3, 4), (6, 7)):
        hidden, size = (sum(counts[place][which] for place in places) for which in (0, 1))
        if 0 < hidden < size:
            return True
    return False


def sets_of_runs(count: int, budget: int, length: int, laid: int) -> Counter[frozenset[int]]:
    """All orders of starts: runs are laid in a room for `laid` words, and the first `budget` words are taken."""
    found: Counter[frozenset[int]] = Counter()
    for starts in permutations(range(count)):
        words = lay_spans(count, laid, [(start, length) for start in starts])
        assert len(words) >= budget  # nothing is left to single words
        found[frozenset(words[:budget])] += 1
    return found


def distance(one: Counter[frozenset[int]], other: Counter[frozenset[int]]) -> float:
    shares = [{key: count / found.total() for key, count in found.items()} for found in (one, other)]
    return sum(abs(shares[0].get(key, 0) - shares[1].get(key, 0)) for key in one.keys() | other.keys()) / 2


def test_runs_are_cut_to_the_budget_before_they_are_seen_to_touch(reader: MaskedLanguageModel) -> None:
    """Algorithm 1, by brute force over all orders of starts; laid for the whole sentence and cut they are otherwise."""
    as_printed, cut_late = (sets_of_runs(5, 4, 3, laid) for laid in (4, 5))
    assert distance(as_printed, cut_late) > 0.1
    torch.manual_seed(0)
    batch = puzzle_of(reader, [Sentence(("Anna", "flew", "to", "Oslo", "."))] * 3000, 0.8, by_words=True)
    assert batch.sizes.tolist() == [4] * 3000
    drawn: Counter[frozenset[int]] = Counter()
    for number, row in enumerate(hidden_words(spans((3,)), batch)):
        drawn[frozenset(word - 5 * number for word, hidden, _ in row if hidden)] += 1
    assert distance(drawn, as_printed) < 0.03


def test_the_room_of_a_sentence_is_that_of_its_rows(reader: MaskedLanguageModel) -> None:
    sentences = [Sentence(("Anna", "flew")), Sentence(("It", "rained", "all", "day"))]
    batch = puzzle_of(reader, sentences)
    rooms = room_of(batch)
    assert [room.budget for room in rooms] == batch.sizes.tolist()
    assert [sum(room.sizes) for room in rooms] == batch.allowed.sum(1).tolist()
    assert [len(room.sizes) for room in rooms] == [2, 4]
    assert [room.budget for room in room_of(batch.some(torch.tensor([1])))] == [0, int(batch.sizes[1])]


def test_bare_pieces_have_no_words_to_run_over(reader: MaskedLanguageModel) -> None:
    bare = replace(puzzle_of(reader, [Sentence(("Anna", "flew"))]), words=None)
    for policy in (collocations(KNOWN), collocations(KNOWN, whole=True)):
        with pytest.raises(ValueError, match="came as sentences"):
            policy(bare)


def test_the_policy_reads_the_file_and_the_lengths_it_is_told(
    reader: MaskedLanguageModel, news: Corpus, tmp_path: object
) -> None:
    path = f"{tmp_path}/known.jsonl"
    KNOWN.save(path)
    told = PolicySettings.model_validate({"collocations": {"file": path, "whole": True}})
    counted = PolicySettings.model_validate({"collocations": {"lengths": (3,), "at_least": 2}})
    for settings in (told, counted):
        policy = build_policy("pmi", PolicyContext(reader.encoder, None, news, settings))
        assert policy.name == "pmi"
    assert set(map(len, build_collocations(news, 2, lengths=[3]))) == {3}
