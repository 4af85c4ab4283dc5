"""Selectors of finished runs: each gives a tagger a number without having seen a label of the target."""
