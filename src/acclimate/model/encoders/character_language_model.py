"""Frozen character language models as contextual features of words, in the place of ELMo.

A word is what the forward model knows after the word's last character beside what the backward model knows after its
first one (Akbik, Blythe and Vollgraf 2018). Each has read all that stands on its side of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from pydantic import ConfigDict, Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import Window, overlapping
from acclimate.model.encoders.encoder import Inputs
from acclimate.model.encoders.shipped import EncoderNotFound
from acclimate.model.storage import MANIFEST, StorageError, read_json, read_tensors, verify, write_json, write_tensors
from acclimate.settings import Settings, SettingsError, complete

if TYPE_CHECKING:
    from acclimate.model.encoders.contextual import ContextualSettings


NOTHING = -1  # on padding, where there is no character and no word
UNKNOWN = "<unk>"
_TYPE, _CONFIG = "flair_char_lm", "config.json"


class CharacterModelConfig(Settings):
    """What `config.json` says of the two models; what else stands there is kept."""

    model_config = ConfigDict(extra="allow")

    hidden_size: int = Field(ge=1)
    embedding_size: int = Field(ge=1)
    nlayers: int = Field(1, ge=1, le=100)
    chars: tuple[str, ...]
    start_marker: str = Field("\n", min_length=1)  # there must be a state even before the first character
    end_marker: str = " "


class CharacterLstm(nn.Module):
    """One direction: a table of characters and an LSTM, named as in the files."""

    def __init__(self, config: CharacterModelConfig) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # drawn only to be overwritten
            self.encoder = nn.Embedding(len(config.chars), config.embedding_size)
            self.rnn = nn.LSTM(config.embedding_size, config.hidden_size, config.nlayers, batch_first=True)

    def forward(self, characters: Tensor, places: Tensor) -> Tensor:
        """The states at some places of each row: (sentence, character), (sentence, word) → (sentence, word, size)."""
        states, _ = self.rnn(self.encoder(characters.clamp_min(0)))  # (sentence, character, size)
        rows = torch.arange(len(places), device=places.device).unsqueeze(1)
        found: Tensor = states[rows, places.clamp_min(0)] * (places != NOTHING).unsqueeze(-1)
        return found

    def load(self, path: Path) -> None:
        """Weights, widened to 32 bits. The layer that guesses the next character is left where it is."""
        tensors = {name: one.float() for name, one in read_tensors(path).items() if not name.startswith("decoder.")}
        found, wanted = ({name: [*one.shape] for name, one in those.items()} for those in (tensors, self.state_dict()))
        for name in sorted(found.keys() | wanted.keys()):
            if found.get(name) != wanted.get(name):
                sizes = [those.get(name, "nothing") for those in (found, wanted)]
                raise StorageError(f"{path}: {name} is {sizes[0]}, but {sizes[1]} by {_CONFIG}.")
        self.load_state_dict(tensors, assign=True)


class CharacterModels(nn.Module):
    """The two directions and the characters that they know."""

    def __init__(self, config: CharacterModelConfig) -> None:
        super().__init__()
        self.config = config
        self.numbers = {character: number for number, character in enumerate(config.chars)}
        self.rightward, self.leftward = CharacterLstm(config), CharacterLstm(config)

    @classmethod
    def load(cls, folder: Path) -> CharacterModels:
        path = folder / _CONFIG
        if not holds_character_models(folder):
            raise EncoderNotFound(f"{path}: missing, or not of character language models (model_type {_TYPE}).")
        if (folder / MANIFEST).exists():
            verify(folder)
        config = complete(CharacterModelConfig, read_json(path), where=str(path))
        if UNKNOWN not in config.chars:
            raise EncoderNotFound(f"{path}: {UNKNOWN} is not among its chars.")
        with torch.device("meta"):  # without memory: whether the sizes are right is seen when the weights are read
            models = cls(config)
        for name, model in models._by_file().items():
            model.load(folder / name)
        return models

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / _CONFIG, self.config.model_dump(mode="json"))
        for name, model in self._by_file().items():
            write_tensors(folder / name, {key: _narrowed(tensor) for key, tensor in model.state_dict().items()})

    def forward(self, forward: Tensor, backward: Tensor, last: Tensor, first: Tensor) -> Tensor:
        """Text read both ways (sentence, character), and where each word is read in it (sentence, word) → the two
        states side by side (sentence, word, 2 × size), zeros where there is no word."""
        return torch.cat([self.rightward(forward, last), self.leftward(backward, first)], dim=-1)

    def spell(self, text: str) -> list[int]:
        unknown = self.numbers[UNKNOWN]
        return [self.numbers.get(character, unknown) for character in text]

    def _by_file(self) -> dict[str, CharacterLstm]:
        return {"forward.safetensors": self.rightward, "backward.safetensors": self.leftward}


def holds_character_models(folder: str | Path) -> bool:
    """Whether a folder says that it holds such models."""
    try:
        config = read_json(Path(folder) / _CONFIG)
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("model_type") == _TYPE


def _narrowed(tensor: Tensor) -> Tensor:
    """In half precision where nothing is lost by it, as when the weights came so."""
    half = tensor.half()
    return half if torch.equal(half.to(tensor.dtype), tensor) else tensor


_NO_CHARACTER = "\uffff"  # Unicode gives it to no character, so that every model reads it as unknown
_INPUTS = ("forward", "backward", "last", "first")  # as `CharacterModels` takes them


class CharacterContext(nn.Module):
    """One vector per word from character language models that are not trained.

    There is one layer of states, so that a learned mix is a learned scale. On a CPU, where reading takes far longer
    than the rest of an update, the sentences that were read are remembered.
    """

    shipped = None  # none comes with the package
    longest_part, shared_part = 8192, 1024  # characters (`Encoder.parts`)

    def __init__(self, settings: ContextualSettings, models: CharacterModels) -> None:
        super().__init__()
        _require_possible(settings)
        self.settings = settings
        self.model = models.requires_grad_(False).eval()
        width = 2 * models.config.hidden_size
        self.squeeze = nn.Identity() if settings.width is None else nn.Linear(width, settings.width)
        self.width = settings.width or width
        if settings.mix == "learned":
            self.scale = nn.Parameter(torch.ones(()))
        else:
            self.register_buffer("scale", torch.tensor((settings.weights or (1.0,))[0]))
        self.remembered = Remembered()

    @classmethod
    def load(cls, settings: ContextualSettings, folder: Path | None = None) -> CharacterContext:
        """From the models' own folder, or from where a tagger saved its copy."""
        return cls(settings, CharacterModels.load(Path(folder or settings.encoder)))

    def train(self, mode: bool = True) -> CharacterContext:
        """The frozen models never wake."""
        super().train(mode)
        self.model.eval()
        return self

    @property
    def hidden_word(self) -> str:
        """What stands for a word that must not be read: one unknown character."""
        return _NO_CHARACTER

    def tensorize(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        """The text of each sentence both ways, (sentence, character), and where each of its words is read there,
        (sentence, word): behind its last character in one, behind its first in the other."""
        start, end = self.model.config.start_marker, self.model.config.end_marker
        rows: dict[str, list[list[int]]] = {name: [] for name in _INPUTS}
        for sentence in sentences:
            text = " ".join(sentence.words)
            # both models learnt to begin after the same marker: only what stands between the two is turned round
            rows["forward"].append(self.model.spell(start + text + end))
            rows["backward"].append(self.model.spell(start + text[::-1] + end))
            begins = [*accumulate((len(word) + 1 for word in sentence.words), initial=0)]  # and where one more would
            rows["last"].append([len(start) + begin - 2 for begin in begins[1:]])
            rows["first"].append([len(start) + len(text) - begin - 1 for begin in begins[:-1]])
        return {f"context_{name}": _padded(those) for name, those in rows.items()}

    def count_pieces(self, sentences: Iterable[Sentence]) -> list[int]:
        """Characters, blanks and markers among them."""
        markers = len(self.model.config.start_marker) + len(self.model.config.end_marker)
        return [markers + sum(map(len, sentence.words)) + len(sentence) - 1 for sentence in sentences]

    def parts(self, sentence: Sentence) -> list[Window]:
        return overlapping([len(word) + 1 for word in sentence.words], self.longest_part, self.shared_part)

    def forward(self, inputs: Inputs) -> Tensor:
        read = {name: inputs[f"context_{name}"] for name in _INPUTS}
        device = read["forward"].device.type
        # not in half precision: a state is handed on hundreds of times, and what is remembered serves for all later
        with torch.no_grad(), torch.autocast(device, enabled=False):
            states = self.remembered.states_of(self.model, read) if device == "cpu" else self.model(**read)
        squeezed: Tensor = self.squeeze(self.scale * states)  # (sentence, word, size)
        return squeezed

    def save(self, folder: Path) -> None:
        """The frozen models travel with the tagger: a tagger must not depend on a folder that may move."""
        self.model.save(folder)


class Remembered:
    """What frozen models said of each sentence, (word, size), on the CPU. When it is full, nothing new comes in: the
    same part of a large corpus is then found in every epoch, where the latest would be gone before they are asked
    for again."""

    def __init__(self, most: int = 50_000) -> None:
        self.most, self.words = most, 0
        self.states: dict[tuple[Any, ...], Tensor] = {}

    def states_of(self, models: CharacterModels, read: Inputs) -> Tensor:
        """As the models say, (sentence, word, size); asked only for sentences that are new, once for each."""
        lengths = (read["last"] != NOTHING).sum(-1).tolist()
        keys = self._keys(models, read)
        fresh = {key: row for row, key in enumerate(keys) if key not in self.states}
        found = {}
        if fresh:
            rows = torch.tensor([*fresh.values()])
            states = models(**{name: tensor[rows] for name, tensor in read.items()})
            found = {key: states[place, : lengths[row]] for place, (key, row) in enumerate(fresh.items())}
        padded = pad_sequence([self.states[key] if key in self.states else found[key] for key in keys], True)
        for key, one in found.items():
            if self.words + len(one) <= self.most:
                self.states[key] = one.clone()  # not a part of the batch, which would stay in memory as well
                self.words += len(one)
        return padded

    def __deepcopy__(self, memo: Any) -> Remembered:
        return self  # a copy of a frozen model says the same

    def _keys(self, models: CharacterModels, read: Inputs) -> list[tuple[Any, ...]]:
        """The characters, and where words end, as a word may hold a blank. Another precision says other numbers."""
        kind = models.rightward.encoder.weight.dtype
        rows = zip(read["forward"].numpy(), read["last"].numpy(), strict=True)
        return [(kind, text[text != NOTHING].tobytes(), ends[ends != NOTHING].tobytes()) for text, ends in rows]


def _require_possible(settings: ContextualSettings) -> None:
    told = f"{settings.encoder} is a character language model"
    if settings.layers is not None:
        raise SettingsError(f"contextual.layers: {told}, of which no layers can be left out.")
    if settings.pieces != "first":
        raise SettingsError(f"contextual.pieces: {told}; it reads no pieces, and every word at both ends already.")
    if settings.weights is not None and len(settings.weights) != 1:
        raise SettingsError(f"contextual.weights: {told} with 1 layer, not {len(settings.weights)}.")


def _padded(rows: list[list[int]]) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=NOTHING)
