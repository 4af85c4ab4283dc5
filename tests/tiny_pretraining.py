"""Options that make `acclimate encoder pretrain` a matter of seconds; how many updates is left to the test."""

SIZES = ("vocabulary=90", "encoder.layers=1", "encoder.width=16", "encoder.heads=2", "encoder.row=16")
TRAINING = ("training.rows_per_batch=4", "training.device=cpu")
TINY_PRETRAINING = [word for setting in (*SIZES, *TRAINING) for word in ("--set", setting)]
