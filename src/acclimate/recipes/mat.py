"""Masked adversarial training (MAT; Chen, Liu, Ruan, Lu 2020): the tagger learns each batch twice, as it is, and under
worst-case noise with a few words hidden or swapped. `rate=0` is adversarial training alone, radii of 0 are masking
alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field

from acclimate.data.batches import SOURCE, TARGET, Alternating, Stream
from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus
from acclimate.inference.predict import require_scorable, require_spans
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.methods.perturbation.adversarial import AdversarialTraining, Radii, Scope
from acclimate.methods.perturbation.word_changes import Gaussian, SubstituteKind, Substitutes, WordChanges
from acclimate.methods.perturbation.word_changes import Normalise as NormaliseLaw
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstm
from acclimate.model.encoders.layers import Normalise
from acclimate.model.learner import Learner
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.recipe import Plan, Recipe, Sibling
from acclimate.settings import Settings, UsageError
from acclimate.training.stage import Stage


class RadiusSettings(Settings):
    """How large the noise is."""

    words: float = Field(0.4, ge=0)
    """Size (norm) of the noise on word embeddings."""
    characters: float = Field(0.2, ge=0)
    """Size (norm) of the noise on character embeddings."""
    pieces: float = Field(0.4, ge=0)
    """Size of the noise on word-piece embeddings, relative to the root mean square of the embedding values."""


class MaskedNoiseSettings(Settings):
    """Which words are hidden or swapped, how large the noise is, how much all that counts."""

    rate: float = Field(0.06, ge=0, le=1)
    """Share of sentences in which one word is hidden or replaced."""
    hide: float = Field(0.9, ge=0, le=1)
    """Share of those sentences in which the word is hidden; in the others another word replaces it."""
    substitute: SubstituteKind = "similar"
    """What replaces the word: a similar word, or a random one."""
    mean: float | None = Field(None, ge=0)
    """Preferred distance between a word and its replacement; null: the median distance between words."""
    deviation: float | None = Field(None, gt=0)
    """Standard deviation around the preferred distance; null: that of the distances between words."""
    gaussian: Gaussian = "pdf"
    """Score of a distance: the Gaussian density (pdf), or a Gaussian scaled to a maximum of 1 (unit)."""
    distribution: NormaliseLaw = "softmax"
    """How scores become probabilities: softmax (nearly uniform, as in the paper) or sum (more peaked)."""
    temperature: float = Field(1.0, gt=0)
    """Temperature of the replacement probabilities; lower values prefer the best scores more strongly."""
    radius: RadiusSettings = RadiusSettings()
    """Size (norm) of the noise."""
    scope: Scope = "sentence"
    """Unit over which the norm of the noise is taken: sentence, token or the whole batch."""
    weight: float = Field(0.6, ge=0)
    """Weight of the loss on noisy sentences, relative to the loss on clean ones."""
    normalise: Normalise = "weighted"
    """How to normalise the embeddings of character-cnn-lstm, so that they cannot outgrow the noise; or none."""
    same_dropout: bool = False
    """Use the same dropout mask for the clean and the noisy sentences."""
    recompute_context: bool = False
    """Recompute the frozen contextual features of a sentence after a word has changed."""


class MatSettings(MaskedNoiseSettings):
    """Masked noise, and a second task."""

    second: str | None = None
    """Labelled file of a second task, trained at the same time on the same encoder; null: none."""
    second_column: int | str | None = None
    """Column of the tags in the files of the second task; null: detect it."""
    second_test: str | None = None
    """Labelled file to evaluate the second task on, read in the same way; null: none."""


def check_plan(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    options: MatSettings = plan.options
    for name in ("second_column", "second_test"):
        if getattr(options, name) is not None and options.second is None:
            raise UsageError(f"options.{name} is of no use without options.second, the file of a second task.")
    second, test = read_second(options), read_second_test(options)
    if second is not None and test is not None:
        require_scorable(second.labels, test)
        require_spans(test)
    return ()


def mat(tagger: Tagger, plan: Plan) -> Iterator[Stage]:
    options: MatSettings = plan.options
    remodel(tagger, plan)
    text, second = plan.source.labelled() + plan.target.labelled(), read_second(options)
    learner: Learner | None = None
    batches: Stream = plan.batches(tagger, {SOURCE: text})
    if second is not None:
        learner = Siblings({SOURCE: tagger, TARGET: tagger.sibling(second.labels, tagger.encoder)})
        words, sentences = plan.training.words_per_batch, plan.training.sentences_per_batch
        count = tagger.encoder.count_pieces
        batches = Alternating({SOURCE: text, TARGET: second}, words, sentences, plan.seed, count)
    radii = options.radius.model_dump()
    task = Tagging() if second is None else TaggingOfAll()
    noisy = masked_adversarial(task, {SOURCE: radii, TARGET: radii}, read_words(plan), options)
    yield Stage("mat", {"tag": noisy}, batches, plan.training, learner=learner)


def remodel(tagger: Tagger, plan: Plan) -> tuple[str, ...]:
    return normalise_tables(tagger, read_words(plan), plan.options.normalise)


def read_words(plan: Plan) -> Corpus:
    """The text of all words that a batch may hold."""
    text, second = plan.source.labelled() + plan.target.labelled(), read_second(plan.options)
    return text if second is None else text + second.unlabelled()


def normalise_tables(tagger: Tagger, text: Corpus, kind: Normalise) -> tuple[str, ...]:
    """Normalise the embedding tables of character-cnn-lstm, unless they are already; says what was done."""
    encoder = tagger.encoder
    if not isinstance(encoder, CharacterCnnLstm) or kind in ("none", encoder.settings.normalise):
        return ()
    encoder.normalise_by(text, kind)
    return (f"normalised word and letter tables (tagger.lstm.normalise={kind})",)


def masked_adversarial(
    task: Objective, radii: Mapping[str, Radii], text: Corpus, options: MaskedNoiseSettings
) -> AdversarialTraining:
    """The task on the sentences, and on the same sentences masked and noisy (equations 7 to 9)."""
    how = options.substitute, options.mean, options.deviation, options.gaussian, options.distribution
    substitutes, changes = Substitutes(*how, options.temperature), None
    if options.rate > 0:
        words = sorted(text.vocabulary)
        changes = WordChanges(words, options.rate, options.hide, substitutes, options.recompute_context)
    return AdversarialTraining(
        task,
        radii,
        weight=options.weight,
        scope=options.scope,
        changes=changes,
        same_dropout=options.same_dropout,
    )


def read_second(options: MatSettings) -> Corpus | None:
    return None if options.second is None else _read(options.second, options, "to learn from")


def read_second_test(options: MatSettings) -> Corpus | None:
    return None if options.second_test is None else _read(options.second_test, options, "to compare with")


def _read(file: str, options: MatSettings, use: str) -> Corpus:
    if not Path(file).is_file():
        raise InputError("there is no such file of a second task.", file=file)
    corpus = read_corpus(file, column=options.second_column)
    if not corpus.is_labelled:
        raise InputError(f"the second task has no tags {use}.", file=file)
    return corpus.labelled().renamed(Path(file).name)


MAT = Recipe(
    "mat",
    "train under adversarial noise, a word now and then hidden or swapped, so that context must do the work",
    mat,
    MatSettings,
    needs=frozenset(),
    check=check_plan,
    remodel=remodel,
    sibling=Sibling("second", read_second, read_second_test),
)
