"""Selectors of finished runs: each gives a tagger a number without having seen a label of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import fmean
from typing import Any, Literal, Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from acclimate.analysis.features import FeaturePoints, domain_separability, feature_points
from acclimate.data.corpus import Corpus, Kind
from acclimate.data.schemes import Span
from acclimate.data.subsets import take_sentences
from acclimate.evaluation.counts import Tally, read_spans
from acclimate.evaluation.scores import score
from acclimate.inference.predict import predict
from acclimate.methods.alignment.mmd import squared_mmd
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.encoders.transformer import TransformerSettings
from acclimate.model.tagger import Tagger, answers
from acclimate.recipes.catalogue import BASELINE
from acclimate.runs.settings import RunSettings, TaggerSettings
from acclimate.runs.task import BlindTask, tagger_for
from acclimate.runs.train import adapt
from acclimate.training.optimizers import completed
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import DevelopmentScore

T = TypeVar("T")
MOST_SENTENCES = 500  # of the target: enough to tell runs apart, and soon read


@dataclass(frozen=True)
class Material:
    """Text of the target without tags, labelled source sentences that were held out, and what the tagger was made with.

    `source_dev` is None where the tagger cannot be measured on the source: it learnt from all of it, or it is one of
    the target's own.

    What several selectors read is read once (`once`): make a new material for a tagger that was trained further.
    """

    target: Corpus
    source: Corpus | None
    source_dev: Corpus | None
    tagger: TaggerSettings
    training: TrainingSettings
    seed: int = 0
    _read: dict[tuple[str, int], tuple[Tagger, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.target.is_labelled:
            raise ValueError("A selector without target labels was given some.")

    def once(self, what: str, tagger: Tagger, read: Callable[[], T]) -> T:
        """What `read` gives for this tagger; from memory, the second time."""
        key = (what, id(tagger))
        if key not in self._read:
            self._read[key] = (tagger, read())  # held, or another tagger might get its number
        found: T = self._read[key][1]
        return found

    @cached_property
    def sample(self) -> Corpus:
        """Random sentences of the target, the same for every run. Empty ones say nothing."""
        text = self.target.filter(lambda sentence: len(sentence) > 0)
        return take_sentences(text, MOST_SENTENCES) if len(text) > MOST_SENTENCES else text

    def answers(self, tagger: Tagger) -> Corpus:
        """The sample under the tagger's own tags."""
        return self.once("answers", tagger, lambda: predict(tagger, self.sample))


class RunSelector(Protocol):
    """Gives a finished tagger a number, the higher the better; None where it cannot say anything."""

    def __call__(self, tagger: Tagger, material: Material, /) -> float | None: ...


class SourceDev:
    """Span F1 (accuracy for plain tags) on source sentences that were held out.

    Favours taggers that learnt the task well and kept it. Fails where the domains are far apart: a recipe that gives up
    some of the source for the target is punished for it. A safe guard against runs that went wrong altogether.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        return None if material.source_dev is None else DevelopmentScore(material.source_dev)(tagger)


FEWEST = 3  # runs: two agree with each other as much as each other's

Tags = Sequence[Sequence[str]]
"""Of every word of every sentence."""
Place = tuple[int, Span]
"""A span, and the number of its sentence."""


def agreement(answers: Mapping[str, Tags], kind: Kind = "spans") -> dict[str, float | None]:
    """For each run the mean F1 of its spans (accuracy of plain tags) with every other run's in the place of gold. All
    have answered on the same sentences. None where there are fewer than three.

    Favours the answer in the middle: what several ways of training find alike is more often right than what one of them
    finds alone. Fails where most candidates make the same mistake, and never picks one that has found a way out of it.
    Among few, relatives vote for each other: source-only, and what goes on from it.
    Who finds nothing shares nothing.
    """
    if len(answers) < FEWEST:
        return dict.fromkeys(answers)
    found = {name: _spans(tags, kind) for name, tags in answers.items()}
    return {
        name: fmean(shared(mine, theirs) for other, theirs in found.items() if other != name)
        for name, mine in found.items()
    }


def shared(one: set[Place], other: set[Place]) -> float:
    """F1 of either, taken as a prediction of the other."""
    return Tally.of(one, other).f1


def sample_answers(tagger: Tagger, material: Material) -> list[tuple[str, ...]] | None:
    """What a tagger says of the target's sample, the same sentences for every run; None where there are none."""
    if not len(material.sample):
        return None
    return [sentence.tags or () for sentence in material.answers(tagger)]


def _spans(tags: Tags, kind: Kind) -> set[Place]:
    rows = read_spans([tuple(row) for row in tags], kind, "lenient", "answers")
    return {(number, span) for number, row in enumerate(rows) for span in row}


