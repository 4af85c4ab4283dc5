"""Raw text to learn from: a WordPiece tokenizer, rows of pieces and rows of words on disk, and streams of them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acclimate.data.batches import TARGET, Batch, Stream
from acclimate.data.corpus import Sentence
from acclimate.data.problems import InputError
from acclimate.data.selection.text_files import not_utf8, opened

PADDING, UNKNOWN, FIRST, LAST, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_INSIDE = "##"  # before a piece that goes on with a word
_ALPHABET = 1_000  # characters with a piece of their own; one that is rarer makes its word unknown


def train_word_pieces(text: Callable[[], Iterable[str]], size: int, longest_row: int) -> Any:
    """A cased tokenizer of at most `size` pieces, learnt from the text, which is called twice.

    The library's trainer numbers letters inside of words in an order that changes from run to run, and breaks ties by
    it. A first pass finds these letters, and the second one gets them in order: the same text gives the same pieces.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    def learnt(first: list[str], most: int) -> dict[str, int]:
        apprentice = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
        apprentice.normalizer, apprentice.pre_tokenizer = normalizer, pre_tokenizer
        trainer = trainers.WordPieceTrainer(
            vocab_size=most, min_frequency=2, limit_alphabet=_ALPHABET, special_tokens=first, show_progress=False
        )
        apprentice.train_from_iterator(text(), trainer)
        return apprentice.get_vocab(with_added_tokens=True)

    normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    letters = learnt(list(SPECIAL), 0)
    inside = sorted(piece for piece in letters if piece.startswith(_INSIDE) and len(piece) == len(_INSIDE) + 1)
    tokenizer = Tokenizer(models.WordPiece(learnt([*SPECIAL, *inside], size), unk_token=UNKNOWN))
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in SPECIAL])
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.decoder = decoders.WordPiece()
    ends = [(piece, tokenizer.token_to_id(piece)) for piece in (FIRST, LAST)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{FIRST} $A {LAST}", pair=f"{FIRST} $A {LAST} $B:1 {LAST}:1", special_tokens=ends
    )
    wrapper: Any = PreTrainedTokenizerFast
    return wrapper(
        tokenizer_object=tokenizer,
        model_max_length=longest_row,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        pad_token=PADDING,
        unk_token=UNKNOWN,
        cls_token=FIRST,
        sep_token=LAST,
        mask_token=MASK,
    )


_AT_ONCE = 20_000  # paragraphs handed to the tokenizer together


