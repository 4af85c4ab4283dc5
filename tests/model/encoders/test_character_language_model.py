"""Frozen character language models: read as a slow loop would, never trained, never awake, asked once."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from acclimate.data.corpus import Corpus, Sentence
from acclimate.inference.predict import predict
from acclimate.model.answers import planned
from acclimate.model.encoders.character_language_model import CharacterContext, Remembered
from acclimate.model.encoders.contextual import ContextualSettings, FrozenContext, load_context
from acclimate.model.encoders.encoder import Change
from acclimate.model.encoders.shipped import EncoderNotFound
from acclimate.model.learner import View
from acclimate.model.storage import StorageError
from acclimate.model.tagger import Tagger
from acclimate.settings import SettingsError

SENTENCES = [Sentence(("Anna", "flew", "to", "New", "York")), Sentence(("ok",)), Sentence(("ok", "Anna"))]
ODD = ["", "\ud800", "a b", "\n", "e\u0301", "😀", "\0", "<unk>", "\uffff", "word" * 500]
CHARS = ["<unk>", " ", "\n", *"abcdefghijklmnopqrstuvwxyzANY."]
SIZE, INPUT = 6, 3


def make_models(folder: Path, layers: int = 1, precision: torch.dtype = torch.float16, **changes: Any) -> str:
    """A folder with two tiny random models, as larger ones are published."""
    folder.mkdir(exist_ok=True)
    config = {"hidden_size": SIZE, "embedding_size": INPUT, "nlayers": layers, "chars": CHARS}
    config |= {"model_type": "flair_char_lm", "start_marker": "\n", "end_marker": " ", "made_by": "chance", **changes}
    (folder / "config.json").write_text(json.dumps(config))
    for seed, direction in enumerate(["forward", "backward"]):
        dice = torch.Generator().manual_seed(seed)
        shapes = {"encoder.weight": (len(CHARS), INPUT), "decoder.weight": (len(CHARS), SIZE)}
        for layer in range(layers):
            shapes[f"rnn.weight_ih_l{layer}"] = (4 * SIZE, SIZE if layer else INPUT)
            shapes[f"rnn.weight_hh_l{layer}"] = (4 * SIZE, SIZE)
            shapes |= {f"rnn.bias_{kind}_l{layer}": (4 * SIZE,) for kind in ("ih", "hh")}
        tensors = {name: torch.randn(shape, generator=dice).to(precision) for name, shape in shapes.items()}
        save_file(tensors, folder / f"{direction}.safetensors")
    return str(folder)


@pytest.fixture
def models(tmp_path: Path) -> str:
    return make_models(tmp_path / "models")


def context_of(folder: str, **options: object) -> CharacterContext:
    context = load_context(ContextualSettings(encoder=folder, **options))
    assert isinstance(context, CharacterContext)
    return context


def read(context: CharacterContext, *words: str) -> Tensor:
    """The vectors of one sentence."""
    return context(context.tensorize([Sentence(words)]))[0]


def slow_states(folder: str, direction: str, text: str, layers: int = 1) -> list[Tensor]:
    """The state after each character, one character after the other."""
    tensors = {name: one.float() for name, one in load_file(Path(folder) / f"{direction}.safetensors").items()}
    cells = []
    for layer in range(layers):
        cells.append(nn.LSTMCell(SIZE if layer else INPUT, SIZE))
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        cells[-1].load_state_dict({name: tensors[f"rnn.{name}_l{layer}"] for name in names})
    carried: list[Any] = [None] * layers
    found = []
    with torch.no_grad():
        for character in text:
            state = tensors["encoder.weight"][CHARS.index(character) if character in CHARS else 0]
            for layer, cell in enumerate(cells):
                carried[layer] = cell(state, carried[layer])
                state = carried[layer][0]
            found.append(state)
    return found


def slow_vectors(folder: str, sentence: Sentence, layers: int = 1, start: str = "\n") -> Tensor:
    """Every word's two states, each from a text that ends with that word: (word, size)."""
    found = []
    for place in range(len(sentence)):
        until, since = " ".join(sentence.words[: place + 1]), " ".join(sentence.words[place:])
        from_left = slow_states(folder, "forward", start + until, layers)[-1]
        from_right = slow_states(folder, "backward", start + since[::-1], layers)[-1]
        found.append(torch.cat([from_left, from_right]))
    return torch.stack(found)


