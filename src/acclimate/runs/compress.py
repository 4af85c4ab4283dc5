"""Compress a tagger: a student with fewer layers of the same encoder learns the tagger's answers on text."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from acclimate.data.batches import TARGET, Batches
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.evaluation.counts import require_gold
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict, require_scorable
from acclimate.layout import RUN, TRAINING
from acclimate.methods.teachers import Distillation, frozen_copy
from acclimate.model.card import About, tagger_card
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.tagger import Tagger
from acclimate.recipes.source_free import Agreement
from acclimate.recipes.tuning_text import held_out
from acclimate.runs.fingerprint import fingerprint
from acclimate.runs.folder import begin, finish, in_locked_folder, require_unfinished
from acclimate.settings import UsageError, complete, require_seed
from acclimate.spelling import argument, count
from acclimate.training.loop import build_engine, device_for
from acclimate.training.progress_bar import shown_in_training
from acclimate.training.record import Record
from acclimate.training.run import Watcher, run_stages
from acclimate.training.settings import TrainingSettings, default_learning_rate
from acclimate.training.stage import Stage

STAGE = "compress"
FACTS = "compression.json"
_UPDATES, _WORDS, _EVALUATIONS = 1000, 512, 5
_HELD_OUT = 0.1  # of the text, to measure the agreement on


class CompressTrainingSettings(TrainingSettings):
    """How the student learns."""

    updates: int | None = Field(_UPDATES, ge=1)
    """Number of optimizer updates, in place of epochs; null: use epochs."""
    words_per_batch: int = Field(_WORDS, ge=1)
    """Maximum number of words per batch."""
    head_rate: float | None = Field(1.0, gt=0)
    """Learning rate of the output layer, as a factor of the run's; it is the teacher's to begin with."""


@dataclass(frozen=True)
class Compressed:
    """A student and what it is worth. Scores are fractions, None where nothing was there to measure them on."""

    tagger: Tagger = field(repr=False)
    layers: tuple[int, ...]  # of the teacher, that the student began with, counted from 0
    of_layers: int
    parameters: tuple[int, int]  # of the teacher, of the student
    sentences: int
    words: int
    updates: int
    seconds: float
    agreement: float  # F1 of the student's spans against the teacher's, or accuracy; on held-out text if there is any
    agreement_on: int  # sentences
    test: str | None = None
    f1_before: float | None = None  # the teacher's
    f1_after: float | None = None

    def as_dict(self) -> dict[str, Any]:
        facts = {name: value for name, value in vars(self).items() if name != "tagger"}
        return json.loads(json.dumps(facts))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        teacher, student = (round(size / 1e6, 1) for size in self.parameters)
        lines = [
            f"{len(self.layers)} of {self.of_layers} layers, {student} of {teacher} million weights",
            f"learnt the tagger's answers on {count(self.sentences, 'sentence')} of text in "
            f"{count(self.updates, 'update')}, {self.seconds:,.0f} s",
            f"agreement with the tagger: {100 * self.agreement:.2f} ({count(self.agreement_on, 'sentence')})",
        ]
        if self.f1_before is not None and self.f1_after is not None:
            share = f", {self.f1_after / self.f1_before:.1%} of it" if self.f1_before else ""
            lines.append(f"{self.test}: {100 * self.f1_before:.2f} before, {100 * self.f1_after:.2f} after{share}")
        return "\n".join(lines)


@in_locked_folder
@shown_in_training
def compress(
    tagger: Tagger,
    text: Corpus,
    layers: int = 4,
    *,
    test: Corpus | None = None,
    out: str | Path | None = None,
    training: TrainingSettings | Mapping[str, Any] | None = None,
    seed: int = 1,
    overwrite: bool = False,
    watcher: Watcher | None = None,
    progress: bool | None = None,
    documents: Mapping[str, str] | None = None,
) -> Compressed:
    """A student with so many of the tagger's layers, which learns the tagger's answers on the text.

    test: labelled sentences that both are scored on. out: keeps checkpoints, so that a run goes on where it was cut
    off, and then the student, with `documents` beside it by name. progress: whether to show a bar. The tagger stays as
    it is.
    """
    require_seed(seed)
    if not isinstance(training, TrainingSettings):
        training = complete(CompressTrainingSettings, training or {}, where="training settings")
    student, kept, of = student_of(tagger, layers)
    text = text.unlabelled()
    if not len(text):
        raise InputError(f"{text.name} has no sentences to learn on.")
    if test is not None:
        require_scorable(tagger.labels, test)
        require_gold(test)
    place = None if out is None else Path(out)
    known = _fingerprint(tagger, text, len(kept), training, seed)
    if place is not None:
        require_unfinished(place, overwrite)
        begin(place, known, overwrite)
    stage, selector, watched = _lesson(tagger, student, text, training, seed)
    folder = None if place is None else place / TRAINING / STAGE
    record = Record(folder, training.tensorboard)
    engine = build_engine(training, student)
    (summary,) = run_stages(student, [stage], engine, selector, seed, folder, watcher, record)
    record.close()
    student.cpu().eval()
    tagger.eval()
    scored = None if test is None else [score(test, predict(one, test)).span.f1 for one in (tagger, student)]
    done = Compressed(
        student,
        kept,
        of,
        (_size(tagger), _size(student)),
        len(text) - len(watched),
        text.word_count - watched.word_count,
        summary["updates"],
        summary["seconds"],
        float(selector(student)),
        len(selector.answers),
        None if test is None else test.name,
        *(scored or (None, None)),
    )
    if place is not None:
        _save(done, place, known, documents or {})
    return done


def student_of(tagger: Tagger, layers: int) -> tuple[Tagger, tuple[int, ...], int]:
    """A copy of the tagger with so many of its layers, their numbers, and how many it has."""
    encoder = tagger.encoder
    if not isinstance(encoder, Transformer):
        raise InputError("only a tagger on a pre-trained encoder can be compressed, and this one is an LSTM.")
    if tagger.entities is not None:
        raise InputError("a tagger with entity heads cannot be compressed: its answers are not one layer of scores.")
    of = encoder.layer_count
    if not 1 <= layers < of:
        raise UsageError(
            f"{argument('layers', layers)}: the tagger's encoder has {count(of, 'layer')}, and a student has fewer."
        )
    student = copy.deepcopy(tagger)
    assert isinstance(student.encoder, Transformer)
    return student, student.encoder.keep_layers(layers), of


def _lesson(
    tagger: Tagger, student: Tagger, text: Corpus, training: TrainingSettings, seed: int
) -> tuple[Stage, Agreement, Corpus]:
    """What the student learns on, what chooses its state, and the text that is held out."""
    learnt, watched = held_out(text, _HELD_OUT, seed)
    teacher = frozen_copy(tagger).to(device_for(training))
    judge = Agreement(predict(teacher, watched if len(watched) else text))
    # tags by themselves: the moves from tag to tag are the teacher's, and stay
    objective = Distillation(teacher, "softmax", domain="target")
    sizes = training.words_per_batch, training.sentences_per_batch
    batches = Batches({TARGET: learnt}, *sizes, seed, student.encoder.count_pieces)
    updates = training.updates_for(batches.epoch_length)
    usual = {
        "learning_rate": training.learning_rate or default_learning_rate(student),
        "evaluate_every": training.evaluate_every or max(1, updates // _EVALUATIONS),
    }
    return Stage(STAGE, {"teach": objective}, batches, training.model_copy(update=usual)), judge, watched


def _fingerprint(tagger: Tagger, text: Corpus, layers: int, training: TrainingSettings, seed: int) -> dict[str, Any]:
    """Everything that the student's weights depend on."""
    values = training.model_dump(mode="json", exclude={"checkpoint_every", "tensorboard"})
    data = {"text": text.fingerprint}
    return {"compressed": fingerprint(tagger), "layers": layers, "training": values, "seed": seed, "data": data}


def _size(tagger: Tagger) -> int:
    return sum(weight.numel() for weight in tagger.parameters())


def _save(done: Compressed, folder: Path, known: Mapping[str, Any], documents: Mapping[str, str]) -> None:
    files = {
        RUN: json.dumps(known, indent=2, ensure_ascii=False),
        FACTS: json.dumps(done.as_dict(), indent=2, ensure_ascii=False),
        "README.md": _card(done),
    }
    done.tagger.save(folder, **files, **documents)
    finish(folder)


def _card(done: Compressed) -> str:
    """The card of a tagger, with how this one was made."""
    facts = "\n".join(f"- {line[0].upper()}{line[1:]}." for line in str(done).splitlines())
    made = f"\n## How it was made\n\n`acclimate compress` made it from a tagger with more layers.\n\n{facts}\n"
    return tagger_card(done.tagger, About(sections=made))
