"""How `acclimate` should finish on 100 labelled target sentences, judged on target sentences that are not tested on.

    python benchmarks/finishing.py --data FOLDER --out DIR [--seeds 1,2,3] [--jobs 14] [--targets wnut2016,fin]
        [--typing typed,typeless] [--set A=B] [--minutes M] [--table FILE.md]

The source is learnt alone, and the labelled target sentences alone when that is over (`finish=true`): at two rates,
and without noise at a third. What comes before the last stage is trained once for all of them. Data, divisions,
settings and who chooses states are those of benchmarks/leaderboard.py, and so are the rows, whose test scores choose
nothing: the table is of the judges. `--beside FILE` names rows of the leaderboard, to have other lines beside these.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path

from grid import Row, common_arguments, file_name, markdown, read_rows, run_grid, told
from leaderboard import TYPING, all_selectors, run_of
from leaderboard_jobs import MAIN, Job, Run, judged, tested, trained
from leaderboard_tables import MEAN, values
from targets import TARGETS

LABELS = 100
SHARED = ("finish=true", "anchors=false", "distillation=false")
WAYS = {
    "rate 0.25": ("finish_rate=0.25",),
    "rate 1": ("finish_rate=1",),
    "rate 0.5, no noise": ("finish_rate=0.5", "finish_noise=false"),
}
FINISH = "*-finish"  # the folder of the last stage


@dataclass(frozen=True)
class Start:
    """What all ways have in common."""

    target: str
    typed: bool
    tuning: str
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.target}, {'typed' if self.typed else 'type-less'}, seed {self.seed}"

    def job(self, way: tuple[str, ...]) -> Job:
        return Job(MAIN, self.target, LABELS, self.typed, "acclimate", (self.tuning, *SHARED, *way), self.seed)


def do(run: Run, start: Start) -> list[Row]:
    folder = Path(run.out) / "stages" / file_name(start.name)
    rows = []
    for way, changes in WAYS.items():
        for finished in folder.glob(FINISH):
            shutil.rmtree(finished)
        job = start.job(changes)
        tagger, facts = trained(run, job, folder)
        facts["seconds"] = round(facts["ms_per_update"] * facts["updates"] / 1000, 1)  # of all stages, read or trained
        scored = {**judged(run, job, tagger, start.target), **tested(run, job, tagger, start.target)}
        rows.append({**asdict(job), "tested": start.target, "way": way, **scored, **facts})
    shutil.rmtree(folder)
    return rows


def start_of(row: Row) -> Start:
    return Start(row["target"], row["typed"], row["changes"][0], row["seed"])


def table(rows: list[Row], beside: list[Row], options: argparse.Namespace) -> str:
    columns = [*options.targets, MEAN]
    shown = []
    for typed in options.typing:
        own = [{**row, "line": row["way"]} for row in rows if row["typed"] == typed]
        others = [
            {**row, "line": row["model"]}
            for row in beside
            if row["part"] == MAIN and row["labels"] == LABELS and row["typed"] == typed
        ]
        lines = [*dict.fromkeys(row["line"] for row in [*others, *own])]
        cells = [
            [line, *(told(values([*others, *own], line, column, "judges", columns)) for column in columns)]
            for line in lines
        ]
        shown.append(f"{'Four types' if typed else 'Type-less'}\n\n{markdown(['', *columns], cells)}")
    return "\n\n".join(shown)


def main() -> None:
    options = arguments()
    run = run_of(options)
    tuning = f"domain_tuning.updates={options.tuning}"
    wanted = [Start(target, typed, tuning) for typed, target in product(options.typing, options.targets)]
    beside = read_rows(Path(options.beside)) if options.beside else []
    run_grid(wanted, partial(do, run), options, run.settings, start_of, lambda rows: table(rows, beside, options))


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__)
    parser.add_argument("--targets", default=",".join(TARGETS), metavar="TARGETS")
    parser.add_argument("--typing", default=",".join(TYPING), metavar="WORDS", help="typed, typeless, or both")
    parser.add_argument("--encoder", default="acclimate-mini")
    parser.add_argument("--tuning", type=int, default=300, metavar="N", help="updates of domain tuning")
    parser.add_argument("--beside", metavar="FILE", help="rows of the leaderboard")
    options = parser.parse_args()
    options.selectors = list(all_selectors())
    options.targets = options.targets.split(",")
    options.typing = [TYPING[name] for name in options.typing.split(",")]
    return options


if __name__ == "__main__":
    main()
