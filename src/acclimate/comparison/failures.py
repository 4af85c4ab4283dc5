"""Failures that end one run, and not all of them."""

from __future__ import annotations

import pickle
import traceback

from acclimate.data.problems import InputError
from acclimate.model.storage import StorageError
from acclimate.settings import SettingsError, UsageError
from acclimate.training.run import Diverged


def told(failure: Exception) -> str:
    """In words: what the machine says of a file comes with a number that helps nobody."""
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.strerror}." if failure.filename is None else f"{failure.filename}: {failure.strerror}."
    return str(failure)


def is_expected(failure: Exception) -> bool:
    """Something about data, settings or the machine, and no fault of the program: other runs may still go well."""
    kinds = (InputError, UsageError, SettingsError, StorageError, Diverged, OSError)
    return isinstance(failure, kinds) or type(failure).__name__ == "OutOfMemoryError"


def sendable(failure: Exception) -> Exception:
    """The failure itself, or, where another process could not open it, one that says the same: in words for an expected
    one, with its traceback for a fault of the program."""
    try:
        pickle.loads(pickle.dumps(failure))
    except Exception:
        if is_expected(failure):
            return InputError(told(failure))
        return RuntimeError("".join(traceback.format_exception(failure)))
    return failure
