"""Whose folder is it? A run goes on, or stands beside others, only where all that it was made from is the same."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from comparing import compare

from acclimate.comparison.selectors import run_and_judge
from acclimate.data.corpus import Corpus
from acclimate.layout import RUN
from acclimate.model.storage import read_json, write_json
from acclimate.model.tagger import Tagger
from acclimate.runs.folder import require_same_data
from acclimate.runs.run import PlannedRun
from acclimate.runs.settings import RunSettings
from acclimate.runs.task import BlindTask, Task
from acclimate.runs.train import adapt
from acclimate.settings import UsageError, complete

LSTM = {"character_width": 4, "character_filters": 5, "lstm_width": 7, "dropout": 0.0}
OWN = "character-cnn-lstm"


@dataclass
class Place:
    """A folder to work in, with a file of vectors, and the task of its runs."""

    folder: Path
    task: BlindTask

    @property
    def vectors(self) -> Path:
        return self.folder / "vectors.txt"

    def write_vectors(self, number: float) -> None:
        self.vectors.write_text(f"rained {number} 0.5\nyesterday 0.25 -1.5\n", encoding="utf-8")

    def trial(self, recipe: str = "source-only", encoder: str = OWN, **options: Any) -> PlannedRun:
        settings = {
            "tagger": {"encoder": encoder, "lstm": {**LSTM, "vectors": str(self.vectors)}},
            "training": {"updates": 2, "words_per_batch": 30},
            "recipe": recipe,
            "options": options,
        }
        made = complete(RunSettings, settings)
        return PlannedRun(made, self.folder / "runs" / recipe / "seed-1")


@pytest.fixture
def place(news: Corpus, tweets: Corpus, tmp_path: Path) -> Place:
    found = Place(tmp_path, BlindTask.of(Task(news, target=tweets.unlabelled(), target_test=tweets)))
    found.write_vectors(1.0)
    return found


def test_a_finished_run_made_with_other_vectors_is_refused(place: Place) -> None:
    run_and_judge(place.trial(), place.task)
    assert place.trial().state(place.task) == "finished"
    place.write_vectors(2.0)
    with pytest.raises(UsageError, match=r"other settings or data:\n  files\..*vectors\.txt: its content has changed"):
        place.trial().state(place.task)


def test_a_run_begun_with_other_vectors_is_refused(place: Place) -> None:
    place.trial().begin(place.task)
    assert place.trial().state(place.task) == "begun"
    place.write_vectors(2.0)
    with pytest.raises(UsageError, match="its content has changed"):
        place.trial().state(place.task)


def test_the_content_counts_that_the_files_had_when_the_run_began(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from acclimate.runs import result

    def overwritten(*given: Any) -> Any:
        place.write_vectors(2.0)
        return original(*given)

    original = result.predict
    monkeypatch.setattr(result, "predict", overwritten)  # the training is over by then
    run_and_judge(place.trial(), place.task)
    with pytest.raises(UsageError, match="its content has changed"):
        place.trial().state(place.task)
    place.write_vectors(1.0)
    assert place.trial().state(place.task) == "finished"


def test_an_encoder_s_folder_is_known_by_its_weights(place: Place, bert: str) -> None:
    encoder = place.folder / "encoder"
    shutil.copytree(bert, encoder)
    trial = place.trial(encoder=str(encoder))
    trial.begin(place.task)
    place.write_vectors(2.0)  # of another encoder: nobody reads them
    assert trial.state(place.task) == "begun"
    weights = encoder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(UsageError, match=r"model\.safetensors: its content has changed"):
        trial.state(place.task)


def test_files_that_options_name_count_too(place: Place) -> None:
    synonyms = place.folder / "synonyms.tsv"
    synonyms.write_text("rained\tpoured\n", encoding="utf-8")
    trial = place.trial("pdaln", rounds=0, synonyms=str(synonyms))
    trial.begin(place.task)
    synonyms.write_text("rained\tdrizzled\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"synonyms\.tsv: its content has changed"):
        trial.state(place.task)


def test_a_file_that_is_gone_contradicts_no_finished_run(place: Place) -> None:
    run_and_judge(place.trial(), place.task)
    place.vectors.unlink()
    assert place.trial().state(place.task) == "finished"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def spoil(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))


def test_a_finished_run_that_no_comparison_made_is_refused_and_left_alone(place: Place, news: Corpus) -> None:
    trial = place.trial()
    Tagger.build(OWN, labels=news.labels, text=news, **LSTM).save(trial.folder)
    (trial.folder / "notes.txt").write_text("mine", encoding="utf-8")
    there = contents(trial.folder)
    for _ in ("whole", "damaged"):
        with pytest.raises(UsageError, match=r"seed-1 holds something that is no run .* choose another folder"):
            trial.begin(place.task)
        assert contents(trial.folder) == there
        spoil(trial.folder / "weights.safetensors")
        there = contents(trial.folder)


def test_a_run_that_another_command_has_begun_is_refused_and_left_alone(place: Place, news: Corpus) -> None:
    trial = place.trial()
    training = {"updates": 2, "words_per_batch": 30}
    adapt(Tagger.build(OWN, labels=news.labels, text=news, **LSTM), news, None, training=training, out=trial.folder)
    there = contents(trial.folder)
    assert there
    with pytest.raises(UsageError, match="holds an unfinished run that was begun with other settings or data"):
        trial.begin(place.task)
    assert contents(trial.folder) == there


def test_of_a_damaged_run_only_its_own_files_are_removed(place: Place) -> None:
    trial = place.trial()
    run_and_judge(trial, place.task, ["entropy", "agreement"])
    own = set(contents(trial.folder))
    (trial.folder / "notes.txt").write_text("mine", encoding="utf-8")
    spoil(trial.folder / "weights.safetensors")
    assert trial.state(place.task) == "damaged"
    trial.begin(place.task)
    assert set(contents(trial.folder)) == {"notes.txt", f"training/{RUN}"}
    assert trial.state(place.task) == "begun"
    run_and_judge(trial, place.task, ["entropy", "agreement"])
    assert set(contents(trial.folder)) == {*own, "notes.txt"}


def test_a_damaged_list_of_files_is_a_damaged_run(place: Place) -> None:
    trial = place.trial()
    run_and_judge(trial, place.task)
    spoil(trial.folder / "manifest.json")
    assert trial.state(place.task) == "damaged"
    trial.begin(place.task)
    assert trial.state(place.task) == "begun"


def test_a_damaged_run_of_other_settings_is_refused(place: Place) -> None:
    trial = place.trial()
    run_and_judge(trial, place.task)
    spoil(trial.folder / "weights.safetensors")
    with pytest.raises(UsageError, match="seed: 1 then, 2 now"):
        replace(trial, settings=trial.settings.model_copy(update={"seed": 2})).begin(place.task)
    spoil(trial.folder / RUN)  # whose it is cannot be told any more
    other = replace(trial, settings=trial.settings.model_copy(update={"seed": 2}))
    assert other.state(place.task) == "damaged"


def test_a_run_whose_beginning_cannot_be_read_is_damaged_and_begun_again(place: Place) -> None:
    trial = place.trial()
    claim = trial.folder / "training" / RUN
    trial.begin(place.task)
    whole = claim.read_bytes()
    changed = whole.replace(b'"seed": 1', b'"seed": 3')
    assert changed != whole
    for found in (whole[:40], b"", b"\xff\xfe", b"[]", changed):
        claim.write_bytes(found)
        assert trial.state(place.task) == "damaged"
        trial.begin(place.task)
        assert claim.read_bytes() == whole


def with_part(place: Place, **parts: Any) -> BlindTask:
    return BlindTask.of(replace(place.task, **parts))


def test_a_refusal_says_which_corpus_has_changed(place: Place, news: Corpus) -> None:
    place.trial().begin(place.task)
    task = with_part(place, source=news[1:], source_dev=news[:3], target=None)
    with pytest.raises(UsageError) as refused:
        place.trial().state(task)
    assert [line for line in str(refused.value).splitlines() if line.startswith("  ")] == [
        "  data.source: other sentences or tags now",
        "  data.source_dev: none then, given now",
        "  data.target: given then, none now",
    ]


@pytest.mark.parametrize("begun", [PlannedRun.begin, run_and_judge])
def test_a_comparison_on_other_data_is_not_written_over(place: Place, news: Corpus, begun: Any) -> None:
    trial = place.trial("mat")
    begun(trial, place.task)
    require_same_data(place.folder, place.task.fingerprints)
    for other in (with_part(place, source=news[1:]), with_part(place, target_test=None)):
        with pytest.raises(UsageError, match=r"holds a comparison on other data:\n  data\.(source|target_test): "):
            require_same_data(place.folder, other.fingerprints)
    if begun is run_and_judge:
        require_same_data(place.folder, place.task.fingerprints)
        with pytest.raises(UsageError, match="holds a comparison on other data"):
            require_same_data(place.folder, with_part(place, source=news[1:]).fingerprints)
        write_json(
            trial.folder / RUN, {**read_json(trial.folder / RUN), "data": "damaged"}
        )  # says nothing any more, and is dealt with when this run is asked for
        require_same_data(place.folder, with_part(place, source=news[1:]).fingerprints)


def test_a_comparison_of_other_seeds_on_other_data_is_refused_before_anything_is_written(place: Place) -> None:
    place.trial().begin(place.task)
    there = contents(place.folder)
    task = place.task
    with pytest.raises(UsageError, match="holds a comparison on other data"):
        compare(task.source[1:], task.target, ["source-only"], [7], place.folder, target_test=task.target_test)
    assert contents(place.folder) == there
