"""Settings: strict, nested, completed with their defaults, read from YAML and from `--set a.b=c`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError


class SettingsError(ValueError):
    """A setting that does not exist or cannot have that value."""


class UsageError(ValueError):
    """A command that cannot be meant as it was given."""


class Settings(BaseModel):
    """What every group of settings shares: unknown keys are refused, values cannot change under a running job."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        protected_namespaces=(),
        use_attribute_docstrings=True,  # the line below a setting explains it; `acclimate info settings` prints it
    )


S = TypeVar("S", bound=Settings)

GREATEST_SEED = 2**32 - 1  # not every library that is seeded takes more
Seed = Annotated[int, Field(ge=0, le=GREATEST_SEED)]

_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")


def complete(kind: type[S], values: Mapping[str, Any], where: str = "settings") -> S:
    """Check values and fill in the defaults; every mistake is reported with what would have been right."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as failure:
        raise SettingsError(_explain(kind, failure, where)) from None


def require_seed(seed: int) -> None:
    """For a seed that is no setting."""
    if not 0 <= seed <= GREATEST_SEED:
        raise UsageError(f"The seed cannot be {seed}: give a number from 0 to {GREATEST_SEED}.")


def load_yaml(path: str | Path) -> dict[str, Any]:
    """A settings file; it must hold a mapping."""
    path = Path(path)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such settings file.") from None
    except IsADirectoryError:
        raise SettingsError(f"{path} is a folder: name a settings file, such as {path / 'settings.yaml'}.") from None
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        line = "" if mark is None else f", line {mark.line + 1}"
        raise SettingsError(f"{path}{line}: not readable as YAML: {failure.problem}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as failure:
        raise SettingsError(f"{path}: not readable as YAML: {failure}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: expected a mapping of settings, found {type(values).__name__}.")
    return values


def dump_yaml(settings: Settings) -> str:
    """The completed settings as YAML that `load_yaml` takes back."""
    return yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def explained_yaml(settings: Settings) -> str:
    """The same for people: above every setting stands a line that explains it."""
    return "\n".join(_explained(settings, "")) + "\n"


def _explained(settings: Settings, indent: str) -> Iterator[str]:
    kept = settings.model_dump(mode="json", warnings=False)  # a recipe's options may stand where any mapping may
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if field.description:
            yield f"{indent}# {field.description}"
        if isinstance(value, Settings) and kept[name]:
            yield f"{indent}{name}:"
            yield from _explained(value, f"{indent}  ")
        elif isinstance(value, tuple) and value and all(isinstance(part, Settings) for part in value):
            yield f"{indent}{name}:"
            for part in value:
                yield f"{indent}-"
                yield from _explained(part, f"{indent}  ")
        elif isinstance(value, Mapping) and value and all(isinstance(part, Settings) for part in value.values()):
            yield f"{indent}{name}:"
            for key, part in value.items():
                yield f"{indent}  {key}:"
                yield from _explained(part, f"{indent}    ")
        else:
            dumped = yaml.safe_dump({name: kept[name]}, sort_keys=False, allow_unicode=True)
            yield from (f"{indent}{line}" for line in dumped.splitlines())


def flattened(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings under their dotted names, as `--set` takes them."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What changed between two trees of settings, a line each."""
    old, new = dict(flattened(before)), dict(flattened(after))
    return [
        f"  {name}: {old.get(name)} then, {new.get(name)} now"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def gathered(config: Path | None, given: Mapping[str, Any], assignments: Iterable[str] | None) -> dict[str, Any]:
    """The settings of a command, not yet checked: the file's, over them its options, over all what `--set` says."""
    values = load_yaml(config) if config is not None else {}
    return with_assignments(with_values(values, given), assignments or ())


def with_values(values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under their dotted names, as options of a command give them; None stands for an option left out."""
    result: dict[str, Any] = dict(values)
    for name, value in given.items():
        if value is not None:
            _put(result, name.split("."), value, name)
    return result


def with_assignments(values: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """Apply `a.b=c` assignments, the values read as YAML: `training.clip=null`, `options.stages.0.updates=9`."""
    result: dict[str, Any] = dict(values)
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise SettingsError(f"--set {assignment}: expected NAME=VALUE, for example training.learning_rate=0.001.")
        _put(result, keys, _value(text), f"--set {assignment}")
    return result


def _put(result: dict[str, Any], keys: list[str], value: Any, where: str) -> None:
    place: Any = result
    for key in keys[:-1]:
        step = _step(place, key, where)
        below = place[step] if isinstance(place, list) else place.get(step)
        # copied on the way down: the caller's mapping stays as it was
        place[step] = _copied(below)
        place = place[step]
    place[_step(place, keys[-1], where)] = value


def _copied(below: Any) -> dict[str, Any] | list[Any]:
    if isinstance(below, (list, tuple)):
        return list(below)
    return dict(below) if isinstance(below, Mapping) else {}


def _step(place: Any, key: str, where: str) -> Any:
    """A key, or a number counted from 0 where the place is a list."""
    if not isinstance(place, list):
        return key
    if not key.isdigit() or int(key) >= len(place):
        raise SettingsError(f"{where}: {key!r} is no number of the list there, 0 to {len(place) - 1}.")
    return int(key)


def _value(text: str) -> Any:
    """YAML 1.1 reads 1e-3 as a string (it wants 1.0e-3); people mean the number. What is quoted stays a string."""
    if _EXPONENT.fullmatch(text.strip()):
        return float(text)
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # the second for a date that is none, such as 2024-13-45
        return text


def _explain(kind: type[Settings], failure: ValidationError, where: str) -> str:
    lines = []
    for error in failure.errors():
        path = [str(part) for part in error["loc"]]
        name = ".".join(path)
        if error["type"] == "extra_forbidden":
            known = _names_beside(kind, path)
            close = difflib.get_close_matches(path[-1], known, n=1)
            hint = f"Did you mean {'.'.join([*path[:-1], close[0]])}?" if close else f"Known here: {', '.join(known)}."
            lines.append(f"unknown setting {name!r}. {hint}")
        elif error["type"] == "missing":
            lines.append(f"setting {name!r} is missing and has no default.")
        else:
            lines.append(f"setting {name!r} cannot be {error['input']!r}: {_why(error)}")
    return f"{where}: " + "\n".join(lines)


def _why(error: Mapping[str, Any]) -> str:
    """The sentence that says what is wrong: our own as it was written, pydantic's in words of the settings file."""
    own = error.get("ctx", {}).get("error")  # what a validator raised; pydantic puts "Value error, " before it
    message = str(own) if isinstance(own, Exception) else str(error["msg"]).replace("a valid tuple", "a list")
    return message if message.endswith((".", "?", "!")) else f"{message}."


def _names_beside(kind: type[BaseModel], path: list[str]) -> list[str]:
    """The settings that exist in the group where the unknown one was written."""
    for key in path[:-1]:
        if key.isdigit():  # a place in a list of groups
            continue
        inner = _group_in(kind.model_fields[key].annotation) if key in kind.model_fields else None
        if inner is None:
            return sorted(kind.model_fields)
        kind = inner
    return sorted(kind.model_fields)


def _group_in(annotation: Any) -> type[BaseModel] | None:
    """The settings group in an annotation such as `Group` or `Group | None`."""
    candidates = (annotation, *getattr(annotation, "__args__", ()))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
