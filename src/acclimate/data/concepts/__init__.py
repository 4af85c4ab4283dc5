"""Concept dictionaries, and the weak labels that their names put on text."""
