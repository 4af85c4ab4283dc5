"""A compact tagger answers as the tagger that it was made from, and needs neither torch nor transformers."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.inference import export
from acclimate.inference.predict import evaluate, guess, guess_terms, predict, word_confidences
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

from acclimate.inference.compact import CompactTagger

ODD = [
    "Anna",
    "Ａｎｎａ flew to Ⅷ ½ 北京 🙂‍↔️ \u200b\u00ad x",
    "a" * 500,
    "\ud83d broken",
    "[MASK] [CLS] <s> </s> [UNK]",
    "I\u0307stanbul e\u0301 ﬁ",
]


def opinionated(tagger: Tagger) -> Tagger:
    with torch.no_grad():  # untrained, a tagger has the same tag for all words
        tagger.scores.weight.mul_(30)
        tagger.head.transitions.normal_(0, 1)
    return tagger.eval()


@pytest.fixture(scope="module")
def tagger(build: Callable[..., Tagger]) -> Tagger:
    return opinionated(build("bert", boundary_scores=True, feed_forward=8))


@pytest.fixture(scope="module")
def folder(tagger: Tagger, tweets: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compact") / "exported"
    export.export_onnx(tagger, place, tweets, card="learnt from A, under CC BY")
    return place


@pytest.fixture(scope="module")
def compact(folder: Path) -> CompactTagger:
    return CompactTagger.load(folder)


@pytest.fixture(scope="module")
def mixed(news: Corpus, tweets: Corpus) -> Corpus:
    """Short and odd sentences, one that is read in several rows, and one in several parts."""
    words = [word for sentence in news for word in sentence.words]
    long = [Sentence(tuple(words[:90])), Sentence(tuple((words * 50)[:4000]))]
    return Corpus.of([*tweets.unlabelled(), *Corpus.of_texts(ODD), *long])


def test_it_has_the_same_tags(tagger: Tagger, compact: CompactTagger, mixed: Corpus) -> None:
    one, other = predict(tagger, mixed), predict(compact, mixed)
    assert [sentence.tags for sentence in one] == [sentence.tags for sentence in other]
    assert len({tag for sentence in one for tag in sentence.tags or ()}) > 2  # one tag throughout would show nothing


def test_it_has_the_same_probabilities(tagger: Tagger, compact: CompactTagger, tweets: Corpus) -> None:
    for left, right in zip(word_confidences(tagger, tweets), word_confidences(compact, tweets), strict=True):
        assert left == pytest.approx(right, abs=1e-3)
    assert [s.tags for s in guess(tagger, tweets)] == [s.tags for s in guess(compact, tweets)]
    pairs = zip(guess_terms(tagger, tweets), guess_terms(compact, tweets), strict=True)
    assert all(one.predicted == other.predicted for one, other in pairs)


def test_it_finds_the_same_entities_and_scores_them_alike(tagger: Tagger, compact: CompactTagger) -> None:
    texts = ["", "  \n ", "Anna flew to Oslo. Bert stayed in Rome!", *ODD]
    for one, other in zip(tagger(texts), compact(texts), strict=True):
        assert [(e.label, e.start, e.end) for e in one] == [(e.label, e.start, e.end) for e in other]
        assert [e.score for e in one] == pytest.approx([e.score for e in other], abs=1e-3)


def test_it_is_scored_like_any_tagger(tagger: Tagger, compact: CompactTagger, tweets: Corpus) -> None:
    assert evaluate(compact, tweets).span.f1 == pytest.approx(evaluate(tagger, tweets).span.f1)


def test_it_says_how_it_compares(folder: Path, tweets: Corpus) -> None:
    parity = json.loads((folder / "parity.json").read_text())
    assert parity["equal_tags"] == 1.0
    assert parity["words"] == tweets.word_count
    assert "100.00 % of tags equal" in (folder / "README.md").read_text()


def test_it_keeps_the_card_of_the_tagger(folder: Path) -> None:
    assert (folder / "ORIGINAL.md").read_text() == "learnt from A, under CC BY"


def test_an_export_that_tags_otherwise_is_not_written(
    tagger: Tagger, tweets: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe = export._description

    def damaged(*given: object) -> dict[str, object]:
        description = describe(*given)  # type: ignore[arg-type]
        return description | {"moves": np.array(description["moves"])[::-1].tolist()}

    monkeypatch.setattr(export, "_description", damaged)
    with pytest.raises(InputError, match=r"was not written: .* of tags equal .* 99\.9 % are asked for"):
        export.export_onnx(tagger, tmp_path / "a", tweets)
    assert not list(tmp_path.iterdir())


def test_an_export_whose_weights_are_damaged_is_not_written(
    tagger: Tagger, tweets: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx
    from onnx import numpy_helper

    write = export._write_graph

    def damaged(tagger: Tagger, encoder: Transformer, file: Path, int8: bool) -> None:
        write(tagger, encoder, file, int8)
        model = onnx.load(file)
        for tensor in model.graph.initializer:
            values = numpy_helper.to_array(tensor)
            if values.dtype == np.float32 and values.ndim == 2:
                noise = np.random.default_rng(0).normal(0, values.std(), values.shape).astype(np.float32)
                tensor.CopyFrom(numpy_helper.from_array(values + noise, tensor.name))
        onnx.save(model, file)

    monkeypatch.setattr(export, "_write_graph", damaged)
    with pytest.raises(InputError, match=r"was not written: .* of tags equal .* differ\).* 99\.9 % are asked for"):
        export.export_onnx(tagger, tmp_path / "a", tweets)
    assert not list(tmp_path.iterdir())


def test_how_many_tags_differ_is_counted(tagger: Tagger, tweets: Corpus) -> None:
    other = opinionated(copy.deepcopy(tagger))
    parity = export.compare(tagger, other, tweets)
    pairs = zip(predict(tagger, tweets), predict(other, tweets), strict=True)
    differ = sum(a != b for one, two in pairs for a, b in zip(one.tags or (), two.tags or (), strict=True))
    assert parity.different_tags == differ > 0
    assert parity.equal_tags == pytest.approx(1 - differ / tweets.word_count)
    assert f"({differ} differ)" in str(parity)


def test_a_softmax_head_and_int8_weights_come_through(
    build: Callable[..., Tagger], part_of_speech: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(export._LEAST_EQUAL, "int8", 0.5)  # random weights are not made for few bits
    tagger = build("roberta", text=part_of_speech, labels=part_of_speech.labels, head="softmax").eval()
    parity = export.export_onnx(tagger, tmp_path / "a", part_of_speech, int8=True)
    assert parity.f1 is None
    compact = CompactTagger.load(tmp_path / "a")
    assert compact.description.weights == "int8"
    assert {entity.label for entity in compact("Anna flew")} <= set(tagger.labels)
    assert b"MatMulInteger" in (tmp_path / "a" / "model.onnx").read_bytes()
    assert not (tmp_path / "a" / "float32.onnx").exists()


def test_of_eight_bits_the_matrix_out_of_the_first_feed_forward_layer_is_left_out(
    tagger: Tagger, tweets: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx

    monkeypatch.setitem(export._LEAST_EQUAL, "int8", 0.0)  # random weights are not made for few bits
    export.export_onnx(tagger, tmp_path / "a", tweets, int8=True)
    graph = onnx.load(tmp_path / "a" / "model.onnx").graph
    exact = [tuple(weight.dims) for weight in graph.initializer if weight.data_type == onnx.TensorProto.FLOAT]
    wide, narrow = 24, 16  # of the tiny encoder's layers, of which there are two
    assert exact.count((wide, narrow)) == 1
    assert sum(tuple(weight.dims) == (wide, narrow) for weight in graph.initializer) == 2


def test_an_lstm_is_refused(build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only a tagger on a pre-trained encoder can be exported"):
        export.export_onnx(build(), tmp_path / "a", tweets)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "compact.json"])
def test_a_damaged_folder_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(folder, tmp_path / "a")
    data = bytearray((tmp_path / "a" / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "a" / name).write_bytes(data)
    with pytest.raises(StorageError, match="damaged"):
        CompactTagger.load(tmp_path / "a")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "compact.json"])
def test_a_file_that_is_no_such_thing_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(folder, tmp_path / "a")
    (tmp_path / "a" / name).write_text("{}")
    with pytest.raises(StorageError):
        CompactTagger.of(tmp_path / "a")


def test_predicting_loads_neither_torch_nor_transformers(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Anna flew to Oslo.\n")
    code = f"""
