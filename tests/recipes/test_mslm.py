"""Recipe mslm: what is trained on what, what it may not look at, and every switch of it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.problems import InputError
from acclimate.inference.predict import evaluate, predict
from acclimate.methods.mslm import EVEN, EntityDetection, HiddenWords, MaskedTagger, count_masks, mask_weights
from acclimate.model.tagger import Tagger
from acclimate.recipes.mslm import MslmSettings, check_plan, mslm
from acclimate.recipes.recipe import Plan
from acclimate.runs.train import adapt
from acclimate.settings import SettingsError, UsageError, complete
from acclimate.training.loop import Progress
from acclimate.training.run import Nobody
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, TrainingStep

QUICK = {"updates": 3, "words_per_batch": 60}
Build = Callable[..., Tagger]


def stage_of(tagger: Tagger, source: Corpus, target: Corpus | None = None, **options: Any) -> Stage:
    plan = Plan(source, target or Corpus(()), TrainingSettings(**QUICK), complete(MslmSettings, options), 1)
    check_plan(tagger, plan)
    (stage,) = mslm(tagger, plan)
    return stage


def words_term(stage: Stage) -> HiddenWords:
    term = stage.objectives["words"]
    assert isinstance(term, HiddenWords)
    return term


def learner_of(stage: Stage) -> MaskedTagger:
    assert isinstance(stage.learner, MaskedTagger)
    return stage.learner


def shuffled(corpus: Corpus) -> Corpus:
    """The same words under other tags."""
    dice = random.Random(0)
    return corpus.map(lambda s: s.with_tags([f"B-{dice.choice(['PER', 'LOC', 'ORG'])}" for _ in s.words]))


# what it is made of


def test_its_defaults_are_the_paper_s_but_for_what_the_tagger_reads() -> None:
    options = MslmSettings()
    assert (options.elm, options.blm, options.threshold, options.masking) == (1.0, 0.075, 0.5, "joint")
    assert (options.entities.width, options.entities.type_width, options.entities.dropout) == (100, 100, 0.1)
    assert (options.swapped, options.kept, options.tags_on, options.static) == (0.0, 0.0, "clean", False)


def test_the_weights_are_counted_in_the_training_sentences_alone(build: Build, news: Corpus, tweets: Corpus) -> None:
    few = tweets[:3]
    stage = stage_of(build("bert"), news, few + tweets[3:].unlabelled(), elm=0.25, blm=0.5)
    learner = learner_of(stage)
    expected = mask_weights(*count_masks(learner.masking, news + few, learner.predictable_pieces, 1))
    assert words_term(stage).weights == expected
    assert expected != mask_weights(*count_masks(learner.masking, news + tweets, learner.predictable_pieces, 1))
    assert stage.batches.corpora["source"].sentences == (news + few).sentences  # type: ignore[attr-defined]


def test_the_total_is_the_weighted_sum_of_the_three(build: Build, news: Corpus) -> None:
    stage = stage_of(build("bert"), news, losses={"words": 0.5, "tags": 2.0, "types": 3.0})
    assert set(stage.objectives) == {"words", "tags", "types"}
    losses = TrainingStep(learner_of(stage), stage.objectives)({"source": news[:6].sentences})
    assert stage.total(losses, 0).item() == pytest.approx(
        (0.5 * losses["words"] + 2 * losses["tags"] + 3 * losses["types"]).item()
    )


@pytest.mark.parametrize(
    ("labels", "options", "terms"),
    [
        (None, {}, {"words", "tags", "types"}),
        (None, {"losses": {"words": 0}}, {"tags", "types"}),
        (None, {"entities": {"tags": "typed"}}, {"words", "tags"}),
        (None, {"entities": {"tags": "typed"}, "losses": {"words": 0, "types": 0}}, {"tags"}),
        (["PER"], {}, {"words", "tags"}),
        (["PER"], {"losses": {"types": 0}}, {"words", "tags"}),
    ],
)
def test_each_term_can_be_left_out_and_types_are_where_there_is_one(
    build: Build, labels: list[str] | None, options: dict[str, Any], terms: set[str]
) -> None:
    text = Corpus.of([Sentence(("Anna", "left"), ("B-PER", "O"))] * 3)
    stage = stage_of(build("bert", labels=labels), text, **options)
    assert set(stage.objectives) == terms
    losses = TrainingStep(learner_of(stage), stage.objectives)({"source": text.sentences})
    assert torch.isfinite(stage.total(losses, 0))


@pytest.mark.parametrize("options", [{"weighted": False}, {"masking": "span"}, {"masking": "pmi"}])
def test_weights_are_even_where_they_are_not_wanted_or_mean_nothing(
    build: Build, news: Corpus, options: dict[str, Any]
) -> None:
    """At the paper's own rates most of what is hidden here are terms, and the threshold makes both weigh alike."""
    assert words_term(stage_of(build("bert"), news)).weights == EVEN
    assert words_term(stage_of(build("bert"), news, elm=0.25, blm=0.5)).weights != EVEN
    assert words_term(stage_of(build("bert"), news, elm=0.25, blm=0.5, **options)).weights == EVEN


