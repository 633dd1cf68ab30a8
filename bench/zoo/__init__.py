"""Twelve programs as people write them, one file each, and what watching costs them. `python -m bench.zoo`.

The programs know nothing of the benchmark, which lies in `harness/`.
"""
