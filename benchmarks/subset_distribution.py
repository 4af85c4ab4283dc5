"""How fast the distribution over subsets is as a tree beside the plain recursion place by place: learning and drawing.

    python benchmarks/subset_distribution.py [--device cpu|cuda] [--repeats 20] [--threads 1] [--json FILE]

"learn" is building the distribution, its log partition and the backward pass; "draw" is building it and drawing K
places of each row. Both run in turn within one process, and the number reported is the median after warm-up. The last
two columns say how far each is, in float32, from the recursion in float64: the largest error of any place's chance to
be chosen.
"""

from functools import partial
from typing import Any

import torch
from shared import hardware, markdown, medians, parser, write_json
from torch import Tensor

from acclimate.methods.masking.subset_distribution import SequentialSubsetDistribution, SubsetDistribution

SHAPES = [(32, 128, 19), (32, 512, 77)]  # rows, places, K
DISTRIBUTIONS = {"tree": SubsetDistribution, "sequential": SequentialSubsetDistribution}


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = parser(__doc__, "json", device=device, repeats=20, threads=1).parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rows = [row for shape in SHAPES for row in compare(shape, options.device, options.repeats)]
    print(table(rows))
    write_json(options.json, {"torch": torch.__version__, "device": options.device, "rows": rows})


def compare(shape: tuple[int, int, int], device: str, repeats: int) -> list[dict[str, Any]]:
    rows, places, size = shape
    scores = (4 * torch.randn(rows, places, device=device)).requires_grad_()
    allowed = torch.rand(rows, places, device=device) < 0.9
    sizes = torch.full((rows,), size, device=device)

    def learn(distribution: type[SubsetDistribution] | type[SequentialSubsetDistribution]) -> Tensor:
        scores.grad = None
        distribution(scores, allowed, sizes, size).log_partition().sum().backward()
        assert scores.grad is not None
        return scores.grad

    def draw(distribution: type[SubsetDistribution] | type[SequentialSubsetDistribution]) -> Tensor:
        with torch.no_grad():
            return distribution(scores, allowed, sizes, size).draw()

    with torch.no_grad():
        right = SequentialSubsetDistribution(scores.double(), allowed, sizes, size).marginals()
    errors = {name: float((learn(distribution) - right).abs().max()) for name, distribution in DISTRIBUTIONS.items()}
    # a fast wrong answer is no answer
    assert all(bool((draw(distribution).sum(1) == sizes).all()) for distribution in DISTRIBUTIONS.values())
    rivals = {job.__name__: {name: partial(job, one) for name, one in DISTRIBUTIONS.items()} for job in (learn, draw)}
    return [
        {"shape": shape, "job": job, "milliseconds": medians(turns, repeats), "errors": errors}
        for job, turns in rivals.items()
    ]


def table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        spent, errors = ([row[name][one] for one in DISTRIBUTIONS] for name in ("milliseconds", "errors"))
        speeds = [*(f"{each:.2f}" for each in spent), f"{spent[1] / spent[0]:.1f}"]
        lines.append([row["shape"], row["job"], *speeds, *(f"{error:.0e}" for error in errors)])
    head = ["rows, places, K", "job", "tree", "sequential", "times", "error of the tree", "error of sequential"]
    return f"{hardware()}; milliseconds, and how many times faster the tree is\n{markdown(head, lines)}"


if __name__ == "__main__":
    main()
