"""Character CNN + word table (+ frozen contextual features) + BiLSTM (Ma and Hovy 2016), the tagger of MAT and
DATNet."""

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
from acclimate.data.pieces import Window
from acclimate.data.words import HIDDEN, PADDING, UNKNOWN, Vocabulary
from acclimate.model.encoders.contextual import Context, ContextualSettings, load_context
from acclimate.model.encoders.encoder import Change, Embeddings, Encoder, Inputs
from acclimate.model.encoders.layers import BidirectionalLstm, Normalise, Table, VariationalDropout, shares_of
from acclimate.model.encoders.vectors import Coverage, Lexicon, in_table
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
    # on what the LSTM reads, where it is not the same (DATNet: 0.2); few sentences are not learnt under much of it
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
    # adversarial training: every dimension of the tables gets mean 0 and variance 1, words weighted by how often they
    # come; or a table could outgrow a noise of fixed size
    normalise: Normalise = "none"
    """Normalise embeddings to mean 0 and variance 1, words weighted by frequency (weighted) or equally; or none."""
    private_width: int = Field(0, ge=0)
    """Hidden size of a domain-private LSTM beside the shared one, per direction (DATNet-P); 0: none."""
    contextual: ContextualSettings | None = None
    """Features of a frozen pre-trained encoder, added to the word embeddings; null: none."""


