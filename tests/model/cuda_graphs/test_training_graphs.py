"""CUDA graphs train as plain passes do: same losses, same gradients, and an error rather than a wrong one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.alignment.mmd import SentenceDiscrepancy, WordDiscrepancy
from acclimate.methods.objective import Objective, Tagging, TaggingOfAll
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.methods.teachers import Distillation, frozen_copy
from acclimate.model.cuda_graphs.cast_weights import rounded
from acclimate.model.cuda_graphs.encoder_graphs import EncoderGraph, EncoderGraphs, Slot, _fresh, gradients
from acclimate.model.cuda_graphs.training_graphs import TrainingGraphs
from acclimate.model.encoders.encoder import Acceleration, Read, active_acceleration
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.learner import View
from acclimate.model.tagger import Tagger
from acclimate.training.loop import Training, acceleration_for, build_engine
from acclimate.training.record import Record
from acclimate.training.run import run_stages
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import LastUpdate, Stage, TrainingStep

Build = Callable[..., Tagger]


class Both(Objective):
    """Each keeps a gradient until all is gone back through."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = nn.ModuleList(
            [AdversarialTraining(task, {"source": {"pieces": 0.5}}) for task in (Tagging(), Half())]
        )

    def forward(self, source: View, target: View) -> Tensor:
        found: Tensor = torch.stack([term(source, target) for term in self.terms]).sum()
        return found


class Half(Objective):
    def forward(self, source: View, target: View) -> Tensor:
        return source.features.square().mean() / 2


OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "plain": Tagging,
    "two readings, one of them gone back through twice": lambda: AdversarialTraining(
        Tagging(), {"source": {"pieces": 0.5}}
    ),
    "two who go back through one reading": Both,
}


def by_hand(
    model: nn.Module,
    read: Read,
    inputs: Tensor,
    attention: Tensor | None,
    parameters: Sequence[Tensor],
    slot: Slot,
) -> EncoderGraph:
    """What a GPU's graphs do, on any machine: reads from and writes to the same places every time."""
    latest = [read(inputs, attention)]
    states = latest[0].detach().clone()
    gradient = torch.zeros_like(states)
    owners, of_owners, of_inputs = gradients(latest[0], gradient, inputs, parameters, slot)

    def forward() -> None:
        with torch.enable_grad():
            latest[0] = read(inputs, attention)
        states.copy_(latest[0].detach())

    def backward() -> None:
        _, _, found = gradients(latest[0], gradient, inputs, parameters, slot)
        if found is not None and of_inputs is not None:
            of_inputs.copy_(found)

    return EncoderGraph(inputs, attention, states, gradient, owners, of_owners, of_inputs, forward, backward, slot)


def still(tagger: Tagger) -> Tagger:
    """Without dropout, whose draws depend on how much is read."""
    for module in tagger.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return tagger


ON_CPU: dict[str, Any] = {"capture": by_hand, "kind": "cpu"}


@contextmanager
def graphs_of(encoder: Any, **settings: Any) -> Iterator[EncoderGraphs]:
    """Inside, the encoder's passes are asked of these."""
    graphs = TrainingGraphs(**settings)
    with graphs.step():
        found = graphs.encoders[id(encoder.model)] = EncoderGraphs(encoder, **settings)
        yield found


