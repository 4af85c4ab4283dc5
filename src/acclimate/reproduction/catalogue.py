"""The tables that can be run again, by their ids (docs/papers/README.md) and by speaking names. To add one is to add
a file in `tables/`; what tables of one paper share stands in `tables/shared/`."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from acclimate.comparison.plan import merged
from acclimate.reproduction.table import Table
from acclimate.settings import Settings, SettingsError, UsageError, complete, load_yaml

_FILES = files("acclimate.reproduction") / "tables"


class Shared(Settings):
    """What tables of a paper have in common."""

    all: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    rows: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - a table takes those that it names
    small: dict[str, Any] = {}  # noqa: RUF012
    differs: tuple[str, ...] = ()


@cache
def all_tables() -> dict[str, Table]:
    """By id: paper by paper, and by number."""
    with as_file(_FILES) as folder:
        tables = [read_table(file) for file in folder.glob("*.yaml")]
    found = {table.id: table for table in sorted(tables, key=lambda table: _order(table.id))}
    names = [name for table in tables for name in (table.id, table.alias)]
    assert len(set(names)) == len(names), "two tables of one name"
    return found


def find_table(name: str) -> Table:
    """By id or alias; upper and lower case are the same."""
    tables = all_tables()
    names = {key.lower(): table for table in tables.values() for key in (table.id, table.alias)}
    if name.lower() in names:
        return names[name.lower()]
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise UsageError(f"Unknown table {name!r}. {hint}`acclimate papers list` names all {len(tables)} of them.")


def read_table(file: str | Path) -> Table:
    """A table's file, completed by what it shares (`like: NAME`); refuses what it does not know."""
    file = Path(file)
    values = load_yaml(file)
    like = values.pop("like", None)
    if like is not None:
        values = _with_shared(values, file.parent / "shared" / f"{like}.yaml", file)
    return complete(Table, values, where=file.name)


def _with_shared(values: dict[str, Any], place: Path, file: Path) -> dict[str, Any]:
    shared = complete(Shared, load_yaml(place), where=place.name)
    rows = values.get("rows", {})
    if isinstance(rows, list):
        rows = {name: {} for name in rows}
    if not isinstance(rows, dict):
        raise SettingsError(f"{file.name}: rows must be names, or a mapping, not {type(rows).__name__}.")
    known = {str(name): own for name, own in shared.rows.items()}
    rows = {str(name): _row(str(name), own or {}, known, file) for name, own in rows.items()}
    return {
        **values,
        "rows": rows,
        "all": merged(shared.all, values.get("all", {})),
        "small": merged(shared.small, values.get("small", {})),
        "differs": (*shared.differs, *values.get("differs", ())),
    }


def _row(name: str, own: dict[str, Any], known: dict[str, dict[str, Any]], file: Path) -> dict[str, Any]:
    """A row may be one of the shared ones by its name, or begin as one (`as: NAME`)."""
    own = dict(own)
    begun = own.pop("as", name)
    if begun != name and begun not in known:
        raise SettingsError(f"{file.name}: row {name!r} begins as {begun!r}, which is none of {', '.join(known)}.")
    return merged(known.get(begun, {}), own)


def _order(table_id: str) -> tuple[int, int]:
    paper, _, number = table_id.removeprefix("S").partition(".")
    return int(paper), int(number)
