"""Character language models as they stand in a folder: one reads from the left, one from the right."""

from __future__ import annotations

from pathlib import Path

import torch
from pydantic import ConfigDict, Field
from torch import Tensor, nn

from acclimate.model.encoders.shipped import EncoderNotFound
from acclimate.model.storage import MANIFEST, StorageError, read_json, read_tensors, verify, write_json, write_tensors
from acclimate.settings import Settings, complete

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