def trained(
    tagger: Tagger, objective: Objective, corpus: Corpus, updates: int = 10, graphs: TrainingGraphs | None = None
) -> tuple[list[float], dict[str, Tensor]]:
    """Losses and weights."""
    step = TrainingStep(tagger, {"tag": objective}, graphs).train()
    optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
    batches = Batches({"source": corpus}, 60, seed=1).starting_at(0)
    losses = []
    for _ in range(updates):
        loss = step(next(batches))["tag"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    step.acceleration.end_stage(tagger)
    return losses, dict(tagger.state_dict())


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_losses_and_weights_are_those_of_plain_training(build: Build, news: Corpus, kind: str) -> None:
    plain, weights = trained(still(build("bert")), OBJECTIVES[kind](), news)
    graphs = TrainingGraphs(**ON_CPU)
    losses, ours = trained(still(build("bert")), OBJECTIVES[kind](), news, graphs=graphs)
    (passes,) = graphs.encoders.values()
    assert sum(each.replays for made in passes.graphs.values() for each in made) >= 4
    assert losses == pytest.approx(plain, rel=1e-4)
    assert plain[0] != plain[-1]
    for name, weight in weights.items():
        torch.testing.assert_close(ours[name], weight, rtol=1e-3, atol=1e-5, msg=name)


def test_full_rows_have_graphs_without_attention(build: Build) -> None:
    encoder = build("bert").encoder
    assert isinstance(encoder, Transformer)
    encoder.eval()
    pieces = torch.randint(5, 20, (3, 11))
    with torch.no_grad():
        wanted = encoder.states(pieces)
    with graphs_of(encoder, **ON_CPU) as passes:
        found = [encoder.states(pieces) for _ in range(3)]
    assert len(passes.graphs) == 1
    for states in found:
        torch.testing.assert_close(states.detach(), wanted)


def sentences(*lengths: int) -> list[Sentence]:
    return [Sentence(tuple(("abcdefghij" * 3)[:length])) for length in lengths]


def reading(encoder: Transformer, *lengths: int) -> Tensor:
    device = next(encoder.parameters()).device
    inputs = encoder.tensorize(sentences(*lengths))
    return encoder.states(inputs["pieces"].to(device), inputs["attention"].to(device))


@pytest.fixture
def encoder(build: Build) -> Transformer:
    found = build("bert").encoder
    assert isinstance(found, Transformer)
    return found.eval()


def test_shorter_and_fewer_rows_share_a_graph_and_keep_their_states(encoder: Transformer) -> None:
    shapes = [(5, 4, 3), (6, 2), (5, 5), (1,)]
    plain = [reading(encoder, *lengths).detach() for lengths in shapes]
    with graphs_of(encoder, **ON_CPU) as passes:
        found = []
        for lengths in shapes:
            passes.release()
            found.append(reading(encoder, *lengths).detach())
    assert len(passes.graphs) == 1
    assert next(iter(passes.graphs.values()))[0].replays == len(shapes) - 1  # the first was only met
    for ours, wanted in zip(found, plain, strict=True):
        assert ours.shape == wanted.shape
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-5)


def test_two_readings_of_a_step_do_not_share_memory(encoder: Transformer) -> None:
    def gradient(with_graphs: bool) -> Tensor:
        encoder.zero_grad()
        if not with_graphs:
            (reading(encoder, 4, 3).sin().sum() * reading(encoder, 2, 5).cos().sum()).backward()  # type: ignore[no-untyped-call]
        else:
            with graphs_of(encoder, **ON_CPU) as passes:
                reading(encoder, 3, 3)
                (reading(encoder, 4, 3).sin().sum() * reading(encoder, 2, 5).cos().sum()).backward()  # type: ignore[no-untyped-call]
            assert [[each.slot.number for each in found] for found in passes.graphs.values()] == [[0, 1]]
        found = encoder.model.get_input_embeddings().weight.grad  # type: ignore[operator]
        assert isinstance(found, Tensor)
        return found.clone()

    torch.testing.assert_close(gradient(True), gradient(False), rtol=1e-3, atol=1e-5)


def test_shapes_share_a_slot_from_step_to_step_and_none_within_a_step(encoder: Transformer) -> None:
    def step(*lengths: int) -> None:
        passes.release()
        torch.stack([reading(encoder, length).sum() for length in lengths]).sum().backward()  # type: ignore[no-untyped-call]

    with graphs_of(encoder, **ON_CPU) as passes:
        passes.step, passes.waste = 8, 1.5
        for lengths in ((3,), (3,), (12,), (12,), (3, 12), (12, 3)):
            step(*lengths)
        (made,) = passes.graphs.values()
        numbers = sorted((each.inputs.shape[1], each.slot.number) for each in made)
        busy = [each.slot.number for found in passes.graphs.values() for each in found if each.busy]
    assert numbers == [(8, 0), (8, 1), (16, 0), (16, 1)]
    assert sorted(busy) == [0, 1]
    rows = [slot.rows for slot in passes.slots]
    assert [len(each) for each in rows] == [1, 1]  # all graphs of a slot write their gradients there


def test_a_graph_that_is_a_little_larger_does(encoder: Transformer) -> None:
    with graphs_of(encoder, **ON_CPU) as passes:
        passes.step, passes.waste = 8, 1.5
        for length in (25, 25, 20, 12, 12, 12):  # and [CLS] and [SEP]
            passes.release()
            found = reading(encoder, length)
        (made,) = passes.graphs.values()
    assert [each.inputs.shape[1] for each in made] == [32, 16]  # the 22 pieces are read in 32
    assert [each.replays for each in made] == [2, 2]
    torch.testing.assert_close(found, reading(encoder, 12), rtol=1e-4, atol=1e-5)


