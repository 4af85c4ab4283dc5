"""Recipes beside each other: which one helps, how sure that is, and which one would be chosen without target labels."""
