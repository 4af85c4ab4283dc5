"""Replayed readings train as plain ones do: same losses, same gradients, and an error rather than a wrong one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from acclimate.data.batches import Batches
from acclimate.data.corpus import Corpus, Sentence
from acclimate.methods.alignment.discrepancy import SentenceDiscrepancy, WordDiscrepancy
from acclimate.methods.distillation import Distillation, frozen_copy
from acclimate.methods.objective import Objective
from acclimate.methods.perturbation.adversarial import AdversarialTraining
from acclimate.methods.tagging import Tagging, TaggingOfAll
from acclimate.model.encoders.recorded_pass import Pass, Read, Slot, _fresh, gradients
from acclimate.model.encoders.recorded_passes import RecordedPasses
from acclimate.model.encoders.transformer import Transformer
from acclimate.model.replaying import Recordings, replaying
from acclimate.model.tagger import Tagger
from acclimate.model.view import View, keep_company
from acclimate.training.engine import build_engine
from acclimate.training.loop import Training, replays
from acclimate.training.record import Record
from acclimate.training.run import run_stages
from acclimate.training.selectors import LastUpdate
from acclimate.training.settings import TrainingSettings
from acclimate.training.stage import Stage
from acclimate.training.step import TrainingStep

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
) -> Pass:
    """What a GPU's recording does, on any machine: reads from and writes to the same places every time."""
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

    return Pass(inputs, attention, states, gradient, owners, of_owners, of_inputs, forward, backward, slot)


def still(tagger: Tagger) -> Tagger:
    """Without dropout, whose draws depend on how much is read."""
    for module in tagger.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return tagger


REPLAYED: dict[str, Any] = {"record": by_hand, "kind": "cpu"}


def trained(
    tagger: Tagger, objective: Objective, corpus: Corpus, updates: int = 10, **settings: Any
) -> tuple[list[float], dict[str, Tensor], list[RecordedPasses]]:
    """Losses, weights, and what was recorded, if `settings` are given."""
    step = TrainingStep(tagger, {"tag": objective}).train()
    optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
    batches = Batches({"source": corpus}, 60, seed=1).starting_at(0)
    losses = []

    def update() -> None:
        loss = step(next(batches))["tag"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))

    if settings:
        with replaying(tagger, **settings) as step.passes:
            for _ in range(updates):
                update()
    else:
        for _ in range(updates):
            update()
    return losses, dict(tagger.state_dict()), list(step.passes)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_losses_and_weights_are_those_of_plain_training(build: Build, news: Corpus, kind: str) -> None:
    plain, weights, _ = trained(still(build("bert")), OBJECTIVES[kind](), news)
    losses, ours, (passes,) = trained(still(build("bert")), OBJECTIVES[kind](), news, **REPLAYED)
    assert sum(each.turn for found in passes.made.values() for each in found) >= 4  # some were replayed
    assert losses == pytest.approx(plain, rel=1e-4)
    assert plain[0] != plain[-1]
    for name, weight in weights.items():
        torch.testing.assert_close(ours[name], weight, rtol=1e-3, atol=1e-5, msg=name)


def test_full_rows_are_replayed_without_attention(build: Build) -> None:
    encoder = build("bert").encoder
    assert isinstance(encoder, Transformer)
    encoder.eval()
    pieces = torch.randint(5, 20, (3, 11))
    with torch.no_grad():
        wanted = encoder.states(pieces)
    with replaying(encoder, **REPLAYED) as (passes,):
        found = [encoder.states(pieces) for _ in range(3)]
    assert len(passes.made) == 1
    for states in found:
        torch.testing.assert_close(states.detach(), wanted)


def sentences(*lengths: int) -> list[Sentence]:
    return [Sentence(tuple(("abcdefghij" * 3)[:length])) for length in lengths]


def reading(encoder: Transformer, *lengths: int) -> Tensor:
    device = next(encoder.parameters()).device
    inputs = encoder.number(sentences(*lengths))
    return encoder.states(inputs["pieces"].to(device), inputs["attention"].to(device))


@pytest.fixture
def encoder(build: Build) -> Transformer:
    found = build("bert").encoder
    assert isinstance(found, Transformer)
    return found.eval()


def test_shorter_and_fewer_rows_share_a_recording_and_keep_their_states(encoder: Transformer) -> None:
    shapes = [(5, 4, 3), (6, 2), (5, 5), (1,)]
    plain = [reading(encoder, *lengths).detach() for lengths in shapes]
    with replaying(encoder, **REPLAYED) as (passes,):
        found = []
        for lengths in shapes:
            passes.release()
            found.append(reading(encoder, *lengths).detach())
    assert len(passes.made) == 1
    assert next(iter(passes.made.values()))[0].turn == len(shapes) - 1  # the first was only met
    for ours, wanted in zip(found, plain, strict=True):
        assert ours.shape == wanted.shape
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-5)


