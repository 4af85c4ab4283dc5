"""Selection by cross-entropy difference, against the definition word for word; and of sentences out of paragraphs."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.data.selection.ngram_scores import Contrast, TargetNgrams, read_target, with_sample
from acclimate.data.selection.select import select_text
from acclimate.data.selection.text_files import cut_into_pieces

LINES = st.lists(st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join), min_size=1, max_size=9)
UNKNOWN, BEGIN = "?", "^"


class SlowBigrams:
    """The model of its definition."""

    def __init__(self, lines: list[list[str]], vocabulary: int) -> None:
        self.single = Counter(word for line in lines for word in line)
        self.before = Counter(word for line in lines for word in [BEGIN, *line][:-1] if line)
        self.pairs = Counter(pair for line in lines for pair in zip([BEGIN, *line], line, strict=False))
        self.vocabulary = vocabulary

    def probability(self, before: str, word: str) -> float:
        alone = (self.single[word] + 1) / (self.single.total() + self.vocabulary)
        if not self.before[before]:
            return alone
        return (self.pairs[before, word] / self.before[before] + alone) / 2


def slow_scores(lines: list[str], target: list[str], pool: list[str]) -> list[float]:
    counts = Counter(word for line in target for word in line.split())
    known = {word for word, times in counts.items() if times > 1}

    def words(line: str) -> list[str]:
        return [word if word in known else UNKNOWN for word in line.split()]

    models = [SlowBigrams([words(line) for line in text], len(counts) + 1) for text in (target, pool)]
    found = []
    for line in map(words, lines):
        odds = [
            math.log(models[0].probability(*pair) / models[1].probability(*pair))
            for pair in zip([BEGIN, *line], line, strict=False)
        ]
        found.append(1 / (1 + math.exp(-sum(odds) / max(1, len(odds)))))
    return found


@settings(max_examples=100, deadline=None)
@given(lines=LINES, target=LINES.filter(lambda lines: any(line.split() for line in lines)), pool=LINES)
def test_scores_are_those_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], target: list[str], pool: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    for name, text in (("target", target), ("pool", [*pool, "z"])):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    like = read_target(folder / "target.txt", "text", tokenize="blanks")
    like = with_sample(like, cut_into_pieces([folder / "pool.txt"]))
    words = TargetNgrams(like).words
    block = words.read("".join(f"{line}\n" for line in lines).encode())
    found = Contrast(like).scores(words.number(block, np.arange(len(block))))
    assert found == pytest.approx(slow_scores(lines, target, [*pool, "z"]), rel=1e-9)


def test_it_takes_what_is_typical_of_the_target_and_overlap_what_is_common(tmp_path: Path) -> None:
    common = ["it is the case that it is so", "the thing that is the case"]
    target = ["the defendant appealed", "the court heard the defendant", "it is the court that is heard", *common] * 3
    pool = [*common * 50, "the defendant appealed"]
    (tmp_path / "target.txt").write_text("\n".join(target), encoding="utf-8")
    (tmp_path / "pool.txt").write_text("\n".join(pool), encoding="utf-8")
    best = {}
    for measure in ("contrast", "overlap"):
        out = tmp_path / f"{measure}.txt"
        select_text(tmp_path / "target.txt", [tmp_path / "pool.txt"], 1, out, measure=measure, format="text")  # type: ignore[arg-type]
        best[measure] = out.read_text(encoding="utf-8").strip()
    assert best["contrast"] == "the defendant appealed"
    assert best["overlap"] in common


@pytest.mark.parametrize("jobs", [1, 2])
def test_single_sentences_are_taken_out_of_paragraphs_and_their_line_is_told(tmp_path: Path, jobs: int) -> None:
    pool = ["It rained. The court heard the defendant. It was cold.", "", "Nobody came. The defendant appealed."]
    (tmp_path / "pool.txt").write_text("\n".join(pool), encoding="utf-8")
    (tmp_path / "target.txt").write_text(
        "The court heard the defendant .\nThe defendant appealed .\n", encoding="utf-8"
    )
    out, scores = tmp_path / "out.txt", tmp_path / "scores.tsv"
    done = select_text(
        tmp_path / "target.txt",
        [tmp_path / "pool.txt"],
        2,
        out,
        sentences=True,
        scores=scores,
        jobs=jobs,
        format="text",
    )
    assert out.read_text(encoding="utf-8").splitlines() == ["The court heard the defendant.", "The defendant appealed."]
    assert [row.split("\t")[2] for row in scores.read_text(encoding="utf-8").splitlines()[1:]] == ["1", "3"]
    assert done.lines_read == 3
