"""Which tags may begin a sentence, follow one another and end it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, init=False, eq=False)
class Legality:
    """What a tag scheme allows. Knows tags as numbers only; `names`, if given, make its complaints readable."""

    start: Tensor  # (tag,), bool: may begin a sentence
    moves: Tensor  # (from tag, to tag), bool: the second may follow the first
    end: Tensor  # (tag,), bool: may end a sentence
    names: tuple[str, ...] | None = None

    def __init__(self, start: Any, moves: Any, end: Any, names: Sequence[str] | None = None) -> None:
        """Take tensors, numpy arrays or nested lists, of bools."""
        for field, values in (("start", start), ("moves", moves), ("end", end)):
            object.__setattr__(self, field, torch.as_tensor(values, dtype=torch.bool, device="cpu"))
        object.__setattr__(self, "names", None if names is None else tuple(names))
        count = self.tag_count
        if self.start.shape != (count,) or self.moves.shape != (count, count) or self.end.shape != (count,):
            raise ValueError(
                f"Legality got start {tuple(self.start.shape)}, moves {tuple(self.moves.shape)}, end "
                f"{tuple(self.end.shape)}. For n tags they must be (n,), (n, n) and (n,)."
            )
        if self.names is not None and len(self.names) != count:
            raise ValueError(f"Legality got {len(self.names)} names for {count} tags. Pass one name per tag, or none.")

    @classmethod
    def everything(cls, tag_count: int) -> "Legality":
        """Every sequence of tags is allowed."""
        one, two = torch.ones(tag_count, dtype=torch.bool), torch.ones(tag_count, tag_count, dtype=torch.bool)
        return cls(one, two, one)

    @property
    def tag_count(self) -> int:
        return len(self.start)

    @property
    def allows_everything(self) -> bool:
        return bool(self.start.all() and self.moves.all() and self.end.all())

    def check(self, tags: Tensor, mask: Tensor) -> None:
        """Raise a ValueError that names the first illegal move of (sentence, word) tags."""
        tags, mask = tags.detach().cpu(), mask.detach().cpu().bool()
        for number, (row, words) in enumerate(zip(tags, mask, strict=True)):
            complaint = self._complaint(row[words].tolist())
            if complaint is not None:
                raise ValueError(
                    f"Sentence {number}, {complaint}. Repair the tags, or train without constraints "
                    f"(constrain_training=False), which gives illegal paths a probability too."
                )

    def _complaint(self, tags: list[int]) -> str | None:
        for word, tag in enumerate(tags):
            if not 0 <= tag < self.tag_count:
                return f"word {word}: tag number {tag} does not exist; there are {self.tag_count} tags, from 0"
            if word == 0 and not self.start[tag]:
                return f"word 0: {self._name(tag)} may not begin a sentence"
            if word > 0 and not self.moves[tags[word - 1], tag]:
                return f"word {word}: {self._name(tag)} may not follow {self._name(tags[word - 1])}"
        if tags and not self.end[tags[-1]]:
            return f"word {len(tags) - 1}: {self._name(tags[-1])} may not end a sentence"
        return None

    def _name(self, tag: int) -> str:
        return f"tag {tag}" if self.names is None else self.names[tag]
