"""How to cite the paper that a recipe comes from, or the papers of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from acclimate.recipes.catalogue import RECIPES
from acclimate.recipes.recipe import TUNING_STAGE
from acclimate.settings import complete

BIBTEX = {
    "mlm4uda": """@inproceedings{vu-etal-2020-effective,
  title = {Effective Unsupervised Domain Adaptation with Adversarially Trained Language Models},
  author = {Vu, Thuy-Trang and Phung, Dinh and Haffari, Gholamreza},
  booktitle = {Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  year = {2020}
}""",
    "mat": """@inproceedings{chen-etal-2020-enhance,
  title = {Enhance Robustness of Sequence Labelling with Masked Adversarial Training},
  author = {Chen, Luoxin and Liu, Xinyue and Ruan, Weitong and Lu, Jianhua},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2020},
  pages = {297--302},
  year = {2020}
}""",
    "mslm": """@misc{abaho-etal-2024-improving,
  title = {Improving Pre-trained Language Model Sensitivity via Mask Specific losses: A case study on Biomedical {NER}},
  author = {Abaho, Micheal and Bollegala, Danushka and Leeming, Gary and Joyce, Dan and Buchan, Iain E},
  eprint = {2403.18025},
  archivePrefix = {arXiv},
  year = {2024}
}""",
    "pdaln": """@inproceedings{zhang-etal-2021-pdaln,
  title = {{PDALN}: Progressive Domain Adaptation over a Pre-trained Model for Low-Resource Cross-Domain Named Entity
           Recognition},
  author = {Zhang, Tao and Xia, Congying and Yu, Philip S. and Liu, Zhiwei and Zhao, Shu},
  booktitle = {Proceedings of the 2021 Conference on Empirical Methods in Natural Language Processing},
  pages = {5441--5451},
  year = {2021}
}""",
    "datnet": """@article{zhou-etal-2021-dual,
  title = {Dual Adversarial Transfer for Sequence Labeling},
  author = {Zhou, Joey Tianyi and Zhang, Hao and Jin, Di and Peng, Xi},
  journal = {IEEE Transactions on Pattern Analysis and Machine Intelligence},
  volume = {43},
  number = {2},
  year = {2021},
  doi = {10.1109/TPAMI.2019.2931569}
}""",
}

_OF_RECIPE = {"adversarial-masking": "mlm4uda", "mat": "mat", "mslm": "mslm", "pdaln": "pdaln", "datnet": "datnet"}
_OF_OBJECTIVE = {
    "mat": "mat",
    "discriminator": "datnet",
    **dict.fromkeys(("sentence-mmd", "word-mmd", "contrast", "distillation"), "pdaln"),
}


def papers_of(recipe: str, options: Mapping[str, Any], stages: Iterable[str]) -> list[str]:
    """The papers of a recipe, or of the parts that it was composed of in these stages; empty where it has none."""
    if recipe in _OF_RECIPE:
        return [_OF_RECIPE[recipe]]
    parts = {"compose": _of_composition, "acclimate": _of_acclimate}.get(recipe)
    found = [] if parts is None else list(parts(complete(RECIPES[recipe].options, options, where=recipe), set(stages)))
    return [paper for paper in BIBTEX if paper in found]


def _of_composition(options: Any, stages: set[str]) -> Iterator[str]:
    for stage in options.stages:
        parts = {"mlm4uda": stage.domain_tuning, "mslm": stage.mslm}
        yield from (paper for paper, part in parts.items() if part is not None)
        yield from ("pdaln" for text in stage.learns or () if text == "anchors")
        yield from (_OF_OBJECTIVE[name] for name in stage.objectives if name in _OF_OBJECTIVE)


def _of_acclimate(options: Any, stages: set[str]) -> Iterator[str]:
    if TUNING_STAGE in stages:
        yield "mlm4uda"
    if options.noise:
        yield "mat"
    if any(stage.startswith("round") for stage in stages):
        yield "pdaln"
