"""A plain transformers folder gives each word the tag that the tagger's own scores like best."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForTokenClassification, pipeline
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.inference import export_transformers as plain
from acclimate.inference.export_transformers import export_transformers
from acclimate.model.heads.entity_heads import EntitySettings
from acclimate.model.storage import verify
from acclimate.model.tagger import Tagger

ODD = [
    "Ａｎｎａ flew to Ⅷ ½ 北京 🙂 x",
    "I\u0307stanbul ﬁ Zoë , e\u0301 .",
    "[MASK] was [CLS] here [UNK]",
    "Anna",
]


def opinionated(tagger: Tagger) -> Tagger:
    with torch.no_grad():
        tagger.scores.weight.mul_(30)
        for moves in tagger.head.parameters():  # none under softmax
            moves.normal_(0, 1)
    return tagger.eval()


def reads_single_pieces(tagger: Tagger) -> Tagger:
    """A piece's tag depends on nothing around it: windows of any kind give the same tags."""
    encoder: Any = tagger.encoder
    with torch.no_grad():
        encoder.model.embeddings.position_embeddings.weight.zero_()
        for layer in encoder.model.encoder.layer:
            layer.attention.output.dense.weight.zero_()
    return opinionated(tagger)


def best_tags(tagger: Tagger, words: list[str]) -> list[str]:
    """Of each word by itself, spelled with B and I."""
    ((_, answer),) = tagger.read(Corpus.of([Sentence(tuple(words))]), "decisions")
    names = plain.plain_tags(tagger)
    return [names[number] for number in answer[:, 2:].argmax(-1)]


def starts_of(words: list[str]) -> list[int]:
    return list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))


def tags_of_pipeline(folder: Path, words: list[str]) -> list[str | None]:
    """Of the first piece of each word; None where the tokenizer leaves no piece of it."""
    tag: Any = pipeline("token-classification", model=str(folder), aggregation_strategy="none", ignore_labels=[])
    (pieces,) = tag([words], is_split_into_words=True)
    tags = {piece["index"]: piece["entity"] for piece in pieces}
    owners = tag.tokenizer([words], is_split_into_words=True).word_ids(0)
    return [tags[owners.index(word)] if word in owners else None for word in range(len(words))]


@pytest.mark.parametrize(
    ("encoder", "options"),
    [
        ("bert", {}),
        ("bert", {"scheme": "BIOES"}),
        ("bert", {"head": "softmax"}),
        ("roberta", {}),
    ],
    ids=["bert", "BIOES", "softmax", "roberta"],
)
def test_a_pipeline_has_the_best_tag_of_each_word(
    build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path, encoder: str, options: dict[str, Any]
) -> None:
    tagger = opinionated(build(encoder, **options))
    export_transformers(tagger, tmp_path / "a", tweets)
    seen = set()
    for words in [*(list(sentence.words) for sentence in tweets), *(text.split() for text in ODD)]:
        found, expected = tags_of_pipeline(tmp_path / "a", words), best_tags(tagger, words)
        assert found.count(None) <= 1
        assert all(one in (None, other) for one, other in zip(found, expected, strict=True)), words
        seen.update(expected)
    assert len(seen) > 2  # one tag throughout would show nothing


def test_long_text_is_read_whole_with_a_stride(build: Callable[..., Tagger], news: Corpus, tmp_path: Path) -> None:
    tagger = reads_single_pieces(build("bert"))
    export_transformers(tagger, tmp_path / "a", news)
    # words of one piece each: the pipeline's rule for words is then ours
    pieces = tagger.encoder.pieces
    assert pieces is not None
    single = [word for sentence in news for word in sentence.words if len(pieces.of_words([word])[0]) == 1] * 6
    assert len(single) > 4 * pieces.longest
    how = {"model": str(tmp_path / "a"), "aggregation_strategy": "first"}
    tag: Any = pipeline("token-classification", stride=16, **how)
    starts, text = starts_of(single), " ".join(single)
    found = {place for each in tag(text) for place in range(each["start"], each["end"])}
    marked = [start in found for start in starts]
    assert marked == [best != "O" for best in best_tags(tagger, single)]
    assert True in marked[-60:]  # beyond the last row that is read without a stride
    cut: Any = pipeline("token-classification", **how)
    assert max(each["end"] for each in cut(text)) < len(text) / 2  # as the card warns


