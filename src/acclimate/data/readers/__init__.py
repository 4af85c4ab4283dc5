"""Readers of all formats: each turns a source into sentences as the file spells them; `reading.py` chooses one."""
