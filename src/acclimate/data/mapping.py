"""Mapping between label sets by name. A label that the map does not name is an error: nothing is lost silently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import yaml

from acclimate.data.corpus import Corpus, Kind, LabelSet, Sentence
from acclimate.data.problems import InputError
from acclimate.data.schemes import ANY_LABEL, OUTSIDE, TYPELESS, Span, hidden_labels, open_tag
from acclimate.data.soft_labels import renamed_rows, softened
from acclimate.spelling import argument, did_you_mean, either

_SHORTEST = 3  # letters of a name that may be a word of another one: LOC in geo-loc, not P in p-value
_BEGINNING = 4  # letters that two names must begin with: CHEM and chemical, but ORG and organism do not mean the same
# what three letters usually stand for
_USUAL = {
    "per": {"person", "people"},
    "org": {"organization", "organisation"},
    "loc": {"location", "locality"},
    "fac": {"facility"},
    "eve": {"event"},
    "pro": {"product"},
    "tim": {"time"},
    "num": {"number"},
    "med": {"medication", "medicine"},
    "dis": {"disease"},
}


def similar_names_of(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The names that look like one known name only, with that name."""
    known = list(known)
    fitting = {name: [other for other in known if _look_alike(name, other)] for name in names}
    return {name: others[0] for name, others in fitting.items() if len(others) == 1}


def _look_alike(name: str, other: str) -> bool:
    both = [re.findall(r"[^\W_]+", one.lower()) for one in (name, other)]
    shorter, longer = sorted(both, key=lambda words: len("".join(words)))
    short, long = "".join(shorter), "".join(longer)
    if short and long in (short, f"{short}s"):
        return True
    if len(short) < _SHORTEST:
        return False
    begins = len(short) >= _BEGINNING and long.startswith(short)
    return begins or short in longer or long.removesuffix("s") in _USUAL.get(short, ())


KEYS = ("description", "labels", "annotates")
_BUNDLED = files("acclimate.data") / "maps"
_NULL = "tag:yaml.org,2002:null"


class LabelMap(dict[str, str | None]):
    """Old name → new name, or None for a label that is dropped (its words become O).

    A new name such as `O|MISC` means MISC or nothing: its words become open to MISC. `annotates` are the new names that
    the corpus annotates; words outside of its spans may hide any other.
    """

    def __init__(
        self, names: Mapping[str, str | None], name: str = "map", annotates: tuple[str, ...] | None = None
    ) -> None:
        super().__init__(names)
        self.name, self.annotates = name, annotates

    @classmethod
    def of(cls, names: Mapping[str, str | None], name: str = "map") -> LabelMap:
        """A map from a dictionary; both None and "O" drop a label."""
        return cls({old: None if new == OUTSIDE else new for old, new in names.items()}, name)

    @classmethod
    def load(cls, source: str | Path) -> LabelMap:
        """A map from a YAML file, or one that ships with Acclimate, by its name (see `bundled_maps`)."""
        if source in bundled_maps():
            return _parse((_BUNDLED / f"{source}.yaml").read_text(encoding="utf-8"), str(source), str(source))
        return _parse(_text_of(Path(source)), Path(source).stem, str(source))

    @property
    def results(self) -> tuple[str, ...]:
        """The new names, sorted."""
        new_names = {new for new in self.values() if new is not None and not hidden_labels(new)}
        return tuple(sorted(new_names | set(self.annotates or ())))


def bundled_maps() -> tuple[str, ...]:
    """The names of the maps that ship with Acclimate."""
    return tuple(sorted(file.name.removesuffix(".yaml") for file in _BUNDLED.iterdir() if file.name.endswith(".yaml")))


def map_labels(corpus: Corpus, label_map: Mapping[str, str | None] | str | Path) -> Corpus:
    """The corpus under the names of a map: a dictionary, a YAML file, or one that ships (`bundled_maps`)."""
    if isinstance(label_map, str | Path):
        names = LabelMap.load(label_map)
    else:
        names = label_map if isinstance(label_map, LabelMap) else LabelMap.of(label_map)
    _require_named(corpus, names)
    annotates = names.annotates
    if annotates is None and corpus.annotates is not None:
        annotates = tuple(sorted({new for old in corpus.annotates if (new := names.get(old, old)) is not None}))
    mapped = corpus.map(lambda sentence: _renamed(sentence, names, corpus.kind))
    return replace(mapped, name=f"{corpus.name}[{names.name}]", annotates=annotates)


