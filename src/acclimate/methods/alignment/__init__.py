"""Features that look alike in both domains."""