def test_two_readings_of_a_step_do_not_share_memory(encoder: Transformer) -> None:
    def gradient(replayed: bool) -> Tensor:
        encoder.zero_grad()
        if not replayed:
            (reading(encoder, 4, 3).sin().sum() * reading(encoder, 2, 5).cos().sum()).backward()  # type: ignore[no-untyped-call]
        else:
            with replaying(encoder, **REPLAYED) as (passes,):
                reading(encoder, 3, 3)
                (reading(encoder, 4, 3).sin().sum() * reading(encoder, 2, 5).cos().sum()).backward()  # type: ignore[no-untyped-call]
            assert [[each.slot.number for each in found] for found in passes.made.values()] == [[0, 1]]
        found = encoder.model.get_input_embeddings().weight.grad  # type: ignore[operator]
        assert isinstance(found, Tensor)
        return found.clone()

    torch.testing.assert_close(gradient(True), gradient(False), rtol=1e-3, atol=1e-5)


def test_shapes_share_a_slot_from_step_to_step_and_none_within_a_step(encoder: Transformer) -> None:
    def step(*lengths: int) -> None:
        passes.release()
        torch.stack([reading(encoder, length).sum() for length in lengths]).sum().backward()  # type: ignore[no-untyped-call]

    with replaying(encoder, **REPLAYED) as (passes,):
        passes.step, passes.waste = 8, 1.5
        for lengths in ((3,), (3,), (12,), (12,), (3, 12), (12, 3)):
            step(*lengths)
        (made,) = passes.made.values()
        numbers = sorted((each.inputs.shape[1], each.slot.number) for each in made)
        busy = [each.slot.number for found in passes.made.values() for each in found if each.busy]
    assert numbers == [(8, 0), (8, 1), (16, 0), (16, 1)]
    assert sorted(busy) == [0, 1]
    rows = [slot.rows for slot in passes.slots]
    assert [len(each) for each in rows] == [1, 1]  # all recordings of a slot write their gradients there


def test_a_recording_that_is_a_little_larger_does(encoder: Transformer) -> None:
    with replaying(encoder, **REPLAYED) as (passes,):
        passes.step, passes.waste = 8, 1.5
        for length in (25, 25, 20, 12, 12, 12):  # and [CLS] and [SEP]
            passes.release()
            found = reading(encoder, length)
        (made,) = passes.made.values()
    assert [each.inputs.shape[1] for each in made] == [32, 16]  # the 22 pieces are read in 32
    assert [each.turn for each in made] == [2, 2]
    torch.testing.assert_close(found, reading(encoder, 12), rtol=1e-4, atol=1e-5)


def test_parameters_are_joined_once_in_a_step(encoder: Transformer) -> None:
    with replaying(encoder, **REPLAYED) as (passes,):
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
    with replaying(encoder, **REPLAYED) as (passes,):
        reading(encoder, 3)
        first = reading(encoder, 3).sum()
        passes.release()
        reading(encoder, 4)
        with pytest.raises(RuntimeError, match=r"training\.replay=false"):
            first.backward()  # type: ignore[no-untyped-call]


def test_what_is_kept_of_a_reading_does_not_change_with_the_next(encoder: Transformer) -> None:
    with replaying(encoder, **REPLAYED) as (passes,):
        reading(encoder, 3)
        kept = reading(encoder, 3).detach()
        before = kept.clone()
        passes.release()
        reading(encoder, 7)
    assert torch.equal(kept, before)


def test_frozen_weights_get_no_gradient(encoder: Transformer) -> None:
    encoder.embedding_parameters()[0].requires_grad_(False)
    with replaying(encoder, **REPLAYED) as (passes,):
        for _ in range(2):
            passes.release()
            states = reading(encoder, 3)
        states.sum().backward()  # type: ignore[no-untyped-call]
    assert passes.made
    assert encoder.embedding_parameters()[0].grad is None
    assert any(parameter.grad is not None for parameter in encoder.parameters())


def test_without_a_gradient_it_is_read_as_usual(encoder: Transformer) -> None:
    with replaying(encoder, **REPLAYED) as (passes,), torch.no_grad():
        for _ in range(3):
            reading(encoder, 3)
    assert not passes.met


