"""Adversarial training: the noise raises the loss as far as a first-order step can, and the sum is the paper's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from slow_noise import NOBODY, RADII, gradients, view_of
from torch import Tensor, nn

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.methods.perturbation.adversarial import AdversarialTraining, noise_for
from acclimate.methods.perturbation.virtual_adversarial import VirtualAdversarialTraining
from acclimate.methods.perturbation.word_changes import WordChanges
from acclimate.model.learner import NoView, View
from acclimate.model.tagger import Tagger
from acclimate.training.loop import build_engine
from acclimate.training.run import run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate, Stage

Build = Callable[..., Tagger]


@pytest.fixture(scope="module", params=["character-cnn-lstm", "bert"])
def tagger(request: pytest.FixtureRequest, build: Build) -> Tagger:
    tagger = build(request.param).double().eval()
    tagger.encoder.stand_alone()
    return tagger


@pytest.fixture
def dropping(build: Build) -> Tagger:
    """A tagger in training, with dropout and forgetting on."""
    tagger = build(dropout=0.5, forget_rare=0.5).train()
    tagger.encoder.stand_alone()
    return tagger


class Scripted(Objective):
    """Losses as they are told."""

    def __init__(self, *losses: float) -> None:
        super().__init__()
        self.losses = list(losses)

    def forward(self, source: View, target: View) -> Tensor:
        return torch.tensor(self.losses.pop(0))


class BestState(Objective):
    """Remembers the views that it was shown."""

    def __init__(self, task: Objective) -> None:
        super().__init__()
        self.task, self.views = task, []

    def forward(self, source: View, target: View) -> Tensor:
        self.views.append((source, target))
        loss: Tensor = self.task(source, target)
        return loss


def adversarial(task: Objective | None = None, radii: Any = RADII, **options: Any) -> AdversarialTraining:
    return AdversarialTraining(Tagging() if task is None else task, {"source": radii}, **options)


def test_the_oracle_s_total_comes_out(tagger: Tagger, news: Corpus) -> None:
    # oracle 10c_mat_total
    objective = adversarial(Scripted(2.0, 3.0), weight=0.6)
    assert objective(view_of(tagger, *news[:2]), NOBODY).item() == pytest.approx(3.8)
    assert {name: part.item() for name, part in objective.parts.items()} == {"clean": 2, "noisy": 3}


def unit(view: View, name: str, sentence: int) -> float:
    """What the radius is counted in: for pieces, the typical size of a number in the sentence's embeddings."""
    if name != "pieces":
        return 1.0
    mine = view.encoder.embedding_rows(view.inputs)[name].owners == sentence
    numbers = view.embeddings[name][mine][view.encoder.embedding_rows(view.inputs)[name].inside[mine]]
    return numbers.square().mean().sqrt().item()


def size_of(values: Tensor, view: View, name: str, sentence: int) -> float:
    """The norm of one sentence's part."""
    return values[view.encoder.embedding_rows(view.inputs)[name].owners == sentence].norm().item()


def test_a_small_noise_raises_the_loss_by_its_size_times_the_slope(tagger: Tagger, news: Corpus) -> None:
    view = view_of(tagger, *news[:4])
    slopes = gradients(Tagging()(view, NOBODY), view)
    for names in ([*slopes], *([name] for name in slopes)):
        radii = {name: 1e-4 * (number + 1) for number, name in enumerate(names)}
        objective = adversarial(radii=radii)
        objective(view, NOBODY)
        rise = sum(
            radii[name] * unit(view, name, sentence) * size_of(slopes[name], view, name, sentence)
            for name in names
            for sentence in range(4)
        )
        assert rise > 0
        assert float(objective.parts["noisy"] - objective.parts["clean"]) == pytest.approx(rise, rel=2e-3)


def test_no_other_noise_of_the_same_small_size_raises_it_more(tagger: Tagger, news: Corpus) -> None:
    view, radii = view_of(tagger, news[0]), dict.fromkeys(RADII, 0.001)
    objective = adversarial(radii=radii)
    objective(view, NOBODY)
    worst = objective.parts["noisy"]
    for _ in range(20):
        random = {name: torch.randn_like(value) for name, value in view.embeddings.items()}
        other = Tagging()(view.with_noise(noise_for(view, random, radii)), NOBODY)
        assert other < worst


