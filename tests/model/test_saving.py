"""Save, load, and it is the same tagger: every encoder, head, kind of tags and contextual mix."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from acclimate.data.corpus import Corpus, Sentence
from acclimate.evaluation.seen import Vocabulary as SeenWords
from acclimate.inference.predict import predict
from acclimate.model.card import license_of, read_origin
from acclimate.model.learner import View
from acclimate.model.shipped import shipped_tagger_path
from acclimate.model.storage import StorageError, seal
from acclimate.model.tagger import Tagger

ENCODERS = ["character-cnn-lstm", "fixed-context", "learned-context", "bert", "roberta"]
HEADS = ["crf", "softmax"]


@pytest.fixture
def make(build: Callable[..., Tagger], bert: str) -> Callable[..., Tagger]:
    """Builds the tagger and shakes every weight, so that none is right by being built again."""

    def maker(encoder: str, **options: object) -> Tagger:
        if encoder.endswith("context"):
            options |= {"contextual": {"encoder": bert, "mix": encoder.split("-")[0], "weights": (0.2, 0.3, 0.5)}}
            encoder = "character-cnn-lstm"
        tagger = build(encoder, **options)
        for weight in tagger.parameters():
            if weight.requires_grad:
                weight.data.add_(0.1 * torch.randn_like(weight))
        return tagger.eval()

    return maker


@pytest.mark.parametrize(("encoder", "head", "kind"), [*itertools.product(ENCODERS, HEADS, ["spans", "plain"])])
def test_a_loaded_tagger_has_the_same_weights_and_gives_the_same_scores(
    make, tmp_path: Path, news: Corpus, part_of_speech: Corpus, same_weights, encoder: str, head: str, kind: str
) -> None:
    text = news if kind == "spans" else part_of_speech
    tagger = make(encoder, text=text, head=head)
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert same_weights(tagger, loaded)
    assert (loaded.tags, loaded.scheme, loaded.head_name) == (tagger.tags, tagger.scheme, tagger.head_name)
    one, other = (View(each, each.tensorize(text.sentences)).scores for each in (tagger, loaded))
    assert torch.equal(one, other)
    assert predict(loaded, text) == predict(tagger, text)


def test_a_loaded_tagger_is_ready_to_tag(make, tmp_path: Path) -> None:
    make("character-cnn-lstm").train().save(tmp_path / "tagger")
    assert not Tagger.load(tmp_path / "tagger").training


def test_a_loaded_tagger_trains_on_as_the_saved_one_would(make, tmp_path: Path, news: Corpus) -> None:
    tagger = make("character-cnn-lstm")
    tagger.save(tmp_path / "tagger")
    losses = []
    for each in (tagger, Tagger.load(tmp_path / "tagger")):
        torch.manual_seed(3)
        losses.append(View(each.train(), each.tensorize(news.sentences)).losses)
    assert torch.equal(*losses)


def test_a_tagger_does_not_depend_on_the_folder_its_frozen_encoder_came_from(
    build, bert: str, tmp_path: Path, news: Corpus
) -> None:
    borrowed = shutil.copytree(bert, tmp_path / "borrowed")
    tagger = build(contextual={"encoder": str(borrowed)}).eval()
    tagger.save(tmp_path / "tagger")
    shutil.rmtree(borrowed)
    assert predict(Tagger.load(tmp_path / "tagger"), news) == predict(tagger, news)


def test_it_remembers_the_words_it_was_trained_on(make, tmp_path: Path, news: Corpus) -> None:
    tagger = make("character-cnn-lstm")
    tagger.seen = SeenWords.of(news)
    tagger.save(tmp_path / "tagger")
    assert Tagger.load(tmp_path / "tagger").seen == tagger.seen


@pytest.mark.parametrize("word", ["\ud800", "\u2028", "\x00", "😀"], ids=ascii)
def test_any_word_of_the_training_text_can_be_saved(build, tmp_path: Path, word: str) -> None:
    tagger = build(text=Corpus.of([Sentence((word, "b"), ("B-X", "O"))]))
    tagger.save(tmp_path / "tagger")
    assert Tagger.load(tmp_path / "tagger").encoder.description() == tagger.encoder.description()


def test_a_tagger_can_be_saved_over_itself_and_beside_documents(make, tmp_path: Path, same_weights) -> None:
    tagger = make("bert")
    for report in ("first", "second"):
        tagger.save(tmp_path / "tagger", **{"report.md": report})
    assert same_weights(Tagger.load(tmp_path / "tagger"), tagger)
    assert (tmp_path / "tagger" / "report.md").read_text() == "second"


def test_a_folder_of_another_version_is_refused_in_words(make, tmp_path: Path) -> None:
    make("character-cnn-lstm").save(tmp_path / "tagger")
    description = json.loads((tmp_path / "tagger" / "tagger.json").read_text())
    del description["head"]
    (tmp_path / "tagger" / "tagger.json").write_text(json.dumps(description))
    seal(tmp_path / "tagger")
    with pytest.raises(StorageError, match="not a tagger this version can read"):
        Tagger.load(tmp_path / "tagger")


def test_weights_that_do_not_fit_are_refused_in_words(make, tmp_path: Path) -> None:
    make("character-cnn-lstm", head="crf").save(tmp_path / "tagger")
    description = json.loads((tmp_path / "tagger" / "tagger.json").read_text())
    (tmp_path / "tagger" / "tagger.json").write_text(json.dumps(description | {"head": "softmax"}))
    seal(tmp_path / "tagger")
    with pytest.raises(StorageError, match=r"weights do not fit the tagger.*head\.transitions"):
        Tagger.load(tmp_path / "tagger")


def test_the_options_of_the_crf_come_back_too(build, tmp_path: Path) -> None:
    tagger = build(boundary_scores=True, constrain_training=True)
    tagger.save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger")
    assert again.crf == {"boundary_scores": True, "constrain_training": True}
    assert torch.equal(again.head.start, tagger.head.start)


def test_the_card_tells_the_terms_of_the_tagger_that_it_began_with(
    build: Callable[..., Tagger], tmp_path: Path
) -> None:
    build().save(tmp_path / "own")
    assert Tagger.load(tmp_path / "own").origin is None
    shipped = Tagger.load("general")
    assert shipped.origin is not None
    assert "CC BY-SA 4.0" in shipped.origin
    for number in range(2):  # and so does the card of a tagger that began with that one
        shipped = shipped.with_labels([f"DRUG{number}"])
        shipped.save(tmp_path / str(number))
        shipped = Tagger.load(tmp_path / str(number))
        card = (tmp_path / str(number) / "README.md").read_text(encoding="utf-8")
        assert "\n# A tagger of Acclimate\n" in card
        assert card.count("## Where it began") == 1
        assert "CC BY-SA 4.0" in card.partition("## Where it began")[2]
        assert yaml.safe_load(card.split("---\n")[1])["license"] == "cc-by-sa-4.0"


def test_a_tagger_that_was_not_trained_since_keeps_its_card(tmp_path: Path) -> None:
    shipped = Tagger.load("general")
    shipped.save(tmp_path / "copy")
    copied = (tmp_path / "copy" / "README.md").read_text(encoding="utf-8")
    assert copied == (shipped_tagger_path("general") / "README.md").read_text(encoding="utf-8")
    assert Tagger.load(tmp_path / "copy").origin == shipped.origin


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: mit\n---\n# Mine\n\nOf my own text.\n", "mit"),
        ("---\nlicense: mit\n---\n\n# A tagger of Acclimate\n\nas it was made\n", "mit"),
        ("---\nlicense: [\n---\n\n# Mine\n", None),
        ("# Mine\n\n---\nlicense: mit\n---\n", None),
        ("---\nlicense: mit\n- **Licence**: gpl.\n---\n\n# Mine\n", None),
        ("", None),
    ],
)
def test_a_licence_that_somebody_gave_to_a_tagger_is_inherited(card: str, licence: str | None) -> None:
    assert license_of(read_origin(card)) == licence
