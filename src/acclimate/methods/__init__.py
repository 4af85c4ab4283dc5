"""What the papers add, one idea per small file."""
