"""One update of DATNet taken apart: what is added up, which way each gradient goes, and what the noise follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from acclimate.data.batches import SOURCE, TARGET
from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.alignment.domain_discriminator import DomainDiscriminator, grad_loss, plain_loss
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.model.learner import View
from acclimate.model.siblings import Siblings
from acclimate.model.tagger import Tagger
from acclimate.recipes.datnet import DatnetSettings, datnet
from acclimate.recipes.recipe import Plan
from acclimate.settings import complete
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage, TrainingStep

STILL = {"dropout": 0.0}
NO_NOISE = {"source_words": 0, "target_words": 0, "characters": 0, "pieces": 0}
TARGET_LABELS = ["LOC", "ORG", "PER"]


@dataclass
class Update:
    """A stage, and a batch of both domains to look at."""

    stage: Stage
    batch: Mapping[str, list[Sentence]]

    @property
    def family(self) -> Siblings:
        assert isinstance(self.stage.learner, Siblings)
        return self.stage.learner

    @property
    def step(self) -> TrainingStep:
        for objective in self.stage.objectives.values():
            objective.begin(self.family)
        return TrainingStep(self.family, self.stage.objectives).train()

    @property
    def discriminator(self) -> DomainDiscriminator:
        found = self.stage.objectives["discriminator"]
        assert isinstance(found, DomainDiscriminator)
        return found

    def views(self) -> tuple[View, View]:
        source, target = (self.family.view(self.batch[domain], domain) for domain in (SOURCE, TARGET))
        return source, target

    def losses(self) -> dict[str, float]:
        return {name: loss.item() for name, loss in self.step(self.batch).items()}


Make = Callable[..., Update]


@pytest.fixture
def make(build: Callable[..., Tagger], news: Corpus, tweets: Corpus) -> Make:
    def maker(encoder: str = "character-cnn-lstm", *, head: str = "crf", tagger: Any = None, **options: Any) -> Update:
        few = tweets[:5]
        made = {**STILL, **({"forget_rare": 0.0} if encoder == "character-cnn-lstm" else {}), **(tagger or {})}
        built = build(encoder, text=few, labels=TARGET_LABELS, head=head, **made)
        if encoder == "bert":
            for module in built.encoder.model.modules():
                if isinstance(module, nn.Dropout):
                    module.p = 0.0
        plan = Plan(news, few, TrainingSettings(words_per_batch=40), complete(DatnetSettings, options), 1)
        torch.manual_seed(0)
        (stage,) = datnet(built, plan)
        return Update(stage, {SOURCE: list(news[:3]), TARGET: list(few[:4])})

    return maker


def task_of(source: View, target: View) -> Tensor:
    """L_S + L_T: minus the log-likelihood of a sentence, the mean in each domain."""
    return source.losses.mean() + target.losses.mean()


def grad_of(update: Update, source: View, target: View, alpha: float = 0.25, gamma: float = 2.0) -> Tensor:
    """Equation 1, the mean over all sentences of both domains."""
    discriminator = update.discriminator
    logits = torch.cat([discriminator.logits(view) for view in (source, target)])
    from_source = torch.tensor([True] * len(source.sentences) + [False] * len(target.sentences))
    if discriminator.kind == "plain":
        return plain_loss(logits, from_source).mean()
    return grad_loss(logits, from_source, alpha, gamma).mean()


# what is added up


@pytest.mark.parametrize("form", ["F", "P"])
@pytest.mark.parametrize(("encoder", "head"), [("character-cnn-lstm", "crf"), ("bert", "softmax")])
def test_without_noise_and_dropout_everything_counts_twice(make: Make, form: str, encoder: str, head: str) -> None:
    update = make(encoder, head=head, form=form, radius=NO_NOISE)
    losses = update.losses()
    source, target = update.views()
    task, grad = task_of(source, target).item(), grad_of(update, source, target).item()
    assert losses["tag"] == pytest.approx(2 * task + grad, rel=1e-5)
    assert losses["discriminator"] == pytest.approx(grad, rel=1e-5)
    assert sum(losses.values()) == pytest.approx(2 * (task + grad), rel=1e-5)  # equation 5 with a noise of nothing


@pytest.mark.parametrize("kind", ["grad", "plain"])
def test_with_noise_it_is_the_clean_total_and_the_noisy_one(make: Make, kind: str) -> None:
    update = make(discriminator=kind, radius={"source_words": 3, "target_words": 2, "characters": 1})
    losses, noisy = noisy_views(update)
    source, target = update.views()
    clean = (task_of(source, target) + grad_of(update, source, target)).item()
    assert sum(losses.values()) == pytest.approx(clean + (task_of(*noisy) + grad_of(update, *noisy)).item(), rel=1e-5)
    assert task_of(*noisy).item() > task_of(source, target).item()


def test_the_discriminator_may_be_spared_the_noisy_sentences(make: Make) -> None:
    update = make(carry=False)
    losses, noisy = noisy_views(update)
    assert losses["tag"] == pytest.approx((task_of(*update.views()) + task_of(*noisy)).item(), rel=1e-5)


def test_the_noisy_sentences_count_by_their_weight(make: Make) -> None:
    update = make(weight=0.3, carry=False)
    losses, noisy = noisy_views(update)
    assert losses["tag"] == pytest.approx((task_of(*update.views()) + 0.3 * task_of(*noisy)).item(), rel=1e-5)


def test_alpha_changes_the_loss(make: Make) -> None:
    """In the released codes it cancels out (C4.1)."""
    losses = {alpha: make(alpha=alpha).losses()["discriminator"] for alpha in (0.1, 0.25, 0.9)}
    assert len({round(loss, 6) for loss in losses.values()}) == 3
    update = make(alpha=0.9)
    assert losses[0.9] == pytest.approx(grad_of(update, *update.views(), alpha=0.9).item(), rel=1e-5)


def test_plain_is_another_loss_than_grad(make: Make) -> None:
    update = make(discriminator="plain")
    assert update.losses()["discriminator"] == pytest.approx(grad_of(update, *update.views()).item(), rel=1e-5)
    assert update.losses()["discriminator"] > 2 * make().losses()["discriminator"]


def test_without_a_discriminator_there_is_none(make: Make) -> None:
    update = make(discriminator="none", radius=NO_NOISE)
    assert list(update.stage.objectives) == ["tag"]
    assert update.stage.watches == ()
    assert update.losses()["tag"] == pytest.approx(2 * task_of(*update.views()).item(), rel=1e-5)


def test_without_adversarial_training_the_sentences_count_once(make: Make) -> None:
    update = make(adversarial=False)
    losses, views = update.losses(), update.views()
    assert losses["tag"] == pytest.approx(task_of(*views).item(), rel=1e-5)
    assert losses["discriminator"] == pytest.approx(grad_of(update, *views).item(), rel=1e-5)


@pytest.mark.parametrize("domain", [SOURCE, TARGET])
def test_a_batch_of_one_domain_counts_that_domain_alone(make: Make, domain: str) -> None:
    update = make(schedule="alternate", radius=NO_NOISE)
    update.batch = {domain: update.batch[domain]}
    losses = update.losses()
    view = update.family.view(update.batch[domain], domain)
    judged = update.discriminator.losses(update.discriminator.logits(view), domain == SOURCE).mean()
    assert losses["discriminator"] == pytest.approx(judged.item(), rel=1e-5)
    assert losses["tag"] == pytest.approx((2 * view.losses.mean() + judged).item(), rel=1e-5)


# which way the gradients go


def gradients(loss: Tensor, module: nn.Module) -> dict[str, Tensor | None]:
    named = dict(module.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True, retain_graph=True)
    return dict(zip(named, found, strict=True))


def nothing(gradient: Tensor | None) -> bool:
    return gradient is None or not gradient.any()


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("form", ["F", "P"])
def test_shared_layers_get_exactly_minus_lambda_times_the_plain_gradient(make: Make, form: str, encoder: str) -> None:
    strength = 0.3
    update = make(encoder, form=form, strength=strength)
    views = update.views()
    turned = gradients(update.discriminator(*views), update.family)
    plain = gradients(update.discriminator(*views, reverse=False), update.family)
    own = [name for name in turned if ".scores." in name or ".head." in name or ".private" in name]
    assert all(nothing(found[name]) for found in (turned, plain) for name in own)
    assert bool([name for name in own if ".private" in name]) == (form == "P")
    touched = [name for name in turned if not nothing(turned[name])]
    # words of both, letters and the shared LSTM; or the encoder and the shared layer on it
    assert {name.split(".")[3] for name in touched} == (
        {"word_table", "character_table", "filters", "lstm"}
        if encoder == "character-cnn-lstm"
        else {"model", "feed_forward"}
        if form == "P"
        else {"model"}
    )
    for name in touched:
        torch.testing.assert_close(turned[name], -strength * plain[name], msg=name)


def test_the_discriminator_itself_descends(make: Make) -> None:
    update = make()
    views = update.views()
    turned = gradients(update.discriminator(*views), update.discriminator)
    plain = gradients(update.discriminator(*views, reverse=False), update.discriminator)
    for name, gradient in turned.items():
        torch.testing.assert_close(gradient, plain[name], msg=name)


@pytest.mark.parametrize("form", ["F", "P"])
def test_each_domain_s_own_parts_learn_from_that_domain_alone(make: Make, form: str) -> None:
    update = make(form=form)
    source, target = update.views()
    own = {
        domain: [name for name in dict(update.family.named_parameters()) if name.startswith(f"taggers.{domain}.")]
        for domain in (SOURCE, TARGET)
    }
    alone = ("word_table", "private_lstm", "scores", "head")
    for loss, other in ((source.losses.mean(), TARGET), (target.losses.mean(), SOURCE)):
        found = gradients(loss, update.family)
        wrong = [n for n in own[other] if any(part in n for part in alone) and found[n] is not None]
        assert wrong == []
        shared = [n for n in found if ".lstm." in n or ".character_table." in n or ".filters." in n]
        assert shared
        assert all(found[name] is not None for name in shared)


def test_the_whole_update_has_the_gradient_of_the_written_out_total(make: Make) -> None:
    """Gradients that were handed over (AT asks for them early) are those of a total that is written out by hand."""
    update = make(form="P", radius={"source_words": 2, "target_words": 2, "characters": 1})
    step = update.step
    noise, losses = caught(update, step)
    found = gradients(sum(losses.values(), torch.zeros(())), update.family)
    source, target = update.views()
    noisy = [view.with_noise(noise[domain]) for view, domain in ((source, SOURCE), (target, TARGET))]
    total = task_of(source, target) + grad_of(update, source, target)
    total = total + task_of(*noisy) + grad_of(update, *noisy)
    for name, gradient in gradients(total, update.family).items():
        torch.testing.assert_close(found[name], gradient, msg=name, rtol=1e-4, atol=1e-6)


# what the noise follows


def caught(update: Update, step: TrainingStep) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor]]:
    """The noise that an update puts on each domain, and its losses."""
    noise: dict[str, dict[str, Tensor]] = {}
    real = View.with_noise

    def eval_mode(view: View, added: Mapping[str, Tensor]) -> View:
        domain = next(name for name in (SOURCE, TARGET) if view.tagger is update.family[name])
        noise[domain] = dict(added)
        return real(view, added)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(View, "with_noise", eval_mode)
        losses = step(update.batch)
    return noise, losses


def noisy_views(update: Update) -> tuple[dict[str, float], tuple[View, View]]:
    noise, losses = caught(update, update.step)
    source, target = update.views()
    return (
        {name: loss.item() for name, loss in losses.items()},
        (source.with_noise(noise[SOURCE]), target.with_noise(noise[TARGET])),
    )


def norms(view: View, noise: Mapping[str, Tensor]) -> dict[str, list[float]]:
    """The length of each sentence's noise, words and letters apart."""
    letters = [noise["characters"][rows].norm() for rows in view.inputs["spelling"]]
    return {"words": [float(row.norm()) for row in noise["words"]], "characters": [float(each) for each in letters]}


