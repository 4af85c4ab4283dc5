"""Corpora: reading, writing, checking, splitting and selecting them, and batches of their sentences."""
