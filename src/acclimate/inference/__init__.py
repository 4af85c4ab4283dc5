"""Tagger × Corpus → Corpus."""
