"""Stage → better tagger."""