def asked(context: CharacterContext, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many sentences the forward model is given from now on, call by call."""
    calls: list[int] = []
    inner = context.model.rightward.forward

    def counted(characters: Tensor, places: Tensor) -> Tensor:
        calls.append(len(characters))
        return inner(characters, places)

    monkeypatch.setattr(context.model.rightward, "forward", counted)
    return calls


# --- what is read ---


@pytest.mark.parametrize("layers", [1, 2])
def test_a_word_is_its_two_states_as_a_slow_loop_finds_them(tmp_path: Path, layers: int) -> None:
    folder = make_models(tmp_path / "models", layers)
    context = context_of(folder)
    found = context(context.tensorize(SENTENCES))
    assert found.shape == (3, 5, 2 * SIZE)
    assert context.width == 2 * SIZE
    for row, sentence in zip(found, SENTENCES, strict=True):
        expected = slow_vectors(folder, sentence, layers)
        torch.testing.assert_close(row[: len(sentence)], expected, atol=1e-6, rtol=1e-5)
        assert not row[len(sentence) :].any()


def test_where_there_is_no_word_the_models_say_nothing(models: str) -> None:
    context = context_of(models)
    inputs = {name.removeprefix("context_"): tensor for name, tensor in context.tensorize(SENTENCES).items()}
    said = context.model(**inputs).any(-1)
    assert said.tolist() == [[place < len(sentence) for place in range(5)] for sentence in SENTENCES]


def test_markers_may_be_longer_or_none_at_the_end(tmp_path: Path) -> None:
    folder = make_models(tmp_path / "models", start_marker="\n. ", end_marker="")
    found = read(context_of(folder), *SENTENCES[0].words)
    torch.testing.assert_close(found, slow_vectors(folder, SENTENCES[0], start="\n. "), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("odd", ODD)
def test_odd_words_are_read_like_any_other(models: str, odd: str) -> None:
    for words in [(odd,), ("Anna", odd), (odd, "Anna"), (odd, odd)]:
        found = read(context_of(models), *words)
        assert found.shape == (len(words), 2 * SIZE)
        torch.testing.assert_close(found, slow_vectors(models, Sentence(words)), atol=1e-6, rtol=1e-5)


def test_characters_that_the_models_do_not_know_are_read_alike(models: str) -> None:
    context = context_of(models)
    assert torch.equal(read(context, "a😀", "b"), read(context, "aß", "b"))
    assert not torch.equal(read(context, "ac", "b"), read(context, "aß", "b"))


def test_words_with_a_blank_inside_are_not_taken_for_two(models: str) -> None:
    context = context_of(models)
    one, other = read(context, "a b", "c"), read(context, "a", "b c")
    assert not torch.equal(one, other)
    torch.testing.assert_close(other, slow_vectors(models, Sentence(("a", "b c"))), atol=1e-6, rtol=1e-5)


def test_batch_mates_do_not_matter(models: str) -> None:
    sentences = [*SENTENCES, Sentence(("long",) * 80), *[Sentence(("a", odd, "b")) for odd in ODD]]
    together = context_of(models)(context_of(models).tensorize(sentences))
    for row, sentence in zip(together, sentences, strict=True):
        alone = read(context_of(models), *sentence.words)
        torch.testing.assert_close(row[: len(sentence)], alone, atol=1e-6, rtol=1e-5)


def test_a_sentence_costs_its_characters(models: str, build: Callable[..., Tagger]) -> None:
    tagger = build(contextual={"encoder": models})
    short, long = Sentence((".",) * 4), Sentence(("rainedrained",) * 4)  # as many words
    assert tagger.encoder.count_pieces([short, long]) == [9, 53]
    for sentence in (short, long):
        numbered = tagger.encoder.context.tensorize([sentence])
        assert tagger.encoder.count_pieces([sentence]) == [numbered["context_forward"].size(1)]
    assert planned(tagger, Corpus.of([short, long] * 3), 159) == [[0, 2, 4], [1, 3, 5]]


# --- settings ---


@pytest.mark.parametrize(("options", "factor"), [({}, 1.0), ({"weights": (0.5,)}, 0.5), ({"mix": "learned"}, 1.0)])
def test_the_mix_of_one_layer_is_a_factor(models: str, options: dict[str, Any], factor: float) -> None:
    found = read(context_of(models, **options), "Anna", "flew")
    torch.testing.assert_close(found, factor * read(context_of(models), "Anna", "flew"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 1}, "contextual.layers: .*models is a character language model, of which no layers"),
        ({"pieces": "ends"}, "contextual.pieces: .*models is a character language model; it reads no pieces"),
        ({"weights": (0.5, 0.5)}, "contextual.weights: .*models is a character language model with 1 layer, not 2"),
    ],
)
def test_settings_for_other_encoders_are_refused(models: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        context_of(models, **options)


def test_what_a_folder_holds_decides_how_it_is_read(models: str, bert: str) -> None:
    assert isinstance(load_context(ContextualSettings(encoder=bert)), FrozenContext)
    assert isinstance(load_context(ContextualSettings(encoder="elsewhere"), Path(models)), CharacterContext)


# --- frozen ---


@pytest.mark.parametrize("options", [{}, {"mix": "learned"}, {"width": 5}])
def test_only_scale_and_squeeze_learn(
    build: Callable[..., Tagger], models: str, news: Corpus, options: dict[str, Any]
) -> None:
    tagger = build(contextual={"encoder": models, **options}).train()
    predict(tagger, news)  # what was remembered there must serve in training
    View(tagger, tagger.tensorize(news[:4].sentences)).losses.sum().backward()
    context = tagger.encoder.context
    assert context.width == options.get("width", 2 * SIZE)
    assert all(weight.grad is None and not weight.requires_grad for weight in context.model.parameters())
    learnt = {name for name, weight in context.named_parameters() if weight.grad is not None}
    assert learnt == {"mix": {"scale"}, "width": {"squeeze.weight", "squeeze.bias"}}.get(next(iter(options), ""), set())


def test_the_models_stay_asleep_while_the_tagger_trains(build: Callable[..., Tagger], models: str) -> None:
    context = build(contextual={"encoder": models}).train().encoder.context
    assert context.training
    assert not any(module.training for module in context.model.modules())


def test_loading_draws_no_random_numbers(models: str) -> None:
    before = torch.get_rng_state()
    context_of(models)
    assert torch.equal(torch.get_rng_state(), before)


# --- remembered ---


def test_a_sentence_is_read_once(models: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context = context_of(models)
    calls = asked(context, monkeypatch)
    first = context(context.tensorize([*SENTENCES, *SENTENCES]))
    again = context(context.tensorize([*SENTENCES[::-1], Sentence(("new",))]))
    assert calls == [3, 1]
    assert torch.equal(first[:3], first[3:])
    assert torch.equal(again[:3], first[:3].flip(0))


def test_memory_has_an_end_and_what_came_first_stays(models: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context = context_of(models)
    context.remembered = Remembered(most=6)
    calls = asked(context, monkeypatch)
    for _ in range(2):
        context(context.tensorize(SENTENCES))
    assert context.remembered.words == 6  # five and one; the two of the last sentence found no room
    assert calls == [3, 1]
    for states in context.remembered.states.values():
        assert states.untyped_storage().nbytes() == states.numel() * 4  # and not the whole batch


def test_a_copy_of_the_tagger_remembers_too(
    build: Callable[..., Tagger], models: str, news: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagger = build(contextual={"encoder": models})
    predicted = predict(tagger, news)
    other = copy.deepcopy(tagger)
    calls = asked(other.encoder.context, monkeypatch)
    assert predict(other, news) == predicted
    assert calls == []


def test_another_precision_is_read_anew(models: str) -> None:
    context = context_of(models)
    single = read(context, "Anna")
    double = read(context.double(), "Anna")
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), single, atol=1e-6, rtol=1e-5)
    assert not torch.equal(double, single.double())


# --- a hidden word ---


def test_a_hidden_word_is_one_unknown_character(build: Callable[..., Tagger], models: str) -> None:
    encoder = build(contextual={"encoder": models}).encoder
    inputs = encoder.tensorize(SENTENCES)
    changes = [Change(0, 1, 1, None), Change(2, 0, 6, "flew")]
    found = encoder.embed(encoder.replaced(inputs, changes, SENTENCES))["context"]
    hidden, swapped = Sentence(("Anna", "ß", "to", "New", "York")), Sentence(("flew", "Anna"))
    for row, sentence in zip(found, [hidden, SENTENCES[1], swapped], strict=True):
        expected = slow_vectors(models, sentence)
        torch.testing.assert_close(row[: len(sentence)], expected, atol=1e-6, rtol=1e-5)


# --- on disk ---


@pytest.mark.parametrize("precision", [torch.float16, torch.float32])
def test_a_copy_of_the_models_travels_with_the_tagger(
    build: Callable[..., Tagger], news: Corpus, tmp_path: Path, same_weights: Any, precision: torch.dtype
) -> None:
    folder = make_models(tmp_path / "models", precision=precision)
    tagger = build(contextual={"encoder": folder, "mix": "learned", "width": 5})
    tagger.encoder.context.scale.data.fill_(0.7)
    tagger.save(tmp_path / "tagger")
    shutil.rmtree(folder)
    again = Tagger.load(tmp_path / "tagger")
    assert same_weights(again, tagger)
    assert predict(again, news) == predict(tagger, news)
    again.save(tmp_path / "again")
    assert predict(Tagger.load(tmp_path / "again"), news) == predict(tagger, news)


def test_a_copy_is_of_the_same_format_without_the_guessing_layer(
    build: Callable[..., Tagger], models: str, tmp_path: Path
) -> None:
    build(contextual={"encoder": models}).save(tmp_path / "tagger")
    copied = tmp_path / "tagger" / "contextual"
    config, original = (json.loads((Path(place) / "config.json").read_text()) for place in (copied, models))
    assert config == original
    for name in ("forward.safetensors", "backward.safetensors"):
        tensors, published = load_file(copied / name), load_file(Path(models) / name)
        assert published.keys() - tensors.keys() == {"decoder.weight"}
        assert all(one.dtype == torch.float16 and torch.equal(one, published[key]) for key, one in tensors.items())
    assert not [name for name in load_file(tmp_path / "tagger" / "weights.safetensors") if ".context.model." in name]


@pytest.mark.parametrize("name", ["forward.safetensors", "backward.safetensors"])
def test_a_missing_or_broken_file_is_named(models: str, name: str) -> None:
    path = Path(models) / name
    path.write_bytes(b"no tensors")
    with pytest.raises(StorageError, match=f"{name}: cannot be read as safetensors"):
        context_of(models)
    path.unlink()
    with pytest.raises(StorageError, match=f"{name}: cannot be read as safetensors"):
        context_of(models)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("rnn.weight_hh_l0", (8, 2), r"rnn.weight_hh_l0 is \[8, 2\], but \[24, 6\] by config.json"),
        ("encoder.weight", (3, INPUT), r"encoder.weight is \[3, 3\], but \[33, 3\] by config.json"),
        ("proj.weight", (2, SIZE), r"proj.weight is \[2, 6\], but nothing by config.json"),
        ("rnn.bias_ih_l0", None, r"rnn.bias_ih_l0 is nothing, but \[24\] by config.json"),
    ],
)
def test_weights_that_do_not_fit_are_named(models: str, name: str, shape: tuple[int, ...] | None, message: str) -> None:
    path = Path(models) / "backward.safetensors"
    tensors = load_file(path)
    tensors.pop(name, None)
    save_file(tensors | ({} if shape is None else {name: torch.zeros(shape)}), path)
    with pytest.raises(StorageError, match=rf"backward.safetensors: {message}"):
        context_of(models)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chars": ["a", "b"]}, "config.json: <unk> is not among its chars"),
        ({"chars": None}, "config.json: setting 'chars' cannot be None"),
        ({"hidden_size": 0}, "config.json: setting 'hidden_size' cannot be 0"),
        ({"start_marker": ""}, "config.json: setting 'start_marker' cannot be ''"),
    ],
)
def test_a_wrong_configuration_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        context_of(make_models(tmp_path / "models", **changes))


def test_a_folder_of_something_else_is_told(tmp_path: Path, bert: str) -> None:
    for folder in (tmp_path, Path(bert)):
        with pytest.raises(EncoderNotFound, match=r"config.json: missing, or not of character language models"):
            CharacterContext.load(ContextualSettings(encoder=str(folder)))
    (tmp_path / "config.json").write_text("{no json")
    with pytest.raises(EncoderNotFound, match=r"config\.json: damaged, it is not JSON"):
        load_context(ContextualSettings(encoder=str(tmp_path)))


# --- a GPU ---


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_reads_the_same(build: Callable[..., Tagger], models: str, news: Corpus) -> None:
    tagger = build(contextual={"encoder": models, "mix": "learned"}).eval()
    here = View(tagger, tagger.tensorize(news.sentences)).embeddings["context"]
    there = View(tagger.cuda(), tagger.tensorize(news.sentences).to("cuda")).embeddings["context"]
    torch.testing.assert_close(there.cpu(), here, atol=1e-2, rtol=1e-2)
    assert len(predict(tagger, news)) == len(news)
