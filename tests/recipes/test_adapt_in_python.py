"""`adapt` as a Python user meets it: the command's default recipe, a bar in a terminal, a short result."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from acclimate import adapt
from acclimate.cli.settings import AdaptSettings
from acclimate.data.corpus import Corpus
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import default_recipe

QUICK: dict[str, Any] = {"training": {"updates": 2, "words_per_batch": 100}, "shortened": 0.01}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_by(work: Callable[[], object]) -> str:
    """What a person sees in a terminal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stderr", terminal := Terminal())
        work()
    return terminal.getvalue()


def test_the_default_recipe_is_the_command_s(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> None:
    assert default_recipe() == AdaptSettings().recipe
    assert adapt(build(), news, tweets.unlabelled(), **QUICK).recipe == AdaptSettings().recipe
    assert adapt(build(), news, **QUICK).recipe == "source-only"  # nothing to adapt to, and the command says so, too


def test_a_terminal_shows_how_far_it_is_unless_it_is_told_not_to(build: Callable[..., Tagger], news: Corpus) -> None:
    assert "stage source: done" in shown_by(lambda: adapt(build(), news, **QUICK))
    assert shown_by(lambda: adapt(build(), news, progress=False, **QUICK)) == ""


def test_a_notebook_shows_it_too(
    build: Callable[..., Tagger], news: Corpus, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    adapt(build(), news, **QUICK)
    assert "stage source: done" in capsys.readouterr().err


def test_a_log_file_hears_of_it_only_when_that_is_asked_for(
    build: Callable[..., Tagger], news: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    adapt(build(), news, **QUICK)
    assert capsys.readouterr().err == ""
    adapt(build(), news, progress=True, **QUICK)
    assert "stage source: done" in capsys.readouterr().err


def test_a_result_fits_on_a_line_and_tells_its_unit(build: Callable[..., Tagger], news: Corpus) -> None:
    outcome = adapt(build(), news, source_test=news, target_test=news[:3], **QUICK)
    for shown in (outcome, outcome.target, outcome.target.after):  # type: ignore[union-attr]
        assert len(repr(shown)) < 250
        assert "\n" not in repr(shown)
        assert "F1 " in repr(shown)
        assert " %" in repr(shown)


def test_scores_are_fractions_and_print_as_percent(build: Callable[..., Tagger], news: Corpus) -> None:
    from acclimate import evaluate, score

    whole = score(news, news)
    assert whole.span.f1 == whole.as_dict()["span"]["f1"] == 1.0
    assert repr(whole) == f"Scores(F1 100.00 %, precision 100.00 %, recall 100.00 % on {len(news)} sentences)"
    assert "precision, recall and F1 in percent" in str(whole)
    assert " 100.00 " in str(whole)
    assert 0 <= evaluate(build(), news).span.f1 <= 1
