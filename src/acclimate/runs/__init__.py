"""One driver and one folder format for every training."""