def test_source_words_target_words_and_letters_have_radii_of_their_own(make: Make) -> None:
    update = make(radius={"source_words": 4, "target_words": 0.5, "characters": 2})
    noise, _ = caught(update, update.step)
    source, target = update.views()
    for view, domain, words in ((source, SOURCE, 4), (target, TARGET, 0.5)):
        found = norms(view, noise[domain])
        assert found["words"] == pytest.approx([words] * len(view.sentences), rel=1e-4)
        assert found["characters"] == pytest.approx([2] * len(view.sentences), rel=1e-4)


def test_a_radius_of_nothing_is_no_noise(make: Make) -> None:
    update = make(radius={"source_words": 0, "target_words": 1, "characters": 0})
    noise, _ = caught(update, update.step)
    assert (set(noise[SOURCE]), set(noise[TARGET])) == (set(), {"words"})


def by_hand(update: Update, guide: Callable[[View, View], Tensor]) -> dict[str, Tensor]:
    """Words' noise of radius 1 along the gradient of this loss."""
    source, target = update.views()
    along = torch.autograd.grad(guide(source, target), [source.embeddings["words"], target.embeddings["words"]])
    return {d: g / g.flatten(1).norm(dim=1).view(-1, 1, 1) for d, g in zip((SOURCE, TARGET), along, strict=True)}


