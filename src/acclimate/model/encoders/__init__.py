"""Encoders: sentences of words → one feature vector per word."""
