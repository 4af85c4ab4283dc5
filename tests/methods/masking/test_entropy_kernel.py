"""The entropy that a GPU finds in one reading is that of the steps taken one by one."""

from __future__ import annotations

import pytest
import torch

from acclimate.methods.masking import entropy_kernel
from acclimate.methods.masking.entropy import entropy
from acclimate.methods.masking.entropy_kernel import in_one_reading


def test_without_a_gpu_there_is_none() -> None:
    assert in_one_reading(torch.randn(3, 5)) is None


class OnGpu:
    """Scores that say they are on a GPU."""

    device = torch.device("cuda")

    def __len__(self) -> int:
        return 1


def test_what_failed_once_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[object] = []

    def fails(scores: object) -> None:
        tries.append(scores)
        raise RuntimeError("no compiler")

    monkeypatch.setattr(entropy_kernel, "triton", object())
    monkeypatch.setattr(entropy_kernel, "entropies", fails)
    monkeypatch.setattr(entropy_kernel, "_refused", [])
    scores: object = OnGpu()
    assert [in_one_reading(scores) for _ in range(3)] == [None] * 3  # type: ignore[arg-type]
    assert len(tries) == 1
    assert entropy_kernel._refused == ["no compiler"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [7, 4096, 28_996])
def test_one_reading_gives_the_entropy(size: int, narrow: torch.dtype) -> None:
    scores = (6 * torch.randn(50, size, device="cuda")).to(narrow)
    scores[0, 1:] = -1e4  # all is certain
    found = in_one_reading(scores)
    assert found is not None, entropy_kernel._refused
    probabilities = scores.double().softmax(-1)
    wanted = torch.special.entr(probabilities).sum(-1)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found[1:], entropy(scores[1:]), rtol=1e-3, atol=1e-4)
