"""How fast the conditional random field is beside pytorch-crf: likelihood (forward and backward) and decoding.

    python benchmarks/crf.py [--device cpu|cuda] [--repeats 30] [--json FILE]

Both libraries run in turn within one process, so that whatever else the machine does falls on both alike; the number
reported is the median after warm-up. Both are given start and end scores and the same parameters, and both decode into
lists.
"""

import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import torch
from shared import hardware, in_turns, markdown, parser, timed, write_json
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from acclimate.model.heads import linear_chain
from acclimate.model.heads.tag_heads import ConditionalRandomField

try:
    from torchcrf import CRF
except ImportError:
    print("pytorch-crf is not installed; for this comparison: pip install pytorch-crf", file=sys.stderr)
    sys.exit(2)

SHAPES = [(64, 40, 9), (64, 128, 33)]  # sentences, words, tags
Job = Callable[[], Any]


def main() -> None:
    spread = (0.2, "largest minus smallest transition score")
    options = parser(__doc__, "json", device="cpu", repeats=30, spread=spread).parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(0)
    given = (options.device, options.repeats, options.spread)
    rows = [row for shape, lengths in product(SHAPES, ("random", "full")) for row in compare(shape, lengths, *given)]
    print(table(rows))
    write_json(options.json, {"torch": torch.__version__, "device": options.device, "rows": rows})


def compare(
    shape: tuple[int, int, int], lengths: str, device: str, repeats: int, spread: float
) -> list[dict[str, Any]]:
    sentences, words, tag_count = shape
    ours = ConditionalRandomField(tag_count, boundary_scores=True).to(device)
    theirs = CRF(tag_count, batch_first=True).to(device)
    with torch.no_grad():
        ours.transitions.uniform_(-spread / 2, spread / 2)
        theirs.transitions.copy_(ours.transitions)
        theirs.start_transitions.copy_(ours.start)
        theirs.end_transitions.copy_(ours.end)
    scores = torch.randn(sentences, words, tag_count, device=device, requires_grad=True)
    tags = torch.randint(tag_count, (sentences, words), device=device)
    counts = torch.randint(1, words + 1, (sentences,)) if lengths == "random" else torch.full((sentences,), words)
    counts[0] = words
    mask = (torch.arange(words) < counts.unsqueeze(1)).to(device)  # (sentence, word)

    def learn(loss: Callable[[], Tensor], field: torch.nn.Module) -> Job:
        def job() -> Tensor:
            scores.grad = None
            field.zero_grad()
            total = loss()
            total.backward()
            return total.detach()

        return job

    def our_lists() -> list[list[int]]:
        rows, ends = ours.decode(scores, mask).tolist(), mask.sum(1).tolist()
        return [row[:end] for row, end in zip(rows, ends, strict=True)]

    @torch.no_grad()
    def their_lists() -> list[list[int]]:
        found: list[list[int]] = theirs.decode(scores, mask=mask)
        return found

    likelihood = {
        "acclimate": learn(lambda: ours.loss(scores, tags, mask).sum(), ours),
        "pytorch-crf": learn(lambda: -theirs(scores, tags, mask=mask), theirs),
    }
    decoding = {"acclimate": our_lists, "pytorch-crf": their_lists}

    # a fast wrong answer is no answer
    losses = [job() for job in likelihood.values()]
    assert torch.allclose(*losses, rtol=1e-4), losses
    best = [path_scores(ours, scores, lists, mask) for lists in (our_lists(), their_lists())]
    assert torch.allclose(*best, rtol=1e-6), best

    return [
        {"shape": shape, "lengths": lengths, "job": job, "milliseconds": medians(rivals, repeats)}
        for job, rivals in (("likelihood", likelihood), ("decoding", decoding))
    ]


def medians(rivals: dict[str, Job], repeats: int) -> dict[str, float]:
    """Milliseconds of each job, after warm-up."""
    times = in_turns({name: partial(timed, job) for name, job in rivals.items()}, repeats, warm_up=3)
    return {name: round(1000 * median(values), 3) for name, values in times.items()}


def path_scores(field: ConditionalRandomField, scores: Tensor, lists: list[list[int]], mask: Tensor) -> Tensor:
    """What each sentence's path is worth in float64. Of two paths whose scores differ by less than float32 can tell,
    either library may take either, so decoders are held to the score and not to the tags."""
    assert [len(path) for path in lists] == mask.sum(1).tolist()
    tags = pad_sequence([torch.tensor(path) for path in lists], batch_first=True).to(mask.device)
    parts = (part.detach().double() for part in (scores, field.transitions))
    ends = (part.detach().double() for part in (field.start, field.end) if part is not None)
    return linear_chain.path_score(*parts, tags, mask, *ends)


def table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        ours, theirs = row["milliseconds"]["acclimate"], row["milliseconds"]["pytorch-crf"]
        lines.append([row["shape"], row["lengths"], row["job"], f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}"])
    head = ["sentences, words, tags", "lengths", "job", "acclimate", "pytorch-crf", "times"]
    return f"{hardware()}; milliseconds, and how many times faster acclimate is\n{markdown(head, lines)}"


if __name__ == "__main__":
    main()
