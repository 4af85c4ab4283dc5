"""What DATNet's paper prints, as far as it can be read in the copy at hand; F1 in percent.

In Table 6 the names of the rows are lost and were put back by their order, and of WNUT-2016 only three rows are left.
Tables 7 and 8 set best results beside means: DATNet-P and -F in Table 7 are the best of ten runs.
"""

from __future__ import annotations

from collections.abc import Sequence

Table = dict[str, dict[str, float | str]]

_SIZES = ("10", "50", "100", "200", "500", "1000")
_RADII = ("1", "3", "5", "7", "9")
_ALPHAS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8")  # every second of the paper's


def _rows(columns: Sequence[str], rows: dict[str, Sequence[float]]) -> Table:
    return {name: dict(zip(columns, numbers, strict=True)) for name, numbers in rows.items()}


_SPANISH = _rows(
    _SIZES,
    {
        "base": (21.53, 42.18, 48.35, 63.66, 68.83, 76.69),
        "AT": (19.23, 41.01, 50.46, 64.83, 70.85, 77.91),
        "P-transfer": (29.78, 61.09, 64.78, 66.54, 72.94, 78.49),
        "F-transfer": (39.72, 63.00, 63.36, 66.39, 72.88, 78.04),
        "DATNet-P": (39.52, 62.57, 64.05, 68.95, 75.19, 79.46),
        "DATNet-F": (44.52, 63.89, 66.67, 68.35, 74.24, 78.56),
    },
)
_TWEETS = _rows(
    _SIZES,
    {
        "base": (3.80, 14.07, 17.99, 26.20, 31.78, 36.99),
        "AT": (4.34, 16.87, 18.43, 26.32, 35.68, 41.69),
        "P-transfer": (7.71, 16.17, 20.43, 29.20, 34.90, 41.20),
    },
)
_COMPONENTS = ("all", "all + AT")

PAPER: dict[tuple[str, str], Table] = {
    ("few", "conll2002_es"): _SPANISH,
    ("languages", "conll2002_es"): _SPANISH,
    ("few", "wnut2016"): {
        **_TWEETS,
        "base": {**_TWEETS["base"], "all": 44.37},
        "AT": {**_TWEETS["AT"], "all": 47.41},
        "P-transfer": {**_TWEETS["P-transfer"], "all": 48.91},
        "F-transfer": {"all": 51.31},
        "DATNet-P": {"all": 50.41},
        "DATNet-F": {"all": 53.03},
    },
    ("table3", "wnut2016"): {
        "base": {"wnut2016": "44.37 ± 0.31 (best 44.96, 10 runs)"},
        "DATNet-P": {"wnut2016": "50.41 ± 0.32 (best 50.85, 10 runs)"},
        "DATNet-F": {"wnut2016": "53.03 ± 0.24 (best 53.43, 10 runs)"},
    },
    ("table3", "conll2002_es"): {
        "base": {"conll2002_es": "85.35 ± 0.15 (best 85.53, 10 runs)"},
        "DATNet-P": {"conll2002_es": "87.89 ± 0.18 (best 88.16, 10 runs)"},
        "DATNet-F": {"conll2002_es": "86.79 ± 0.20 (best 87.04, 10 runs)"},
    },
    ("grid", "wnut2016"): _rows(
        _COMPONENTS,
        {
            "no transfer": (44.37, 47.41),
            "P (no AD)": (47.66, 48.44),
            "P (AD)": (48.14, 49.41),
            "P (GRAD)": (48.91, 50.85),
            "F (no AD)": (49.79, 50.93),
            "F (AD)": (50.48, 51.84),
            "F (GRAD)": (51.31, 53.43),
        },
    ),
    ("grid", "conll2002_es"): _rows(
        _COMPONENTS,
        {
            "no transfer": (85.35, 86.12),
            "P (no AD)": (86.15, 86.90),
            "P (AD)": (86.32, 87.19),
            "P (GRAD)": (86.93, 88.16),
            "F (no AD)": (85.46, 86.17),
            "F (AD)": (85.58, 86.38),
            "F (GRAD)": (85.91, 87.04),
        },
    ),
    ("dropout", "wnut2016"): {"base": {"all": 44.37}, "base + dropout": {"all": 45.95}, "base + AT": {"all": 47.41}},
    ("dropout", "conll2002_es"): {
        "base": {"all": 85.35},
        "base + dropout": {"all": 85.51},
        "base + AT": {"all": 86.12},
    },
    ("radius", "conll2002_es"): _rows(
        _RADII,
        {
            "0.1": (75.90, 76.23, 77.38, 77.77, 78.13),
            "0.2": (81.54, 81.65, 81.32, 81.81, 81.68),
            "0.4": (83.62, 83.83, 83.43, 83.99, 83.40),
            "0.6": (84.44, 84.47, 84.72, 84.04, 84.05),
        },
    ),
    ("alpha", "conll2002_es"): _rows(
        _ALPHAS,
        {
            "0.1": (78.37, 78.70, 77.96, 77.88, 77.85, 77.65, 77.38, 77.29),
            "0.2": (80.99, 82.18, 81.53, 81.44, 81.32, 81.02, 80.63, 80.54),
            "0.4": (83.76, 84.18, 84.26, 83.54, 83.52, 83.42, 83.28, 83.19),
            "0.6": (85.18, 85.85, 85.84, 85.71, 85.42, 85.20, 85.26, 84.98),
        },
    ),
}
