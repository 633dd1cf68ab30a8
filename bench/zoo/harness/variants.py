"""How a program of the zoo is run: bare, or watched by us or a peer. A variant is one command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.rounds import ENVIRONMENT
from bench.zoo.harness import watched
from bench.zoo.harness.programs import Program

BARE, AGAIN = "bare", "again"
SLEUTH = {"default": (), "full": ("--mode", "FULL_HEALTH"), "flight": ("--mode", "FLIGHT")}
"""The options of `sleuth run` for each variant that is a recording."""

TITLES = {
    AGAIN: "bare again",
    "default": "default",
    "full": "FULL_HEALTH",
    "flight": "FLIGHT",
    "guard": "guard",
    "tfdbg2": "tfdbg2",
    "check_numerics": "check_numerics",
}
"""Every variant but the bare program, and what the tables call it."""

PEERS = ("tfdbg2", "check_numerics")
"""Measured in one round only: they have no limits, and some take ten times as long as all others together."""

ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
RUN = "run"


def command(variant: str, program: Program, steps: int, folder: Path) -> list[str]:
    """Return the command that runs a program for some steps. What it records goes into `folder / RUN`."""
    line = [str(program.path), "--steps", str(steps)]
    if variant in (BARE, AGAIN):
        return [sys.executable, *line]
    if variant in SLEUTH:
        options = ("--logdir", str(folder / RUN), *SLEUTH[variant])
        return [sys.executable, "-m", "tensorsleuth.cli.main", "run", *options, *line]
    return [sys.executable, watched.__file__, variant, str(folder / RUN), *line]


def environment(onednn: bool) -> dict[str, str]:
    """Return the environment of each run: one thread, quiet, on the CPU, with oneDNN's kernels or without."""
    return os.environ | ENVIRONMENT | ONE_THREAD | {"TF_ENABLE_ONEDNN_OPTS": str(int(onednn))}
