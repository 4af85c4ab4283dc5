"""Taggers behind HTTP: requests → batches → answers."""
