"""Several threads ask one tagger that is in training mode: all have the right tags, and the mode stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acclimate.data.corpus import Corpus
from acclimate.inference.predict import predict
from acclimate.model.learner import eval_mode
from acclimate.model.tagger import Tagger


@pytest.fixture(params=["character-cnn-lstm", "bert"])
def tagger(request: pytest.FixtureRequest, build: Callable[..., Tagger]) -> Tagger:
    return build(request.param, dropout=0.9).train()


def test_one_that_ends_does_not_wake_the_dropout_of_another(tagger: Tagger, news: Corpus) -> None:
    """The second begins while the first is at work, and goes on when the first is done."""
    expected = predict(tagger, news, 40)
    first_is_at_work, second_has_begun, first_is_done = (threading.Event() for _ in range(3))

    def first() -> Corpus:
        def wait(count: int) -> None:
            first_is_at_work.set()
            assert second_has_begun.wait(60)

        found = predict(tagger, news, 40, wait)
        first_is_done.set()
        return found

    def second() -> Corpus:
        def wait(count: int) -> None:
            second_has_begun.set()
            assert first_is_done.wait(60)

        assert first_is_at_work.wait(60)
        return predict(tagger, news, 40, wait)

    with ThreadPoolExecutor(2) as pool:
        found = [job.result(120) for job in (pool.submit(first), pool.submit(second))]
    assert found == [expected, expected]
    assert all(module.training for module in tagger.modules())


def test_many_threads_agree(tagger: Tagger, news: Corpus) -> None:
    expected = predict(tagger, news, 40)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: predict(tagger, news, 40), range(12)))
    assert all(one == expected for one in found)
    assert all(module.training for module in tagger.modules())


def test_parts_that_two_taggers_share_wake_when_the_last_of_them_is_done(tagger: Tagger) -> None:
    other = tagger.sibling(tagger.labels, tagger.encoder).train()
    one, two = eval_mode(tagger), eval_mode(other)
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert tagger.scores.training
    assert not tagger.encoder.training
    assert not other.training
    two.__exit__(None, None, None)
    assert all(module.training for module in (*tagger.modules(), *other.modules()))


def test_threads_share_a_compact_tagger_too(build: Callable[..., Tagger], news: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from acclimate.inference.compact import CompactTagger
    from acclimate.inference.export import export_onnx

    export_onnx(build("bert").eval(), tmp_path / "a", news)
    alone = CompactTagger.load(tmp_path / "a")
    expected = [predict(alone, news, 40 + number) for number in range(8)]
    shared = CompactTagger.load(tmp_path / "a")  # which has not seen a word yet
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda number: predict(shared, news, 40 + number % 8), range(24))) == expected * 3
