"""What the rooms share in their tests: toy corpora, tiny taggers, tiny pre-trained encoders. Nothing is downloaded."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}  # read when the libraries are imported

import pytest
import torch
from hypothesis import settings
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.running_text import train_word_pieces
from acclimate.data.schemes import Span

torch.set_num_threads(1)
settings.register_profile(
    "house", deadline=None, derandomize=True
)  # a slow machine is no failure, and no run a lottery
settings.load_profile("house")

SMALL = {
    "word_width": 6,
    "character_width": 4,
    "character_filters": 5,
    "lstm_width": 7,
}
"""Sizes of a CNN-LSTM tagger that trains in milliseconds."""

_NAMES = {
    "PER": ["Anna", "Bob Stone", "Clara", "Dr. Eve Lund", "Farid"],
    "LOC": ["Paris", "New York", "Oslo", "Lake Como"],
    "ORG": ["Acme", "Blue Bank", "United Nations"],
}
_NEWS = [
    "{PER} flew to {LOC} .",
    "{ORG} opens an office in {LOC} , said {PER} .",
    "{PER} and {PER} left {ORG} yesterday .",
    "Shares of {ORG} fell by 3.5 percent .",
    "It rained all day .",
]
_TWEETS = ["omg {PER} is in {LOC} !!!", "i love {LOC} 😀", "so tired today", "{ORG} sux , rt @friend", "ok"]


def toy_corpus(size: int, seed: int = 0, patterns: list[str] | None = None, name: str = "news") -> Corpus:
    """Sentences made from patterns with PER, LOC and ORG; some have no entity at all."""
    dice = random.Random(seed)
    return Corpus.of((_toy_sentence(dice, dice.choice(patterns or _NEWS)) for _ in range(size)), name)


def _toy_sentence(dice: random.Random, pattern: str) -> Sentence:
    words: list[str] = []
    spans = []
    for part in pattern.split():
        label = part.strip("{}")
        filling = dice.choice(_NAMES[label]).split() if label in _NAMES else [part]
        if label in _NAMES:
            spans.append(Span(len(words), len(words) + len(filling), label))
        words += filling
    return Sentence(tuple(words)).with_spans(spans)


def pytest_collection_finish() -> None:
    """The engine collects garbage after every stage: let it not walk through all of torch each time."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _same_random_numbers_in_every_test() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def news() -> Corpus:
    return toy_corpus(24)


@pytest.fixture(scope="session")
def tweets() -> Corpus:
    """The target with its gold tags; call `.unlabelled()` where a recipe must not see them."""
    return toy_corpus(10, seed=1, patterns=_TWEETS, name="tweets")


@pytest.fixture(scope="session")
def make_corpus() -> Callable[..., Corpus]:
    return toy_corpus


@pytest.fixture(scope="session")
def part_of_speech() -> Corpus:
    """Plain tags: one per word, no spans."""
    rows = ["the/DET cat/NOUN sleeps/VERB", "a/DET dog/NOUN barks/VERB ./PUNCT", "go/VERB", "cats/NOUN sleep/VERB"]
    pairs = [[word.split("/") for word in row.split()] for row in rows]
    sentences = [Sentence(tuple(word for word, _ in row), tuple(tag for _, tag in row)) for row in pairs]
    return Corpus.of(sentences * 3, "pos", "plain")


@pytest.fixture(scope="session")
def word_piece() -> Any:
    """A WordPiece tokenizer as BERT has: it drops control characters and knows few letters."""
    from tokenizers import processors

    tokenizer = train_word_pieces(_training_text, 150, 64).backend_tokenizer
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _wrapped(tokenizer, unk="[UNK]", pad="[PAD]", cls="[CLS]", sep="[SEP]", mask="[MASK]")


@pytest.fixture(scope="session")
def byte_level() -> Any:
    """A byte-level BPE tokenizer as RoBERTa has."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=_ROBERTA, initial_alphabet=letters)
    tokenizer.train_from_iterator((" ".join(text) for text in [_training_text()]), trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return _wrapped(tokenizer, unk="<unk>", pad="<pad>", cls="<s>", sep="</s>", mask="<mask>")


@pytest.fixture(scope="session")
def unigram() -> Any:
    """A Unigram tokenizer as XLM-R and T5 have."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80, unk_token="<unk>", special_tokens=_ROBERTA, initial_alphabet=["▁"], show_progress=False
    )
    tokenizer.train_from_iterator(_training_text(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return _wrapped(tokenizer, unk="<unk>", pad="<pad>", cls="<s>", sep="</s>", mask="<mask>")


_ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def _training_text() -> list[str]:
    return [word for sentence in toy_corpus(40) for word in sentence.words]


def _wrapped(tokenizer: Any, **special: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": piece for name, piece in special.items()}
    )


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory, word_piece: Any) -> str:
    """The folder of a tiny, random BERT."""
    from transformers import BertConfig, BertForMaskedLM

    return _saved(tmp_path_factory.mktemp("bert"), word_piece, BertForMaskedLM, BertConfig, 64, pad_token_id=0)


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory, byte_level: Any) -> str:
    """The folder of a tiny, random RoBERTa; it counts positions from two, so 66 of them hold 64 pieces."""
    from transformers import RobertaConfig, RobertaForMaskedLM

    folder = tmp_path_factory.mktemp("roberta")
    return _saved(folder, byte_level, RobertaForMaskedLM, RobertaConfig, 66, pad_token_id=1)


def _saved(folder: Path, tokenizer: Any, kind: Any, config: Any, positions: int, pad_token_id: int) -> str:
    torch.manual_seed(0)
    model = kind(
        config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=positions,
            type_vocab_size=1,
            pad_token_id=pad_token_id,
            initializer_range=0.2,  # the usual 0.02 makes all words look alike, and then no test can tell them apart
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    gc.freeze()
    return str(folder)


@pytest.fixture(scope="session")
def build(request: pytest.FixtureRequest, news: Corpus) -> Callable[..., Any]:
    """Builds a tiny tagger, always with the same weights: `build()`, `build("bert", head="softmax", dropout=0.0)`."""
    from acclimate.model.tagger import Tagger

    def builder(
        encoder: str = "character-cnn-lstm", *, labels: Any = None, text: Corpus = news, **options: Any
    ) -> Tagger:
        labels = text.labels if labels is None else labels
        if encoder in ("bert", "roberta"):
            encoder = request.getfixturevalue(encoder)
        else:
            options = {"text": text, **SMALL, **options}
        torch.manual_seed(0)
        return Tagger.build(encoder, labels=labels, **options)

    return builder


@pytest.fixture(scope="session")
def same_weights() -> Callable[[Any, Any], bool]:
    """Whether two taggers have the same weights, bit for bit."""

    def same(one: Any, other: Any) -> bool:
        mine, theirs = one.state_dict(), other.state_dict()
        return mine.keys() == theirs.keys() and all(_same_bits(mine[name], theirs[name]) for name in mine)

    return same


def _same_bits(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)
