"""Tag text with a trained tagger, or compare it with gold tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from acclimate.data.corpus import Corpus, LabelSet, kind_of_tags
from acclimate.data.problems import InputError, Place
from acclimate.data.schemes import OUTSIDE, Span, split_tag
from acclimate.data.soft_labels import coherent, softened
from acclimate.evaluation.counts import Reading, require_gold
from acclimate.evaluation.scores import Scores, score
from acclimate.model.text_tagger import TextTagger


def predict(
    tagger: TextTagger,
    text: Corpus | str | Iterable[str | Sequence[str]],
    words_per_batch: int = 8192,
    progress: Callable[[int], None] | None = None,
) -> Corpus:
    """The same sentences with predicted tags.

    `text` is a corpus, or raw text: a string for each sentence, or its words. Gold tags are dropped first.
    `words_per_batch` includes padding; for a pre-trained encoder it counts pieces.
    """
    corpus = _corpus_of(text)
    tags: list[list[str]] = [[] for _ in corpus]
    for number, decoded in tagger.read(corpus, "tags", words_per_batch, progress):
        tags[number] = tagger.spell(decoded.tolist())
    predicted = corpus.unlabelled().with_tags(tags)
    return Corpus(predicted.sentences, f"{corpus.name}, predicted", tagger.labels.kind, corpus.notes)


LEAST = 0.01  # probability of a guess that is kept


def guess(
    tagger: TextTagger,
    text: Corpus | str | Iterable[str | Sequence[str]],
    words_per_batch: int = 8192,
    progress: Callable[[int], None] | None = None,
) -> Corpus:
    """The same sentences with soft labels: probabilities of spans, those below `LEAST` left out."""
    if tagger.labels.kind == "plain":
        raise InputError("guesses are spans with scores, and this tagger gives one plain tag per word: use predict.")
    corpus = _corpus_of(text)
    sentences = list(corpus.unlabelled())
    iob2 = ["I" + tag[1:] if tag[0] in "IE" else "B" + tag[1:] if tag[0] in "BS" else tag for tag in tagger.tags]
    for number, marginals in tagger.read(corpus, "probabilities", words_per_batch, progress):
        rows = []
        for probabilities in marginals.tolist():
            row: dict[str, float] = {}
            for tag, probability in zip(iob2, probabilities, strict=True):
                row[tag] = row.get(tag, 0.0) + probability
            rows.append(row)
        sentences[number] = softened(sentences[number], coherent(rows, LEAST))
    return Corpus(tuple(sentences), f"{corpus.name}, guessed", tagger.labels.kind, corpus.notes)


# words that are read, tagged and written at a time: more waste less on padding; somebody may wait behind a pipe
WORDS, WORDS_OF_PIPE, WORDS_ON_GPU = 1 << 15, 1 << 13, 1 << 17


def words_at_once(on_gpu: bool, of_pipe: bool = False) -> int:
    return WORDS_ON_GPU if on_gpu else WORDS_OF_PIPE if of_pipe else WORDS


def predict_stream(tagger: TextTagger, parts: Iterable[Corpus], soft: bool = False) -> Iterator[Corpus]:
    """`predict`, or with `soft` `guess`, for one corpus after the other."""
    for part in parts:
        yield (guess if soft else predict)(tagger, part)


def _corpus_of(text: Corpus | str | Iterable[str | Sequence[str]]) -> Corpus:
    if isinstance(text, Corpus):
        return text
    return Corpus.of_texts([text] if isinstance(text, str) else text)


def word_confidences(tagger: TextTagger, corpus: Corpus, words_per_batch: int = 8192) -> list[list[float]]:
    """The probability of the predicted tag at each word."""
    confidences: list[list[float]] = [[] for _ in corpus]
    for number, row in tagger.read(corpus, "confidences", words_per_batch):
        confidences[number] = row.tolist()
    return confidences


def sentence_confidences(tagger: TextTagger, corpus: Corpus) -> list[float]:
    """The probability of the least certain word of each sentence."""
    return [min(row) for row in word_confidences(tagger, corpus)]


@dataclass(frozen=True, slots=True)
class TermGuess:
    """The predicted class of a gold span."""

    sentence: int
    span: Span
    predicted: str  # a label, or O
    probability: float


def guess_terms(
    tagger: TextTagger, gold: Corpus, words_per_batch: int = 8192, progress: Callable[[int], None] | None = None
) -> list[TermGuess]:
    """The class of every gold span and its probability, the mean over its words; O is a class, too."""
    classes = sorted({_class_of(tag) for tag in tagger.tags})
    members = np.zeros((len(tagger.tags), len(classes)), np.float32)  # (tag, class)
    for number, tag in enumerate(tagger.tags):
        members[number, classes.index(_class_of(tag))] = 1
    guesses: list[TermGuess] = []
    for number, probabilities in tagger.read(gold, "probabilities", words_per_batch, progress):
        shares = probabilities @ members  # (word, class)
        for span in gold[number].spans:
            means = shares[span.start : span.end].mean(0)
            best = int(means.argmax())
            guesses.append(TermGuess(number, span, classes[best], float(means[best])))
    return sorted(guesses, key=lambda guess: (guess.sentence, guess.span.start))


def _class_of(tag: str) -> str:
    return split_tag(tag)[1] or OUTSIDE


def evaluate(tagger: TextTagger, gold: Corpus, *, reading: Reading = "lenient") -> Scores:
    """Scores on a labelled corpus, as fractions; words outside the training text also apart. Unknown labels are an
    error."""
    require_scorable(tagger.labels, gold)
    require_gold(gold)
    return score(gold, predict(tagger, gold), seen=tagger.seen, reading=reading)


def require_spans(*parts: Corpus | None) -> None:
    """Refuse parts without labelled spans, whose F1 says nothing."""
    for part in parts:
        if part is not None and lacks_spans(part):
            file = part.sentences[0].place.file
            raise InputError(
                f"{part.name} has no labelled span: F1 would say nothing. Give sentences with entities, or leave it "
                "out.",
                file=None if file == part.name else file,  # read from the command line, it is named after its file
            )


def lacks_spans(gold: Corpus) -> bool:
    """Whether a tagged corpus has no labelled span."""
    return gold.is_labelled and gold.kind == "spans" and not len(gold.labels)


def require_scorable(labels: LabelSet, gold: Corpus) -> None:
    """Refuse a corpus that a tagger with these labels cannot be scored on."""
    bare = next((sentence for sentence in gold if sentence.tags is None), None)
    if bare is not None or not len(gold):
        some = "has sentences without tags" if gold.is_labelled else "has no tags"
        advice = " Tag them, or leave them out." if gold.is_labelled else ""
        place = Place() if bare is None else bare.place
        raise InputError(f"{gold.name} {some} to compare with.{advice}", file=place.file, line=place.line)
    if gold.kind != labels.kind:
        raise InputError(
            f"{gold.name} has {kind_of_tags(gold.kind)}, but the tagger was trained on {kind_of_tags(labels.kind)}."
        )
    unknown = [name for name in gold.labels if name not in labels]
    if unknown:
        raise InputError(
            f"{gold.name} has labels that the tagger does not know: {', '.join(unknown)} "
            f"(it knows {', '.join(labels)}). Map them by name (--map), or compare without types "
            "(--set reading.typeless=true)."
        )
