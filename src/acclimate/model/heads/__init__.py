"""The last layer: what the scores of a sentence's words say about its tags."""