def typeless(corpus: Corpus, labels: Iterable[str] = ()) -> Corpus:
    """Every span under one label: where the entities are, not what. Neighbouring spans stay apart.

    If the corpus does not annotate one of these `labels`, or of its own, a word may hide an entity.
    """
    if corpus.kind == "plain":
        raise InputError(f"{corpus.name} has one plain tag per word; only spans can lose their type.")
    corpus = corpus.open_to((*corpus.labels, *labels))
    names = dict.fromkeys((*corpus.labels, *corpus.hidden_labels), TYPELESS)
    return map_labels(corpus, LabelMap.of(names, "typeless"))


@dataclass(frozen=True, slots=True)
class SharedLabels:
    """Which labels two sides have in common, and which only one of them has."""

    both: tuple[str, ...]
    only_source: tuple[str, ...]
    only_target: tuple[str, ...]


def shared_labels(source: Corpus | Iterable[str], target: Corpus | Iterable[str]) -> SharedLabels:
    """Compare the labels of two corpora, or of a tagger and a corpus, by name."""
    left, right = (set(side.labels if isinstance(side, Corpus) else side) for side in (source, target))
    return SharedLabels(tuple(sorted(left & right)), tuple(sorted(left - right)), tuple(sorted(right - left)))


def require_labels(corpus: Corpus, known: LabelSet | Iterable[str]) -> None:
    """Refuse gold labels that a tagger cannot predict: each would count as missed, whatever the tagger does."""
    known = tuple(known)
    unknown = shared_labels(known, corpus).only_target
    if not unknown:
        return
    raise InputError(
        f"{corpus.name} has gold labels that the tagger cannot predict: {_counted(corpus, unknown)}. "
        f"It knows {', '.join(known) or 'no label'}. {_advice(corpus, known, unknown)}"
    )


def _advice(corpus: Corpus, known: tuple[str, ...], unknown: Iterable[str]) -> str:
    """How to make labels known ones."""
    closest = fitting_map(corpus, known)
    if closest:
        call = either(f"map_labels(corpus, {closest!r})", argument("map", closest))
        return f"The bundled map {closest!r} fits: {call}."
    drops = corpus.kind != "plain"
    mapped = either("map_labels", argument("map", ...))
    similar = similar_names_of(unknown, known)
    if similar:
        otherwise = OUTSIDE if drops else "X"
        names = {label: label if label in known else similar.get(label, otherwise) for label in corpus.labels}
        advice = f"Map them by name with {mapped}; a map to begin with, made from the names alone:\n{map_text(names)}\n"
        advice += f"Check it; {OUTSIDE} drops a label." if drops else "Check it; X is a name to replace."
    else:
        advice = (
            "None of their names resembles one of these. Where one means the same nevertheless, map it by name with "
            f"{mapped}: a YAML file, `labels:` in its first line, and below it a line `  OLD: NEW` for each label of "
            f"{corpus.name}"
        ) + (f"; {OUTSIDE} as NEW drops one." if drops else ".")
    alone = f" Or compare the spans alone: {either('typeless(corpus)', argument('typeless', True))}."
    return advice + alone if drops else advice


def fitting_map(corpus: Corpus, known: LabelSet | Iterable[str]) -> str | None:
    """The smallest bundled map that makes all labels of the corpus known ones. Maps with `annotates` never fit."""
    known = tuple(known)
    labels, maps = set(corpus.labels), [one for one in map(LabelMap.load, bundled_maps()) if one.annotates is None]
    fitting = [one for one in maps if labels <= set(one) and set(one.results) <= set(known)]
    return min(fitting, key=len).name if fitting else None


def _renamed(sentence: Sentence, names: LabelMap, kind: Kind) -> Sentence:
    if sentence.tags is None:
        return sentence
    if kind == "plain":
        return sentence.with_tags([names[tag] or tag for tag in sentence.tags])
    if sentence.probabilities is not None:
        return softened(sentence, renamed_rows(sentence, names))
    spans = [(span, names[span.label]) for span in sentence.spans]
    tags = [_renamed_open(tag, names) if hidden_labels(tag) else tag for tag in sentence.tags]
    for span, new in spans:
        if new is None or hidden_labels(new):
            tags[span.start : span.end] = [new or OUTSIDE] * (span.end - span.start)
    named = (Span(span.start, span.end, new) for span, new in spans if new is not None and not hidden_labels(new))
    return sentence.with_tags(tags).with_spans(named)


def _renamed_open(tag: str, names: LabelMap) -> str:
    """An open tag under the new names. A label that is dropped can hide no more."""
    new_names = (label if label == ANY_LABEL else names[label] for label in hidden_labels(tag))
    return open_tag(label for new in new_names if new for label in hidden_labels(new) or (new,))


