"""The graph around an op, in one call."""
