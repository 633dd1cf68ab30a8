"""Finds what two runs have in common, and where they part."""
