"""Writers of all formats: a corpus in, the bytes of a file out; `writing.py` chooses one and saves the file."""
