"""Does the memory of domain tuning grow with the text?

    python benchmarks/tuning_memory.py --text FILE... [--sizes 10,2000] [--updates 3] [--encoder acclimate-mini]

The files (plain, .gz or .xz, a paragraph a line) are repeated until a text of so many megabytes is there. An encoder is
tuned on it for a few updates, in a process of its own. Shown: megabytes of text, the peak of the process in megabytes
(before tuning, and in it), and seconds. Rows go to a temporary folder: TMPDIR=FOLDER names one with enough room.
"""

from __future__ import annotations

import tempfile
import time
from itertools import chain, repeat
from pathlib import Path

from shared import alone, parser

MOST = 1.1  # times the peak of the smallest text


def main() -> None:
    made = parser(__doc__, "encoder", sizes=([10, 2000], "megabytes, the smallest first"), updates=3)
    made.add_argument("--text", nargs="+", required=True, metavar="FILE")
    options = made.parse_args()
    peaks = []
    print("| text, MB | peak before, MB | peak, MB | s |\n|---:|---:|---:|---:|", flush=True)
    for size in options.sizes:
        before, peak, seconds = alone(measured, options.text, size, options.updates, options.encoder)
        peaks.append(peak)
        print(f"| {size:,} | {before:,.0f} | {peak:,.0f} | {seconds:,.0f} |", flush=True)
    times = peaks[-1] / peaks[0]
    print(f"{'met   ' if times <= MOST else 'MISSED'}  the last peak is {times:.2f} times the first (at most {MOST})")


def measured(files: list[str], size: int, updates: int, encoder: str) -> tuple[float, float, float]:
    """The peak of this process before and in tuning, and seconds."""
    from acclimate.data.running_text import paragraphs
    from acclimate.runs.domain_tune import DomainTuneSettings, domain_tune
    from acclimate.runs.run import peak_megabytes

    with tempfile.TemporaryDirectory() as folder:
        text, left = Path(folder) / "text.txt", size * 1_000_000
        with text.open("w", encoding="utf-8") as out:
            for line in chain.from_iterable(paragraphs(file) for again in repeat(files) for file in again):
                left -= out.write(line + "\n")
                if left <= 0:
                    break
        settings = DomainTuneSettings(
            text=(str(text),),
            encoder=encoder,
            masking="random",
            updates=updates,
            rows_per_batch=8,
            evaluate_every=updates,
            held_out=1e-6,  # ten sentences: the loss is not what is measured here
            device="cpu",
        )
        before, started = peak_megabytes()["process"], time.monotonic()
        domain_tune(settings, Path(folder) / "tuned")
        peak = peak_megabytes()["process"]
    assert before is not None
    assert peak is not None
    return before, peak, time.monotonic() - started


if __name__ == "__main__":
    main()