class CharacterCnnLstm(Encoder):
    """Each word from its letters and a table, each feature from the whole sentence."""

    pieces_at_once = 2048  # the LSTM is the quicker the more sentences it reads side by side

    def __init__(
        self,
        settings: CharacterCnnLstmSettings,
        words: Vocabulary,
        characters: Vocabulary,
        rare: Iterable[int] = (),
        context: Context | None = None,
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
        if context is not None:
            self.longest_part = context.longest_part
        self.read_width = settings.word_width + letters_width + (context.width if context else 0)
        self.lstm, self.private_lstm = self._layers()
        at_input = settings.dropout if settings.input_dropout is None else settings.input_dropout
        self.character_dropout = VariationalDropout(at_input / 2)
        self.share_characters = True  # each distinct word of a batch is spelled once; see `stand_alone`
        self._remember_rare(rare)
        self.coverage: Coverage | None = None  # how much of the text the vectors knew, when it was built from some
        self._spelled: dict[str, tuple[int, list[int]]] = {}

    @classmethod
    def build(cls, settings: CharacterCnnLstmSettings, text: Corpus, more: Corpus | None = None) -> CharacterCnnLstm:
        """Vocabularies from the text. `more` text adds only words that the vectors know."""
        lexicon = Lexicon.of(settings, text, more)
        settings = settings.model_copy(update={"word_width": lexicon.width})
        context = None if settings.contextual is None else load_context(settings.contextual)
        encoder = cls(settings, lexicon.words, Vocabulary.of_counts(_letters(text)), lexicon.rare, context)
        lexicon.fill(encoder.word_table.weight.data)
        encoder.coverage = lexicon.coverage
        encoder.normalise_by(text, settings.normalise)
        return encoder

    def normalise_by(self, text: Corpus, kind: Normalise = "weighted") -> None:
        """From now on the tables' rows are normalised, weighted by how often this text has them."""
        self.settings = self.settings.model_copy(update={"normalise": kind})
        if kind == "none":
            self.word_table.shares = self.character_table.shares = None
            return
        words: Counter[int] = Counter()
        for word, count in text.vocabulary.items():
            words[self._spell(word)[0]] += count
        seen = {number: float(count) for number, count in words.items()}
        for number in self.rare_words:  # these are read as unknown now and then
            forgotten = self.settings.forget_rare * words[number]
            seen[number] = words[number] - forgotten
            seen[UNKNOWN] = seen.get(UNKNOWN, 0.0) + forgotten
        for table, counts in ((self.word_table, seen), (self.character_table, self._letter_counts(text))):
            table.shares = shares_of(kind, counts, len(table.weight)).to(table.weight.device)

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.lstm.width + (0 if self.private_lstm is None else self.private_lstm.width)

    def split(self, shared: int | None = None, private: int | None = None) -> None:
        """Two LSTMs side by side, each half as wide as the one before, unless told otherwise."""
        half = max(1, self.settings.lstm_width // 2)
        sizes = {"lstm_width": shared or half, "private_width": half if private is None else private}
        self.settings = self.settings.model_copy(update=sizes)
        self.lstm, self.private_lstm = self._layers()
        self.to(self.word_table.weight.device)

    def sibling(self, text: Iterable[Sentence], vectors: str | None = None) -> CharacterCnnLstm:
        """An encoder for other text: word table and private LSTM of its own; letters, filters and the shared LSTM are
        this encoder's. Letters that are new to it are added to its alphabet. `vectors` are the other words' own."""
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
        """New letters get new rows at the end. Of the running text, half is what it was before and half is this: both
        domains come equally often."""
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
        """How often each row of the letters' table comes in this text."""
        counts: Counter[int] = Counter()
        for letter, count in _letters(text).items():
            counts[self.alphabet.number(letter)] += count
        return counts

    def _remember_rare(self, rare: Iterable[int]) -> None:
        self.register_buffer("rare", torch.zeros(len(self.vocabulary), dtype=torch.bool), persistent=False)
        self.rare: Tensor
        self.rare_words = sorted(rare)
        self.rare[self.rare_words] = True

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

    def count_pieces(self, sentences: Iterable[Sentence]) -> list[int] | None:
        return None if self.context is None else self.context.count_pieces(sentences)

    def parts(self, sentence: Sentence) -> list[Window]:
        return super().parts(sentence) if self.context is None else self.context.parts(sentence)

    def drawn(self, inputs: Inputs) -> Inputs:
        """Words that were seen once are forgotten now and then."""
        words = inputs["words"]
        if self.settings.forget_rare == 0:
            return inputs
        forgotten = self.rare[words] & (torch.rand(words.shape, device=words.device) < self.settings.forget_rare)
        return {**inputs, "words": words.masked_fill(forgotten, UNKNOWN)}

    def embed(self, inputs: Inputs, but: Collection[str] = ()) -> dict[str, Tensor]:
        found = {"words": self.word_table(inputs["words"]), "characters": self.character_table(inputs["characters"])}
        if self.context is not None and "context" not in but:
            found["context"] = self.context(inputs)
        return found

    def embedding_parameters(self) -> list[nn.Parameter]:
        parts = [self.word_table, self.character_table, *([] if self.context is None else [self.context])]
        return [parameter for part in parts for parameter in part.parameters()]

    def last_layer(self, embeddings: Embeddings, inputs: Inputs) -> Tensor:
        inside = inputs["characters"] != PADDING
        # a noise may have been added where no letter is
        letters = self.letters(embeddings["characters"] * inside.unsqueeze(-1), inside)
        # looked up as in a table: the gradient of plain indexing is summed by several threads in no fixed order, and a
        # resumed run would differ from an unbroken one in the last bits
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

    @property
    def shared_width(self) -> int:
        return self.lstm.width

    def owners(self, inputs: Inputs) -> dict[str, Tensor]:
        words, spelling = inputs["words"], inputs["spelling"]
        if self.share_characters:
            raise ValueError(
                "The letters of a word are shared by all sentences that hold it: call stand_alone() first."
            )
        sentences = torch.arange(len(words), device=words.device)
        letters = words.new_zeros(len(inputs["characters"]))
        letters[spelling.flatten()] = sentences.unsqueeze(1).expand_as(spelling).flatten()  # row 0 is nobody's
        return {"words": sentences, "characters": letters}

    def inside(self, inputs: Inputs) -> dict[str, Tensor]:
        return {"words": inputs["words"] != PADDING, "characters": inputs["characters"] != PADDING}

    def replaced(self, inputs: Inputs, changes: Sequence[Change], originals: Sequence[Sentence] = ()) -> Inputs:
        read = self._respelled(inputs, changes) if changes else inputs
        return self._with_context(read, originals, changes) if originals else read

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
        if self.share_characters:  # others may hold the same word: the new spellings come behind
            spelling[places[0], places[1]] = torch.arange(len(changes), device=device) + len(characters)
            characters = torch.cat([characters, letters])
        else:
            characters[_numbers([change.number + 1 for change in changes]).to(device)] = letters
        return {**inputs, "words": words, "characters": characters, "spelling": spelling}

    def _with_context(self, inputs: Inputs, sentences: Sequence[Sentence], changes: Sequence[Change]) -> Inputs:
        if self.context is None:
            return inputs
        hidden = self.context.hidden_word
        changed = [list(sentence.words) for sentence in sentences]
        for change in changes:
            changed[change.sentence][change.word] = hidden if change.by is None else change.by
        numbered = self.context.tensorize([Sentence(tuple(words)) for words in changed])
        return {**inputs, **{name: tensor.to(inputs["words"].device) for name, tensor in numbered.items()}}

    def vectors_of(self, words: Sequence[str]) -> Tensor:
        numbers = _numbers([self._spell(word)[0] for word in words]).to(self.word_table.weight.device)
        return self.word_table.raw()[numbers]

    def rows_of(self, words: Sequence[str]) -> list[int | None]:
        """Without a word table, letters tell words apart."""
        if self.settings.word_width == 0:
            return [*_told_apart(words)]
        rows = (self._spell(word)[0] for word in words)
        return [None if row == UNKNOWN else row for row in rows]

    def letters(self, characters: Tensor, mask: Tensor) -> Tensor:
        """Character CNN with a maximum over the word: (word, character, size) → (word, filter)."""
        characters = self.character_dropout(characters)  # in the order of the text, whatever the words' lengths
        if characters.device.type != "cpu":
            letters = self._filtered(characters, mask)
        else:
            # a CPU pays for padding as for letters, and the longest word is four times as long as most: each is read
            # among words of about its own length
            order = mask.sum(-1).argsort(stable=True)
            found = []
            for rows in torch.split(order, 128 if torch.is_grad_enabled() else 256):
                longest = max(1, int(mask[rows[-1]].sum()))
                found.append(self._filtered(*(each[:, :longest].index_select(0, rows) for each in (characters, mask))))
            letters = torch.cat(found).index_select(0, order.argsort())
        for highway in self.highways:
            carry, change = highway(letters).chunk(2, dim=-1)
            gate = carry.sigmoid()
            letters = gate * change.relu() + (1 - gate) * letters
        return letters

    def _filtered(self, characters: Tensor, mask: Tensor) -> Tensor:
        """The strongest answer of each filter, (word, filter)."""
        characters = characters.transpose(1, 2)
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
    def from_description(cls, description: dict[str, Any], folder: Path) -> Callable[[], CharacterCnnLstm]:
        """What `description` and `save_extras` wrote, read once. The weights are not filled in."""
        settings = CharacterCnnLstmSettings.model_validate(description["settings"])
        context = None
        if settings.contextual is not None:
            shipped = description.get("shipped_context")  # unknown to older folders, which hold a copy
            context = load_context(settings.contextual, folder / "contextual", shipped)
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
        known = self._spelled.get(word)
        if known is None:
            if len(self._spelled) > 1 << 17:  # a stream of text must not fill the memory
                self._spelled.clear()
            seen = word if len(word) <= _LONGEST_WORD else word[:48] + word[-16:]
            letters = [self.alphabet.number(letter) for letter in seen]
            known = self._spelled[word] = (
                self.vocabulary.number(in_table(word, self.settings.lower_case_words)),
                letters,
            )
        return known


def _told_apart(words: Sequence[str]) -> list[int]:
    """A number for each spelling."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    return [numbers[word] for word in words]


def _letters(text: Corpus) -> Counter[str]:
    """How often each letter comes in running text."""
    letters: Counter[str] = Counter()
    for word, count in text.vocabulary.items():
        for letter in word:
            letters[letter] += count
    return letters


def _padded(values: list[int], lengths: list[int]) -> Tensor:
    """Rows of these lengths, written one after the other in `values`, as a matrix (row, place) padded on the right."""
    inside = torch.arange(max(lengths)) < _numbers(lengths).unsqueeze(1)
    return torch.full(inside.shape, PADDING).masked_scatter_(inside, _numbers(values))


def _numbers(values: list[int]) -> Tensor:
    """A list as a tensor; `torch.tensor` takes five times as long to read one."""
    return torch.from_numpy(np.array(values, dtype=np.int64))
