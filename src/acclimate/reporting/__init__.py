"""Folders of runs → one page of HTML that needs nothing else."""