def test_without_noise_and_changes_the_clean_loss_counts_again(tagger: Tagger, news: Corpus) -> None:
    clean = Tagging()(view_of(tagger, *news[:4]), NOBODY)
    for radii in ({}, {"words": 0.0, "characters": 0.0, "pieces": 0.0}, {"nonsense": 1.0}):
        total = adversarial(radii=radii, weight=0.6)(view_of(tagger, *news[:4]), NOBODY)
        torch.testing.assert_close(total, 1.6 * clean)


def test_without_changed_words_it_is_plain_adversarial_training(tagger: Tagger, news: Corpus) -> None:
    plain = adversarial()(view_of(tagger, *news[:4]), NOBODY)
    changes = WordChanges(sorted(news.vocabulary), rate=0.0)
    assert torch.equal(adversarial(changes=changes)(view_of(tagger, *news[:4]), NOBODY), plain)


def test_without_noise_it_is_masking_alone(tagger: Tagger, news: Corpus) -> None:
    changes = WordChanges(sorted(news.vocabulary), rate=1.0, hide=0.5)
    view = view_of(tagger, *news[:6])
    torch.manual_seed(3)
    total = adversarial(radii={}, changes=changes, weight=0.6)(view, NOBODY)
    torch.manual_seed(3)
    masked = Tagging()(view.with_words(changes.draw(view)), NOBODY)
    clean = Tagging()(view, NOBODY)
    torch.testing.assert_close(total, clean + 0.6 * masked)
    assert not torch.allclose(masked, clean)


def test_changed_words_are_moved_by_the_noise_of_the_words_that_stood_there(tagger: Tagger, news: Corpus) -> None:
    memory = BestState(Tagging())
    changes = WordChanges(sorted(news.vocabulary), rate=1.0, hide=1.0)
    view = view_of(tagger, *news[:4])
    torch.manual_seed(3)
    adversarial(memory, changes=changes)(view, NOBODY)
    torch.manual_seed(3)
    changed = view.with_words(changes.draw(view))
    plain = BestState(Tagging())
    adversarial(plain)(view, NOBODY)
    for name, noisy in memory.views[1][0].embeddings.items():
        noise = plain.views[1][0].embeddings[name] - view.embeddings[name]
        torch.testing.assert_close(noisy, changed.embeddings[name] + noise)


