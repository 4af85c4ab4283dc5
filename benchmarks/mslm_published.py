"""What MSLM's paper prints (Abaho and others 2024), as far as it is legible; in percent.

Its MSLM rows were scored on test text whose gold entities were hidden, by the released code (C2.1): they are no scores
of text as it is. Vanilla rows are single runs. Slips of the paper are kept as printed: BC2GM has 6,325 test mentions,
the mentions of BC5CDR-chem are rotated, EBM-NLP has 0.67 mentions per sentence (E2.14), and JNLPBA with BioBERT is 88.9
in Table 8 and 89.9 in Table 6.
"""

from __future__ import annotations

from published import number

_SETS = {
    "bc2gm": "BC2GM",
    "ncbi_disease": "NCBI-disease",
    "bc5cdr_chem": "BC5CDR-chem",
    "jnlpba": "JNLPBA",
    "ebm_nlp_outcomes": "EBM-NLP",
}
_ENCODERS = {"BioBERT": "", "PubMedBERT": ", PubMedBERT"}
_PARTS = ("train", "dev", "test")
Pair = tuple[str, str]


def _pairs(table: str, rows: tuple[str, str], figure: str | None = None) -> dict[str, Pair]:
    """By set, where the paper has both."""
    found = {ours: [str(number(table, row, theirs, figure)) for row in rows] for ours, theirs in _SETS.items()}
    return {ours: (one, other) for ours, (one, other) in found.items() if one and other}


def _vanilla_and_mslm(table: str, figure: str | None = None) -> dict[str, dict[str, Pair]]:
    return {
        encoder: _pairs(table, (f"vanilla{suffix}", f"MSLM{suffix}"), figure) for encoder, suffix in _ENCODERS.items()
    }


def _statistics(name: str) -> tuple[str, ...]:
    def parts(figure: str) -> str:
        return " / ".join(f"{number('S2.21', name, part, figure):,}" for part in _PARTS)

    words, each, per_sentence = (
        str(number("S2.21", name, "train", figure))
        for figure in ("words per sentence", "words per entity", "entities per sentence")
    )
    return parts("sentences"), words, parts("entities"), per_sentence, each


# Table 8: exact match, vanilla and MSLM (ELM 1, BLM 0.075)
EXACT_MATCH = _vanilla_and_mslm("S2.20", "exact match")
# Table 10: test F1 of BioBERT (as its authors report it, micro) and of MSLM on it
F1 = _pairs("S2.20", ("vanilla", "MSLM"), "span f1")
# Table 4: perplexity on validation text at the best F1, vanilla and MSLM; exp of the joint loss (C2.12)
PERPLEXITY = _vanilla_and_mslm("S2.15")
# Table 5: exact match on BC2GM by (ELM, BLM), BioBERT: 51 sentences below the mean length, 5,104 above (E2.13)
LENGTHS: dict[tuple[float, float], Pair] = {
    (elm, blm): (
        str(number("S2.17", f"ELM {elm:g}, BLM {blm:g}", "BC2GM", "exact match, short")),
        str(number("S2.17", f"ELM {elm:g}, BLM {blm:g}", "BC2GM", "exact match, long")),
    )
    for elm, blm in ((1.0, 0.225), (0.75, 0.15), (0.5, 0.075), (0.25, 0.0))
}
# Table 6: exact match with and without weights, BioBERT
WEIGHTS = _pairs("S2.18", ("MSLM", "MSLM, no weights"))
# Table 9: sentences of train, val and test; mean length; mentions of the three; mentions per sentence, words each
STATISTICS = {ours: _statistics(theirs) for ours, theirs in _SETS.items()}