def test_the_weights_are_those_of_the_tagger(build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path) -> None:
    tagger = opinionated(build("bert"))
    before = {name: weight.clone() for name, weight in tagger.state_dict().items()}
    export_transformers(tagger.train(), tmp_path / "a", tweets)
    model: Any = AutoModelForTokenClassification.from_pretrained(tmp_path / "a")
    assert torch.equal(model.classifier.weight, tagger.scores.weight)
    assert list(model.config.id2label.values()) == list(tagger.tags)
    assert all(torch.equal(weight, before[name]) for name, weight in tagger.state_dict().items())
    assert tagger.training
    assert tagger.encoder.pieces.tokenizer.model_max_length > 10_000  # the tagger's own tokenizer is as it was
    verify(tmp_path / "a")


def test_what_is_lost_without_the_crf_is_counted(build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path) -> None:
    tagger = opinionated(build("bert"))
    parity = export_transformers(tagger, tmp_path / "a", tweets, card="learnt from A, under CC BY")
    chosen = [tag for sentence in _predicted(tagger, tweets) for tag in sentence.tags or ()]
    best = [tag for sentence in tweets for tag in tagger.spell(_numbers(tagger, best_tags(tagger, [*sentence.words])))]
    assert parity.equal_tags == sum(one == other for one, other in zip(chosen, best, strict=True)) / len(best) < 1
    assert json.loads((tmp_path / "a" / "parity.json").read_text())["equal_tags"] == parity.equal_tags
    card = (tmp_path / "a" / "README.md").read_text()
    assert f"{100 * parity.equal_tags:.2f} % of tags equal" in card
    assert "stride=16" in card
    assert (tmp_path / "a" / "ORIGINAL.md").read_text() == "learnt from A, under CC BY"


def _predicted(tagger: Tagger, text: Corpus) -> Corpus:
    from acclimate.inference.predict import predict

    return predict(tagger, text)


def _numbers(tagger: Tagger, tags: list[str]) -> list[int]:
    return [tagger.tags.index(tag) for tag in tags]


def test_plain_tags_come_through(build: Callable[..., Tagger], part_of_speech: Corpus, tmp_path: Path) -> None:
    tagger = opinionated(build("bert", text=part_of_speech, labels=part_of_speech.labels, head="softmax"))
    parity = export_transformers(tagger, tmp_path / "a", part_of_speech)
    assert (parity.equal_tags, parity.f1) == (1.0, None)
    words = list(part_of_speech[0].words)
    assert tags_of_pipeline(tmp_path / "a", words) == best_tags(tagger, words)


@pytest.mark.parametrize(
    ("encoder", "change", "match"),
    [
        ("character-cnn-lstm", lambda tagger: None, "this one is an LSTM"),
        ("bert", lambda tagger: tagger.find_entities(EntitySettings()), "entity heads"),
        ("bert", lambda tagger: tagger.split(), "split into a shared and a private layer"),
        ("bert", lambda tagger: tagger.split(8, 0), "a hidden layer"),
    ],
    ids=["LSTM", "entities", "split", "hidden layer"],
)
def test_what_no_plain_folder_can_hold_is_refused(
    build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path, encoder: str, change: Any, match: str
) -> None:
    tagger = build(encoder)
    change(tagger)
    with pytest.raises(InputError, match=match):
        export_transformers(tagger, tmp_path / "a", tweets)
    assert not list(tmp_path.iterdir())


def test_an_export_with_other_scores_is_not_written(
    build: Callable[..., Tagger], tweets: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = plain._model

    def damaged(*given: Any) -> Any:
        model = make(*given)
        with torch.no_grad():
            model.classifier.bias.add_(0.01)
        return model

    monkeypatch.setattr(plain, "_model", damaged)
    with pytest.raises(InputError, match=r"its scores differ by 0\.01"):
        export_transformers(build("bert"), tmp_path / "a", tweets)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_such_a_folder(build: Callable[..., Tagger], tmp_path: Path, tweets: Corpus) -> None:
    from acclimate.data.writing import write_corpus

    opinionated(build("bert")).save(tmp_path / "run")
    write_corpus(tweets, tmp_path / "text.conll")
    asked = ["export", str(tmp_path / "run"), "--to", "transformers"]
    refused = CliRunner().invoke(app, [*asked, "--int8"])
    assert refused.exit_code == 2
    assert "--int8 is for --to onnx" in refused.output
    done = CliRunner().invoke(app, [*asked, "--text", str(tmp_path / "text.conll")])
    assert done.exit_code == 0, done.output
    assert "of tags equal" in done.stdout
    place = tmp_path / "run-transformers"
    assert "A tagger of Acclimate" in (place / "ORIGINAL.md").read_text()
    shutil.rmtree(tmp_path / "run")
    assert None not in tags_of_pipeline(place, ["Anna", "left"])