def paragraphs(path: str | Path) -> Iterator[str]:
    """The lines of a text file that are not blank; plain, .gz or .xz, read one by one: it may exceed the memory."""
    with opened(path) as (_, lines):
        for number, line in enumerate(lines, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as failure:
                raise InputError(not_utf8(failure.object[failure.start]), file=path, line=number) from None
            if text:
                yield text


@dataclass(frozen=True)
class TextChoice:
    """How paragraphs are taken from the files. Both choices depend on a paragraph's own words and the seed alone."""

    held_out: float = 0.005  # share of the paragraphs that is kept apart to measure on
    case_noise: float = 0.0  # share of the others that is read in capitals, or all lower-case, in equal parts
    seed: int = 0

    def is_held_out(self, paragraph: str) -> bool:
        return self.held_out_lot(paragraph) < self.held_out

    def held_out_lot(self, paragraph: str) -> float:
        return self._lot("held out", paragraph)

    def respelled(self, paragraph: str) -> str:
        lot = self._lot("case", paragraph)
        if lot >= self.case_noise:
            return paragraph
        return paragraph.upper() if lot < self.case_noise / 2 else paragraph.lower()

    def _lot(self, what: str, paragraph: str) -> float:
        """A number between 0 and 1 that looks random; equal paragraphs get the same."""
        key = f"{self.seed}:{what}".encode()
        digest = hashlib.blake2b(paragraph.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        return int.from_bytes(digest, "big") / 2**64


def training_text(files: Iterable[str | Path], choice: TextChoice) -> Iterator[str]:
    """The text for training, without the held-out part."""
    for file in files:
        for paragraph in paragraphs(file):
            if not choice.is_held_out(paragraph):
                yield choice.respelled(paragraph)


def held_out_text(files: Iterable[str | Path], choice: TextChoice) -> Iterator[str]:
    """The rest, spelled as it is."""
    for file in files:
        yield from filter(choice.is_held_out, paragraphs(file))


def write_pieces(text: Iterable[str], tokenizer: Any, place: Path) -> int:
    """All paragraphs as one long row of piece numbers in a file, each closed by the separator. Returns how many."""
    kind = np.uint16 if len(tokenizer) <= 2**16 else np.uint32
    backend = tokenizer.backend_tokenizer
    waiting, written = iter(text), 0
    with place.open("wb") as file:
        while batch := list(islice(waiting, _AT_ONCE)):
            rows = [encoded.ids for encoded in backend.encode_batch_fast(batch, add_special_tokens=False)]
            pieces = np.array([piece for row in rows if row for piece in (*row, tokenizer.sep_token_id)], kind)
            pieces.tofile(file)
            written += len(pieces)
    return written


def read_pieces(place: Path, vocabulary: int) -> np.ndarray[Any, Any]:
    """What `write_pieces` wrote; the file is not read into memory but looked into."""
    kind = np.uint16 if vocabulary <= 2**16 else np.uint32
    return np.memmap(place, kind, "r") if place.stat().st_size else np.zeros(0, kind)


@dataclass(frozen=True)
class Rows(Stream):
    """A stream of rows of equal length, cut from one long row of pieces.

    Each pass cuts at other places, in another order; rows that do not fill a batch are left out. Batch n is a function
    of (seed, n).
    """

    pieces: np.ndarray[Any, Any]
    before: Sequence[int]  # [CLS]
    after: Sequence[int]  # [SEP]
    length: int = 128
    rows_per_batch: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise InputError(
                f"the text has only {len(self.pieces):,} pieces; a single row takes {self.room}. "
                "Give more text, or shorter rows."
            )

    @property
    def room(self) -> int:
        return self.length - len(self.before) - len(self.after)

    @property
    def rows(self) -> int:
        """Rows of one pass."""
        return len(self.pieces) // self.room

    @property
    def epoch_length(self) -> int:
        return max(1, self.rows // self.rows_per_batch)

    def batch(self, number: int) -> Mapping[str, Tensor]:
        which, place = divmod(number, self.epoch_length)
        offset, order = _order_of_pass(self.seed, which, self.room, self.rows)
        chosen = order[place * self.rows_per_batch : (place + 1) * self.rows_per_batch]
        return {TARGET: self.cut(offset + chosen * self.room)}

    def size(self, batch: Mapping[str, Tensor]) -> int:
        return batch[TARGET].numel()

    def cut(self, starts: np.ndarray[Any, Any]) -> Tensor:
        """Rows (row, piece) that begin at these places; the end of the text is followed by its beginning."""
        rows = np.empty((len(starts), self.length), np.int64)
        first, last = len(self.before), len(self.before) + self.room
        rows[:, :first], rows[:, last:] = self.before, self.after
        rows[:, first:last] = self.pieces[(starts[:, None] + np.arange(self.room)) % len(self.pieces)]
        return torch.from_numpy(rows)

    def in_order(self) -> Iterator[Tensor]:
        """Every row once, from the beginning, in batches of which the last may be smaller."""
        for start in range(0, self.rows, self.rows_per_batch):
            yield self.cut(np.arange(start, min(start + self.rows_per_batch, self.rows)) * self.room)


@lru_cache(maxsize=4)
def _order_of_pass(seed: int, which: int, room: int, rows: int) -> tuple[int, NDArray[np.int64]]:
    """Where the first row of a pass begins, and the order of its rows."""
    dice = np.random.default_rng([seed, which])
    return int(dice.integers(room)), dice.permutation(rows)


WINDOW = 4096  # rows that are in memory, and shuffled among themselves


class StoredRows:
    """Rows of words in a temporary file, read in windows."""

    def __init__(self, rows: Iterable[Sequence[str]], window: int = WINDOW) -> None:
        self.window_size, self._length = window, 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._starts: list[int] = []  # of each window in the file
        for row in rows:
            if self._length % window == 0:
                self._starts.append(self._file.tell())
            line = "\t".join(word.translate(_NO_BREAKS) for word in row) + "\n"
            self._file.write(line.encode("utf-8", "surrogatepass"))
            self._length += 1
        self._starts.append(self._file.tell())

    def __len__(self) -> int:
        return self._length

    @property
    def windows(self) -> int:
        return len(self._starts) - 1

    def window(self, number: int) -> list[bytes]:
        """The rows of a window as they lie on disk."""
        self._file.seek(self._starts[number])
        return self._file.read(self._starts[number + 1] - self._starts[number]).split(b"\n")[:-1]


_NO_BREAKS = {ord("\t"): " ", ord("\n"): " "}  # a word with one of these would be two


@dataclass(frozen=True)
class Shuffled:
    """Rows in an endless random order: windows are shuffled, and the rows of each. It depends on the seed alone."""

    rows: StoredRows
    seed: int
    _open: dict[tuple[int, int], list[bytes]] = field(default_factory=dict, compare=False, repr=False)

    def at(self, first: int, last: int) -> list[Sentence]:
        """The rows from one place on, up to another."""
        sentences: list[Sentence] = []
        while first < last:
            which, place = divmod(first, len(self.rows))
            order = np.random.default_rng([self.seed, which]).permutation(self.rows.windows)
            sizes = np.full(len(order), self.rows.window_size)
            sizes[order == len(order) - 1] = len(self.rows) - (len(order) - 1) * self.rows.window_size
            ends = sizes.cumsum()
            turn = int(np.searchsorted(ends, place, side="right"))
            begin = place - int(ends[turn] - sizes[turn])
            lines = self._lines(which, int(order[turn]))[begin : begin + last - first]
            rows = (line.decode("utf-8", "surrogatepass").split("\t") for line in lines)
            sentences += (Sentence(tuple(row)) for row in rows)
            first += len(lines)
        return sentences

    def _lines(self, which: int, window: int) -> list[bytes]:
        if (which, window) not in self._open:
            self._open.clear()
            lines = self.rows.window(window)
            order = np.random.default_rng([self.seed, which, window]).permutation(len(lines))
            self._open[which, window] = [lines[number] for number in order.tolist()]
        return self._open[which, window]


@dataclass(frozen=True)
class MixedRows(Stream):
    """A stream of batches of stored rows of several texts, in which each batch has its share of every text."""

    texts: Sequence[tuple[Shuffled, int]]  # with the rows of it that a pass has
    rows_per_batch: int

    @property
    def pass_rows(self) -> int:
        return sum(rows for _, rows in self.texts)

    @property
    def epoch_length(self) -> int:
        return max(1, round(self.pass_rows / self.rows_per_batch))

    def batch(self, number: int) -> Batch:
        sentences: list[Sentence] = []
        for text, rows in self.texts:
            first, last = (which * self.rows_per_batch * rows // self.pass_rows for which in (number, number + 1))
            sentences += text.at(first, last)
        return {TARGET: sentences or self.texts[0][0].at(number, number + 1)}
