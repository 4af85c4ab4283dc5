"""How `acclimate` should end with 100 labelled target sentences, judged on target sentences that are not tested on.

    python benchmarks/finishing.py --data FOLDER --out DIR [--ways alone,together] [--seeds 1,2,3] [--jobs 14]
        [--targets wnut2016,fin] [--typing typed,typeless] [--set A=B] [--minutes M] [--table FILE.md]

alone     the source is learnt alone, and the labelled target sentences alone when that is over (`finish=true`): at two
          rates, and without noise at a third
together  both are learnt together; then nothing, or rounds on anchors; each of these also with a last stage in which
          the source has a head of its own (`apart=true`), without rounds at two rates

What several ways of a kind begin with is trained once. Data, divisions, settings and who chooses states are those of
benchmarks/leaderboard.py, and so are the rows, whose test scores choose nothing: the table is of the judges. `--beside
FILE` names rows of the leaderboard, to have other lines beside these.
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
NO_ROUNDS = ("anchors=false", "distillation=false")
ROUNDS = ("anchors=true", "distillation=true")
APART = "apart=true"  # a stage behind all others
ALONE = ("finish=true", *NO_ROUNDS)
WAYS = {
    "alone": {
        "rate 0.25": (*ALONE, "finish_rate=0.25"),
        "rate 1": (*ALONE, "finish_rate=1"),
        "rate 0.5, no noise": (*ALONE, "finish_rate=0.5", "finish_noise=false"),
    },
    "together": {
        "nothing": NO_ROUNDS,
        "apart": (*NO_ROUNDS, APART),
        "apart, rate 1": (*NO_ROUNDS, "round_rate=1", APART),
        "rounds": ROUNDS,
        "rounds, apart": (*ROUNDS, APART),
    },
}
COMMON = ("00-domain-tuning", "01-learn")  # folders of the stages that all ways of a kind have


@dataclass(frozen=True)
class Start:
    """What all ways have in common."""

    target: str
    typed: bool
    tuning: str
    kind: str
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.target}, {'typed' if self.typed else 'type-less'}, seed {self.seed}"

    def job(self, way: tuple[str, ...]) -> Job:
        return Job(MAIN, self.target, LABELS, self.typed, "acclimate", (self.tuning, *way), self.seed)


def do(run: Run, start: Start) -> list[Row]:
    folder = Path(run.out) / "stages" / file_name(start.name)
    rows: list[Row] = []
    before: tuple[str, ...] = ()
    for way, changes in WAYS[start.kind].items():
        if changes != (*before, APART):
            forget_stages(folder)
        before = changes
        job = start.job(changes)
        tagger, facts = trained(run, job, folder)
        facts["seconds"] = round(facts["ms_per_update"] * facts["updates"] / 1000, 1)  # of all stages, read or trained
        scored = {**judged(run, job, tagger, start.target), **tested(run, job, tagger, start.target)}
        rows.append({**asdict(job), "tested": start.target, "way": way, **scored, **facts})
    shutil.rmtree(folder)
    return rows


def forget_stages(folder: Path) -> None:
    """Those that only the way before has."""
    for stage in folder.glob("[0-9][0-9]-*"):
        if stage.name not in COMMON:
            shutil.rmtree(stage)


def start_of(row: Row) -> Start:
    kind = next(kind for kind, ways in WAYS.items() if row["way"] in ways)
    return Start(row["target"], row["typed"], row["changes"][0], kind, row["seed"])


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
    kinds = product(options.ways, options.typing, options.targets)
    wanted = [Start(target, typed, tuning, kind) for kind, typed, target in kinds]
    beside = read_rows(Path(options.beside)) if options.beside else []
    run_grid(wanted, partial(do, run), options, run.settings, start_of, lambda rows: table(rows, beside, options))


def arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__)
    parser.add_argument("--targets", default=",".join(TARGETS), metavar="TARGETS")
    parser.add_argument("--typing", default=",".join(TYPING), metavar="WORDS", help="typed, typeless, or both")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="KINDS", help="alone, together, or both")
    parser.add_argument("--encoder", default="acclimate-mini")
    parser.add_argument("--tuning", type=int, default=300, metavar="N", help="updates of domain tuning")
    parser.add_argument("--beside", metavar="FILE", help="rows of the leaderboard")
    options = parser.parse_args()
    options.selectors = list(all_selectors())
    options.targets = options.targets.split(",")
    options.ways = options.ways.split(",")
    if unknown := set(options.ways) - WAYS.keys():
        parser.error(f"--ways: unknown: {', '.join(unknown)}. Known: {', '.join(WAYS)}")
    options.typing = [TYPING[name] for name in options.typing.split(",")]
    return options


if __name__ == "__main__":
    main()
