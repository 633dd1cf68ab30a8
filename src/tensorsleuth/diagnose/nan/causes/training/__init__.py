"""Causes that lie in how a model is trained: its rate, its first weights, its dropout, its loss scale."""
