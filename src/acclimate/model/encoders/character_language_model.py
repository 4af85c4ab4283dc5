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
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from acclimate.data.corpus import Sentence
from acclimate.data.pieces import Window, overlapping
from acclimate.model.encoders.character_models import NOTHING, CharacterModels
from acclimate.model.encoders.encoder import Inputs
from acclimate.settings import SettingsError

if TYPE_CHECKING:
    from acclimate.model.encoders.contextual import ContextualSettings

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
