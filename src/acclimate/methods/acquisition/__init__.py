"""Which sentences are worth labelling: one idea per file, each a score per sentence; the higher, the sooner."""
