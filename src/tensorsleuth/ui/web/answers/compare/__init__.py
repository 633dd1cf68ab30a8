"""Finds the tensors that two runs have in common, and the first that differ."""