@pytest.mark.parametrize("direction", ["task", "full"])
def test_the_noise_follows_the_task_alone_or_the_discriminator_as_it_is_too(make: Make, direction: str) -> None:
    radius = {"source_words": 1, "target_words": 1, "characters": 0}
    update = make(direction=direction, radius=radius, discriminator="plain")
    # a discriminator that says something
    nn.init.normal_(update.discriminator.score.weight, std=20)
    noise, _ = caught(update, update.step)
    guides: dict[str, Callable[[View, View], Tensor]] = {
        "task": task_of,
        "full": lambda s, t: task_of(s, t) + update.discriminator(s, t, reverse=False),
        "reversed": lambda s, t: task_of(s, t) + update.discriminator(s, t),  # E4.6: what it must not follow
    }
    for name, guide in guides.items():
        expected = by_hand(update, guide)
        same = all(torch.allclose(noise[domain]["words"], expected[domain], atol=1e-5) for domain in (SOURCE, TARGET))
        assert same == (name == direction), name


def test_the_noise_of_a_sentence_does_not_hang_on_its_neighbours(make: Make) -> None:
    update = make(radius={"source_words": 1, "target_words": 1, "characters": 1})
    together, _ = caught(update, update.step)
    update.batch = {SOURCE: update.batch[SOURCE][1:2], TARGET: update.batch[TARGET][:1]}
    alone, _ = caught(update, update.step)
    words = len(update.batch[SOURCE][0])
    beside = together[SOURCE]["words"][1]  # (word, size)
    assert len(beside) > words
    assert not beside[words:].any()
    torch.testing.assert_close(beside[:words], alone[SOURCE]["words"][0], rtol=1e-3, atol=1e-5)


