"""New sentences from old ones."""
