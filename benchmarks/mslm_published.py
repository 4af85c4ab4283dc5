"""What MSLM's paper prints (Abaho and others 2024), as far as it is legible; in percent.

Its MSLM rows were scored on test text whose gold entities were hidden, by the released code (C2.1): they are no scores
of text as it is. Vanilla rows are single runs. Slips of the paper are kept as printed: BC2GM has 6,325 test mentions,
the mentions of BC5CDR-chem are rotated, EBM-NLP has 0.67 mentions per sentence (E2.14), and JNLPBA with BioBERT is 88.9
in Table 8 and 89.9 in Table 6.
"""

from __future__ import annotations

# Table 8: exact match, vanilla and MSLM (ELM 1, BLM 0.075)
EXACT_MATCH: dict[str, dict[str, tuple[str, str]]] = {
    "BioBERT": {
        "bc2gm": ("88.4", "90.3 ± 0.5"),
        "ncbi_disease": ("89.1", "90.1 ± 0.1"),
        "bc5cdr_chem": ("93.3", "94.0 ± 0.2"),
        "jnlpba": ("86.3", "88.9 ± 0.2"),
        "ebm_nlp_outcomes": ("64.3", "75.4 ± 0.4"),
    },
    "PubMedBERT": {
        "bc2gm": ("86.8", "89.8 ± 0.4"),
        "ncbi_disease": ("89.9", "89.9 ± 0.2"),
        "bc5cdr_chem": ("94.0", "94.4 ± 0.2"),
        "jnlpba": ("85.7", "89.8 ± 0.2"),
        "ebm_nlp_outcomes": ("65.5", "76.2 ± 0.3"),
    },
}

# Table 10: test F1 of BioBERT (as its authors report it, micro) and of MSLM on it
F1 = {
    "bc2gm": ("84.72", "92.17"),
    "ncbi_disease": ("89.71", "91.91"),
    "bc5cdr_chem": ("93.47", "96.79"),
    "jnlpba": ("77.49", "83.24"),
}

# Table 4: perplexity on validation text at the best F1, vanilla and MSLM; exp of the joint loss (C2.12)
PERPLEXITY: dict[str, dict[str, tuple[str, str]]] = {
    "BioBERT": {
        "bc2gm": ("1.2", "2.3"),
        "bc5cdr_chem": ("1.1", "1.5"),
        "jnlpba": ("1.4", "4.3"),
        "ncbi_disease": ("1.2", "1.3"),
    },
    "PubMedBERT": {
        "bc2gm": ("1.2", "1.9"),
        "bc5cdr_chem": ("1.1", "1.2"),
        "jnlpba": ("1.4", "3.2"),
        "ncbi_disease": ("1.1", "1.2"),
    },
}

# Table 5: exact match on BC2GM by (ELM, BLM), BioBERT: 51 sentences below the mean length, 5,104 above (E2.13)
LENGTHS = {
    (1.0, 0.225): ("19.4", "85.4"),
    (0.75, 0.15): ("41.2", "84.4"),
    (0.5, 0.075): ("75.1", "84.0"),
    (0.25, 0.0): ("66.3", "77.9"),
}

# Table 6: exact match with and without weights, BioBERT
WEIGHTS = {
    "bc2gm": ("90.3", "88.7"),
    "bc5cdr_chem": ("94.0", "93.3"),
    "jnlpba": ("89.9", "86.5"),
    "ncbi_disease": ("90.1", "89.9"),
}

# Table 9: sentences of train, val and test; mean length; mentions of the three; mentions per sentence, words each
STATISTICS = {
    "bc2gm": ("12,632 / 2,531 / 5,065", "25.17", "15,197 / 3,061 / 632", "1.20", "2.4"),
    "ncbi_disease": ("5,432 / 923 / 942", "25.24", "5,134 / 787 / 960", "0.95", "2.2"),
    "bc5cdr_chem": ("4,812 / 4,602 / 4,582", "25.75", "5,385 / 5,203 / 5,347", "1.12", "1.3"),
    "jnlpba": ("14,731 / 3,876 / 3,873", "30.05", "32,178 / 8,575 / 6,241", "2.18", "3.0"),
    "ebm_nlp_outcomes": ("32,074 / 4,009 / 4,010", "24.68", "21,498 / 2,677 / 2,736", "2.67", "2.0"),
}
