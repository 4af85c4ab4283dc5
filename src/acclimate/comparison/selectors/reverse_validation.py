"""A selector that teaches back: from the target, as the tagger sees it, to the source, whose labels are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from acclimate.comparison.selectors.material import Material
from acclimate.data.corpus import Corpus
from acclimate.data.subsets import take_sentences
from acclimate.evaluation.scores import score
from acclimate.inference.predict import answers
from acclimate.model.encoders.shipped import CNN_LSTM
from acclimate.model.encoders.transformer import TransformerSettings
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE
from acclimate.runs.settings import RunSettings, TaggerSettings
from acclimate.runs.task import BlindTask, tagger_for
from acclimate.runs.train import adapt
from acclimate.training.optimizers import completed
from acclimate.training.stage import DevelopmentScore

MOST_SENTENCES = 1_000  # of the source's held-out ones: soon read
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
    dev = take_sentences(dev, MOST_SENTENCES) if len(dev) > MOST_SENTENCES else dev
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