def test_the_radii_of_the_domains_are_their_own(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    memory = BestState(TaggingOfAll())
    name = next(iter(view_of(tagger, *news[:1]).embeddings))
    views = view_of(tagger, *news[:2]), view_of(tagger, *tweets[:2])
    AdversarialTraining(memory, {"source": {name: 0.3}, "target": {name: 0.6}})(*views)
    sizes = [
        size_of(noisy.embeddings[name] - clean.embeddings[name], clean, name, 0) / unit(clean, name, 0)
        for clean, noisy in zip(*memory.views, strict=True)
    ]
    assert sizes == pytest.approx([0.3, 0.6])


def test_a_domain_without_radii_is_not_moved(tagger: Tagger, news: Corpus, tweets: Corpus) -> None:
    memory = BestState(TaggingOfAll())
    views = view_of(tagger, *news[:2]), view_of(tagger, *tweets[:2])
    adversarial(memory)(*views)
    assert all(torch.equal(memory.views[1][1].embeddings[n], value) for n, value in views[1].embeddings.items())
    assert any(not torch.equal(memory.views[1][0].embeddings[n], value) for n, value in views[0].embeddings.items())


def test_a_domain_that_the_task_does_not_read_gets_no_noise_and_no_complaint(tagger, news: Corpus, tweets) -> None:
    memory = BestState(Tagging())
    views = view_of(tagger, *news[:2]), view_of(tagger, *tweets[:2])
    AdversarialTraining(memory, {"source": RADII, "target": RADII})(*views).backward()
    assert all(torch.equal(memory.views[1][1].embeddings[n], value) for n, value in views[1].embeddings.items())


def test_a_missing_domain_is_left_to_the_task(tagger: Tagger, tweets: Corpus) -> None:
    nobody, views = NoView("source"), view_of(tagger, *tweets[:2])
    both = {"source": RADII, "target": RADII}
    assert AdversarialTraining(TaggingOfAll(), both)(nobody, views).isfinite()
    with pytest.raises(ValueError, match="needs source sentences"):
        AdversarialTraining(Tagging(), both)(nobody, views)


# --- what is carried along ---


class Spread(Objective):
    """Something else to make small on the same sentences, with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5, dtype=torch.float64))

    def forward(self, source: View, target: View) -> Tensor:
        return self.scale * source.features.square().mean()


def test_what_is_carried_counts_on_the_noisy_sentences_only(tagger: Tagger, news: Corpus) -> None:
    carried = BestState(Spread())
    objective = adversarial(carried=carried, weight=0.6)
    view = view_of(tagger, *news[:4])
    total = objective(view, NOBODY)
    ((noisy, _),) = carried.views
    expected = Tagging()(view, NOBODY) + 0.6 * (Tagging()(noisy, NOBODY) + carried.task(noisy, NOBODY))
    torch.testing.assert_close(total, expected)
    assert not torch.equal(noisy.features, view.features)
    total.backward()
    torch.testing.assert_close(carried.task.scale.grad, 0.6 * noisy.features.square().mean().detach())


def test_what_is_carried_does_not_turn_the_noise(tagger: Tagger, news: Corpus) -> None:
    found = []
    for carried in (None, Spread()):
        memory = BestState(Tagging())
        adversarial(memory, carried=carried)(view_of(tagger, *news[:4]), NOBODY)
        found.append(memory.views[1][0].embeddings)
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_what_is_carried_stands_in_no_checkpoint_a_second_time() -> None:
    objective = adversarial(carried=Spread())
    assert list(objective.parameters()) == []
    assert objective.state_dict() == {}


# --- dropout ---


def test_the_same_dropout_makes_both_passes_equal(dropping: Tagger, news: Corpus) -> None:
    objective = adversarial(radii={}, same_dropout=True)
    view = dropping.view(news[:6])
    objective(view, NOBODY)
    assert torch.equal(objective.parts["clean"], objective.parts["noisy"])


def test_otherwise_each_pass_has_a_dropout_of_its_own(dropping: Tagger, news: Corpus) -> None:
    objective = adversarial(radii={})
    objective(dropping.view(news[:6]), NOBODY)
    assert not torch.allclose(objective.parts["clean"], objective.parts["noisy"], rtol=1e-3)


def test_the_same_dropout_holds_for_transformers_and_for_two_domains(build: Build, news: Corpus, tweets) -> None:
    tagger = build("bert", dropout=0.3).train()
    objective = AdversarialTraining(TaggingOfAll(), {}, same_dropout=True)
    objective(tagger.view(news[:4]), tagger.view(tweets[:4]))
    assert torch.equal(objective.parts["clean"], objective.parts["noisy"])


def test_the_random_numbers_go_on_after_the_replay(dropping: Tagger, news: Corpus) -> None:
    objective, view = adversarial(radii={}, same_dropout=True), dropping.view(news[:6])
    torch.manual_seed(5)
    objective(view, NOBODY)
    after, _ = torch.rand(1), torch.manual_seed(5)
    Tagging()(View(dropping, view.sentences), NOBODY)
    assert torch.equal(torch.rand(1), after)


def test_features_that_were_there_before_do_not_spoil_the_same_dropout(dropping: Tagger, news: Corpus) -> None:
    view = dropping.view(news[:6])
    before = view.features
    objective = adversarial(radii={}, same_dropout=True)
    objective(view, NOBODY)
    assert torch.equal(objective.parts["clean"], objective.parts["noisy"])
    assert view.features is before


@pytest.mark.parametrize("radii", [{}, RADII])
def test_changed_words_do_not_disturb_the_dropout_of_the_others(build: Build, news: Corpus, radii: Any) -> None:
    tagger = build(dropout=0.5, forget_rare=0.0).train()
    memory = BestState(Tagging())
    changes = WordChanges(sorted(news.vocabulary), rate=0.4, hide=0.5)
    objective = adversarial(memory, radii=radii, changes=changes, same_dropout=True)
    objective.begin(tagger)
    torch.manual_seed(2)
    objective(tagger.view(news[:8]), NOBODY)
    objective.end(tagger)
    (clean, _), (noisy, _) = memory.views
    words = [v.inputs["words"] for v in (clean, noisy)]
    kept = [row for row in range(8) if torch.equal(words[0][row], words[1][row])]
    assert 0 < len(kept) < 8
    for row in kept:  # the last layer's dropout leaves zeros; a noise moves the features, but not those
        assert torch.equal(clean.features[row] == 0, noisy.features[row] == 0)
        if not radii:
            assert torch.equal(clean.features[row], noisy.features[row])


# --- in a stage ---


class Diary(Objective):
    """Writes down how it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []
        self.own = nn.Parameter(torch.zeros(()))

    def forward(self, source: View, target: View) -> Tensor:
        return source.losses.mean() + self.own.square()

    def begin(self, learner: Any) -> None:
        self.told.append("begin")

    def end(self, learner: Any) -> None:
        self.told.append("end")

    def before_update(self, update: int) -> None:
        self.told.append(update)

    def after_update(self, learner: Any) -> None:
        self.told.append("after")

    def separate_parameters(self) -> list[list[nn.Parameter]]:
        return [[self.own]]

    def notes(self) -> dict[str, Any]:
        return {"kind": "diary"}


def run(tagger: Tagger, news: Corpus, objectives: dict[str, Objective], **more: Any) -> None:
    settings = TrainingSettings(updates=2, device="cpu", learning_rate=0.01)
    stage = Stage("only", objectives, Batches(more.pop("corpora", {"source": news}), 60), settings)
    run_stages(tagger, [stage], build_engine(settings, tagger), LastUpdate(), 1)


def test_the_task_inside_is_told_all_that_a_task_is_told(build: Build, news: Corpus) -> None:
    diary = Diary()
    objective = adversarial(diary)
    run(build(), news, {"tag": objective})
    assert diary.told == ["begin", 0, "after", 1, "after", "end"]
    assert objective.separate_parameters() == [[diary.own]]
    assert objective.notes() == {"kind": "diary"}


def test_words_stand_alone_in_the_stage_and_are_shared_again_after_it(build: Build, news: Corpus) -> None:
    tagger, alone = build(), []

    class Watching(Tagging):
        def forward(self, source: View, target: View) -> Tensor:
            alone.append(not source.encoder.share_characters)
            return super().forward(source, target)

    run(tagger, news, {"tag": adversarial(Watching())})
    assert alone == [True] * 4
    assert tagger.encoder.share_characters


@pytest.mark.parametrize("first", [True, False])
def test_masking_alone_does_not_take_from_another_objective_what_that_needs(build, news, tweets, first: bool) -> None:
    masking = adversarial(radii={}, changes=WordChanges(sorted(news.vocabulary), 1.0))
    virtual = VirtualAdversarialTraining(domains=["target"])
    objectives = {"tag": masking, "virtual": virtual} if first else {"virtual": virtual, "tag": masking}
    tagger = build()
    run(tagger, news, objectives, corpora={"source": news, "target": tweets})
    assert tagger.encoder.share_characters


def test_masking_alone_leaves_letters_shared(build: Build, news: Corpus) -> None:
    tagger = build()
    adversarial(radii={}, changes=WordChanges(sorted(news.vocabulary), 1.0)).begin(tagger)
    assert tagger.encoder.share_characters


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("same_dropout", [True, False])
def test_it_learns_with_everything_on(build: Build, news: Corpus, encoder: str, same_dropout: bool) -> None:
    tagger = build(encoder)
    changes = WordChanges(sorted(news.vocabulary), rate=0.5, hide=0.5)
    before = {name: value.clone() for name, value in tagger.named_parameters()}
    run(tagger, news, {"tag": adversarial(changes=changes, same_dropout=same_dropout)})
    assert all(value.isfinite().all() for value in tagger.parameters())
    still = [name for name, value in tagger.named_parameters() if torch.equal(value, before[name])]
    assert [name for name in still if not name.endswith("key.bias")] == []