def _require_named(corpus: Corpus, names: LabelMap) -> None:
    known = corpus.labels | corpus.hidden_labels if corpus.kind == "spans" else corpus.labels
    missing = [label for label in known if label not in names]
    if missing:
        idle = [name for name in names if name not in known]
        lines = map_text({label: label for label in missing}).removeprefix("labels:\n")
        raise InputError(
            f"{corpus.name} has labels that the map {names.name!r} does not name: {_counted(corpus, missing)}. "
            f"Add a line for each under `labels:`; these keep them as they are, {OUTSIDE} drops one:\n{lines}"
            + (f"\nIn the map but not in the corpus: {', '.join(idle)}." if idle else "")
        )
    dropped = [label for label in corpus.labels if names[label] is None]
    if dropped and corpus.kind == "plain":
        raise InputError(
            f"{corpus.name} has one plain tag per word, so none can be dropped: {_counted(corpus, dropped)}. "
            f"Give each a name in the map {names.name!r}, such as X."
        )


def _counted(corpus: Corpus, labels: Iterable[str]) -> str:
    """With the number of spans; a label that stands in open tags alone has none."""
    counts = corpus.label_counts
    return ", ".join(f"{label} ({counts[label]:,})" if counts[label] else f"{label} (may hide)" for label in labels)


def map_text(names: Mapping[str, str]) -> str:
    """The map as a file has it; the dumper quotes names such as NO, which YAML would read as false."""
    lines = (yaml.safe_dump({old: new}, allow_unicode=True).strip() for old, new in names.items())
    return "\n".join(["labels:", *(f"  {line}" for line in lines)])


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text ({error.reason} at byte {error.start}).", file=path) from error
    except OSError as error:
        problem = f"there is no such label map ({error.strerror or error}).{did_you_mean(str(path), bundled_maps())}"
        advice = f"Give a YAML file, or a bundled map: {', '.join(bundled_maps())}."
        raise InputError(f"{problem} {advice}", file=path) from error


def _parse(text: str, name: str, file: str) -> LabelMap:
    """Read the nodes, not the values: they know their lines, show a key that is given twice, and keep NO a name."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError(f"not YAML: {error.problem}.", file=file, line=mark.line + 1 if mark else None) from error
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {error}.", file=file) from error
    sections = _entries(root, file, f"keys: {', '.join(KEYS)}")
    for key, (line, _) in sections.items():
        if key not in KEYS:
            problem = f"unknown key {key!r}.{did_you_mean(key, KEYS)} Expected {', '.join(KEYS)};"
            advice = "the labels themselves stand under `labels:`, one `old: new` per line."
            raise InputError(f"{problem} {advice}", file=file, line=line)
    if "labels" not in sections:
        raise InputError("the key `labels` is missing; under it stands one `old: new` per line.", file=file)
    entries = _entries(sections["labels"][1], file, "one `old: new` per line")
    names = LabelMap.of({old: _new_name(old, node, line, file) for old, (line, node) in entries.items()}, name)
    if "annotates" not in sections:
        return names
    line, node = sections["annotates"]
    items = node.value if isinstance(node, yaml.SequenceNode) else ()
    if not items or not all(isinstance(item, yaml.ScalarNode) and item.value.strip() for item in items):
        raise InputError("`annotates` needs a list of new names, such as [PER, LOC].", file=file, line=line)
    return LabelMap(names, name, tuple(sorted({str(item.value) for item in items})))


def _entries(node: yaml.Node | None, file: str, expected: str) -> dict[str, tuple[int, yaml.Node]]:
    """The keys of a YAML mapping as they are written, each with its line and its value."""
    line = None if node is None else node.start_mark.line + 1
    if not isinstance(node, yaml.MappingNode) or not node.value:
        raise InputError(f"expected {expected}.", file=file, line=line)
    entries: dict[str, tuple[int, yaml.Node]] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise InputError("a key must be one name.", file=file, line=line)
        if key.value in entries:
            before = entries[key.value][0]
            raise InputError(f"{key.value!r} was already given in line {before}; keep one.", file=file, line=line)
        entries[key.value] = (line, value)
    return entries


def _new_name(old: str, node: yaml.Node, line: int, file: str) -> str | None:
    if node.tag == _NULL:
        return None
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise InputError(f"{old!r} needs one new name, or {OUTSIDE} to drop it.", file=file, line=line)
    if str(node.value).startswith(f"{OUTSIDE}|") and not all(hidden_labels(str(node.value))):
        problem = f"{old!r}: {node.value!r} lacks a name after |. Write for example O|MISC."
        raise InputError(problem, file=file, line=line)
    return str(node.value)
