"""What a run works on, corpora by their part in it, and the tagger that fits them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from acclimate.data.corpus import Corpus
from acclimate.data.labels import LabelSet
from acclimate.evaluation.table import count
from acclimate.model.encoders.character_cnn_lstm import CharacterCnnLstmSettings
from acclimate.model.encoders.shipped import OWN_ENCODER
from acclimate.model.encoders.transformer import TransformerSettings
from acclimate.model.tagger import DEFAULT_ENCODER, Tagger
from acclimate.recipes.catalogue import find_recipe
from acclimate.settings import Settings, complete


@dataclass(frozen=True)
class Task:
    """Corpora by their part in the run. The target is stripped of its tags before anybody else sees it."""

    source: Corpus
    source_dev: Corpus | None = None
    source_test: Corpus | None = None
    target: Corpus | None = None
    target_labelled: Corpus | None = None
    target_dev: Corpus | None = None
    target_test: Corpus | None = None
    watch: Corpus | None = None

    @property
    def has_target(self) -> bool:
        """Whether there is any sentence of the target to learn from."""
        return any(corpus is not None and len(corpus) for corpus in (self.target, self.target_labelled))

    def fingerprint(self) -> str:
        """Changes with any word or tag of any part: a run may only be resumed on the same data."""
        digest = hashlib.sha256()
        for part in fields(self):
            corpus = getattr(self, part.name)
            if part.name == "watch":
                continue  # changes no weight
            digest.update(f"{part.name}:{'' if corpus is None else corpus.fingerprint};".encode())
        return digest.hexdigest()

    @property
    def target_labels(self) -> LabelSet:
        """All labels of the target. Ten sentences do not show every type that there is; which types exist at all is
        taken from its development and test sentences as well."""
        assert self.target_labelled is not None
        labels = self.target_labelled.labels
        for part in (self.target_dev, self.target_test):
            if part is not None and part.is_labelled and part.kind == labels.kind:
                labels = labels | part.labels
        return labels

    def describe(self) -> str:
        source = f"{count(len(self.source), 'labelled source sentence')} ({self.source.name})"
        parts = [source]
        if self.target is not None:
            parts.append(f"{count(len(self.target), 'target sentence')} ({self.target.name})")
        if self.target_labelled is not None:
            parts.append(f"{count(len(self.target_labelled), 'labelled target sentence')}")
        return ", ".join(parts)


class TaggerSettings(Settings):
    """Which tagger."""

    encoder: str = DEFAULT_ENCODER
    """acclimate-mini, character-cnn-lstm, or a Hugging Face model by name or folder."""
    head: Literal["crf", "softmax"] = "crf"
    """What scores whole tag sequences (crf), or each word alone (softmax)."""
    boundary_scores: bool = False
    """CRF: scores for the first and the last tag of a sentence."""
    constrain_training: bool = False
    """CRF: illegal tags get no probability in training either, not only when decoding."""
    scheme: Literal["IOB2", "BIOES"] | None = None
    """Tag scheme inside the tagger; null: BIOES for the LSTM, IOB2 otherwise."""
    lstm: CharacterCnnLstmSettings = CharacterCnnLstmSettings()
    """Settings of character-cnn-lstm."""
    transformer: TransformerSettings = TransformerSettings()
    """Settings of a pre-trained encoder."""


def tagger_for(
    task: Task,
    recipe: str,
    choice: TaggerSettings,
    options: Mapping[str, Any],
    train_on_dev: bool = False,
    labels: LabelSet | None = None,
) -> Tagger:
    """A new tagger for one recipe, which decides whose labels it has and which words it knows. `labels` are
    its labels, where the task does not show them all."""
    settings = choice.lstm if choice.encoder == OWN_ENCODER else choice.transformer
    text, more = task.source, task.target
    chosen = find_recipe(recipe)
    if task.target_labelled is not None and chosen.trains_target(task.source, task.target_labelled):
        # words of the source and of the target's other text are known if the vectors know them
        labels, text = labels or task.target_labels, task.target_labelled
        more = task.source if more is None else task.source + more
    else:
        given = complete(chosen.options, options, where=f"options of recipe {recipe}")
        second = None if chosen.sibling is None else chosen.sibling.text(given)
        learnt = (task.target_labelled, task.source_dev if train_on_dev else None, second)
        text = sum((corpus.unlabelled() for corpus in learnt if corpus is not None), text)
    return Tagger.build(
        choice.encoder,
        labels=labels or task.source.labels,
        head=choice.head,
        scheme=choice.scheme,
        boundary_scores=choice.boundary_scores,
        constrain_training=choice.constrain_training,
        text=text,
        more_text=more,
        **settings.model_dump(),
    )