# how long an epoch is, and who teaches whom


def test_a_mix_rate_shortens_an_epoch(make: Make) -> None:
    whole, half = (make(mix_rate=rate).stage.batches.epoch_length for rate in (1.0, 0.5))
    assert half == round(whole / 2) > 1
    mixed = {rate: make(schedule="alternate", mix_rate=rate).stage.batches.epoch_length for rate in (1.0, 0.5)}
    assert whole < mixed[1.0]  # the target's batches have their own turns
    assert mixed[1.0] - mixed[0.5] == whole - whole // 2


def test_the_strength_may_grow_from_nothing(make: Make) -> None:
    update = make(ramp=True, strength=0.7)
    seen = []
    for number in (0, update.stage.updates // 2, update.stage.updates):
        update.discriminator.before_update(number)
        seen.append(update.discriminator.strength_now)
    assert seen[0] == 0
    assert seen == sorted(seen)
    assert seen[2] == pytest.approx(0.7, rel=1e-3)


def test_the_discriminator_learns_faster_on_a_pre_trained_encoder_and_pulls_less(make: Make) -> None:
    own, given = make("bert").discriminator, make("bert", strength=0.4, rate=2).discriminator
    assert (own.strength, own.rate) == (0.05, 10)
    assert (given.strength, given.rate) == (0.4, 2)
    assert (make().discriminator.strength, make().discriminator.rate) == (0.7, 1)


def test_one_crf_is_shared_only_when_asked_for(make: Make) -> None:
    apart, shared = make().family, make(share_crf=True).family
    assert apart[SOURCE].head is not apart[TARGET].head
    assert shared[SOURCE].head is shared[TARGET].head
    assert shared[SOURCE].scores is not shared[TARGET].scores


def test_widths_can_be_chosen(make: Make) -> None:
    usual, chosen = make(form="P").family[TARGET].encoder, make(form="P", shared_width=6, private_width=4)
    assert (usual.shared_width, usual.width) == (6, 12)  # half of 7, both directions
    encoder = chosen.family[TARGET].encoder
    assert (encoder.shared_width, encoder.width) == (12, 20)
    assert make(form="F", shared_width=5).family[TARGET].encoder.width == 10
    assert make("bert", form="P", shared_width=6, private_width=4).family[SOURCE].encoder.width == 10


def test_only_the_clean_task_is_an_objective_of_the_adversarial_one(make: Make) -> None:
    """The discriminator must stand once in a checkpoint, and be moved once."""
    update = make(direction="full")
    assert isinstance(update.stage.objectives["tag"], AdversarialTraining)
    names = [name for name, _ in update.step.named_parameters(remove_duplicate=False) if "pooling" in name]
    assert names
    assert all(name.startswith("objectives.discriminator.") for name in names)
