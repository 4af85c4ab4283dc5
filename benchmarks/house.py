"""How large is the house, and how far does a command walk through it?

    python benchmarks/house.py [--part sizes,walk,weights] [--source src] [--recipes mat,pdaln]

sizes    files, lines, lengths of files and functions, files with one importer, commands, parameters, settings; and how
         many of the lines belong to features that came after the plan of 37,000 lines (LATER)
walk     the files of which `adapt`, `compare`, `predict` and `report` call at least one function
weights  a checksum of the weights that every recipe learns in a few updates on the bundled corpora. Two versions of
         the code that print the same checksums on one machine train in the same way, bit for bit. --recipes names
         those to check, all without it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from shared import parse_known, parser

HERE = Path(__file__).parent
FEW = ["--set", "training.updates=4", "--set", "training.words_per_batch=200", "--quiet"]
LSTM = ["--encoder", "character-cnn-lstm"]
TUNED = {"acclimate": "options.domain_tuning.updates=2", "adversarial-masking": "options.updates=2"}
LABELLED_ONLY = ("target-only", "la-dtl")
ALSO_LABELLED = ("mat", "datnet", "pdaln", "acclimate")
LATER = (  # files of features that came after the plan; what has been renamed since is passed over
    *("serving/*.py", "labelling/*.py", "methods/acquisition/*.py"),
    *(f"cli/{name}.py" for name in ("serve", "label", "label_page", "export", "cluster", "predict_files")),
    *(f"inference/{name}.py" for name in ("batches", "compact", "export", "export_transformers", "files", "loading")),
    *("inference/spacy_component.py", "inference/workers.py"),
    *("model/hub.py", "model/card.py", "model/text_tagger.py", "model/heads/legal_chain.py"),
    *("runs/card.py", "runs/compress.py", "runs/budget.py", "comparison/committee.py"),
    *("recipes/source_free.py", "recipes/few_labels.py", "recipes/tuning_text.py"),
    *(f"data/{name}.py" for name in ("sources", "soft_labels", "votes", "answers", "answer_log")),
    *("data/readers/labelling.py", "data/writers/suggestions.py"),
)
WALK = """
import inspect, json, sys, threading
entered = set()
def look(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # bodies of modules and classes are not
        entered.add(frame.f_code.co_filename)
from typer.testing import CliRunner
from acclimate.cli.main import app
sys.setprofile(look); threading.setprofile(look)
result = CliRunner().invoke(app, sys.argv[1:])
sys.setprofile(None)
print(json.dumps([result.exit_code, result.output[-300:], sorted(name for name in entered if "acclimate/" in name)]))
"""
SETTINGS = """
import pkgutil, importlib, acclimate
from acclimate.settings import Settings
for module in pkgutil.walk_packages(acclimate.__path__, "acclimate."):
    try:
        importlib.import_module(module.name)
    except ImportError:
        pass  # an extra that is not installed
def below(kind):
    return {kind}.union(*map(below, kind.__subclasses__()))
print(sum(len(kind.__annotations__) for kind in below(Settings) if kind.__module__.startswith("acclimate.")))
"""
COMMANDS = """
import typer
from acclimate.cli.main import app
def leaves(command):
    children = getattr(command, "commands", None)
    return [command] if children is None else [leaf for child in children.values() for leaf in leaves(child)]
found = leaves(typer.main.get_command(app))
print(len(found), sum(len(command.params) for command in found))
"""


def main() -> None:
    made = parser(__doc__, part=list(PARTS), recipes=("", "for `weights`: names with commas"))
    made.add_argument("--source", type=Path, default=HERE.parent / "src", help="the folder that holds acclimate/")
    options = parse_known(made, part=PARTS)
    for name, part in PARTS.items():
        if name in options.part:
            given = [options.recipes.split(",")] if name == "weights" and options.recipes else []
            for label, value in part(options.source.resolve(), *given):
                print(f"| {label} | {value} |", flush=True)


def sizes(source: Path) -> list[tuple[str, object]]:
    files = sorted((source / "acclimate").rglob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    lines = {file: line_count(file) for file in files}
    later = {file for pattern in LATER for file in (source / "acclimate").glob(pattern)}
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    commands, parameters = python(source, COMMANDS).split()
    return [
        ("files under src", len(files)),
        ("lines under src", f"{sum(lines.values()):,}"),
        ("of these for features after the plan", f"{sum(lines[file] for file in files if file in later):,}"),
        ("file: median, p90, longest", spread(list(lines.values()))),
        ("function: median, p90, longest", spread(functions)),
        ("files with one importer", sum(count == 1 for count in importers(source, trees).values())),
        ("commands", commands),
        ("their parameters", parameters),
        ("settings", python(source, SETTINGS).strip()),
        ("lines under benchmarks", f"{sum(map(line_count, HERE.glob('*.py'))):,}"),
    ]


def line_count(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def spread(lengths: Sequence[int]) -> str:
    return f"{statistics.median(lengths):.0f}, {statistics.quantiles(lengths, n=10)[-1]:.0f}, {max(lengths)}"


def importers(source: Path, trees: dict[Path, ast.Module]) -> Counter[str]:
    """By module, how many files import it."""
    modules = {".".join(file.relative_to(source).with_suffix("").parts) for file in trees}
    counts: Counter[str] = Counter()
    for tree in trees.values():
        named: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                named |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
            elif isinstance(node, ast.Import):
                named |= {name.name for name in node.names}
        counts.update(named & modules)
    return counts


def walk(source: Path) -> list[tuple[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        run, text = f"{folder}/run", Path(folder, "text.txt")
        text.write_text("Anna flew to Oslo.\n", encoding="utf-8")
        pair = ["--recipes", "source-only,self-training", "--seeds", "1", "--set", "share=0.01"]
        commands = {
            "adapt --recipe pdaln": ["adapt", "--recipe", "pdaln", "--out", run, *LSTM, *FEW],
            "predict": ["predict", run, str(text)],
            "report": ["report", run],
            "compare": ["compare", *pair, "--out", f"{folder}/c", *LSTM, *FEW],
        }
        rows: list[tuple[str, object]] = []
        for name, words in commands.items():
            code, output, entered = json.loads(python(source, WALK, *words).strip().splitlines()[-1])
            inside = [file for file in entered if file.startswith(str(source))]
            rows.append((f"files entered by `{name}`", len(inside) if code == 0 else f"exit {code}: {output}"))
    return rows


def weights(source: Path, wanted: Sequence[str] = ()) -> list[tuple[str, object]]:
    names = python(source, "from acclimate.recipes.catalogue import RECIPES; print(*RECIPES)").split()
    if unknown := set(wanted) - set(names):
        sys.exit(f"--recipes: unknown: {', '.join(sorted(unknown))}. Known: {', '.join(names)}")
    trainings = [(name, name in LABELLED_ONLY) for name in names] + [(name, True) for name in ALSO_LABELLED]
    trainings = [(name, is_labelled) for name, is_labelled in trainings if not wanted or name in wanted]
    rows: list[tuple[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, is_labelled in trainings:
            out = Path(folder, f"{name}-{is_labelled}")
            words = ["adapt", "--recipe", name, "--out", str(out), *FEW]
            words += ["--set", TUNED[name]] if name in TUNED else []
            words += ["--target-labelled", "social"] if is_labelled else []
            code, output, _ = json.loads(python(source, WALK, *words).strip().splitlines()[-1])
            file = out / "weights.safetensors"
            checksum = (
                hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else f"exit {code}: {output}"
            )
            rows.append((f"{name}, with labels" if is_labelled else name, checksum))
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


PARTS = {"sizes": sizes, "walk": walk, "weights": weights}


def python(source: Path, code: str, *words: str) -> str:
    """What a fresh Python prints that imports acclimate from the source."""
    start = f"import sys; sys.path.insert(0, {str(source)!r})\n"
    done = subprocess.run([sys.executable, "-c", start + code, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
