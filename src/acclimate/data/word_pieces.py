"""A WordPiece tokenizer of one's own, cased, as BERT has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PADDING, UNKNOWN, FIRST, LAST, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_ALPHABET = 1_000  # characters with a piece of their own; one that is rarer makes its word unknown


def train_word_pieces(text: Iterable[str], size: int, longest_row: int) -> Any:
    """A tokenizer of at most `size` pieces, learnt from the text. A small text gives fewer."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, limit_alphabet=_ALPHABET, special_tokens=list(SPECIAL), show_progress=False
    )
    tokenizer.train_from_iterator(text, trainer)
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
