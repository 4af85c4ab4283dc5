"""Recipes: papers as generators of stages."""
