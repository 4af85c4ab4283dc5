"""Reading without dropout for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from torch import nn

_GUARD = threading.Lock()
_READERS: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()  # of modules that would be training without them


@contextmanager
def eval_mode(learner: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while, then back to what it was: scoring in mid-training must leave no trace.

    Several threads may read with the same learner, or with learners that share parts. A module goes back to training
    when the last of them is done, and not before.
    """
    with _GUARD:
        held = [module for module in learner.modules() if module.training or module in _READERS]
        for module in held:
            _READERS[module] = _READERS.get(module, 0) + 1
            module.training = False
    try:
        yield
    finally:
        with _GUARD:
            for module in held:  # one by one: a part that sleeps through training must not be woken
                _READERS[module] -= 1
                if not _READERS[module]:
                    del _READERS[module]
                    module.training = True
