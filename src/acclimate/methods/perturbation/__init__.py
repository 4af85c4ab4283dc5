"""Noise on the embeddings, found where it hurts most."""