def test_another_masker_changes_nothing_but_the_masks(build: Build, news: Corpus) -> None:
    """C2.13: the released code trains another model where it compares maskers."""
    stages = [stage_of(build("bert"), news, masking=name, weighted=False) for name in ("joint", "span", "pmi")]
    assert len({tuple(stage.objectives) for stage in stages}) == 1
    assert len({tuple(learner_of(stage).state_dict()) for stage in stages}) == 1
    hidden = [(learner_of(stage).view(news.sentences).masks.kinds > 0) for stage in stages]
    assert len({int(kinds.sum()) for kinds in hidden}) == 1
    assert not torch.equal(hidden[0], hidden[1])


OPTIONS: list[dict[str, Any]] = [
    {"masking": "span"},
    {"masking": "pmi", "policy": {"collocations": {"at_least": 2}}},
    {"masking": "random"},
    {"masking": "entropy"},
    {"static": True, "elm": 0.5, "other_terms": True},
    {"swapped": 0.1, "kept": 0.1},
    {"weighted": False, "normalise": "weights"},
    {"tags_on": "clean"},
    {"tags_on": "both", "entities": {"extra": "token"}},
    {"entities": {"tags": "typed", "extra": "token", "width": 7}},
    {"losses": {"words": 0}, "tags_on": "clean"},
]


@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_of_it_runs(build: Build, news, tweets, options: dict[str, Any], head: str) -> None:
    tagger = build("bert", head=head)
    outcome = adapt(tagger, news, None, "mslm", training=QUICK, target_test=tweets, select="last", **options)
    assert outcome.target is not None
    assert [stage["stage"] for stage in outcome.stages] == ["source", "mslm"]


def test_it_learns_to_find_and_to_type(build: Build, news: Corpus) -> None:
    tagger = build("bert", head="softmax", dropout=0.0)
    training = {"updates": 150, "words_per_batch": 120, "learning_rate": 5e-3}
    adapt(tagger, news, None, "mslm", training=training, select="last", tags_on="both")
    assert evaluate(tagger, news).span.f1 > 0.9


# what it may not look at


@contextmanager
def pieces_read_in_earnest(tagger: Tagger) -> Iterator[list[Tensor]]:
    """All pieces that the encoder is shown while it is not in training."""
    found: list[Tensor] = []
    model: Any = tagger.encoder.model  # type: ignore[attr-defined]
    table = model.get_input_embeddings()
    hook = table.register_forward_hook(lambda module, given, out: None if module.training else found.append(given[0]))
    yield found
    hook.remove()


def test_the_tagger_is_chosen_and_scored_on_text_without_a_mask(build: Build, news: Corpus, tweets: Corpus) -> None:
    tagger = build("bert")
    with pieces_read_in_earnest(tagger) as found:
        adapt(tagger, news, None, "mslm", training=QUICK, source_dev=news[:8], target_test=tweets)
    mask = tagger.encoder.pieces.tokenizer.mask_token_id  # type: ignore[attr-defined]
    assert found
    assert not any((pieces == mask).any() for pieces in found)


def test_other_gold_tags_at_test_time_change_no_weight_and_no_prediction(
    build: Build, news: Corpus, tweets: Corpus, same_weights: Any
) -> None:
    """C2.1: the released code hides the gold entities of the test text, which gives them away."""
    taggers, predicted = [], []
    for test in (tweets, shuffled(tweets)):
        taggers.append(build("bert"))
        adapt(taggers[-1], news, test, "mslm", training=QUICK, target_test=test, source_dev=news[:8])
        predicted.append(predict(taggers[-1], test))
    assert same_weights(*taggers)
    assert predicted[0] == predicted[1]


def test_labelled_target_sentences_are_learnt_from(build: Build, news: Corpus, tweets: Corpus, same_weights) -> None:
    taggers = [build("bert"), build("bert")]
    for tagger, few in zip(taggers, (tweets[:4], None), strict=True):
        adapt(tagger, news, None, "mslm", target_labelled=few, training=QUICK, select="last")
    assert not same_weights(*taggers)


# kept, and gone on with


def test_the_tagger_saved_is_the_tagger_trained(build: Build, news: Corpus, tmp_path: Path, same_weights) -> None:
    tagger = build("bert", head="softmax")
    adapt(tagger, news, None, "mslm", training=QUICK | {"updates": 20, "learning_rate": 5e-3}, select="last")
    tagger.save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger")
    assert same_weights(tagger, again)
    assert predict(again, news).sentences == predict(tagger, news).sentences


