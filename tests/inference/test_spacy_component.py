"""In a pipeline of spaCy a tagger tags spaCy's tokens as `predict` tags the same words."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.predict import predict
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError

spacy = pytest.importorskip("spacy")
Doc, Span = spacy.tokens.Doc, spacy.tokens.Span

TEXTS = [
    "Anna  flew to\nOslo. Bert\tstayed in New York!",
    "",
    " \n ",
    "🙂 Zoë in Köln, said Acme's I\u0307stanbul.",
    "no one here",
]


def opinionated(tagger: Tagger) -> Tagger:
    with torch.no_grad():
        tagger.scores.weight.mul_(30)
        for moves in tagger.head.parameters():
            moves.normal_(0, 1)
    return tagger.eval()


@pytest.fixture(scope="module")
def tagger(build: Callable[..., Tagger]) -> Tagger:
    return opinionated(build("bert"))


@pytest.fixture(scope="module")
def folder(tagger: Tagger, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("tagger") / "run"
    tagger.save(place, **{"predictions.json": "private"})
    return str(place)


@pytest.fixture(scope="module")
def parts_of_speech(
    build: Callable[..., Tagger], part_of_speech: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> str:
    place = tmp_path_factory.mktemp("tagger") / "pos"
    opinionated(build("bert", text=part_of_speech, labels=part_of_speech.labels)).save(place)
    return str(place)


def pipeline(folder: str, **config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("acclimate", config={"model": folder, **config})
    return nlp


def entities(doc: Any) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label_) for span in doc.ents]


def expected(tagger: Tagger, sentences: list[list[Any]]) -> list[tuple[int, int, str]]:
    """Of tokens, by sentence: what `predict` finds among the same words."""
    tagged = predict(tagger, [[token.text for token in tokens] for tokens in sentences])
    return [
        (tokens[span.start].i, tokens[span.end - 1].i + 1, span.label)
        for tokens, sentence in zip(sentences, tagged, strict=True)
        for span in sentence.spans
    ]


def test_its_entities_are_those_of_predict_on_the_same_words(tagger: Tagger, folder: str, news: Corpus) -> None:
    nlp = pipeline(folder)
    nlp.add_pipe("sentencizer", first=True)
    found = []
    for doc in nlp.pipe([*TEXTS, *(" ".join(sentence.words) for sentence in news)]):
        sentences = [[token for token in sentence if not token.is_space] for sentence in doc.sents]
        assert entities(doc) == expected(tagger, [tokens for tokens in sentences if tokens])
        found += entities(doc)
    assert len({label for _, _, label in found}) > 1


def test_without_sentences_of_spacy_it_finds_its_own(tagger: Tagger, folder: str) -> None:
    doc = pipeline(folder)("Anna flew to Oslo. Bert stayed in Rome!")
    first = [token for token in doc if token.idx < 19]
    assert entities(doc) == expected(tagger, [first, [token for token in doc if token.idx >= 19]]) != []


def test_words_that_were_split_elsewhere_stay_as_they_are(tagger: Tagger, folder: str, tweets: Corpus) -> None:
    nlp = pipeline(folder)
    docs = [Doc(nlp.vocab, words=list(sentence.words), sent_starts=_one(sentence)) for sentence in tweets]
    for doc, tagged in zip(nlp.pipe(docs), predict(tagger, tweets), strict=True):
        assert entities(doc) == [(span.start, span.end, span.label) for span in tagged.spans]


def _one(sentence: Any) -> list[bool]:
    return [place == 0 for place in range(len(sentence))]


def test_scores_are_those_of_the_tagger_and_outlive_bytes(tagger: Tagger, folder: str) -> None:
    nlp = pipeline(folder)
    text = "Anna flew to Oslo"
    scores = [span._.acclimate_score for span in nlp(text).ents]
    assert scores == pytest.approx([entity.score for entity in tagger(text)]) != []
    again = Doc(nlp.vocab).from_bytes(nlp(text).to_bytes())
    assert [span._.acclimate_score for span in again.ents] == scores


def test_entities_of_others_are_kept_or_overwritten(tagger: Tagger, folder: str) -> None:
    text = "Anna flew to Oslo"
    own = entities(pipeline(folder)(text))
    assert own
    for overwrite in (False, True):
        nlp = pipeline(folder, overwrite_ents=overwrite)
        doc = nlp.make_doc(text)
        doc.ents = [Span(doc, own[0][0], own[0][1], label="MINE")]
        found = entities(nlp.get_pipe("acclimate")(doc))
        assert ((*own[0][:2], "MINE") in found) is not overwrite
        assert found[1:] == own[1:]
        assert own[0] in found or not overwrite


def test_an_entity_that_stands_apart_from_ours_is_not_lost_when_overwriting(folder: str, news: Corpus) -> None:
    nlp = pipeline(folder, overwrite_ents=True)
    texts = [" ".join(sentence.words) for sentence in news]
    text, outside = next((text, token.i) for text in texts for token in nlp(text) if not token.ent_type_)
    doc = nlp.make_doc(text)
    doc.ents = [Span(doc, outside, outside + 1, label="MINE")]
    assert (outside, outside + 1, "MINE") in entities(nlp.get_pipe("acclimate")(doc))


def test_spans_stand_in_a_group_with_their_scores(folder: str) -> None:
    text = "Anna flew to Oslo"
    doc = pipeline(folder, attribute="spans")(text)
    group = doc.spans["acclimate"]
    assert not doc.ents
    assert [(span.start, span.end, span.label_) for span in group] == entities(pipeline(folder)(text))
    assert group.attrs["scores"] == [span._.acclimate_score for span in group]


@pytest.mark.parametrize("attribute", ["auto", "pos", "tag"])
def test_a_tagger_of_parts_of_speech_sets_those(parts_of_speech: str, attribute: str) -> None:
    doc = pipeline(parts_of_speech, attribute=attribute)("a dog  barks.")
    words = [token for token in doc if not token.is_space]
    tags = predict(Tagger.load(parts_of_speech), [[token.text for token in words]])[0].tags
    assert [token.tag_ if attribute == "tag" else token.pos_ for token in words] == list(tags or ())
    assert [token.tag_ if attribute == "tag" else token.pos_ for token in doc if token.is_space] in (["_SP"], ["SPACE"])
    assert not doc.ents


def test_an_attribute_that_does_not_fit_the_tagger_is_refused(folder: str, parts_of_speech: str) -> None:
    with pytest.raises(UsageError, match=r"the tagger finds spans\. Use ents or spans"):
        pipeline(folder, attribute="pos")("Anna")
    with pytest.raises(UsageError, match=r"a tag for each word\. Use pos or tag"):
        pipeline(parts_of_speech, attribute="ents")("Anna")


def test_tags_that_are_no_universal_parts_of_speech_go_to_the_tag(
    build: Callable[..., Tagger], part_of_speech: Corpus, tmp_path: Path
) -> None:
    from acclimate.data.corpus import LabelSet

    tagger = build("bert", text=part_of_speech, labels=LabelSet(("NN", "VBZ"), "plain"))
    tagger.save(tmp_path / "a")
    doc = pipeline(str(tmp_path / "a"))("dogs bark")
    assert {token.tag_ for token in doc} <= {"NN", "VBZ"}
    assert not doc.has_annotation("POS")
    with pytest.raises(UsageError, match="universal parts of speech only"):
        pipeline(str(tmp_path / "a"), attribute="pos")("dogs bark")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        pipeline(str(tmp_path / "none"))("Anna")


def test_a_saved_pipeline_stands_by_itself_in_a_fresh_process(tagger: Tagger, folder: str, tmp_path: Path) -> None:
    borrowed = shutil.copytree(folder, tmp_path / "borrowed")
    nlp = pipeline(str(borrowed))
    nlp.to_disk(tmp_path / "saved")
    shutil.rmtree(borrowed)
    assert not list((tmp_path / "saved").rglob("predictions.json"))  # what else the run has left stays there
    code = (
        "import spacy, sys, json\nnlp, texts = spacy.load(sys.argv[1]), json.loads(sys.argv[2])\n"
        "print(json.dumps([[(e.start, e.end, e.label_) for e in doc.ents] for doc in nlp.pipe(texts)]))"
    )
    asked = [sys.executable, "-c", code, str(tmp_path / "saved"), json.dumps(TEXTS)]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    found = [[tuple(each) for each in entity] for entity in json.loads(told)]
    assert found == [entities(doc) for doc in pipeline(folder).pipe(TEXTS)]


def test_a_pipeline_of_bytes_gives_the_same(folder: str, tmp_path: Path) -> None:
    borrowed = shutil.copytree(folder, tmp_path / "borrowed")
    nlp = pipeline(str(borrowed))
    data = nlp.to_bytes()
    copied = pickle.loads(pickle.dumps(nlp.get_pipe("acclimate")))
    shutil.rmtree(borrowed)
    again = spacy.blank("en")
    again.add_pipe("acclimate")
    again.from_bytes(data)
    for text in TEXTS:
        assert entities(again(text)) == entities(copied(again.make_doc(text))) == entities(pipeline(folder)(text))


def test_bytes_that_would_leave_their_folder_are_refused(folder: str, tmp_path: Path) -> None:
    import srsly

    component = pipeline(folder).get_pipe("acclimate")
    with pytest.raises(UsageError, match="outside of the tagger's folder"):
        component.from_bytes(srsly.msgpack_dumps({"../../evil": b"x"}))


def test_several_processes_give_the_same(folder: str) -> None:
    nlp = pipeline(folder)
    alone = [entities(doc) for doc in nlp.pipe(TEXTS * 3)]  # the tagger is in use before the processes are forked
    assert [entities(doc) for doc in nlp.pipe(TEXTS * 3, n_process=2, batch_size=4)] == alone
    scores = [span._.acclimate_score for doc in nlp.pipe(TEXTS, n_process=2) for span in doc.ents]
    assert scores == pytest.approx([span._.acclimate_score for doc in nlp.pipe(TEXTS) for span in doc.ents])


def test_a_stream_is_read_no_further_than_a_batch(folder: str) -> None:
    nlp, read = pipeline(folder), []

    def texts() -> Any:
        for number in range(10**9):
            read.append(number)
            yield "Anna flew to Oslo."

    stream = nlp.pipe(texts(), batch_size=4)
    for _ in range(6):
        next(stream)
    assert len(read) <= 12


def test_a_compact_tagger_works_in_it_too(tagger: Tagger, folder: str, news: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from acclimate.inference.export import export_onnx

    export_onnx(tagger, tmp_path / "compact", news)
    nlp = pipeline(str(tmp_path / "compact"))
    wanted = [entities(doc) for doc in pipeline(folder).pipe(TEXTS)]
    assert [entities(doc) for doc in nlp.pipe(TEXTS)] == wanted
    nlp.to_disk(tmp_path / "saved")
    shutil.rmtree(tmp_path / "compact")
    assert [entities(doc) for doc in spacy.load(tmp_path / "saved").pipe(TEXTS)] == wanted
