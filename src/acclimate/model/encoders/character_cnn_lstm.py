"""Character CNN + word table (+ frozen contextual features) + BiLSTM (Ma and Hovy 2016; S1.1, S4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.vocabulary import PADDING, UNKNOWN, Vocabulary
from acclimate.model.encoders.contextual import ContextualSettings, FrozenContext
from acclimate.model.encoders.encoder import Embeddings, Encoder, Inputs
from acclimate.model.encoders.recurrent import BidirectionalLstm, VariationalDropout
from acclimate.model.encoders.vectors import Coverage, find_vectors, in_table, vectors_width
from acclimate.settings import Settings

_LONGEST_WORD = 64  # a longer one is read by its first 48 and last 16 characters, or one web address fills the memory


class CharacterCnnLstmSettings(Settings):
    """Sizes of the tagger that needs no pre-trained model."""

    word_width: int = Field(100, ge=0)  # 0: no word table, when a pre-trained encoder knows the words
    character_width: int = Field(30, ge=1)
    character_filters: int = Field(50, ge=1)
    # how many characters a filter sees; several sizes may stand side by side
    character_spans: tuple[PositiveInt, ...] = Field((3,), min_length=1)
    highways: int = Field(0, ge=0)  # highway layers on the character features (DATNet's code has two)
    lstm_width: int = Field(200, ge=1)  # per direction
    lstm_layers: int = Field(1, ge=1)
    dropout: float = Field(0.5, ge=0, lt=1)  # variational, on the input and output of each LSTM layer
    lower_case_words: bool = True  # in the word table only; the characters keep their case
    least_seen: int = Field(1, ge=1)  # words seen less often stay out of the word table, unless the vectors know them
    # how often a word seen once in training is read as unknown, so that "unknown" is learnt
    forget_rare: float = Field(0.5, ge=0, le=1)
    vectors: str | None = None  # a text file of pre-trained vectors, which sets word_width; or glove (extra "glove")
    train_vectors: bool = True
    contextual: ContextualSettings | None = None


class CharacterCnnLstm(Encoder):
    """Each word from its letters and a table, each feature from the whole sentence."""

    pieces_at_once = 2048  # the LSTM is the quicker the more sentences it reads side by side

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
        self.word_table = nn.Embedding(len(words), settings.word_width, padding_idx=PADDING)
        self.character_table = nn.Embedding(len(characters), settings.character_width, padding_idx=PADDING)
        for table in (self.word_table, self.character_table):
            reach = (3 / max(1, table.embedding_dim)) ** 0.5
            nn.init.uniform_(table.weight, -reach, reach)
            table.weight.data[PADDING] = 0
        self.word_table.weight.requires_grad_(settings.train_vectors)
        self.filters = nn.ModuleList(
            nn.Conv1d(settings.character_width, settings.character_filters, span, padding=span - 1)
            for span in settings.character_spans
        )
        letters_width = settings.character_filters * len(settings.character_spans)
        self.highways = nn.ModuleList(nn.Linear(letters_width, 2 * letters_width) for _ in range(settings.highways))
        self.context = context
        width = settings.word_width + letters_width + (context.width if context else 0)
        self.lstm = BidirectionalLstm(width, settings.lstm_width, settings.lstm_layers, settings.dropout)
        self.character_dropout = VariationalDropout(settings.dropout / 2)
        self.width = self.lstm.width
        self.share_characters = True  # each distinct word of a batch is spelled once; off, every word stands alone
        self.register_buffer("rare", torch.zeros(len(words), dtype=torch.bool), persistent=False)
        self.rare: Tensor
        self.rare_words = sorted(rare)
        self.rare[self.rare_words] = True
        self.coverage: Coverage | None = None  # how much of the text the vectors knew, when it was built from some
        self._spelled: dict[str, tuple[int, list[int]]] = {}

    @classmethod
    def build(cls, settings: CharacterCnnLstmSettings, text: Corpus, more: Corpus | None = None) -> CharacterCnnLstm:
        """Vocabularies from the text. `more` text adds only words that the vector file knows: a word that is neither
        in the labelled text nor in the vectors would keep its random vector, and "unknown" says more than that."""
        counts: Counter[str] = Counter()
        letters: Counter[str] = Counter()
        has_table = settings.word_width > 0 or settings.vectors is not None
        for word, count in text.vocabulary.items():
            if has_table:
                counts[in_table(word, settings.lower_case_words)] += count
            letters.update(dict.fromkeys(word, count))
        others: Counter[str] = Counter()
        vectors: dict[str, Tensor] = {}
        if settings.vectors is not None:
            spellings = text.vocabulary if more is None else text.vocabulary + more.vocabulary
            vectors = find_vectors(settings.vectors, spellings, settings.lower_case_words)
            settings = settings.model_copy(update={"word_width": vectors_width(settings.vectors)})
            for word, count in () if more is None else more.vocabulary.items():
                others[in_table(word, settings.lower_case_words)] += count
        added = sorted((others.keys() & vectors.keys()) - counts.keys())
        kept = Counter({word: n for word, n in counts.items() if n >= settings.least_seen or word in vectors})
        words = Vocabulary((*Vocabulary.of_counts(kept).items, *added))
        rare = [words.number(word) for word, count in kept.items() if count == 1 and word not in vectors]
        context = None if settings.contextual is None else FrozenContext.load(settings.contextual)
        encoder = cls(settings, words, Vocabulary.of_counts(letters), rare, context)
        for word, vector in vectors.items():
            encoder.word_table.weight.data[words.number(word)] = vector
        if settings.vectors is not None:
            encoder.coverage = Coverage.of(counts + others, vectors)
        return encoder

    def number(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        """`words` (sentence, word); `characters` (distinct word, character); `spelling` (sentence, word): row there."""
        lengths = [len(sentence) for sentence in sentences]
        words = [word for sentence in sentences for word in sentence.words]
        spelled = dict.fromkeys(words) if self.share_characters else words
        rows = [(PADDING, [PADDING]), *map(self._spell, spelled)]  # row 0 is what padding points to
        row_of = {word: row for row, word in enumerate(spelled, start=1)}
        used = [row_of[word] for word in words] if self.share_characters else list(range(1, len(rows)))
        spelling = _padded(used, lengths)
        inputs = {
            "words": _numbers([number for number, _ in rows])[spelling],
            "characters": _padded([letter for _, row in rows for letter in row], [len(row) for _, row in rows]),
            "spelling": spelling,
            "lengths": _numbers(lengths),
        }
        if self.context is not None:
            inputs |= self.context.number(sentences)
        return inputs

    def count_pieces(self, sentences: Iterable[Sentence]) -> list[int] | None:
        return None if self.context is None else self.context.count_pieces(sentences)

    def embed(self, inputs: Inputs) -> dict[str, Tensor]:
        words = inputs["words"]
        if self.training and self.settings.forget_rare > 0:
            forgotten = self.rare[words] & (torch.rand(words.shape, device=words.device) < self.settings.forget_rare)
            words = words.masked_fill(forgotten, UNKNOWN)
        return {"words": self.word_table(words), "characters": self.character_table(inputs["characters"])}

    def encode(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        letters = self.letters(embeddings["characters"], inputs["characters"] != PADDING)
        # looked up as in a table: the gradient of plain indexing is summed by several threads in no fixed order, and a
        # resumed run would differ from an unbroken one in the last bits
        parts = [embeddings["words"], nn.functional.embedding(inputs["spelling"], letters)]
        if self.context is not None:
            parts.append(self.context(inputs))
        features: Tensor = self.lstm(torch.cat(parts, dim=-1), inputs["lengths"])
        return features

    def letters(self, characters: Tensor, mask: Tensor) -> Tensor:
        """Character CNN with a maximum over the word: (word, character, size) → (word, filter)."""
        if self.training or torch.is_grad_enabled() or characters.device.type != "cpu":
            letters = self._filtered(characters, mask)
        else:
            # a CPU pays for padding as for letters, and the longest word is four times as long as most: each is read
            # among words of about its own length
            order = mask.sum(-1).argsort()
            found = []
            for rows in torch.split(order, 256):
                longest = max(1, int(mask[rows[-1]].sum()))
                found.append(self._filtered(*(each[:, :longest].index_select(0, rows) for each in (characters, mask))))
            letters = torch.cat(found)[order.argsort()]
        for highway in self.highways:
            carry, change = highway(letters).chunk(2, dim=-1)
            gate = carry.sigmoid()
            letters = gate * change.relu() + (1 - gate) * letters
        return letters

    def _filtered(self, characters: Tensor, mask: Tensor) -> Tensor:
        """The strongest answer of each filter, (word, filter)."""
        characters = self.character_dropout(characters).transpose(1, 2)
        found = []
        for conv in self.filters:
            answers = conv(characters)  # (word, filter, character + span - 1): a filter may hang over both ends
            overhang = answers.size(-1) - mask.size(-1)
            place = torch.arange(answers.size(-1), device=mask.device)
            outside = place >= mask.sum(-1, keepdim=True) + overhang  # (word, character + span - 1)
            found.append(answers.masked_fill(outside.unsqueeze(1), torch.finfo(answers.dtype).min).amax(-1))
        return torch.cat(found, dim=-1) * mask.any(-1, keepdim=True)

    def description(self) -> dict[str, Any]:
        return {
            "settings": self.settings.model_dump(mode="json"),
            "words": list(self.vocabulary.items),
            "characters": list(self.alphabet.items),
            "rare": self.rare_words,
            "shipped_context": None if self.context is None else self.context.shipped,
        }

    @classmethod
    def from_description(cls, description: dict[str, Any], folder: Path) -> CharacterCnnLstm:
        settings = CharacterCnnLstmSettings.model_validate(description["settings"])
        context = None
        if settings.contextual is not None:
            shipped = description.get("shipped_context")  # unknown to older folders, which hold a copy
            context = FrozenContext.load_saved(settings.contextual, folder / "contextual", shipped)
        words, characters = Vocabulary(description["words"]), Vocabulary(description["characters"])
        return cls(settings, words, characters, description["rare"], context)

    def save_extras(self, folder: Path) -> None:
        if self.context is not None:
            self.context.save(folder / "contextual")

    def _spell(self, word: str) -> tuple[int, list[int]]:
        known = self._spelled.get(word)
        if known is None:
            if len(self._spelled) > 500_000:  # a stream of text must not fill the memory
                self._spelled.clear()
            seen = word if len(word) <= _LONGEST_WORD else word[:48] + word[-16:]
            letters = [self.alphabet.number(letter) for letter in seen]
            known = self._spelled[word] = (
                self.vocabulary.number(in_table(word, self.settings.lower_case_words)),
                letters,
            )
        return known


def _padded(values: list[int], lengths: list[int]) -> Tensor:
    """Rows of these lengths, written one after the other in `values`, as a matrix (row, place) padded on the right."""
    inside = torch.arange(max(lengths)) < _numbers(lengths).unsqueeze(1)
    return torch.full(inside.shape, PADDING).masked_scatter_(inside, _numbers(values))


def _numbers(values: list[int]) -> Tensor:
    """A list as a tensor; `torch.tensor` takes five times as long to read one."""
    return torch.from_numpy(np.array(values, dtype=np.int64))
