"""How Sphinx builds these pages: sphinx-build -W -b html docs docs/_build"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from made_from_code import filled  # noqa: E402

from acclimate import __version__  # noqa: E402

project = "Acclimate"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Acclimate {__version__}"
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"

_LINK = re.compile(r"(?<!!)\[([^]]+)\]\(([^)#:\s]+)\)")


def _outside(page: Path, text: str) -> str:
    """Links to files of the repository that are no pages become the file's path: the site does not hold them."""

    def told(link: re.Match[str]) -> str:
        target = (page.parent / link[2]).resolve()
        if not target.exists() or (target.is_relative_to(HERE) and target.suffix == ".md"):
            return link[0]
        return f"{link[1]} (`{target.relative_to(HERE.parent)}`)"

    return _LINK.sub(told, text)


def _read(app: Any, name: str, source: list[str]) -> None:
    source[0] = filled(_outside(HERE / f"{name}.md", source[0]))


_PARAMETER = re.compile(r"^(?P<names>[a-z_]+(?:, [a-z_]+)*): (?P<what>.+)$")

_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def _with_parameters(app: Any, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Lines such as `seeds: how many` become a list of parameters, and what stands in backticks becomes code."""
    read: list[str] = []
    for line in lines:
        line = _CODE.sub(r"``\1``", line)
        if parameter := _PARAMETER.match(line):
            line = f"* **{parameter['names']}**: {parameter['what']}"
        if parameter or (read and read[-1].startswith(("* ", "  ")) and not line.startswith(" ")):
            read.append("")
        read.append(f"  {line.strip()}" if line.startswith(" ") and read[-1].startswith(("* ", "  ")) else line)
    lines[:] = read


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", _with_parameters)
    app.connect("source-read", _read)