def test_parameters_are_joined_once_in_a_step(encoder: Transformer) -> None:
    with graphs_of(encoder, **ON_CPU) as passes:
        reading(encoder, 3)
        passes.release()
        reading(encoder, 3)
        first = dict(passes.joined)
        reading(encoder, 3)
        assert passes.joined == first
        assert len(first) == 1
        passes.release()
        assert not passes.joined


def test_parameters_of_several_formats_are_read_as_usual(encoder: Transformer) -> None:
    slot = Slot(0)
    with pytest.raises(RuntimeError, match="several number formats"):
        slot.row([torch.zeros(2), torch.zeros(2, dtype=torch.float64)], (0, 1))


def test_a_gradient_that_comes_too_late_is_an_error_and_not_a_wrong_one(encoder: Transformer) -> None:
    with graphs_of(encoder, **ON_CPU) as passes:
        reading(encoder, 3)
        first = reading(encoder, 3).sum()
        passes.release()
        reading(encoder, 4)
        with pytest.raises(RuntimeError, match=r"training\.cuda_graphs=false"):
            first.backward()  # type: ignore[no-untyped-call]


def test_what_is_kept_of_a_reading_does_not_change_with_the_next(encoder: Transformer) -> None:
    with graphs_of(encoder, **ON_CPU) as passes:
        reading(encoder, 3)
        kept = reading(encoder, 3).detach()
        before = kept.clone()
        passes.release()
        reading(encoder, 7)
    assert torch.equal(kept, before)


def test_frozen_weights_get_no_gradient(encoder: Transformer) -> None:
    encoder.embedding_parameters()[0].requires_grad_(False)
    with graphs_of(encoder, **ON_CPU) as passes:
        for _ in range(2):
            passes.release()
            states = reading(encoder, 3)
        states.sum().backward()  # type: ignore[no-untyped-call]
    assert passes.graphs
    assert encoder.embedding_parameters()[0].grad is None
    assert any(parameter.grad is not None for parameter in encoder.parameters())


def test_without_a_gradient_it_is_read_as_usual(encoder: Transformer) -> None:
    with graphs_of(encoder, **ON_CPU) as passes, torch.no_grad():
        for _ in range(3):
            reading(encoder, 3)
    assert not passes.seen


def test_no_more_graphs_than_there_may_be(encoder: Transformer) -> None:
    with graphs_of(encoder, most=1, **ON_CPU) as passes:
        for length in (3, 3, 9, 9, 9):
            passes.release()
            reading(encoder, length)
    assert sum(map(len, passes.graphs.values())) == 1


