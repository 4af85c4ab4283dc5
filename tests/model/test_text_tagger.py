"""Text in, entities out: what a tagger is to a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.schemes import convert_tags, spans_from_tags
from acclimate.inference.predict import predict
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.heads.linear_chain import path_score
from acclimate.model.tagger import Tagger
from acclimate.model.text_tagger import Entities, Entity

TEXTS = ["Anna flew from Doha to Oslo. Bert stayed in Rome!", "", "no one\n\n  here \t", "🙂 Zoë  in Köln"]


@pytest.fixture
def tagger(build: Callable[..., Tagger]) -> Tagger:
    return opinionated(build("bert"))


def opinionated(tagger: Tagger) -> Tagger:
    with torch.no_grad():
        for weight in tagger.scores.parameters():
            weight.mul_(20)
        tagger.head.transitions.normal_(0, 1)
    return tagger.eval()


def test_entities_are_the_spans_of_predict_with_their_places_in_the_text(tagger: Tagger) -> None:
    found = tagger(TEXTS[0])
    assert found
    sentences = predict(tagger, ["Anna flew from Doha to Oslo.", "Bert stayed in Rome!"])
    expected = [
        (span.label, sentence.text[sentence.offsets[span.start][0] : sentence.offsets[span.end - 1][1]])
        for sentence in sentences
        for span in sentence.spans
    ]
    assert [(entity.label, entity.text) for entity in found] == expected
    assert all(TEXTS[0][entity.start : entity.end] == entity.text for entity in found)
    assert all(0 <= entity.score <= 1 for entity in found)


def test_several_texts_one_by_one_and_as_a_stream_give_the_same(tagger: Tagger) -> None:
    together = tagger(TEXTS)
    assert [[(e.label, e.start, e.end) for e in each] for each in together] == [
        [(e.label, e.start, e.end) for e in tagger(text)] for text in TEXTS
    ]
    for size in (1, 3, 100):
        assert [each.text for each in tagger.pipe(iter(TEXTS), batch_size=size)] == TEXTS
    assert together[1] == []
    assert tagger([]) == []


def test_a_stream_is_read_no_further_than_a_batch(tagger: Tagger) -> None:
    read: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(10**9):
            read.append(number)
            yield "Anna flew to Oslo."

    stream = tagger.pipe(texts(), batch_size=4)
    for _ in range(6):
        next(stream)
    assert len(read) == 8


def test_the_score_is_the_probability_of_the_span_over_all_legal_taggings(tagger: Tagger) -> None:
    text = "Anna flew to Oslo"
    view = tagger.view(list(Corpus.of_texts([text])))
    paths = [list(path) for path in product(range(len(tagger.tags)), repeat=4)]
    scores = view.scores.detach().expand(len(paths), -1, -1)
    start, moves, end = tagger.head.legal_scores()
    weights = (
        path_score(scores, moves, torch.tensor(paths), torch.ones(len(paths), 4), start, end)
        .detach()
        .double()
        .softmax(0)
    )
    for entity in tagger(text):
        words = text.split()
        place = next(n for n in range(4) if text.find(words[n]) == entity.start)
        span = (place, place + len(entity.text.split()), entity.label)
        spelled = ([tagger.tags[number] for number in path] for path in paths)
        held = [span in {(s.start, s.end, s.label) for s in spans_from_tags(convert_tags(t, "IOB2"))} for t in spelled]
        assert entity.score == pytest.approx(float(weights[torch.tensor(held)].sum()), abs=1e-5)


def test_where_spans_are_typed_by_a_head_of_their_own_the_score_is_the_product(build: Callable[..., Tagger]) -> None:
    tagger = build("bert").eval()
    tagger.find_entities(EntitySettings())
    tagger.eval()
    with torch.no_grad():
        tagger.scores.outer.weight.mul_(200)
        tagger.types.layer.outer.weight.mul_(100)
    text = "Anna flew to Oslo"
    assert tagger(text)
    (view_share,) = [row for _, row in tagger.read(Corpus.of_texts([text]), "decisions")]
    bare = tagger.chain()
    for entity in tagger(text):
        word = next(n for n, w in enumerate(text.split()) if text.find(w) == entity.start)
        span = SimpleNamespace(start=word, end=word + len(entity.text.split()), label=bare.tags[-1].partition("-")[2])
        (probability,) = bare.span_probabilities(view_share[:, 2:], [span])
        assert entity.score == pytest.approx(probability * view_share[word, 1], abs=1e-6)


def test_with_one_tag_per_word_each_word_is_an_entity(build: Callable[..., Tagger], part_of_speech: Corpus) -> None:
    tagger = build("bert", text=part_of_speech, labels=part_of_speech.labels).eval()
    found = tagger("Anna flew to Oslo")
    assert [entity.text for entity in found] == ["Anna", "flew", "to", "Oslo"]
    assert [entity.label for entity in found] == list(predict(tagger, ["Anna flew to Oslo"])[0].tags or ())


def test_threads_share_a_tagger(tagger: Tagger) -> None:
    alone = [tagger(text) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tagger, TEXTS * 5)) == alone * 5


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_gives_a_frame_of_the_same_kind(tagger: Tagger, library: str) -> None:
    frames = pytest.importorskip(library)
    found = tagger.frame(frames.DataFrame({"id": range(4), "post": TEXTS}), "post")
    assert isinstance(found, frames.DataFrame)
    entities = [(row, entity) for row, each in enumerate(tagger(TEXTS)) for entity in each]
    assert list(found["row"]) == [row for row, _ in entities]
    assert list(found["text"]) == [entity.text for _, entity in entities]
    assert list(found.columns) == ["row", "label", "text", "start", "end", "score"]


def test_a_row_of_a_pandas_frame_is_named_by_its_index(tagger: Tagger) -> None:
    pandas = pytest.importorskip("pandas")
    found = tagger.frame(pandas.DataFrame({"text": TEXTS}, index=list("abcd")))
    assert set(found["row"]) <= set("abcd")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_text_of_a_frame_has_no_entities(tagger: Tagger, library: str) -> None:
    frames = pytest.importorskip(library)
    texts = [None, TEXTS[0], float("nan") if library == "pandas" else None, TEXTS[3]]
    found = tagger.frame(frames.DataFrame({"text": texts}))
    assert set(found["row"]) == {1, 3}
    assert list(found["label"]) == [entity.label for text in texts[1::2] for entity in tagger(str(text))]
    if library == "pandas":
        assert set(tagger.frame(frames.DataFrame({"text": frames.array(texts, dtype="string")}))["row"]) == {1, 3}
    with pytest.raises(InputError, match="text number 0"):
        tagger.frame(frames.DataFrame({"text": [3, 4]}))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_without_entities_has_columns_of_the_same_kinds(tagger: Tagger, library: str) -> None:
    frames = pytest.importorskip(library)
    some = tagger.frame(frames.DataFrame({"text": TEXTS}))
    none = tagger.frame(frames.DataFrame({"text": TEXTS})[:0])
    assert len(none) == 0
    assert [str(kind) for kind in none.dtypes] == [str(kind) for kind in some.dtypes]
    together = frames.concat([some, none])
    assert list(together["text"]) == list(some["text"])


@pytest.mark.parametrize("texts", [tuple(TEXTS), iter(TEXTS), dict.fromkeys(TEXTS, 1)])
def test_any_iterable_of_texts_gives_a_list(tagger: Tagger, texts: Iterable[str]) -> None:
    found = tagger(texts)
    assert isinstance(found, list)
    assert [each.text for each in found] == TEXTS


def test_what_is_no_text_is_refused_by_its_number(tagger: Tagger) -> None:
    with pytest.raises(InputError, match=r"text number 2 \(counted from 0\) is no text but float: nan"):
        list(tagger.pipe(["a", "b", float("nan")], batch_size=2))  # type: ignore[list-item]
    with pytest.raises(InputError, match="batch_size 0"):
        list(tagger.pipe(["a"], batch_size=0))


def test_a_notebook_shows_the_text_escaped_and_the_entities_marked() -> None:
    text = "<b>Anna & Bo</b>"
    shown = Entities(text, [Entity("P<R", "Anna & Bo", 3, 12, 0.987)])._repr_html_()
    assert "&lt;b&gt;<mark" in shown
    assert "Anna &amp; Bo <small><b>P&lt;R</b> 0.99</small></mark>&lt;/b&gt;" in shown


def test_scores_of_a_long_sentence_stay_numbers(tagger: Tagger) -> None:
    found = tagger("Anna flew to Oslo " * 1000)
    assert found
    assert np.isfinite([entity.score for entity in found]).all()