class StopAt(Nobody):
    """Stops the run at the n-th update that it sees, counted over all stages."""

    def __init__(self, update: int) -> None:
        self.left = update

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("options", [{}, {"masking": "span"}, {"static": True, "tags_on": "both"}], ids=str)
def test_a_run_that_was_stopped_ends_as_an_unbroken_one(
    build: Build, news, same_weights, tmp_path: Path, options: dict[str, Any]
) -> None:
    training = QUICK | {"updates": 7, "checkpoint_every": 2, "evaluate_every": 3}

    def run(out: Path | None = None, watcher: Any = None) -> Tagger:
        tagger = build("bert")
        torch.manual_seed(torch.seed() % 2**32)
        given = {"source_dev": news[:5], "training": training, "out": out, "watcher": watcher}
        adapt(tagger, news, None, "mslm", **given, **options)
        return tagger

    for update in (10, 2):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "a", StopAt(update))
    assert same_weights(run(tmp_path / "a"), run())


def test_what_was_hidden_is_in_the_record(build: Build, news: Corpus, tmp_path: Path) -> None:
    from acclimate.analysis.run_records import read_masks

    adapt(build("bert"), news, None, "mslm", training=QUICK, select="last", out=tmp_path / "run")
    rows = list(read_masks(tmp_path / "run"))
    assert rows
    for row in rows:
        spans = next(sentence.spans for sentence in news if sentence.words == row.words)
        assert {word for span in spans for word in range(span.start, span.end)} <= set(row.hidden)
    record = (tmp_path / "run" / "training" / "mslm" / "records.jsonl").read_text(encoding="utf-8")
    noted = next(row for row in map(json.loads, record.splitlines()) if row["kind"] == "masks")
    assert sum(noted["weights"].values()) == pytest.approx(1)


# what cannot be


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"masking": "adversarial"}, "in the recipe adversarial-masking only"),
        ({"masking": "mix-adversarial"}, "in the recipe adversarial-masking only"),
        ({"static": True, "masking": "span"}, "needs options.masking=joint"),
        ({"masking": "density-ratio"}, "compares two domains: give target text as well"),
        ({"masking": "mix-density-ratio"}, "compares two domains: give target text as well"),
        ({"swapped": 0.6, "kept": 0.6}, "1 at most together"),
        ({"elm": 0, "blm": 0}, "nothing would be hidden"),
        ({"losses": {"types": 0}}, "options.entities.tags=typed"),
    ],
)
def test_what_cannot_be_is_refused_before_training(build: Build, news, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        adapt(build("bert"), news, None, "mslm", training=QUICK, **options)


@pytest.mark.parametrize(
    ("options", "words"), [({"masking": "spam"}, "Did you mean 'span'"), ({"losses": {"tags": 0}}, "greater than 0")]
)
def test_wrong_settings_are_told(build: Build, news: Corpus, options: dict[str, Any], words: str) -> None:
    with pytest.raises((SettingsError, UsageError), match=words):
        adapt(build("bert"), news, None, "mslm", training=QUICK, **options)


def test_an_encoder_that_is_no_language_model_is_refused_with_advice(build: Build, news: Corpus) -> None:
    with pytest.raises(UsageError, match="character-cnn-lstm is none: take the encoder acclimate-mini"):
        adapt(build(), news, None, "mslm", training=QUICK)


def test_a_saved_tagger_has_no_language_model_left(build: Build, news: Corpus, tmp_path: Path) -> None:
    build("bert").save(tmp_path / "tagger")
    with pytest.raises(UsageError, match="Begin with the masked language model itself"):
        adapt(Tagger.load(tmp_path / "tagger"), news, None, "mslm", training=QUICK)


def test_plain_tags_are_refused(build: Build, part_of_speech: Corpus) -> None:
    with pytest.raises(InputError, match="entities are spans of words"):
        adapt(build("bert", text=part_of_speech), part_of_speech, None, "mslm", training=QUICK)


def test_detection_reads_what_it_is_told_to(build: Build, news: Corpus) -> None:
    for reads in ("masked", "clean", "both"):
        term = stage_of(build("bert"), news, tags_on=reads).objectives["tags"]
        assert isinstance(term, EntityDetection)
        assert term.read == reads


def test_even_weights_and_none_are_one_training_bit_for_bit_on_a_cpu(build: Build, same_weights, news: Corpus) -> None:
    training = {**QUICK, "device": "cpu"}
    taggers = {}
    for weighted, blm in ((True, 0.01), (False, 0.01), (True, 0.6), (False, 0.6)):
        taggers[weighted, blm] = build("bert")
        options = {"weighted": weighted, "blm": blm, "elm": 1.0 if blm < 0.1 else 0.2}
        adapt(taggers[weighted, blm], news, None, "mslm", training=training, select="last", **options)
    assert same_weights(taggers[True, 0.01], taggers[False, 0.01])  # more pieces of terms are hidden than others
    assert not same_weights(taggers[True, 0.6], taggers[False, 0.6])
