"""Gold × predicted → numbers. This layer knows no model: it compares two corpora."""
