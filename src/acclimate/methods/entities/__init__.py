"""Tagging entities while guessing hidden words (MSLM)."""