def test_no_more_recordings_than_there_may_be(encoder: Transformer) -> None:
    with replaying(encoder, most=1, **REPLAYED) as (passes,):
        for length in (3, 3, 9, 9, 9):
            passes.release()
            reading(encoder, length)
    assert sum(map(len, passes.made.values())) == 1


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
    passes = RecordedPasses(encoder)
    found = [passes._has_room() for _ in range(410)]
    assert found.index(True) == 402  # at 0 and 201 there is none
    assert len(asked) == 2 + 410 - 402


def test_a_shape_that_cannot_be_recorded_is_not_tried_again(encoder: Transformer) -> None:
    tries = []

    def fails(*_: Any) -> Pass:
        tries.append(1)
        raise RuntimeError("an answer was asked for")

    with replaying(encoder, record=fails, kind="cpu") as (passes,):
        wanted = reading(encoder, 3)
        for _ in range(3):
            assert torch.equal(reading(encoder, 3), wanted)
    assert len(tries) == 1
    assert list(passes.refused.values()) == ["an answer was asked for"]


def test_large_readings_are_left_alone(encoder: Transformer) -> None:
    with replaying(encoder, **REPLAYED) as (passes,):
        passes.weights = 10**12
        for _ in range(3):
            reading(encoder, 3)
    assert not passes.met


def test_rows_are_not_made_longer_than_the_encoder_can_read(encoder: Transformer) -> None:
    with replaying(encoder, **REPLAYED) as (passes,):
        passes.longest = 13
        assert passes._rounded(torch.Size([3, 12])) == (16, 13)
        passes.step = 8
        assert passes._rounded(torch.Size([3, 12])) == (8, 13)
        assert passes._rounded(torch.Size([16, 8, 5])) == (16, 8, 5)


