"""What does the first run show? `acclimate adapt` on what ships, seed by seed, and what text alone would bring.

    python benchmarks/first_run.py --out DIR [--seeds 1,2,3,4,5] [--table FILE.md]

Lines: the tagger `general` as it is; adapted by 100 labelled posts, as the command does by itself; by 100 others, which
the seed draws from the same 311; and adapted to the posts' text without any label.
"""

from __future__ import annotations

from typing import Any

from shared import finish_and_show, markdown, mean_and_deviation, parser

LABELS, OTHERS, TEXT = "100 labels", "100 other labels", "text alone"


def main() -> None:
    options = parser(__doc__, "out seeds jobs minutes table").parse_args()
    lines = (LABELS, OTHERS, TEXT)
    jobs = {f"{line.replace(' ', '-')}_{seed}.jsonl": (line, seed) for line in lines for seed in options.seeds}
    finish_and_show(jobs, adapted, table, options)


def adapted(line: str, seed: int) -> list[dict[str, Any]]:
    from acclimate import adapt, load_bundled
    from acclimate.data.subsets import take_sentences

    posts = load_bundled("social")
    few = posts.few if line == LABELS else take_sentences(posts.train, 100, seed)
    given = {"target": posts.text} if line == TEXT else {"target_labelled": few}
    change = adapt(**given, target_test=posts.test, seed=seed).target
    compared = change.comparison
    interval = {"low": 100 * compared.low, "high": 100 * compared.high, "p": compared.bootstrap_p}
    scores = {"before": 100 * change.before.span.f1, "after": 100 * change.after.span.f1}
    return [{"line": line, "seed": seed, **scores, **interval}]


def table(rows: list[dict[str, Any]]) -> str:
    shown = [["not adapted", "", f"{rows[0]['before']:.2f}", "", ""]]
    for line in (LABELS, OTHERS, TEXT):
        own = sorted((row for row in rows if row["line"] == line), key=lambda row: row["seed"])
        for row in own:
            interval = f"[{row['low']:+.2f}, {row['high']:+.2f}]"
            change = f"{row['after'] - row['before']:+.2f}"
            shown.append([line, row["seed"], f"{row['after']:.2f}", change, interval])
        if own:
            after, gain = ([row["after"] - start * row["before"] for row in own] for start in (0, 1))
            above = f"{sum(row['low'] > 0 for row in own)} of {len(own)} above 0"
            shown.append([f"**{line}**", "mean", mean_and_deviation(after), mean_and_deviation(gain), above])
    return markdown(["", "seed", "span F1", "change", "95 % interval"], shown)


if __name__ == "__main__":
    main()