import sys
from typer.testing import CliRunner
from acclimate.cli.main import app
result = CliRunner().invoke(app, ["predict", {str(folder)!r}, {str(tmp_path / "text.txt")!r}, "--format", "jsonl"])
assert result.exit_code == 0, result.output
from acclimate import CompactTagger
CompactTagger.load({str(folder)!r})("Anna flew to Oslo.")
print(sorted({{"torch", "transformers", "accelerate", "onnx"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_commands_export_predict_and_evaluate(tagger: Tagger, tweets: Corpus, tmp_path: Path) -> None:
    def run(*words: object, code: int = 0) -> str:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result.output

    tagger.save(tmp_path / "a")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(sentence.words) for sentence in tweets) + "\n")
    aside = tmp_path / "a-onnx"
    shown = run("export", tmp_path / "a", "--to", "onnx", "--text", text, "--out", aside)
    assert "a-onnx: " in shown
    assert "100.00 % of tags equal" in shown
    assert "(0 differ)" in shown
    answers = [run("predict", place, text, "--quiet") for place in (tmp_path / "a", aside)]
    assert answers[0] == answers[1]
    assert "is there already" in run("export", tmp_path / "a", "--out", aside, code=2)
    assert "works on the CPU" in run("predict", aside, text, "--device", "cuda", code=2)
    with pytest.raises(StorageError, match=r"a compact tagger\. Load it with CompactTagger\.load"):
        Tagger.load(aside)