def test_where_memory_is_short_it_is_asked_for_again_now_and_then(
    encoder: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    free = [0.05, 0.05, 0.9]

    def told() -> tuple[float, int]:
        asked.append(1)
        return free.pop(0) if len(free) > 1 else free[0], 1

    for name, answer in (("mem_get_info", told), ("memory_reserved", lambda: 0), ("memory_allocated", lambda: 0)):
        monkeypatch.setattr(torch.cuda, name, answer)
    passes = EncoderGraphs(encoder)
    found = [passes._has_room() for _ in range(410)]
    assert found.index(True) == 402  # at 0 and 201 there is none
    assert len(asked) == 2 + 410 - 402


def test_a_shape_that_cannot_be_captured_is_not_tried_again(encoder: Transformer) -> None:
    tries = []

    def fails(*_: Any) -> EncoderGraph:
        tries.append(1)
        raise RuntimeError("an answer was asked for")

    with graphs_of(encoder, capture=fails, kind="cpu") as passes:
        wanted = reading(encoder, 3)
        for _ in range(3):
            assert torch.equal(reading(encoder, 3), wanted)
    assert len(tries) == 1
    assert list(passes.refused.values()) == ["an answer was asked for"]


def test_large_readings_are_left_alone(encoder: Transformer) -> None:
    with graphs_of(encoder, **ON_CPU) as passes:
        passes.weights = 10**12
        for _ in range(3):
            reading(encoder, 3)
    assert not passes.seen


def test_rows_are_not_made_longer_than_the_encoder_can_read(encoder: Transformer) -> None:
    with graphs_of(encoder, **ON_CPU) as passes:
        passes.longest = 13
        assert rounded((3, 12), passes.longest, passes.step) == (16, 13)
        passes.step = 8
        assert rounded((3, 12), passes.longest, passes.step) == (8, 13)
        assert rounded((16, 8, 5), passes.longest, passes.step) == (16, 8, 5)


def test_light_encoders_have_fewer_and_larger_graphs(encoder: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "acclimate.model.cuda_graphs.encoder_graphs"
    with graphs_of(encoder, **ON_CPU) as light:
        assert (light.step, light.waste) == (16, 2.0)
    monkeypatch.setattr(f"{module}._LIGHT", 1.0)
    with graphs_of(encoder, **ON_CPU) as other:
        assert (other.step, other.waste) == (8, 1.5)


def test_teachers_have_graphs_too_and_nobody_has_them_outside_of_a_step(build: Build) -> None:
    tagger, teacher, graphs = build("bert"), frozen_copy(build("bert")), TrainingGraphs(**ON_CPU)
    with graphs.step():
        for each in (tagger, teacher):
            view = each.view(sentences(3, 4))
            assert view.decoded.shape == (2, 4)
        assert active_acceleration() is graphs
    assert list(graphs.encoders) == [id(each.encoder.model) for each in (tagger, teacher)]  # type: ignore[union-attr]
    assert list(graphs.chains) == [id(each.head) for each in (tagger, teacher)]
    assert type(active_acceleration()) is Acceleration


def test_a_copied_encoder_has_graphs_of_its_own(encoder: Transformer) -> None:
    graphs = TrainingGraphs(**ON_CPU)
    with graphs.step():
        reading(encoder, 3)
        reading(copy.deepcopy(encoder), 3)
    assert len(graphs.encoders) == 2


def test_a_later_stage_goes_on_with_the_graphs_of_an_earlier_one(build: Build, news: Corpus) -> None:
    plain = [trained(tagger, Tagging(), news)[0] for tagger in [still(build("bert"))] for _ in range(2)]
    tagger, graphs = still(build("bert")), TrainingGraphs(**ON_CPU)
    first, _ = trained(tagger, Tagging(), news, graphs=graphs)
    (passes,) = graphs.encoders.values()
    count = len([each for made in passes.graphs.values() for each in made])
    assert not any(each.busy for made in passes.graphs.values() for each in made)
    second, _ = trained(tagger, Tagging(), news, graphs=graphs)
    assert list(graphs.encoders.values()) == [passes]
    assert len([each for made in passes.graphs.values() for each in made]) == count  # the shapes are known
    assert [*first, *second] == pytest.approx([*plain[0], *plain[1]], rel=1e-4)
    graphs.forget()
    assert not graphs.encoders


def test_another_learner_s_graphs_are_not_taken_and_teachers_are_not_kept(build: Build) -> None:
    tagger, teacher, graphs = build("bert"), frozen_copy(build("bert")), TrainingGraphs(**ON_CPU)
    with graphs.step():
        for each in (tagger, teacher):
            assert each.view(sentences(3)).decoded.shape == (1, 3)
    graphs.end_stage(tagger)
    assert list(graphs.encoders) == [id(tagger.encoder.model)]  # type: ignore[union-attr]
    assert list(graphs.chains) == [id(tagger.head)]
    graphs.end_stage(build("bert"))
    assert not graphs.encoders
    assert not graphs.chains


def test_siblings_share_graphs(encoder: Transformer, tweets: Corpus) -> None:
    graphs = TrainingGraphs(**ON_CPU)
    with graphs.step():
        reading(encoder, 3)
        reading(encoder.sibling(tweets).eval(), 3)
    assert len(graphs.encoders) == 1


def test_graphs_are_for_one_gpu_and_one_batch_an_update(build: Build) -> None:
    tagger, settings = build("bert"), TrainingSettings(device="cpu", cuda_graphs=True)
    assert type(acceleration_for(settings, build_engine(settings, tagger))) is Acceleration

    class Gpu:
        device, num_processes = torch.device("cuda"), 1

    def chosen(**changes: Any) -> Acceleration:
        engine: Any = Gpu()
        return acceleration_for(settings.model_copy(update=changes), engine)

    assert isinstance(chosen(), TrainingGraphs)
    assert type(chosen(accumulate=2)) is Acceleration
    assert type(chosen(cuda_graphs=False)) is Acceleration


def test_a_graph_is_captured_on_parameters_that_no_earlier_step_knows(encoder: Transformer) -> None:
    own = list(encoder.model.parameters())
    with _fresh(encoder.model, own) as leaves:
        assert [each.data_ptr() for each in leaves] == [each.data_ptr() for each in own]
        there = list(encoder.model.parameters())
        assert all(found is fresh and found is not each for found, fresh, each in zip(there, leaves, own, strict=True))
    assert all(found is each for found, each in zip(encoder.model.parameters(), own, strict=True))


def on_gpu(cuda_graphs: bool, precision: str) -> TrainingSettings:
    given: Any = {"words_per_batch": 60, "learning_rate": 1e-3, "updates": 12, "precision": precision}
    return TrainingSettings(**given, cuda_graphs=cuda_graphs)


gpu = partial(pytest.mark.skipif, not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.gpu
@gpu()
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_on_a_gpu_a_teacher_s_passes_are_graphs_and_are_the_plain_ones(
    build: Build, news: Corpus, precision: str
) -> None:
    def run(cuda_graphs: bool) -> list[float]:
        settings = on_gpu(cuda_graphs, precision)
        tagger = still(build("bert"))
        teacher = frozen_copy(build("bert", seed=7))
        terms: dict[str, Objective] = {"tag": Tagging(), "distil": Distillation(teacher)}
        stage = Stage("only", terms, Batches({"source": news}, 60, seed=5), settings)
        training = Training(tagger, stage, build_engine(settings, tagger))
        found = []
        for done in training:
            found.append(float(done.losses["distil"]))
        acceleration = training.bare_step.acceleration
        if cuda_graphs:
            assert isinstance(acceleration, TrainingGraphs)
            made = acceleration.encoders[id(teacher.encoder.model)].eval_graphs.graphs  # type: ignore[union-attr]
            assert made
            assert not [each for each in made.values() if isinstance(each, str)], made
        return found

    assert run(True) == pytest.approx(run(False), rel=1e-3 if precision == "no" else 3e-2)


@pytest.mark.gpu
@gpu()
@pytest.mark.parametrize("precision", ["no", "bf16"])
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_on_a_gpu_training_is_that_of_plain_readings(build: Build, news: Corpus, kind: str, precision: str) -> None:
    def run(cuda_graphs: bool) -> list[float]:
        settings = on_gpu(cuda_graphs, precision)
        tagger = still(build("bert"))
        stage = Stage("only", {"tag": OBJECTIVES[kind]()}, Batches({"source": news}, 60, seed=5), settings)
        training = Training(tagger, stage, build_engine(settings, tagger))
        found = []
        for done in training:
            found.append(float(done.losses["tag"]))
        acceleration = training.bare_step.acceleration
        if cuda_graphs:
            assert isinstance(acceleration, TrainingGraphs)
            (passes,) = acceleration.encoders.values()
            assert sum(each.replays for some in passes.graphs.values() for each in some) >= 4, passes.refused
        return found

    assert run(True) == pytest.approx(run(False), rel=1e-3 if precision == "no" else 3e-2)


@pytest.mark.gpu
@gpu()
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_on_a_gpu_two_domains_train_as_they_do_without_graphs(
    build: Build, news: Corpus, tweets: Corpus, precision: str
) -> None:
    def run(cuda_graphs: bool) -> list[float]:
        settings = on_gpu(cuda_graphs, precision)
        tagger = still(build("bert"))
        terms: dict[str, Objective] = {
            "tag": TaggingOfAll(),
            "alike": SentenceDiscrepancy(),
            "words": WordDiscrepancy(),
        }
        stage = Stage("only", terms, Batches({"source": news, "target": tweets}, 60, seed=5), settings)
        training = Training(tagger, stage, build_engine(settings, tagger))
        return [float(done.losses[name]) for done in training for name in terms]

    assert run(True) == pytest.approx(run(False), rel=2e-3 if precision == "no" else 5e-2, abs=1e-3)


@pytest.mark.gpu
@gpu()
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_on_a_gpu_rounds_go_on_with_graphs_and_end_where_plain_ones_do(
    build: Build, news: Corpus, tweets: Corpus, precision: str
) -> None:
    """Three stages, two with a teacher; weights are loaded in between, as when a state is chosen."""

    def run(cuda_graphs: bool) -> list[float]:
        torch.manual_seed(1)
        tagger = still(build("bert")).cuda()
        settings = TrainingSettings(
            updates=8, words_per_batch=60, learning_rate=1e-3, cuda_graphs=cuda_graphs, precision=precision
        )
        record = Record()

        def stages() -> Iterator[Stage]:
            for number in range(3):
                tagger.load_state_dict({name: weight.cpu() for name, weight in tagger.state_dict().items()})
                taught = {"distil": Distillation(frozen_copy(tagger))} if number else {}
                batches = Batches({"source": news, "target": tweets}, 60, seed=5)
                yield Stage(f"round-{number}", {"tag": Tagging(), **taught}, batches, settings)

        run_stages(tagger, stages(), build_engine(settings, tagger), LastUpdate(), 1, record=record)
        return [float(row["tag"]) for row in record.rows if row["kind"] == "update"]

    assert run(True) == pytest.approx(run(False), rel=5e-3 if precision == "no" else 1e-1, abs=1e-3)


@pytest.mark.gpu
@gpu()
def test_on_a_gpu_gradients_are_those_of_plain_readings(build: Build, news: Corpus) -> None:
    tagger = still(build("bert")).cuda()
    batch = next(Batches({"source": news}, 60, seed=5).starting_at(0))
    step = TrainingStep(tagger, {"tag": Tagging()}).train()
    step(batch)["tag"].backward()
    wanted = {name: None if each.grad is None else each.grad.clone() for name, each in tagger.named_parameters()}
    graphs = TrainingGraphs()
    step.acceleration = graphs
    for _ in range(3):
        tagger.zero_grad()
        step(batch)["tag"].backward()
    (passes,) = graphs.encoders.values()
    assert passes.graphs, passes.refused
    for name, each in tagger.named_parameters():
        assert (each.grad is None) == (wanted[name] is None), name
        if each.grad is not None:
            torch.testing.assert_close(each.grad, wanted[name], rtol=1e-2, atol=1e-5, msg=name)


@pytest.mark.gpu
@gpu()
def test_on_a_gpu_graphs_that_share_memory_do_not_disturb_one_another(build: Build) -> None:
    encoder = build("bert").encoder.cuda().eval()
    assert isinstance(encoder, Transformer)

    def gradients(*lengths: int) -> list[Tensor]:
        encoder.zero_grad()
        torch.stack([reading(encoder, length).sin().sum() for length in lengths]).prod().backward()  # type: ignore[no-untyped-call]
        return [parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None]

    steps = [(3,), (3,), (12,), (12,), (20,), (20,), (3,), (12, 20), (20, 12), (3, 3), (12, 20), (3,), (20, 3, 12)]
    wanted = [gradients(*lengths) for lengths in steps]
    with graphs_of(encoder) as passes:
        for lengths, plain in zip(steps, wanted, strict=True):
            passes.release()
            for ours, theirs in zip(gradients(*lengths), plain, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-4)
        assert not passes.refused
        assert {each.slot.number for found in passes.graphs.values() for each in found} == {0, 1, 2}


@pytest.mark.gpu
@gpu()
def test_on_a_gpu_shapes_that_share_a_slot_take_little_more_memory_than_one() -> None:
    encoder = Tagger.build("acclimate-mini", labels=("PER",), seed=1).encoder.cuda().train()
    assert isinstance(encoder, Transformer)
    taken = []
    with graphs_of(encoder) as passes, torch.autocast("cuda", torch.bfloat16):
        for length in (128, 120, 112, 104, 96, 88):
            for _ in range(2):
                passes.release()
                encoder.states(torch.ones(16, length, dtype=torch.long, device="cuda")).sum().backward()
                encoder.zero_grad()
            taken.append(passes.taken)
        assert not passes.refused
    assert taken[-1] - taken[0] < taken[0] / 2, taken


@pytest.mark.gpu
@gpu()
def test_on_a_gpu_dropout_is_drawn_anew_in_every_replay(build: Build) -> None:
    encoder = build("bert").encoder.cuda().train()
    assert isinstance(encoder, Transformer)
    pieces = torch.randint(5, 20, (4, 16), device="cuda")
    with graphs_of(encoder) as passes:
        found = []
        for _ in range(4):
            passes.release()
            found.append(encoder.states(pieces).detach())
        assert passes.graphs, passes.refused
    assert not torch.equal(found[2], found[3])
