"""Which words to hide, and what to show in their place."""
