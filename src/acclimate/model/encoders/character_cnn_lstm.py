"""Character CNN + word table (+ contextual features) + BiLSTM (Ma and Hovy 2016): the encoder of MAT and DATNet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.words import HIDDEN, PADDING, UNKNOWN, Vocabulary
from acclimate.model.encoders.contextual import ContextualSettings, FrozenContext
from acclimate.model.encoders.encoder import Change, Embeddings, Encoder, Inputs, Rows
from acclimate.model.encoders.layers import (
    BidirectionalLstm,
    Coverage,
    Lexicon,
    Normalise,
    Table,
    VariationalDropout,
    in_table,
    shares_of,
)
from acclimate.settings import Settings

_LONGEST_WORD = 64  # a longer one is read by its first 48 and last 16 characters, or one web address fills the memory


class CharacterCnnLstmSettings(Settings):
    """Sizes of the tagger that needs no pre-trained model."""

    word_width: int = Field(100, ge=0)
    """Size of the word embeddings; 0: none, for use with contextual features."""
    character_width: int = Field(30, ge=1)
    """Size of the character embeddings."""
    character_filters: int = Field(50, ge=1)
    """Number of convolution filters over the characters of a word."""
    character_spans: tuple[PositiveInt, ...] = Field((3,), min_length=1)
    """Widths of the convolution filters in characters; several widths are used in parallel."""
    highways: int = Field(0, ge=0, le=100)
    """Number of highway layers on the character features (DATNet's code: 2); 0: none."""
    lstm_width: int = Field(200, ge=1)
    """Hidden size of the LSTM, per direction."""
    lstm_layers: int = Field(1, ge=1, le=100)
    """Number of LSTM layers."""
    dropout: float = Field(0.5, ge=0, lt=1)
    """Variational dropout at the input and output of each LSTM layer; character features get half of the input rate."""
    input_dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout at the input of the LSTM (DATNet: 0.2); null: the same as `dropout`."""
    lower_case_words: bool = True
    """Lower-case words before the embedding lookup; the characters keep their case."""
    least_seen: int = Field(1, ge=1)
    """Minimum frequency of a word in the vocabulary; rarer words are kept only if they have a pre-trained vector."""
    forget_rare: float = Field(0.5, ge=0, le=1)
    """Probability of replacing a word that occurs once in training by the unknown word, to train its embedding."""
    vectors: str | None = None
    """Text file of pre-trained word vectors, which sets word_width; or glove (extra "glove"); null: none."""
    train_vectors: bool = True
    """Fine-tune the word vectors; false: freeze them, and treat every word without a vector as unknown."""
    normalise: Normalise = "none"
    """Normalise embeddings to mean 0 and variance 1, words weighted by frequency (weighted) or equally; or none."""
    private_width: int = Field(0, ge=0)
    """Hidden size of a domain-private LSTM beside the shared one, per direction (DATNet-P); 0: none."""
    contextual: ContextualSettings | None = None
    """Features of a frozen pre-trained encoder, added to the word embeddings; null: none."""


class CharacterCnnLstm(Encoder):
    """A character CNN, a word table and, if wanted, contextual features, under a bidirectional LSTM."""

    pieces_at_once = 2048

    def __init__(
        self,
        settings: CharacterCnnLstmSettings,
        words: Vocabulary,
        characters: Vocabulary,
        rare: Iterable[int] = (),
        context: FrozenContext | None = None,
    ) -> None:
        super().__init__()
        self.settings, self.vocabulary, self.alphabet = settings, words, characters
        self.word_table = Table(len(words), settings.word_width, frozen=not settings.train_vectors)
        self.character_table = Table(len(characters), settings.character_width)
        self.filters = nn.ModuleList(
            nn.Conv1d(settings.character_width, settings.character_filters, span, padding=span - 1)
            for span in settings.character_spans
        )
        letters_width = settings.character_filters * len(settings.character_spans)
        self.highways = nn.ModuleList(nn.Linear(letters_width, 2 * letters_width) for _ in range(settings.highways))
        self.context = context
        self.pieces = None if context is None else context.pieces
        self.read_width = settings.word_width + letters_width + (context.width if context else 0)
        self.lstm, self.private_lstm = self._layers()
        at_input = settings.dropout if settings.input_dropout is None else settings.input_dropout
        self.character_dropout = VariationalDropout(at_input / 2)
        self.share_characters = True  # each distinct word of a batch is spelled once
        self.rare_words = sorted(rare)
        self.rare: Tensor
        self.register_buffer("rare", torch.zeros(len(words), dtype=torch.bool), persistent=False)
        self.rare[self.rare_words] = True
        self.coverage: Coverage | None = None  # of the text by the word vectors
        self._spelled: dict[str, tuple[int, list[int]]] = {}

    @classmethod
    def build(cls, settings: CharacterCnnLstmSettings, text: Corpus, more: Corpus | None = None) -> CharacterCnnLstm:
        """With vocabularies from the text. `more` text adds only words that have a vector."""
        lexicon = Lexicon.of(settings, text, more)
        settings = settings.model_copy(update={"word_width": lexicon.width})
        context = None if settings.contextual is None else FrozenContext.load(settings.contextual)
        encoder = cls(settings, lexicon.words, Vocabulary.of_counts(_letters(text)), lexicon.rare, context)
        lexicon.fill(encoder.word_table.weight.data)
        encoder.coverage = lexicon.coverage
        encoder.normalise_by(text, settings.normalise)
        return encoder

    def normalise_by(self, text: Corpus, kind: Normalise = "weighted") -> None:
        """Normalise the tables from now on, rows weighted by their frequency in this text."""
        self.settings = self.settings.model_copy(update={"normalise": kind})
        if kind == "none":
            self.word_table.shares = self.character_table.shares = None
            return
        words: Counter[int] = Counter()
        for word, count in text.vocabulary.items():
            words[self._spell(word)[0]] += count
        seen = {number: float(count) for number, count in words.items()}
        for number in self.rare_words:  # sometimes read as unknown
            forgotten = self.settings.forget_rare * words[number]
            seen[number] = words[number] - forgotten
            seen[UNKNOWN] = seen.get(UNKNOWN, 0.0) + forgotten
        for table, counts in ((self.word_table, seen), (self.character_table, self._letter_counts(text))):
            table.shares = shares_of(kind, counts, len(table.weight)).to(table.weight.device)

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.lstm.width + (0 if self.private_lstm is None else self.private_lstm.width)

    @property
    def shared_width(self) -> int:  # type: ignore[override]
        return self.lstm.width

    def split(self, shared: int | None = None, private: int | None = None) -> None:
        """Two LSTMs side by side."""
        half = max(1, self.settings.lstm_width // 2)
        sizes = {"lstm_width": shared or half, "private_width": half if private is None else private}
        self.settings = self.settings.model_copy(update=sizes)
        self.lstm, self.private_lstm = self._layers()
        self.to(self.word_table.weight.device)

    def sibling(self, text: Iterable[Sentence], vectors: str | None = None) -> CharacterCnnLstm:
        """The words and the private LSTM are its own, the rest is shared. The alphabet grows by new characters."""
        corpus = text if isinstance(text, Corpus) else Corpus.of(text)
        settings = self.settings if vectors is None else self.settings.model_copy(update={"vectors": vectors})
        lexicon = Lexicon.of(settings, corpus)
        if lexicon.width != self.settings.word_width:
            raise ValueError(
                f"The vectors of the two domains must be of one size, as both go into the same LSTM: "
                f"{self.settings.word_width} and {lexicon.width} ({settings.vectors})."
            )
        self._learn_letters(corpus)
        other = CharacterCnnLstm(settings, lexicon.words, self.alphabet, lexicon.rare, self.context)
        lexicon.fill(other.word_table.weight.data)
        other.coverage = lexicon.coverage
        other.normalise_by(corpus, settings.normalise)
        other.character_table, other.filters, other.highways = self.character_table, self.filters, self.highways
        other.lstm = self.lstm
        return other.to(self.word_table.weight.device)

    def _layers(self) -> tuple[BidirectionalLstm, BidirectionalLstm | None]:
        settings = self.settings
        shape = (settings.lstm_layers, settings.dropout, settings.input_dropout)
        private = BidirectionalLstm(self.read_width, settings.private_width, *shape) if settings.private_width else None
        return BidirectionalLstm(self.read_width, settings.lstm_width, *shape), private

    def _learn_letters(self, text: Corpus) -> None:
        """New characters get new rows at the end. The old and the new text weigh the same in the shares."""
        letters = Counter({letter: n for letter, n in _letters(text).items() if letter not in self.alphabet})
        self.alphabet = Vocabulary((*self.alphabet.items, *Vocabulary.of_counts(letters).items))
        table, before = self.character_table, self.character_table.shares
        table.grow(len(self.alphabet))
        if before is not None:
            shares = shares_of(self.settings.normalise, self._letter_counts(text), len(self.alphabet)).to(before) / 2
            shares[: len(before)] += before / 2
            table.shares = shares
        self._spelled.clear()

    def _letter_counts(self, text: Corpus) -> Counter[int]:
        """The frequency of each row of the character table in this text."""
        counts: Counter[int] = Counter()
        for letter, count in _letters(text).items():
            counts[self.alphabet.number(letter)] += count
        return counts

    def stand_alone(self, alone: bool = True) -> None:
        self.share_characters = not alone

    def tensorize(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        """`words` (sentence, word); `characters` (distinct word, character); `spelling` (sentence, word): row there."""
        lengths = [len(sentence) for sentence in sentences]
        words = [word for sentence in sentences for word in sentence.words]
        together = self.share_characters
        spelled = dict.fromkeys(words) if together else words
        rows = [(PADDING, [PADDING]), *map(self._spell, spelled)]  # row 0 is what padding points to
        row_of = {word: row for row, word in enumerate(spelled, start=1)}
        used = [row_of[word] for word in words] if together else list(range(1, len(rows)))
        spelling = _padded(used, lengths)
        inputs = {
            "words": _numbers([number for number, _ in rows])[spelling],
            "characters": _padded([letter for _, row in rows for letter in row], [len(row) for _, row in rows]),
            "spelling": spelling,
            "lengths": _numbers(lengths),
        }
        if self.context is not None:
            inputs |= self.context.tensorize(sentences)
        return inputs

    def drawn(self, inputs: Inputs) -> Inputs:
        words = inputs["words"]
        if self.settings.forget_rare == 0:
            return inputs
        forgotten = self.rare[words] & (torch.rand(words.shape, device=words.device) < self.settings.forget_rare)
        return {**inputs, "words": words.masked_fill(forgotten, UNKNOWN)}

    def embed(self, inputs: Inputs, but: Collection[str] = ()) -> dict[str, Tensor]:
        rows = {"words": self.word_table(inputs["words"]), "characters": self.character_table(inputs["characters"])}
        if self.context is not None and "context" not in but:
            rows["context"] = self.context(inputs)
        return rows

    def embedding_parameters(self) -> list[nn.Parameter]:
        parts = [self.word_table, self.character_table, *([] if self.context is None else [self.context])]
        return [parameter for part in parts for parameter in part.parameters()]

    def last_layer(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        inside = inputs["characters"] != PADDING
        # noise may have been added on padding
        letters = self.letters(embeddings["characters"] * inside.unsqueeze(-1), inside)
        # not by indexing: the order in which threads sum its gradient is not fixed
        parts = [embeddings["words"], nn.functional.embedding(inputs["spelling"], letters)]
        if self.context is not None:
            parts.append(embeddings["context"])
        read = torch.cat(parts, dim=-1)
        features: Tensor = self.lstm(read, inputs["lengths"])
        if self.private_lstm is None:
            return features
        return torch.cat([self.private_lstm(read, inputs["lengths"]), features], dim=-1)

    def sentence_vectors(self, states: Tensor, inputs: Inputs) -> Tensor:
        """The mean of the words' features."""
        inside = (inputs["words"] != PADDING).to(states.dtype).unsqueeze(-1)  # (sentence, word, 1)
        return (states * inside).sum(1) / inside.sum(1)

    def embedding_rows(self, inputs: Inputs) -> dict[str, Rows]:
        if self.share_characters:
            raise ValueError(
                "The letters of a word are shared by all sentences that hold it: call stand_alone() first."
            )
        words, characters, spelling = inputs["words"], inputs["characters"], inputs["spelling"]
        sentences = torch.arange(len(words), device=words.device)
        owners = words.new_zeros(len(characters))
        owners[spelling.flatten()] = sentences.unsqueeze(1).expand_as(spelling).flatten()  # row 0 is nobody's
        return {"words": Rows(sentences, words != PADDING), "characters": Rows(owners, characters != PADDING)}

    def replaced(self, inputs: Inputs, changes: Sequence[Change], originals: Sequence[Sentence] = ()) -> Inputs:
        read = self._respelled(inputs, changes) if changes else inputs
        if not originals or self.context is None:
            return read
        changed = [list(sentence.words) for sentence in originals]
        for change in changes:
            changed[change.sentence][change.word] = self.context.hidden_word if change.by is None else change.by
        anew = self.context.tensorize([Sentence(tuple(words)) for words in changed])
        return {**read, **{name: tensor.to(read["words"].device) for name, tensor in anew.items()}}

    def _respelled(self, inputs: Inputs, changes: Sequence[Change]) -> Inputs:
        spelled = [(HIDDEN, [HIDDEN]) if change.by is None else self._spell(change.by) for change in changes]
        words, characters, spelling = (inputs[name].clone() for name in ("words", "characters", "spelling"))
        device = words.device
        letters = _padded([letter for _, row in spelled for letter in row], [len(row) for _, row in spelled])
        longer = letters.size(1) - characters.size(1)
        letters = nn.functional.pad(letters, (0, max(0, -longer))).to(device, non_blocking=True)
        characters = nn.functional.pad(characters, (0, max(0, longer)))
        places = [_numbers([getattr(change, name) for change in changes]).to(device) for name in ("sentence", "word")]
        words[places[0], places[1]] = _numbers([number for number, _ in spelled]).to(device)
        if self.share_characters:  # other sentences may have the same word: add the new spellings at the end
            spelling[places[0], places[1]] = torch.arange(len(changes), device=device) + len(characters)
            characters = torch.cat([characters, letters])
        else:
            characters[_numbers([change.number + 1 for change in changes]).to(device)] = letters
        return {**inputs, "words": words, "characters": characters, "spelling": spelling}

    def vectors_of(self, words: Sequence[str]) -> Tensor:
        numbers = _numbers([self._spell(word)[0] for word in words]).to(self.word_table.weight.device)
        return self.word_table.raw()[numbers]

    def rows_of(self, words: Sequence[str]) -> list[int | None]:
        if self.settings.word_width == 0:  # only the spelling counts
            numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
            return [numbers[word] for word in words]
        rows = (self._spell(word)[0] for word in words)
        return [None if row == UNKNOWN else row for row in rows]

    def letters(self, characters: Tensor, mask: Tensor) -> Tensor:
        """Character CNN with a maximum over the word: (word, character, size) → (word, filter)."""
        characters = self.character_dropout(characters)
        letters = (self._filtered if characters.device.type != "cpu" else self._filtered_by_length)(characters, mask)
        for highway in self.highways:
            carry, change = highway(letters).chunk(2, dim=-1)
            gate = carry.sigmoid()
            letters = gate * change.relu() + (1 - gate) * letters
        return letters

    def _filtered_by_length(self, characters: Tensor, mask: Tensor) -> Tensor:
        """In batches of words of similar length: on a CPU, padding costs as much as characters."""
        order = mask.sum(-1).argsort(stable=True)
        parts = []
        for rows in torch.split(order, 128 if torch.is_grad_enabled() else 256):
            longest = max(1, int(mask[rows[-1]].sum()))
            parts.append(self._filtered(*(each[:, :longest].index_select(0, rows) for each in (characters, mask))))
        return torch.cat(parts).index_select(0, order.argsort())

    def _filtered(self, characters: Tensor, mask: Tensor) -> Tensor:
        """The maximum of each filter over the word, (word, filter)."""
        characters = characters.transpose(1, 2)
        maxima = []
        for conv in self.filters:
            values = conv(characters)  # (word, filter, character + span - 1): a filter may hang over both ends
            overhang = values.size(-1) - mask.size(-1)
            place = torch.arange(values.size(-1), device=mask.device)
            outside = place >= mask.sum(-1, keepdim=True) + overhang  # (word, character + span - 1)
            maxima.append(values.masked_fill(outside.unsqueeze(1), torch.finfo(values.dtype).min).amax(-1))
        return torch.cat(maxima, dim=-1) * mask.any(-1, keepdim=True)

    def description(self) -> dict[str, Any]:
        return {
            "settings": self.settings.model_dump(mode="json"),
            "words": list(self.vocabulary.items),
            "characters": list(self.alphabet.items),
            "rare": self.rare_words,
            "shipped_context": None if self.context is None else self.context.shipped,
        }

    @classmethod
    def from_description(cls, description: dict[str, Any], folder: Path) -> Callable[[], CharacterCnnLstm]:
        """What `description` and `save_extras` wrote, without the weights."""
        settings = CharacterCnnLstmSettings.model_validate(description["settings"])
        context = None
        if settings.contextual is not None:
            context = FrozenContext.load(settings.contextual, folder / "contextual", description["shipped_context"])
        words, characters = Vocabulary(description["words"]), Vocabulary(description["characters"])

        def make() -> CharacterCnnLstm:
            encoder = cls(settings, words, characters, description["rare"], context)
            if settings.normalise != "none":
                for table in (encoder.word_table, encoder.character_table):
                    table.shares = torch.zeros(len(table.weight))  # to be read with the weights
            return encoder

        return make

    def save_extras(self, folder: Path) -> None:
        if self.context is not None:
            self.context.save(folder / "contextual")

    def _spell(self, word: str) -> tuple[int, list[int]]:
        if word not in self._spelled:
            if len(self._spelled) > 1 << 17:
                self._spelled.clear()
            read = word if len(word) <= _LONGEST_WORD else word[:48] + word[-16:]
            number = self.vocabulary.number(in_table(word, self.settings.lower_case_words))
            self._spelled[word] = number, [self.alphabet.number(letter) for letter in read]
        return self._spelled[word]


def _letters(text: Corpus) -> Counter[str]:
    """How often each letter comes in running text."""
    letters: Counter[str] = Counter()
    for word, count in text.vocabulary.items():
        for letter in word:
            letters[letter] += count
    return letters


def _padded(values: list[int], lengths: list[int]) -> Tensor:
    """Rows of these lengths, from the flat `values`, as a matrix (row, place) padded on the right."""
    inside = torch.arange(max(lengths)) < _numbers(lengths).unsqueeze(1)
    return torch.full(inside.shape, PADDING).masked_scatter_(inside, _numbers(values))


def _numbers(values: list[int]) -> Tensor:
    """A list as a tensor, faster than `torch.tensor`."""
    return torch.from_numpy(np.array(values, dtype=np.int64))
