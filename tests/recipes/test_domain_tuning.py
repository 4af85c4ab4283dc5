"""Domain tuning: what is read, how it is measured, and that an interrupted run ends as an unbroken one."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from acclimate.data.corpus import Corpus, Sentence
from acclimate.data.running_text import Shuffled
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.language_model import mlm_head_for
from acclimate.model.storage import verify
from acclimate.model.tagger import Tagger
from acclimate.recipes.domain_tuning import AdversarialMaskingSettings, DomainTuning, domain_tuning, tuning_stage
from acclimate.recipes.recipe import Plan
from acclimate.recipes.tuning_text import StoredText, TextFiles, cut, evenly, held_out, in_memory, packed, tuning_text
from acclimate.runs.domain_tune import DomainTuned, DomainTuneSettings, domain_tune
from acclimate.runs.train import adapt
from acclimate.settings import SettingsError, UsageError, complete, load_yaml
from acclimate.training.run import Nobody
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory, make_corpus: Any) -> Path:
    """A hundred and more sentences, one a line."""
    place = tmp_path_factory.mktemp("text") / "tweets.txt"
    place.write_text("\n".join(" ".join(sentence.words) for sentence in make_corpus(160, seed=3)), encoding="utf-8")
    return place


def settings_for(text: Path, bert: str, **values: Any) -> DomainTuneSettings:
    usual = {"updates": 30, "rows_per_batch": 16, "learning_rate": 1e-2, "device": "cpu", "evaluate_every": 10}
    return DomainTuneSettings.model_validate({"text": (str(text),), "encoder": bert, **usual, **values})


@pytest.fixture(scope="module")
def tuned(text: Path, bert: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DomainTuned]:
    out = tmp_path_factory.mktemp("tuned") / "mine"
    return out, domain_tune(settings_for(text, bert), out)


def test_the_held_out_loss_falls_and_both_ends_are_told(tuned: tuple[Path, DomainTuned]) -> None:
    _, done = tuned
    assert done.loss_before is not None
    assert done.loss_after is not None
    assert [update for update, _ in done.evaluations] == [0, 10, 20, 30]
    assert done.loss_before == done.evaluations[0][1]
    assert done.loss_after == min(loss for _, loss in done.evaluations) < done.loss_before - 0.2
    assert (done.masking, done.updates) == ("adversarial", 30)


def test_what_comes_out_is_a_language_model_and_an_encoder(tuned: tuple[Path, DomainTuned], bert: str) -> None:
    out, done = tuned
    verify(out)
    tuned_model, first = (AutoModelForMaskedLM.from_pretrained(folder) for folder in (out, bert))
    assert tuned_model.state_dict().keys() == first.state_dict().keys()
    assert AutoTokenizer.from_pretrained(out).get_vocab() == AutoTokenizer.from_pretrained(bert).get_vocab()
    assert Tagger.build(str(out), labels=["PER"]).encoder.width == first.config.hidden_size
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "tweets.txt" in card
    assert f"{done.loss_after:.3f}" in card


def test_hidden_words_are_in_the_record(tuned: tuple[Path, DomainTuned]) -> None:
    rows = [json.loads(line) for line in (tuned[0] / "training" / "records.jsonl").read_text().splitlines()]
    masks = [row for row in rows if row["kind"] == "masks"]
    assert [row["update"] for row in masks] == [10, 20, 30]
    assert all(row["policy"] == "adversarial" for row in masks)
    assert all(len(found["hidden"]) >= 1 for row in masks for found in row["rows"])


class Stopping(Nobody):
    """Pulls the plug."""

    def advance(self, progress: Any, losses: Any) -> None:
        if progress.update == 17:
            raise KeyboardInterrupt


def test_an_interrupted_run_ends_as_an_unbroken_one(
    text: Path, bert: str, tmp_path: Path, tuned: tuple[Path, DomainTuned]
) -> None:
    settings = settings_for(text, bert, checkpoint_every=5)
    with pytest.raises(KeyboardInterrupt):
        domain_tune(settings, tmp_path / "mine", Stopping())
    assert domain_tune(settings, tmp_path / "mine").evaluations == tuned[1].evaluations
    one, other = (AutoModelForMaskedLM.from_pretrained(folder) for folder in (tuned[0], tmp_path / "mine"))
    for name, weight in one.state_dict().items():
        torch.testing.assert_close(weight, other.state_dict()[name], rtol=0, atol=0, msg=name)


def test_other_settings_or_text_do_not_go_on_there(text: Path, bert: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        domain_tune(settings_for(text, bert, checkpoint_every=5), tmp_path / "mine", Stopping())
    with pytest.raises(UsageError, match="begun with other settings or data"):
        domain_tune(settings_for(text, bert, checkpoint_every=5, masking="random"), tmp_path / "mine")


def test_a_finished_one_is_not_tuned_again(text: Path, bert: str, tuned: tuple[Path, DomainTuned]) -> None:
    with pytest.raises(UsageError, match="already holds a finished encoder"):
        domain_tune(settings_for(text, bert), tuned[0])
    verify(tuned[0])


@pytest.mark.parametrize("masking", ["random", "mix-entropy", "pmi", "mix-density-ratio", "whole-words", "pos"])
def test_every_policy_gets_the_same_updates_and_the_same_measure(
    text: Path, bert: str, tmp_path: Path, news: Corpus, masking: str, tuned: tuple[Path, DomainTuned]
) -> None:
    source = tmp_path / "news.txt"
    source.write_text("\n".join(" ".join(sentence.words) for sentence in news), encoding="utf-8")
    done = domain_tune(settings_for(text, bert, masking=masking, source=str(source), updates=3), tmp_path / "mine")
    assert (done.masking, done.updates) == (masking, 3)
    assert done.loss_before == pytest.approx(tuned[1].loss_before, rel=1e-6)  # plain chance hides what is measured


def test_its_settings_can_be_handed_back(tuned: tuple[Path, DomainTuned]) -> None:
    again = complete(DomainTuneSettings, load_yaml(tuned[0] / "settings.yaml"))
    assert again.updates == 30


def test_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs text"):
        domain_tune(DomainTuneSettings(), tmp_path)


# its parts


def test_the_smaller_domain_is_repeated(news: Corpus, tweets: Corpus) -> None:
    both = evenly(news, tweets)
    assert len(both) == 2 * len(news)
    words = [sentence.words for sentence in tweets]
    repeated = [sentence for sentence in both if sentence.words in words]
    assert len(repeated) == len(news)
    assert not both.is_labelled
    assert evenly(None, tweets) is tweets


def counted(text: Corpus, *parts: Corpus) -> list[int]:
    """How many rows of the text are of each part."""
    words = [{sentence.words for sentence in part} for part in parts]
    return [sum(row.words in known for row in text) for known in words]


def numbered(name: str, size: int) -> Corpus:
    return Corpus.of((Sentence((name, str(number))) for number in range(size)), name)


@pytest.mark.parametrize(("source", "target", "even"), [(140, 24, 140), (24, 140, 140)])
def test_extra_text_is_added_to_equal_parts_of_source_and_target(
    bert: str, source: int, target: int, even: int
) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    texts = [numbered(name, size) for name, size in (("Anna", source), ("Bob", target), ("Oslo", 500))]
    settings = DomainTuning(masking="random", held_out=0, rows_per_batch=5, epochs=1, packed=False)
    tuning = tuning_stage(encoder, mlm_head_for(encoder), *texts[:2], settings, seed=1, extra=texts[2])
    batches: Any = tuning.stage.batches
    assert counted(batches.corpora["target"], *texts) == [even, even, 500]
    assert tuning.stage.updates == (2 * even + 500) // 5


def test_unless_told_extra_text_does_not_make_the_target_be_read_more_often(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    settings = DomainTuning(masking="random", held_out=0, rows_per_batch=1, packed=False)
    tuning = tuning_stage(
        encoder, None, numbered("Anna", 8), numbered("Bob", 4), settings, 1, extra=numbered("Oslo", 50)
    )
    assert tuning.stage.updates == 16 // 2 * (8 + 8 + 50)


def test_the_loss_is_measured_on_the_target_and_on_extra_text_only_if_the_target_is_small(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    source, extra = numbered("Bob", 200), numbered("Oslo", 300)
    large = tuning_text(source, source, extra, encoder, 0.1, 1)
    small = tuning_text(source, source[:20], extra, encoder, 0.1, 1)
    for texts, known in ((large, source), (small, extra)):
        assert 5 < len(texts.measured) < 50
        assert counted(texts.measured, known) == [len(texts.measured)]
        assert counted(texts.mixed(), texts.measured) == [0]
    assert (len(large.extra), len(small.target)) == (300, 20)


def test_extra_text_that_the_small_target_has_too_is_no_measure(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    extra = numbered("Oslo", 300)
    texts = tuning_text(None, extra[:30], extra, encoder, 0.5, 1)
    assert len(texts.measured) > 90
    assert counted(texts.measured, extra[:30]) == [0]


def test_a_policy_knows_extra_text_as_the_targets(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    target, extra = numbered("Bob", 3), numbered("Oslo", 5)
    assert counted(tuning_text(None, target, extra, encoder, 0, 1).of_target, target, extra) == [3, 5]


@pytest.mark.parametrize(("as_target", "counts"), [(False, [24, 24, 80]), (True, [90, 10, 80])])
def test_the_recipe_mixes_as_the_paper_does_or_as_told(
    bert: str, news: Corpus, tweets: Corpus, tmp_path: Path, as_target: bool, counts: list[int]
) -> None:
    file, extra = tmp_path / "extra.txt", numbered("Oslo", 80)
    file.write_text("\n".join(" ".join(sentence.words) for sentence in extra), encoding="utf-8")
    options = complete(
        AdversarialMaskingSettings,
        {"extra": (str(file),), "extra_as_target": as_target, "held_out": 0, "updates": 1, "packed": False},
    )
    plan = Plan(news, tweets, TrainingSettings(), options, 1)
    batches: Any = domain_tuning(Tagger.build(bert, labels=news.labels), plan, options).batches
    assert counted(batches.corpora["target"], news, tweets, extra) == counts


def test_several_files_of_text_are_all_the_target(text: Path, bert: str, tmp_path: Path, news: Corpus) -> None:
    """`domain-tune --text a b --source c`: half of what is read is the source's; with `extra` it is not."""
    source, more = tmp_path / "news.txt", tmp_path / "more.txt"
    source.write_text("\n".join(" ".join(sentence.words) for sentence in news), encoding="utf-8")
    more.write_text("\n".join(f"Oslo {number}" for number in range(50)), encoding="utf-8")
    given: dict[str, Any] = {"source": str(source), "epochs": 1.0, "updates": None, "rows_per_batch": 1}
    given |= {"masking": "random", "held_out": 0.0, "packed": False}
    size = len(in_memory(TextFiles((str(text),))))
    settings = settings_for(text, bert, **given)
    joined = domain_tune(settings.model_copy(update={"text": (str(text), str(more))}), tmp_path / "joined")
    beside = domain_tune(settings.model_copy(update={"extra": (str(more),)}), tmp_path / "beside")
    assert (joined.updates, beside.updates) == (2 * (size + 50), 2 * size + 50)
    assert joined.sentences == beside.sentences == size + 50


