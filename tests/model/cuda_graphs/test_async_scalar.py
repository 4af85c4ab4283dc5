"""A number that comes late is an earlier one of the same row, and the CPU does not wait for it."""

from __future__ import annotations

import pytest
import torch

from acclimate.model.cuda_graphs.training_graphs import _UNDER_WAY, AsyncScalar


def test_on_a_cpu_it_is_the_number_itself() -> None:
    scalar = AsyncScalar()
    assert [scalar(torch.tensor(value)) for value in (1.5, -2.0)] == [1.5, -2.0]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_it_is_one_of_the_last_few() -> None:
    scalar = AsyncScalar()
    found = [scalar(torch.tensor(float(value), device="cuda")) for value in range(50)]
    assert found[0] == 0
    assert all(number - _UNDER_WAY <= value <= number for number, value in enumerate(found))
    assert found == sorted(found)
    torch.cuda.synchronize()
    assert scalar(torch.tensor(50.0, device="cuda")) >= 49


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_it_does_not_wait() -> None:
    scalar = AsyncScalar()
    scalar(torch.zeros((), device="cuda"))
    torch.cuda._sleep(2_000_000_000)  # about a second
    scalar(torch.ones((), device="cuda"))
    assert not torch.cuda.current_stream().query()
    torch.cuda.synchronize()
