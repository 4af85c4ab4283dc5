"""What a person sees in a terminal: a bar that moves, and a terminal that is whole afterwards."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from acclimate.cli.predict import tagging_bar
from acclimate.spelling import stderr_console
from acclimate.training.progress_bar import TrainingBar

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100)


def train(bar: TrainingBar, updates: int) -> None:
    bar.begin("source", 0, 10)
    for update in range(1, updates + 1):
        bar.advance(SimpleNamespace(update=update, words=20), {"tag": 0.5})
    bar.judged(updates, "score 25.00", True)


def test_the_bar_shows_where_training_stands() -> None:
    console = terminal()
    with TrainingBar(console) as bar:
        train(bar, 10)
        bar.advance(SimpleNamespace(update=10, words=20), {"tag": 0.5})
        bar.end("source")
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "10/10" in shown
    assert "tag 0.500" in shown
    assert "best score 25.00" in shown
    assert "stage source: done" in shown


def interrupt(*given: object) -> None:
    raise KeyboardInterrupt


def test_the_cursor_comes_back_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    console = terminal()
    bar = TrainingBar(console)
    monkeypatch.setattr(bar, "judged", interrupt)
    with pytest.raises(KeyboardInterrupt), bar:
        train(bar, 3)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert HIDE in shown
    assert shown.rindex(SHOW) > shown.rindex(HIDE)


def test_a_log_file_gets_plain_lines() -> None:
    console = Console(file=io.StringIO(), width=100)
    with TrainingBar(console) as bar:
        train(bar, 3)
        bar.end("source")
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in shown
    assert shown.splitlines()[:2] == ["stage source: 10 updates", "  update 3: score 25.00 (best so far)"]


def test_the_user_s_text_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    stderr_console(quiet=False).print("[/b] [red] :cat:")
    assert capsys.readouterr().err == "[/b] [red] :cat:\n"


def test_the_bar_of_predict_shows_words_a_second_and_the_share_that_is_done() -> None:
    console = terminal()
    with tagging_bar(console, total=200) as show:
        show(50, 12_345)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert " 25%" in shown
    assert re.search(r"12,345 words, [\d,]+ a second left", shown)


def test_more_lines_than_were_expected_leave_the_bar_full() -> None:
    console = terminal()
    with tagging_bar(console, total=10) as show:
        show(11, 20)
    assert "100%" in console.file.getvalue()  # type: ignore[attr-defined]