def test_packed_rows_hold_all_words_in_order_and_fit(news: Corpus, bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings(longest_row=40))
    rows = Corpus.of(Sentence(tuple(row)) for row in packed(news, encoder))
    assert [word for row in rows for word in row.words] == [word for sentence in news for word in sentence.words]
    assert len(rows) < len(news)
    assert max(encoder.count_pieces(rows)) <= 40


def test_little_text_is_not_held_out_and_the_last_update_is_kept(news: Corpus, bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    tuning = tuning_stage(encoder, mlm_head_for(encoder), None, news, DomainTuning(masking="random"), 1)
    assert len(tuning.mixture.measured) == 0
    assert isinstance(tuning.stage.selector, LastUpdate)


def test_what_is_held_out_is_not_learnt_from(make_corpus: Any, bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    text = make_corpus(300, seed=5)
    tuning = tuning_stage(encoder, mlm_head_for(encoder), None, text, DomainTuning(masking="random", packed=False), 1)
    selector: Any = tuning.stage.selector
    measured = {sentence.words for part in selector.parts() for sentence in part}
    batches: Any = tuning.stage.batches
    assert measured
    assert measured.isdisjoint(sentence.words for sentence in batches.corpora["target"])


def test_unless_told_a_pass_over_little_text_has_sixteen_updates_and_one_over_much_has_128_rows_an_update(
    bert: str, make_corpus: Any
) -> None:
    encoder = Transformer.build(bert, TransformerSettings(longest_row=12))
    found = [
        tuning_stage(encoder, None, None, make_corpus(size, seed=3), DomainTuning(masking="random", held_out=0), 1)
        for size in (100, 3000)
    ]
    little, much = ((tuning.mixture.rows_per_batch, tuning.mixture.batches.epoch_length) for tuning in found)
    assert 16 <= little[1] <= 20
    assert little[0] < 16
    assert much[0] == 128
    assert found[0].stage.updates == 16 * little[1]


@pytest.mark.parametrize("size", [30, 60, 700])
def test_packed_rows_hold_every_sentence_but_those_held_out(bert: str, make_corpus: Any, size: int) -> None:
    """Beside the way in memory: the same sentences would be held out."""
    encoder, given = Transformer.build(bert, TransformerSettings()), make_corpus(size, seed=5)
    text = given + given[:7]  # equal ones stay together
    stored = StoredText.of(text[: size // 2], text, None, encoder, 0.02, 1)
    apart = {sentence.words for sentence in stored.measured}
    for rows, part in ((stored.target, text), (stored.source, text[: size // 2])):
        words = [word for row in Shuffled(rows, 1).at(0, len(rows)) for word in row.words]
        assert Counter(words) == Counter(word for one in part if one.words not in apart for word in one.words)
    wanted = {sentence.words for sentence in held_out(text, 0.02, 1)[1]}
    assert apart <= wanted
    assert len(apart) >= 0.9 * min(10, len(wanted))
    assert bool(apart) == (size >= 40)


def test_a_text_of_one_sentence_again_and_again_is_learnt_and_not_held_out(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    stored = StoredText.of(None, Corpus.of([Sentence(("Anna", "sings"))] * 90), None, encoder, 0.5, 1)
    assert not len(stored.measured)
    assert len(stored.target)


def test_the_head_is_tied_to_the_taggers_own_table(bert: str) -> None:
    tagger = Tagger.build(bert, labels=["PER"])
    encoder: Any = tagger.encoder
    head: Any = mlm_head_for(encoder).head
    assert head.predictions.decoder.weight is encoder.model.get_input_embeddings().weight


def test_a_tagger_from_disk_has_lost_the_head_and_that_is_told_at_once(
    bert: str, news: Corpus, tweets: Corpus, tmp_path: Path
) -> None:
    Tagger.build(bert, labels=news.labels).save(tmp_path / "tagger")
    with pytest.raises(UsageError, match="lost its language-model head"):
        adapt(Tagger.load(tmp_path / "tagger"), news, tweets, "adversarial-masking")


def test_extra_text_is_read_too(bert: str, news: Corpus, tweets: Corpus, text: Path, tmp_path: Path) -> None:
    tagger = Tagger.build(bert, labels=news.labels, seed=1)
    options: dict[str, Any] = {"updates": 2, "rows_per_batch": 4, "extra": (str(text),)}
    outcome = adapt(tagger, news, tweets, "adversarial-masking", training={"updates": 2}, **options)
    stages = [stage["stage"] for stage in outcome.stages]
    assert stages == ["source", "domain-tuning", "task-tuning"]
    assert "held-out text" in outcome.stages[1]["selector"]  # the tweets alone would be too few to hold any out


def test_an_empty_word_and_a_long_sentence_are_no_obstacle(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    odd = Corpus.of([Sentence(("",)), Sentence(("Anna",) * 400), Sentence(("\u200b", "😀"))])
    tuning = tuning_stage(encoder, mlm_head_for(encoder), None, odd, DomainTuning(masking="random"), 1)
    assert tuning.stage.batches.epoch_length >= 1


def test_what_the_source_shares_with_the_held_out_text_is_not_learnt_from(make_corpus: Any, bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    text = make_corpus(300, seed=5)
    tuning = tuning_stage(encoder, mlm_head_for(encoder), text, text, DomainTuning(masking="random", packed=False), 1)
    selector: Any = tuning.stage.selector
    batches: Any = tuning.stage.batches
    measured = {sentence.words for part in selector.parts() for sentence in part}
    assert measured.isdisjoint(sentence.words for sentence in batches.corpora["target"])


def test_long_sentences_are_cut_and_no_word_counts_twice(bert: str) -> None:
    encoder = Transformer.build(bert, TransformerSettings(longest_row=40))
    long = Corpus.of([Sentence(("Anna", "flew", "to", "Paris") * 60), Sentence(("ok",))])
    parts = cut(long, encoder)
    assert [word for part in parts for word in part.words] == [word for one in long for word in one.words]
    assert max(encoder.count_pieces(parts)) <= 40
    assert cut(long[1:], encoder)[0] is long[1]


def test_epochs_stand_instead_of_updates() -> None:
    assert complete(DomainTuning, {"epochs": 2}).updates_for(10) == 20


@pytest.mark.parametrize(
    ("given", "updates"),
    [({}, 16 * 72 // 8), ({"updates": 7}, 7), ({"epochs": 2.0}, 2 * 72 // 8), ({"passes": 3.0}, 3 * 72 // 8)],
)
def test_unless_told_little_text_is_read_sixteen_times(
    bert: str, make_corpus: Any, given: dict[str, Any], updates: int
) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    target = make_corpus(36, seed=3).unlabelled()
    settings = complete(
        DomainTuning, {"rows_per_batch": 8, "masking": "random", "held_out": 0.0, "packed": False, **given}
    )
    found = tuning_stage(encoder, None, target[:24], target, settings, seed=1).stage
    assert found.updates == updates


def test_unless_told_much_text_is_tuned_on_for_5000_updates(bert: str, make_corpus: Any) -> None:
    encoder = Transformer.build(bert, TransformerSettings())
    target = make_corpus(350, seed=3).unlabelled()
    settings = complete(DomainTuning, {"rows_per_batch": 1, "masking": "random", "held_out": 0.0, "packed": False})
    assert tuning_stage(encoder, None, None, target, settings, seed=1).stage.updates == 5_000


def test_a_misspelled_policy_is_told_at_once_and_a_failed_start_claims_no_folder(
    text: Path, bert: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match="Did you mean 'adversarial'"):
        complete(DomainTuneSettings, {"masking": "adverserial"})
    with pytest.raises(UsageError, match="compares two domains"):
        domain_tune(settings_for(text, bert, masking="density-ratio"), tmp_path / "mine")
    domain_tune(settings_for(text, bert, updates=1), tmp_path / "mine")


def test_mistakes_of_the_recipe_are_told_before_anything_is_trained(
    bert: str, news: Corpus, tweets: Corpus, tmp_path: Path
) -> None:
    tagger = Tagger.build(bert, labels=news.labels)

    class Never(Nobody):
        def begin(self, stage: str, update: int, updates: int) -> None:
            raise AssertionError("training began")

    wrong: list[tuple[dict[str, Any], str]] = [
        ({"extra": (str(tmp_path / "no.txt"),)}, "no such file of extra text"),
        ({"precision": "bf16"}, "set training.precision"),
        ({"masking": "adverserial"}, "Unknown masking"),
    ]
    for options, complaint in wrong:
        with pytest.raises(ValueError, match=complaint):
            adapt(tagger, news, tweets, "adversarial-masking", watcher=Never(), **options)


def test_other_extra_text_does_not_go_on_with_the_run(
    bert: str, news: Corpus, tweets: Corpus, text: Path, tmp_path: Path
) -> None:
    extra = tmp_path / "extra.txt"
    options: dict[str, Any] = {
        "updates": 2,
        "extra": (str(extra),),
        "training": {"updates": 2},
        "out": tmp_path / "run",
    }
    extra.write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
    adapt(Tagger.build(bert, labels=news.labels, seed=1), news, tweets, "adversarial-masking", **options)
    extra.write_text("another text\n", encoding="utf-8")
    with pytest.raises(UsageError, match="begun with other settings or data"):
        adapt(Tagger.build(bert, labels=news.labels, seed=1), news, tweets, "adversarial-masking", **options)


def test_text_of_unknown_pieces_alone_is_no_measure(bert: str, tmp_path: Path) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text("\n".join("漢字 " * (1 + n) for n in range(80)), encoding="utf-8")
    done = domain_tune(settings_for(odd, bert, updates=2), tmp_path / "mine")
    assert done.loss_after is None
    json.loads((tmp_path / "mine" / "report.json").read_text(), parse_constant=pytest.fail)


def test_ten_times_the_text_takes_no_more_memory(bert: str, tmp_path: Path) -> None:
    encoder = Transformer.build(bert, TransformerSettings(longest_row=40))
    peaks = []
    for size in (6_000, 60_000):
        file = tmp_path / f"{size}.txt"
        file.write_text("".join(f"Anna saw cat number {n % 5_000} .\n" for n in range(size)), encoding="utf-8")
        tracemalloc.start()
        stored = StoredText.of(None, TextFiles((str(file),)), None, encoder, 0.02, 1)
        batches = stored.mixed(8, 1)
        assert all(batches.batch(number) for number in range(0, batches.epoch_length, 50))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert stored.sentences == size
    assert peaks[1] < 1.5 * peaks[0]
