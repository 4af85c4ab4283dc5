"""How the recipe was chosen, where recipes raced for it (`adapt --recipe auto`)."""

from __future__ import annotations

from typing import Any

from acclimate.reporting.figures import UNKNOWN, percent
from acclimate.reporting.markup import join, paragraph, table, tag
from acclimate.reporting.run_data import RunData
from acclimate.reporting.section import Section


def race_sections(run: RunData) -> list[Section]:
    """One, or none where the recipe was named."""
    race = run.report.get("race")
    if not race:
        return []
    about = (
        f"Every candidate was trained for a while ({race['budget']} for all) and judged by {race['measure']}, the "
        "higher the better; the winner was then trained in full. Source: the score on held-out source sentences."
    )
    rows: list[list[Any]] = [
        [
            tag("b", entry["recipe"]) if entry["recipe"] == race["choice"] else entry["recipe"],
            UNKNOWN if entry["value"] is None else f"{entry['value']:.4g}",
            UNKNOWN if entry["source"] is None else percent(entry["source"]),
            f"{entry['updates']:,}",
            f"{entry['seconds']:.1f}",
        ]
        for entry in race["candidates"]
    ]
    told = [paragraph(reason) for reason in race["reasons"]]
    told += [paragraph(f"Left out: {name}. {why}", class_="note") for name, why in race["left_out"].items()]
    body = join([table(["candidate", "value", "source", "updates", "seconds"], rows), *told])
    return [Section("race", "How the recipe was chosen", about, body)]
