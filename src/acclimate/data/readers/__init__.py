"""One file per format. Each reader turns a source into sentences as the file spells them; `reading.py` is the door."""
