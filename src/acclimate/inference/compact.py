"""A compact tagger: the encoder as an ONNX graph, the head in numpy. It needs neither torch nor transformers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from acclimate.data.corpus import Corpus, Kind, LabelSet, Sentence
from acclimate.data.pieces import Pieces
from acclimate.data.schemes import Scheme
from acclimate.evaluation.seen import Vocabulary as SeenWords
from acclimate.layout import COMPACT
from acclimate.model.heads.legal_chain import TagChain
from acclimate.model.parts import PIECES_AT_ONCE, WORDS_PER_BATCH, Progress, read_in_parts
from acclimate.model.storage import StorageError, atomic_folder, listed_files, read_json, verify
from acclimate.model.text_tagger import TextTagger, What
from acclimate.settings import Settings, SettingsError, UsageError, complete

DESCRIPTION, MODEL, TOKENIZER, PARITY, SEEN = COMPACT, "model.onnx", "tokenizer.json", "parity.json", "seen.json"
_COMPUTING = ("tagger.json", "weights.safetensors")
_SLOWER = ["SkipLayerNormFusion"]  # its kernel for a CPU takes a third of the time of int8; unfused, a tenth of that


class CompactDescription(Settings):
    """The description in a compact tagger's folder."""

    acclimate: str
    labels: tuple[str, ...]
    kind: Kind
    scheme: Scheme
    start: tuple[float, ...]  # scores of the first tag
    moves: tuple[tuple[float, ...], ...]  # from tag, to tag
    end: tuple[float, ...]  # scores of the last tag
    legal_marginals: bool  # whether illegal taggings have probability zero
    longest_row: int  # in word pieces
    padding: int  # numbers of these pieces
    unknown: int | None
    weights: Literal["float32", "int8"]
    original: str | None = None  # `version_of` the tagger that it was made from; None where that is in no folder


class CompactTagger(TextTagger):
    """A tagger that `export_onnx` wrote. Load one with `CompactTagger.load`."""

    def __init__(self, folder: Path, description: CompactDescription) -> None:
        self.folder, self.description, self.scheme = folder, description, description.scheme
        self.labels = LabelSet(description.labels, description.kind)
        self.tags = self.labels.tags(self.scheme)
        sizes = {len(self.tags), len(description.start), len(description.end), len(description.moves)}
        if sizes | {len(row) for row in description.moves} != {len(self.tags)}:
            raise StorageError(f"{folder / DESCRIPTION}: scores for other tags than its labels have.")
        tokenizer = _BareTokenizer(folder / TOKENIZER, description)
        self.pieces = Pieces(tokenizer, description.longest_row)
        self._session = _session(folder / MODEL)
        seen = folder / SEEN
        self.seen = SeenWords.from_dict(read_json(seen)) if seen.is_file() else None

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A tagger that `acclimate export --to onnx` wrote; its checksums are checked."""
        folder = Path(folder)
        verify(folder)
        return cls.of(folder)

    def save(self, folder: str | Path) -> None:
        """Write a copy of its folder."""
        names = verify(self.folder)
        with atomic_folder(folder) as aside:
            for name in names:
                shutil.copyfile(self.folder / name, aside / name)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """From a folder without checksums."""
        with _readable(folder):
            return cls(folder, cls.describe(folder))

    @classmethod
    def describe(cls, folder: Path) -> CompactDescription:
        """What a compact tagger says of itself. Its graph is not read."""
        with _readable(folder):
            return complete(CompactDescription, read_json(folder / DESCRIPTION), where=DESCRIPTION)

    def read(
        self, corpus: Corpus, what: What, words_per_batch: int = WORDS_PER_BATCH, progress: Progress | None = None
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        def answer(part: list[Sentence]) -> Iterable[NDArray[Any]]:
            scores = self._scores(part)
            lengths = np.array([len(sentence) for sentence in part])
            rows = [row[:length] for row, length in zip(scores, lengths.tolist(), strict=True)]
            if what == "probabilities":
                return [self._marginals(row) for row in rows]
            tags = self.chain().best_path(scores, lengths)
            decided = [path[:length] for path, length in zip(tags, lengths.tolist(), strict=True)]
            if what == "tags":
                return decided
            pairs = zip(rows, decided, strict=True)
            if what == "confidences":
                return [self._marginals(row)[np.arange(len(row)), path] for row, path in pairs]
            return [np.column_stack([path, np.ones(len(row)), row]) for row, path in pairs]

        most = min(words_per_batch, PIECES_AT_ONCE)
        return read_in_parts(self.pieces, corpus.unlabelled(), answer, np.concatenate, most, progress)

    def chain(self) -> TagChain:
        return self._chain.legal(self.scheme) if self.labels.kind == "spans" else self._chain

    @cached_property
    def _chain(self) -> TagChain:
        scores = self.description.start, self.description.moves, self.description.end
        return TagChain.of(self.tags, *map(np.array, scores))

    def _scores(self, part: Sequence[Sentence]) -> NDArray[Any]:
        """(sentence, word, tag)"""
        arrays = self.pieces.arrays([sentence.words for sentence in part])
        inputs = {"pieces": arrays["pieces"], "attention": arrays["attention"].astype(np.int64)}
        (scores,) = self._session.run(None, inputs)  # (row, piece, tag)
        words: NDArray[Any] = scores.reshape(-1, scores.shape[-1])[arrays["first"]]
        return words

    def _marginals(self, scores: NDArray[Any]) -> NDArray[Any]:
        chain = self.chain() if self.description.legal_marginals else self._chain
        return chain.marginals(scores).astype(np.float32)


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Failures to read a folder, as one kind of error."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OSError) as failure:
        if isinstance(failure, StorageError | UsageError) and not isinstance(failure, SettingsError):
            raise
        raise StorageError(f"{folder}: not a compact tagger this version can read ({failure}).") from failure


def version_of(folder: Path) -> str | None:
    """The SHA-256 of what a saved tagger computes with, by its manifest; None where there is no tagger."""
    listed = listed_files(folder) or {}
    parts = {name: sums for name, sums in listed.items() if name in _COMPUTING or name.startswith("encoder/")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest() if parts else None


def _session(file: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise UsageError(f"{file}: a compact tagger needs onnxruntime. pip install 'acclimate[fast]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)  # 0: as many as there are cores
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
        )
    except Exception as failure:
        raise StorageError(f"{file}: cannot be read as an ONNX graph ({failure}).") from None


class _BareTokenizer:
    """A tokenizer of `tokenizers` with the interface of `transformers`."""

    is_fast = True

    def __init__(self, file: Path, description: CompactDescription) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as failure:
            raise StorageError(f"{file}: cannot be read as a tokenizer ({failure}).") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.pad_token_id, self.unk_token_id = description.padding, description.unknown

    def __call__(self, texts: list[list[str]], *, add_special_tokens: bool = True, **_: Any) -> _Encodings:
        rows = self._tokenizer.encode_batch(texts, is_pretokenized=True, add_special_tokens=add_special_tokens)
        return _Encodings(input_ids=[row.ids for row in rows], words=[row.word_ids for row in rows])


class _Encodings(dict[str, Any]):
    def word_ids(self, number: int) -> list[int | None]:
        words: list[int | None] = self["words"][number]
        return words