def word_probabilities(tagger: Tagger, text: Corpus) -> Tensor:
    """The probability of every tag at every word under the head, sentence after sentence, (word, tag)."""
    rows = dict(answers(tagger, text, lambda view: view.marginals.double()))
    return torch.cat([rows[number] for number in sorted(rows)]) if rows else torch.zeros(0, len(tagger.tags))


def sample_probabilities(tagger: Tagger, material: Material) -> Tensor:
    """Those of the target's sample."""
    return material.once("probabilities", tagger, lambda: word_probabilities(tagger, material.sample))


def entropies(probabilities: Tensor) -> Tensor:
    """In nats, over the last dimension. Rounding may leave a little more or less than 1 in all."""
    shares = probabilities / probabilities.sum(-1, keepdim=True).clamp_min(1e-300)
    found: Tensor = torch.special.entr(shares).sum(-1)
    return found


class MeanEntropy:
    """Minus the mean entropy of a word's tag, in nats (Morerio et al. 2018).

    Favours taggers that are sure of themselves. Fails where sureness is what a recipe trains: self-training and entropy
    losses lower it whether they are right or wrong, and a tagger that finds no entity anywhere is the surest of all.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        probabilities = sample_probabilities(tagger, material)
        return -float(entropies(probabilities).mean()) if len(probabilities) else None


class InformationMaximisation:
    """The entropy of the mean prediction minus the mean entropy (Bridle et al. 1991): sure word by word, and varied in
    all. It is the mutual information of word and tag.

    Favours taggers that use many tags with confidence, and is not taken in by one that says O everywhere. Fails where
    false alarms are many: entities that are none count as variety, too.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        probabilities = sample_probabilities(tagger, material)
        if not len(probabilities):
            return None
        return float(entropies(probabilities.mean(0)) - entropies(probabilities).mean())


_WORDS_OF_BOTH = 400


def _points(tagger: Tagger, material: Material) -> FeaturePoints | None:
    """Features of as many random words of both domains; None where one of them has none."""
    source, target = material.source, material.sample
    if source is None or not source.word_count or not target.word_count:
        return None
    corpora = {"source": source, "target": target}
    return material.once("both domains", tagger, lambda: feature_points(tagger, corpora, most=_WORDS_OF_BOTH))


class MeanDiscrepancy:
    """Minus the squared maximum mean discrepancy of word features, without its bias (Gretton et al. 2012).

    Favours taggers in whose features the domains look alike. Fails where alike is all they are: features that tell
    nothing apart have no discrepancy either, and it is the very thing that alignment recipes make small.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        found = _points(tagger, material)
        if found is None:
            return None
        source, target = (torch.from_numpy(found.of(name).points).double() for name in ("source", "target"))
        return -float(squared_mmd(source, target, unbiased=True))


class ProxyADistance:
    """Minus the proxy A-distance: how well a linear classifier tells the domains apart (Ben-David et al. 2010).

    Favours and fails as the discrepancy does. Large pre-trained encoders always let the domains be told apart: then all
    runs have nearly the same value, and it says little.
    """

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        found = _points(tagger, material)
        return None if found is None else -domain_separability(found).a_distance


_NEIGHBOURS = 1000


@dataclass(frozen=True)
class NeighbourhoodDensity:
    """Soft neighbourhood density (Saito et al. 2021): each word's similarities to all others are made a distribution,
    and its entropy, averaged over words, says how many close neighbours a word has.

    Of predictions, as published, or of features. Favours taggers under which the target falls into dense clusters.
    Fails where there is one cluster only: a tagger that says O everywhere has the densest neighbourhood of all.
    """

    of: Literal["predictions", "features"] = "predictions"
    temperature: float = 0.05

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        text = material.sample
        if text.word_count < 3:
            return None  # one neighbour leaves nothing to compare
        if self.of == "features":
            points = torch.from_numpy(feature_points(tagger, {"target": text}, most=_NEIGHBOURS).points).double()
        else:
            points = sample_probabilities(tagger, material)
            order = torch.randperm(len(points), generator=torch.Generator().manual_seed(0))
            points = points[order[:_NEIGHBOURS].sort().values]
        return density(points, self.temperature)


def density(points: Tensor, temperature: float) -> float:
    """The mean entropy of the softmax of cosines over `temperature`, a point's own left out. (point, size)"""
    units = torch.nn.functional.normalize(points, dim=1)
    similar = units @ units.T / temperature  # (point, point)
    others = ~torch.eye(len(points), dtype=torch.bool)
    rows = similar[others].view(len(points), len(points) - 1)
    return float(entropies(rows.softmax(1)).mean())


