"""Each acquisition beside a slow and obvious reference: every path, every word, every pair of sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.acquisition.candidates import Candidates
from acclimate.methods.acquisition.catalogue import at_random
from acclimate.methods.acquisition.committee_disagreement import committee_disagreement
from acclimate.methods.acquisition.dropout_disagreement import dropout_disagreement, mutual_information
from acclimate.methods.acquisition.expected_entities import expected_counts, expected_entities, rare_types
from acclimate.methods.acquisition.fluctuation import changes, fluctuation
from acclimate.methods.acquisition.sequence_uncertainty import dense_uncertainty, density, sequence_uncertainty
from acclimate.methods.acquisition.settings import AcquisitionSettings
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger

Build = Callable[..., Tagger]
TEXT = Corpus.of_texts([["Anna", "left"], ["It", "rained", "."], ["Bob", "saw", "Oslo"], ["ok"]])
SCHEMES = ["IOB2", "BIOES"]


@pytest.fixture
def tagger(build: Build) -> Tagger:
    return spread(build().eval())


def spread(tagger: Tagger, seed: int = 3) -> Tagger:
    """Scores that differ, so that no two sentences score alike."""
    torch.manual_seed(seed)
    tagger.scores.weight.data = 2 * torch.randn_like(tagger.scores.weight)
    return tagger


def probabilities_of_paths(tagger: Tagger, sentence: Sentence) -> dict[tuple[str, ...], float]:
    """The probability of every path of tags, counted out."""
    with torch.no_grad():
        scores = tagger.view([sentence]).scores[0].double().numpy()
    chain = tagger.chain()
    totals = {}
    for path in product(range(len(tagger.tags)), repeat=len(sentence)):
        total = float(chain.start[path[0]]) + float(chain.end[path[-1]])
        total += sum(float(scores[word, tag]) for word, tag in enumerate(path))
        total += sum(float(chain.moves[one, other]) for one, other in pairwise(path))
        totals[tuple(tagger.tags[tag] for tag in path)] = math.exp(total) if total > -1e20 else 0.0
    whole = sum(totals.values())
    return {path: value / whole for path, value in totals.items()}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_uncertainty_is_minus_the_log_probability_of_the_best_path_by_words(
    build: Build, scheme: str, head: str
) -> None:
    tagger = spread(build(scheme=scheme, head=head, labels=["PER", "LOC"]).eval())
    found = sequence_uncertainty(Candidates(TEXT, tagger))
    slow = [-math.log(max(probabilities_of_paths(tagger, one).values())) / len(one) for one in TEXT]
    assert found.tolist() == pytest.approx(slow, rel=1e-3, abs=1e-5)


def test_a_sentence_that_says_the_same_twice_is_no_more_uncertain_than_half_of_it() -> None:
    class Coin:
        """Every word is O with probability 0.75."""

        tags = ("O", "B-X")

        def read(self, corpus: Corpus, what: str) -> Any:
            row = np.array([0.0, 1.0, math.log(0.75), math.log(0.25)])
            return ((number, np.tile(row, (len(one), 1))) for number, one in enumerate(corpus))

        def chain(self) -> Any:
            from acclimate.model.heads.legal_chain import TagChain

            return TagChain.of(self.tags, np.zeros(2), np.zeros((2, 2)), np.zeros(2))

    text = Corpus.of_texts([["a"], ["a"] * 7])
    found = sequence_uncertainty(Candidates(text, Coin()))  # type: ignore[arg-type]
    assert found.tolist() == pytest.approx([-math.log(0.75)] * 2, rel=1e-5)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_expected_entities_are_the_mean_number_of_entities_over_all_paths(build: Build, scheme: str) -> None:
    tagger = spread(build(scheme=scheme, labels=["PER", "LOC"], constrain_training=True).eval())
    found = expected_entities(Candidates(TEXT, tagger))
    slow = [
        sum(share * sum(tag[0] in "BS" for tag in path) for path, share in probabilities_of_paths(tagger, one).items())
        for one in TEXT
    ]
    assert found.tolist() == pytest.approx(slow, rel=1e-3)


def test_without_tags_that_begin_an_entity_one_begins_where_its_label_rises() -> None:
    marginals = np.array([[0.4, 0.6], [0.5, 0.5], [1.0, 0.0], [0.1, 0.9]])
    assert expected_counts(marginals, ["O", "I-X"]).tolist() == pytest.approx([0.6 + 0.9])


def test_an_entity_of_a_rare_type_counts_as_many_times_more_as_the_other_is_labelled(build: Build) -> None:
    tagger = spread(build(scheme="IOB2", constrain_training=True).eval())
    known = Corpus.of([Sentence(("Oslo", "Rome"), ("B-LOC", "B-LOC")), Sentence(("Anna",), ("B-PER",))])
    found = rare_types(Candidates(TEXT, tagger, known=known))
    weights = {"LOC": 1 / 3, "PER": 1 / 2, "ORG": 1.0}
    slow = [
        sum(
            share * sum(weights[tag[2:]] for tag in path if tag[0] in "BS")
            for path, share in probabilities_of_paths(tagger, one).items()
        )
        for one in TEXT[:2]
    ]
    assert found[:2].tolist() == pytest.approx(slow, rel=1e-3)


def test_mutual_information_is_the_mean_divergence_of_the_answers_from_their_mean() -> None:
    answers = torch.rand(5, 2, 3, 4).softmax(-1)
    mean = answers.mean(0)
    slow = sum((answers[number] * (answers[number] / mean).log()).sum(-1) for number in range(len(answers))) / len(
        answers
    )
    assert torch.allclose(mutual_information(answers), slow.double(), atol=1e-6)
    same = torch.tensor([[0.2, 0.8]]).expand(6, 1, 2)
    assert float(mutual_information(same)) == pytest.approx(0.0, abs=1e-7)
    sure = torch.eye(2)[torch.tensor([0, 1, 0, 1])].unsqueeze(1)  # each is sure, and they contradict each other
    assert float(mutual_information(sure)) == pytest.approx(math.log(2))


def test_bald_reads_the_last_layer_with_other_features_dropped_each_time(
    tagger: Tagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[torch.Tensor] = []
    whole: list[torch.Tensor] = []

    def record(self: View) -> torch.Tensor:
        seen.append(self.__dict__["features"])
        whole.append(tagger.view(self.originals).features)
        return torch.softmax(self.scores, -1)

    monkeypatch.setattr(View, "marginals", property(record))
    candidates = Candidates(TEXT[:1], tagger, seed=5, settings=AcquisitionSettings(passes=40, dropout=0.25))
    found = dropout_disagreement(candidates)
    assert len(seen) == 40
    shares = [float((one == 0).float().mean()) for one in seen]
    assert np.mean(shares) == pytest.approx(0.25, abs=0.05)
    kept = seen[0] != 0
    assert torch.allclose(seen[0][kept], whole[0][kept] / 0.75, atol=1e-6)
    answers = torch.stack([torch.softmax(tagger.scores(one.clone()), -1) for one in seen]).detach()
    slow = 0.0
    for word in range(2):
        rows = answers[:, 0, word].double()
        mean = rows.mean(0)
        slow += float(-(mean * mean.log()).sum() + (rows * rows.log()).sum(-1).mean()) / 2
    assert found[0] == pytest.approx(slow, rel=1e-4)
    assert dropout_disagreement(candidates)[0] == pytest.approx(found[0], rel=1e-6)


def test_a_committee_of_one_mind_disagrees_nowhere_and_one_of_two_minds_as_counted_by_word(build: Build) -> None:
    one, other = spread(build(scheme="IOB2").eval(), 1), spread(build(scheme="IOB2").eval(), 2)
    assert np.abs(committee_disagreement(Candidates(TEXT, one, [one, one]))).max() < 1e-6
    divergence = committee_disagreement(Candidates(TEXT, one, [other]))
    for number, sentence in enumerate(TEXT):
        rows = [tagger.view([sentence]).marginals[0].detach().double() for tagger in (other, one)]
        mean = (rows[0] + rows[1]) / 2
        slow = sum(float((row * (row.clamp(min=1e-12) / mean).log()).sum(-1).mean()) for row in rows) / 2
        assert divergence[number] == pytest.approx(slow, rel=1e-3, abs=1e-6)


def test_members_of_a_committee_may_have_other_labels_and_schemes(build: Build) -> None:
    small = spread(build(labels=["PER"], scheme="BIOES").eval())
    large = spread(build(labels=["PER", "LOC"], scheme="IOB2").eval())
    found = committee_disagreement(Candidates(TEXT, large, [small]))
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_fluctuation_weighs_each_change_twice_as_much_as_the_one_before() -> None:
    tags = np.array([[0, 0], [1, 0], [1, 0], [0, 1]])  # half the words changed, none, all
    assert changes(tags) == pytest.approx((1 * 0.5 + 2 * 0.0 + 4 * 1.0) / 7)
    assert changes(tags[:1]) == 0.0


def test_fluctuation_compares_the_taggers_in_their_order(build: Build) -> None:
    one, other = spread(build().eval(), 1), spread(build().eval(), 2)
    settled = fluctuation(Candidates(TEXT, other, [one, other, other]))
    changing = fluctuation(Candidates(TEXT, other, [one, one, one]))
    assert (changing >= settled).all()
    assert changing.max() > settled.max() > 0


def test_density_is_the_mean_cosine_with_the_sentences_of_the_pool(tagger: Tagger) -> None:
    pool = Corpus.of_texts([["Anna", "left", "Oslo"], ["Anna", "leaves"], ["xyzzy"]])
    candidates = Candidates(TEXT, tagger, text=pool)
    slow = [np.mean([float(one @ other) for other in candidates.text_features]) for one in candidates.features]
    assert density(candidates).tolist() == pytest.approx(slow, rel=1e-4, abs=1e-6)
    product_of_both = sequence_uncertainty(candidates) * np.maximum(slow, 0)
    assert dense_uncertainty(candidates).tolist() == pytest.approx(product_of_both.tolist(), rel=1e-4, abs=1e-6)


def test_features_are_close_to_the_cosine_of_weighted_ngrams(tagger: Tagger) -> None:
    from acclimate.methods.acquisition.features import ngrams, sentence_features

    sentences = [["Anna", "flew", "to", "Oslo"], ["Anna", "flew", "to", "Rome"], ["nothing", "at", "all", "here"]]
    counts = [Counter(ngrams(words)) for words in sentences]
    occurs = Counter(ngram for count in counts for ngram in count)

    def weight(count: Counter[str], ngram: str) -> float:
        return math.log1p(count[ngram]) * (math.log((1 + len(sentences)) / (1 + occurs[ngram])) + 1)

    def cosine(one: Counter[str], other: Counter[str]) -> float:
        norms = [math.sqrt(sum(weight(count, each) ** 2 for each in count)) for count in (one, other)]
        return sum(weight(one, each) * weight(other, each) for each in one if each in other) / (norms[0] * norms[1])

    features = sentence_features(sentences)
    assert np.linalg.norm(features, axis=1).tolist() == pytest.approx([1, 1, 1], rel=1e-5)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert float(features[one] @ features[other]) == pytest.approx(cosine(counts[one], counts[other]), abs=0.12)


def test_chance_goes_by_the_seed_alone() -> None:
    candidates = Candidates(TEXT, seed=1)
    assert at_random(candidates).tolist() == at_random(Candidates(TEXT, seed=1)).tolist()
    assert at_random(candidates).tolist() != at_random(replace(candidates, seed=2)).tolist()
