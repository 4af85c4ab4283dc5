"""A WordPiece tokenizer of one's own, cased, as BERT has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

PADDING, UNKNOWN, FIRST, LAST, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_INSIDE = "##"  # before a piece that goes on with a word
_ALPHABET = 1_000  # characters with a piece of their own; one that is rarer makes its word unknown


def train_word_pieces(text: Callable[[], Iterable[str]], size: int, longest_row: int) -> Any:
    """A tokenizer of at most `size` pieces, learnt from the text. A small text gives fewer.

    `text` is called twice. The library's trainer numbers the letters inside of words as it meets them, in an order
    that changes from run to run, and breaks ties by those numbers; so a first pass finds the letters, and the second
    is told their order. The same text gives the same pieces.
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
