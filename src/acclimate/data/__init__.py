"""Files → Corpus → Batch. This room knows no model."""
