"""One file per format: a corpus in, the bytes of a file out. `writing.py` chooses, and puts the file in its place."""
