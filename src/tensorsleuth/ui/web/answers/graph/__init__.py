"""The graph around an op, as it was at one moment."""
