"""The probability of each word to be in any span, beside a slow reference: the sum over all legal tag sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict
from acclimate.labelling.queue import Order, order_of
from acclimate.model.tagger import Tagger


def test_a_word_s_probability_is_that_of_all_sequences_in_which_it_is_in_a_span(build: Callable[..., Tagger]) -> None:
    tagger = build(labels=["PER", "LOC"])
    torch.manual_seed(7)
    with torch.no_grad():
        tagger.scores.weight.normal_(0, 1)
        tagger.head.transitions.normal_(0, 1)
    tagger.eval()
    corpus = Corpus.of_texts([["Anna", "saw", "Oslo"], ["Rome", "fell"]])
    scores = {number: answer[:, 2:].astype(np.float64) for number, answer in tagger.read(corpus, "decisions")}
    chain = tagger.chain()
    for number, spans, words in tagger.scored_words(corpus):
        weights = {
            path: np.exp(
                chain.start[path[0]]
                + sum(scores[number][place, tag] for place, tag in enumerate(path))
                + sum(chain.moves[one, other] for one, other in pairwise(path))
                + chain.end[path[-1]]
            )
            for path in product(range(len(chain.tags)), repeat=len(corpus[number]))
        }
        total = sum(weights.values())
        for place, probability in enumerate(words):
            inside = sum(weight for path, weight in weights.items() if chain.tags[path[place]] != "O")
            assert probability == pytest.approx(inside / total, abs=1e-4)
        for span in spans:
            assert span.score <= min(words[span.start : span.end]) + 1e-4
        found = [(span.start, span.end, span.label) for span in spans]
        assert found == [(span.start, span.end, span.label) for span in predict(tagger, corpus)[number].spans]


def test_an_order_keeps_them() -> None:
    order = Order(2, ["a"], {}, {"a": [0.25, 1.0]})
    assert order_of(asdict(order)).words == {"a": [0.25, 1.0]}