_HELD_OUT_SENTENCES = 1_000  # of the source's held-out ones: soon read
STRENGTH = 0.01  # of the penalty on large weights, beside the mean loss of a word
ROUNDS = 200  # of the fit, at most; it is over when nothing moves any more


@dataclass(frozen=True)
class ReverseValidation:
    """Tag the target's text, teach a new tagger that alone, and score it on held-out source sentences (Zhong et al.
    2010; Ganin et al. 2016).

    The new tagger is a linear layer on the pre-trained encoder as it was before any adaptation: a few updates of the
    whole would teach it next to nothing. Where the encoder is not pre-trained there is nothing to put a layer on, and a
    new tagger is trained for a small budget of `updates`, the same for every run.

    Favours taggers whose target tags are so consistent that the source's labels can be learnt from them. Fails where
    errors are consistent, too, where the source's entities do not occur in the target, and where the target's text is
    short. On a pre-trained encoder it hears only what a linear layer can learn: taggers that differ in finer things get
    nearly the same value. Without one it costs a short training for every run.
    """

    updates: int = 100

    def __call__(self, tagger: Tagger, material: Material) -> float | None:
        if material.source_dev is None or not material.source_dev.word_count or not len(material.sample):
            return None
        taught = material.answers(tagger)
        if material.tagger.encoder != CNN_LSTM:
            return linear_score(taught, material.source_dev, material.tagger, tagger.device)
        torch.manual_seed(material.seed)
        # a source of the same labels, whichever of them were predicted
        task = BlindTask(taught, known_source_labels=tagger.labels)
        back = tagger_for(task, RunSettings(recipe=BASELINE.name, tagger=material.tagger))
        settings = completed(material.training, back)
        updates = min(self.updates, settings.updates or self.updates)
        settings = settings.model_copy(update={"updates": updates, "epochs": None, "tensorboard": False})
        seed = material.seed
        adapt(back, taught, None, "source-only", select="last", training=settings, seed=seed, progress=False)
        return DevelopmentScore(material.source_dev)(back)


def linear_score(taught: Corpus, dev: Corpus, choice: TaggerSettings, device: torch.device) -> float:
    """Span F1 (accuracy for plain tags) on `dev` of a linear layer that learnt the tags of `taught`."""
    dev = take_sentences(dev, _HELD_OUT_SENTENCES) if len(dev) > _HELD_OUT_SENTENCES else dev
    known = sorted({tag for sentence in taught for tag in sentence.tags or ()})
    numbers = {tag: number for number, tag in enumerate(known)}
    tags = torch.tensor([numbers[tag] for sentence in taught for tag in sentence.tags or ()])
    learnt, asked = (
        word_features(text.unlabelled().renamed(""), choice.encoder, choice.transformer.longest_row, device.type)
        for text in (taught, dev)
    )
    guessed = tags_by_linear_layer(learnt.double(), tags, asked.double())
    rows = guessed.split_with_sizes([len(sentence) for sentence in dev])
    predicted = dev.unlabelled().with_tags([[known[number] for number in row.tolist()] for row in rows])
    found = score(dev, predicted)
    return found.token.accuracy if dev.kind == "plain" else found.span.f1


@lru_cache(maxsize=2)  # the target's sample and the held-out source, which are the same for the next run
def word_features(text: Corpus, encoder: str, longest_row: int | None, device: str) -> Tensor:
    """As an encoder reads the text that no run has touched, (word, feature), on the CPU."""
    settings = TransformerSettings(longest_row=longest_row)
    with torch.random.fork_rng(devices=[]):  # what others draw must not depend on what is still remembered here
        untouched = Tagger.build(encoder, labels=("none",), **settings.model_dump()).to(device)
    found = dict(answers(untouched, text, lambda view: view.features.float()))
    return torch.cat([found[number] for number in sorted(found)])


@torch.enable_grad()
def tags_by_linear_layer(points: Tensor, tags: Tensor, others: Tensor) -> Tensor:
    """The likeliest tag of each of the other points (other), after a multinomial logistic regression of tags (point)
    on points (point, feature). Nothing is drawn: it starts at zero and sees all points at once."""
    middle, spread = points.mean(0), points.std(0, correction=0).clamp(min=1e-6)
    points, others = (points - middle) / spread, (others - middle) / spread
    count = int(tags.max()) + 1
    weight = points.new_zeros(count, points.shape[1]).requires_grad_()
    bias = points.new_zeros(count).requires_grad_()
    fit = torch.optim.LBFGS([weight, bias], max_iter=ROUNDS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        fit.zero_grad()
        total = cross_entropy(points @ weight.T + bias, tags) + STRENGTH / 2 * weight.square().sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    fit.step(loss)  # type: ignore[no-untyped-call]
    return (others @ weight.detach().T + bias.detach()).argmax(1)
