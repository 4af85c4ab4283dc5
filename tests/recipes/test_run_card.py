"""The card of a run: what a model hub reads in it, what it tells, and what it must not tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from acclimate.data.corpus import Corpus
from acclimate.inference.export_transformers import export_transformers
from acclimate.model.card import code, escaped, table
from acclimate.model.tagger import Tagger
from acclimate.runs.card import bibtex, papers_of
from acclimate.runs.train import adapt

BRIEF = {"updates": 2}


@pytest.fixture(scope="module")
def card(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> str:
    source = news.renamed("/home/somebody/secret/news_[x](y)|z")
    how: dict[str, Any] = {"source_test": news[:9], "target_test": tweets, "training": BRIEF}
    outcome = adapt(build(), source, tweets.unlabelled(), "mat", seed=3, rate=0.4, **how)
    assert outcome.tagger is not None
    assert outcome.tagger.card is not None
    return outcome.tagger.card


def test_a_model_hub_can_read_it(card: str) -> None:
    data = ModelCard(card).data
    assert data.library_name == "acclimate"
    assert data.pipeline_tag == "token-classification"
    assert {"acclimate", "token-classification"} <= set(data.tags)
    assert "license" not in data.to_dict()  # nobody knows that of the corpora


def test_it_tells_data_scores_settings_limits_and_the_paper(card: str) -> None:
    for title in ("Scores", "Data", "Training", "Use it", "Limits", "Cite"):
        assert f"\n## {title}\n" in card
    assert "Masked Adversarial Training" in card
    assert "`rate=0.4`" in card
    assert "seed 3" in card
    assert "| target | tweets | none used | 10 | 54 |" in card
    assert "| target test | tweets | given | 10 | 54 |" in card
    assert "95 % interval" in card


def test_it_holds_no_path_of_the_machine(card: str) -> None:
    assert "secret" not in card
    assert "somebody" not in card
    assert "news\\_\\[x\\](y)\\|z" in card


def test_options_that_name_files_show_their_names_only(
    build: Callable[..., Tagger], news: Corpus, tmp_path: Path
) -> None:
    from acclimate.data.writing import write_corpus

    write_corpus(news, tmp_path / "second.conll")
    outcome = adapt(build(), news, recipe="mat", training=BRIEF, second=str(tmp_path / "second.conll"))
    assert outcome.tagger is not None
    assert "`second=second.conll`" in str(outcome.tagger.card)
    assert str(tmp_path) not in str(outcome.tagger.card)


def test_a_tagger_carries_its_card_until_it_is_trained_again(
    card: str, build: Callable[..., Tagger], news: Corpus, tweets: Corpus, tmp_path: Path
) -> None:
    tagger = build("bert")
    tagger.card = card
    tagger.save(tmp_path / "a")
    assert (tmp_path / "a" / "README.md").read_text(encoding="utf-8") == card
    assert Tagger.load(tmp_path / "a").card == card
    export_transformers(Tagger.load(tmp_path / "a"), tmp_path / "plain", tweets, card=card)
    assert (tmp_path / "plain" / "ORIGINAL.md").read_text(encoding="utf-8") == card
    outcome = adapt(start=tmp_path / "a", target_labelled=tweets, training=BRIEF)
    assert outcome.tagger is not None
    assert "by recipe `source-free`" in str(outcome.tagger.card)
    assert "Masked Adversarial Training" not in str(outcome.tagger.card)
    assert outcome.tagger_before is not None
    assert outcome.tagger_before.card == card  # which is the tagger that the card was written for


def test_the_licence_of_the_general_tagger_goes_on(tweets: Corpus) -> None:
    outcome = adapt(start="general", target_labelled=tweets, training=BRIEF)
    assert outcome.tagger is not None
    card = str(outcome.tagger.card)
    assert ModelCard(card).data.license == "cc-by-sa-4.0"
    assert card.count("## Where it began") == 1
    assert "Broad Twitter Corpus" in card.partition("## Where it began")[2]
    assert "The gain.** Use the tagger after: no labelled target test sentences say" in card


def test_a_run_without_adapting_says_so(build: Callable[..., Tagger], news: Corpus) -> None:
    outcome = adapt(build(), news, recipe="source-only", training=BRIEF)
    assert outcome.tagger is not None
    assert "Nothing was adapted" in str(outcome.tagger.card)
    assert "## Cite" not in str(outcome.tagger.card)


@pytest.mark.parametrize(
    ("recipe", "options", "stages", "expected"),
    [
        ("datnet", {}, [], ["datnet"]),
        ("source-free", {}, [], []),
        ("la-dtl", {}, [], []),
        ("acclimate", {}, ["domain-tuning", "learn", "round-1"], ["mlm4uda", "mat", "pdaln"]),
        ("acclimate", {"noise": False}, ["learn"], []),
        ("compose", {"stages": [{"objectives": ["tagging", "discriminator"]}]}, [], ["datnet"]),
        ("compose", {"stages": [{"objectives": ["tagging"]}, {"objectives": {"mat": 1}}]}, [], ["mat"]),
        ("compose", {"stages": [{"objectives": ["tagging"], "learns": ["anchors"]}]}, [], ["pdaln"]),
        ("committee", {}, [], []),
    ],
)
def test_papers_are_those_of_the_recipe_and_its_parts(
    recipe: str, options: dict[str, Any], stages: list[str], expected: list[str]
) -> None:
    assert papers_of(recipe, options, stages) == expected
    assert all(bibtex(paper).count("{") == bibtex(paper).count("}") > 4 for paper in expected)


def rendered(markdown: str) -> tuple[str, set[str]]:
    """The text that a reader sees, and the kinds of what it is made of."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    inner = [child for token in tokens for child in token.children or ()]
    return "".join(child.content for child in inner), {token.type for token in (*tokens, *inner)}


UGLY = st.text(st.sampled_from("ab_*`|[]()<>#!~$&;\\-+. \n\t1\"'{}"), min_size=1, max_size=20)


@given(UGLY)
def test_text_of_a_user_stays_text_in_markdown(text: str) -> None:
    plain = {"paragraph_open", "paragraph_close", "inline", "text", "text_special", "code_inline"}
    seen = " ".join(text.split())
    for show in (escaped, code):
        shown, kinds = rendered(f"x {show(text)} y")
        assert kinds <= plain
        assert " ".join(shown.split()) == f"x {seen} y".replace("  ", " ")


@given(st.lists(UGLY.filter(str.strip), min_size=2, max_size=2))
def test_a_table_keeps_its_cells_whatever_stands_in_them(cells: list[str]) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(table(("a", "b"), [[escaped(cells[0]), code(cells[1])]]))
    found = ["".join(child.content for child in token.children or ()) for token in tokens if token.type == "inline"]
    assert [" ".join(each.split()) for each in found[2:]] == [" ".join(cell.split()) for cell in cells]
