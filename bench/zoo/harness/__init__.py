"""Runs the programs of the zoo bare and watched, in turns, and compares them."""