def test_light_encoders_have_fewer_and_larger_recordings(encoder: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "acclimate.model.encoders.recorded_passes"
    with replaying(encoder, **REPLAYED) as (light,):
        assert (light.step, light.waste) == (16, 2.0)
    monkeypatch.setattr(f"{module}._LIGHT", 1.0)
    with replaying(encoder, **REPLAYED) as (other,):
        assert (other.step, other.waste) == (8, 1.5)


def two_domains(tagger: Tagger, news: Corpus, tweets: Corpus, replayed: bool) -> tuple[list[float], int]:
    """Losses of some steps on both domains, and how often text was read in the last."""
    step = TrainingStep(tagger, {"tag": TaggingOfAll(), "alike": SentenceDiscrepancy()}).train()
    batches = Batches({"source": news, "target": tweets}, 60, seed=1).starting_at(0)
    reads: list[int] = []
    plain = tagger.encoder._states_of  # type: ignore[union-attr]

    def read(inputs: Tensor, attention: Tensor | None) -> Tensor:
        reads.append(len(inputs))
        return plain(inputs, attention)

    read.__name__ = plain.__name__
    tagger.encoder._states_of = read  # type: ignore[union-attr, method-assign]
    losses = []
    with replaying(tagger, **{**REPLAYED, "most": 0}) as passes:
        step.passes = passes if replayed else ()
        for _ in range(4):
            reads.clear()
            found = step(next(batches))
            total = found["tag"] + found["alike"]
            total.backward()
            losses.append(float(total.detach()))
    return losses, len(reads)


def test_both_domains_are_read_at_once(build: Build, news: Corpus, tweets: Corpus) -> None:
    together, reads = two_domains(still(build("bert")), news, tweets, replayed=True)
    apart, more = two_domains(still(build("bert")), news, tweets, replayed=False)
    assert (reads, more) == (1, 2)  # the first step has shown that both are asked for
    assert together == pytest.approx(apart, rel=1e-4)


def test_views_are_read_apart_where_no_gradient_is_asked_for_or_much_would_be_padding(build: Build) -> None:
    tagger = still(build("bert"))
    one, other, long = (tagger.view(sentences(*lengths)) for lengths in ((3, 4), (5, 2), (28,)))
    keep_company(one, other)
    with torch.no_grad():
        assert not one.last_layer.requires_grad
    assert other.last_layer.requires_grad
    keep_company(other, long)
    assert other.company is None
    assert long.company is None


def test_a_domain_that_nobody_asks_for_is_not_read(build: Build, news: Corpus, tweets: Corpus) -> None:
    tagger = still(build("bert"))
    step = TrainingStep(tagger, {"tag": Tagging()}).train()
    batches = Batches({"source": news, "target": tweets}, 60, seed=1).starting_at(0)
    with replaying(tagger, **{**REPLAYED, "most": 0}) as step.passes:
        for _ in range(3):
            step(next(batches))
            assert not step.reads_both


def test_teachers_are_among_those_who_are_replayed_and_are_left_as_they_were(build: Build) -> None:
    tagger, teacher = build("bert"), frozen_copy(build("bert"))
    assert list(Distillation(teacher).readers()) == [teacher]
    with replaying(tagger, [teacher], **REPLAYED) as passes:
        assert len(passes) == 2
        assert teacher.encoder.passes is passes[1]  # type: ignore[union-attr]
        assert teacher.head.recorded is not None
    assert teacher.encoder.passes is None  # type: ignore[union-attr]
    assert teacher.head.recorded is None


def test_a_copy_has_no_recordings_and_afterwards_nobody_has(build: Build) -> None:
    tagger = build("bert")
    with replaying(tagger, **REPLAYED):
        assert copy.deepcopy(tagger).encoder.passes is None  # type: ignore[union-attr]
        assert tagger.encoder.passes is not None  # type: ignore[union-attr]
        assert tagger.head.recorded is not None
    assert tagger.encoder.passes is None  # type: ignore[union-attr]
    assert tagger.head.recorded is None


def test_a_later_stage_goes_on_with_the_recordings_of_an_earlier_one(build: Build, news: Corpus) -> None:
    plain = [trained(tagger, Tagging(), news)[0] for tagger in [still(build("bert"))] for _ in range(2)]
    tagger, known = still(build("bert")), Recordings()
    first, _, (passes,) = trained(tagger, Tagging(), news, known=known, **REPLAYED)
    count = len([each for found in passes.made.values() for each in found])
    assert not passes.heads
    assert not any(each.busy for found in passes.made.values() for each in found)
    second, _, (again,) = trained(tagger, Tagging(), news, known=known, **REPLAYED)
    assert again is passes
    assert len([each for found in passes.made.values() for each in found]) == count  # the shapes are known
    assert [*first, *second] == pytest.approx([*plain[0], *plain[1]], rel=1e-4)
    known.forget()
    with replaying(tagger, known=known, **REPLAYED) as (other,):
        assert other is not passes


def test_another_learner_s_recordings_are_not_taken_and_teachers_are_not_kept(build: Build) -> None:
    tagger, teacher, known = build("bert"), frozen_copy(build("bert")), Recordings()
    with replaying(tagger, [teacher], known, **REPLAYED) as (own, _):
        head = tagger.head.recorded
    assert list(known.passes.values()) == [own]
    with replaying(build("bert"), known=known, **REPLAYED) as (other,):
        assert other is not own
    with replaying(tagger, known=known, **REPLAYED):
        assert tagger.head.recorded is head


def test_siblings_share_recordings(build: Build, tweets: Corpus) -> None:
    encoder = build("bert").encoder
    pair = torch.nn.ModuleList([encoder, encoder.sibling(tweets)])
    with replaying(pair, **REPLAYED) as found:
        assert len(found) == 1


def test_it_is_for_one_gpu_and_one_batch_an_update(build: Build) -> None:
    settings = TrainingSettings(device="cpu", replay=True)
    engine = build_engine(settings, build("bert"))
    assert not replays(settings, engine)

    class Gpu:
        device, num_processes = torch.device("cuda"), 1

    engine_with_gpu: Any = Gpu()
    assert replays(settings, engine_with_gpu)
    assert not replays(settings.model_copy(update={"accumulate": 2}), engine_with_gpu)
    assert not replays(settings.model_copy(update={"replay": False}), engine_with_gpu)


def test_a_recording_is_made_on_parameters_that_no_earlier_step_knows(encoder: Transformer) -> None:
    own = list(encoder.model.parameters())
    with _fresh(encoder.model, own) as leaves:
        assert [each.data_ptr() for each in leaves] == [each.data_ptr() for each in own]
        there = list(encoder.model.parameters())
        assert all(found is fresh and found is not each for found, fresh, each in zip(there, leaves, own, strict=True))
    assert all(found is each for found, each in zip(encoder.model.parameters(), own, strict=True))


def on_gpu(replay: bool, precision: str) -> TrainingSettings:
    given: Any = {"words_per_batch": 60, "learning_rate": 1e-3, "updates": 12, "precision": precision}
    return TrainingSettings(**given, replay=replay)


gpu = partial(pytest.mark.skipif, not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.gpu
@gpu()
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_on_a_gpu_a_teacher_s_readings_are_replayed_and_are_the_plain_ones(
    build: Build, news: Corpus, precision: str
) -> None:
    def run(replay: bool) -> list[float]:
        settings = on_gpu(replay, precision)
        tagger = still(build("bert"))
        teacher = frozen_copy(build("bert", seed=7))
        terms: dict[str, Objective] = {"tag": Tagging(), "distil": Distillation(teacher)}
        stage = Stage("only", terms, Batches({"source": news}, 60, seed=5), settings)
        training = Training(tagger, stage, build_engine(settings, tagger))
        found = []
        for done in training:
            found.append(float(done.losses["distil"]))
            passes = list(training.bare_step.passes)
        if replay:
            assert len(passes) == 2
            made = passes[1].looks.recordings
            assert made
            assert not [each for each in made.values() if isinstance(each, str)], made
        return found

    assert run(True) == pytest.approx(run(False), rel=1e-3 if precision == "no" else 3e-2)


@pytest.mark.gpu
@gpu()
@pytest.mark.parametrize("precision", ["no", "bf16"])
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_on_a_gpu_training_is_that_of_plain_readings(build: Build, news: Corpus, kind: str, precision: str) -> None:
    def run(replay: bool) -> list[float]:
        settings = on_gpu(replay, precision)
        tagger = still(build("bert"))
        stage = Stage("only", {"tag": OBJECTIVES[kind]()}, Batches({"source": news}, 60, seed=5), settings)
        training = Training(tagger, stage, build_engine(settings, tagger))
        found = []
        for done in training:
            found.append(float(done.losses["tag"]))
            replayed = sum(
                each.turn for made in training.bare_step.passes for some in made.made.values() for each in some
            )
            refused = [made.refused for made in training.bare_step.passes]
        if replay:
            assert replayed >= 4, refused
        return found

    assert run(True) == pytest.approx(run(False), rel=1e-3 if precision == "no" else 3e-2)


@pytest.mark.gpu
@gpu()
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_on_a_gpu_two_domains_read_at_once_train_as_they_do_apart(
    build: Build, news: Corpus, tweets: Corpus, precision: str
) -> None:
    def run(replay: bool) -> list[float]:
        settings = on_gpu(replay, precision)
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
def test_on_a_gpu_rounds_go_on_with_recordings_and_end_where_plain_ones_do(
    build: Build, news: Corpus, tweets: Corpus, precision: str
) -> None:
    """Three stages, two with a teacher; weights are loaded in between, as when a state is chosen."""

    def run(replay: bool) -> list[float]:
        torch.manual_seed(1)
        tagger = still(build("bert")).cuda()
        settings = TrainingSettings(
            updates=8, words_per_batch=60, learning_rate=1e-3, replay=replay, precision=precision
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
    with replaying(tagger) as step.passes:
        for _ in range(3):
            tagger.zero_grad()
            step(batch)["tag"].backward()
        assert step.passes[0].made, step.passes[0].refused
    for name, each in tagger.named_parameters():
        assert (each.grad is None) == (wanted[name] is None), name
        if each.grad is not None:
            torch.testing.assert_close(each.grad, wanted[name], rtol=1e-2, atol=1e-5, msg=name)


@pytest.mark.gpu
@gpu()
def test_on_a_gpu_recordings_that_share_memory_do_not_disturb_one_another(build: Build) -> None:
    encoder = build("bert").encoder.cuda().eval()
    assert isinstance(encoder, Transformer)

    def gradients(*lengths: int) -> list[Tensor]:
        encoder.zero_grad()
        torch.stack([reading(encoder, length).sin().sum() for length in lengths]).prod().backward()  # type: ignore[no-untyped-call]
        return [parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None]

    steps = [(3,), (3,), (12,), (12,), (20,), (20,), (3,), (12, 20), (20, 12), (3, 3), (12, 20), (3,), (20, 3, 12)]
    wanted = [gradients(*lengths) for lengths in steps]
    with replaying(encoder) as (passes,):
        for lengths, plain in zip(steps, wanted, strict=True):
            passes.release()
            for ours, theirs in zip(gradients(*lengths), plain, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-4)
        assert not passes.refused
        assert {each.slot.number for found in passes.made.values() for each in found} == {0, 1, 2}


@pytest.mark.gpu
@gpu()
def test_on_a_gpu_shapes_that_share_a_slot_take_little_more_memory_than_one() -> None:
    encoder = Tagger.build("acclimate-mini", labels=("PER",), seed=1).encoder.cuda().train()
    assert isinstance(encoder, Transformer)
    taken = []
    with replaying(encoder) as (passes,), torch.autocast("cuda", torch.bfloat16):
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
    with replaying(encoder) as (passes,):
        found = []
        for _ in range(4):
            passes.release()
            found.append(encoder.states(pieces).detach())
        assert passes.made, passes.refused
    assert not torch.equal(found[2], found[3])
