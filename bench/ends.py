"""Rows about the start and the end of a run, and about commands: processor seconds, since other programs also run.

Python compiles a source at its first import, unless told not to. These rows measure what comes after that.
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench.machine import ROOT
from bench.rounds import ENVIRONMENT
from bench.row import Bench, Result

SLEUTH = (sys.executable, "-m", "tensorsleuth.cli.main")
EMPTY = "import tensorflow"
LISTED_RUNS = 10

# 27 steps are 10,494 events, the first NaN among them in step 2.
TEN_THOUSAND = ("-m", "tensorsleuth.demo.digits_mlp", "--max_steps", "27")
FEWEST_EVENTS = 10_000

CLOSING = """
import sys, time
from pathlib import Path
from tensorsleuth.cli import command_table, main
from tensorsleuth.cli.program.after_program import print_closing_safely
from tensorsleuth.core.exit_status import ExitStatus
command_table.load_command("run")
before = time.process_time()
print_closing_safely(Path(sys.argv[1]), ["train.py"], ExitStatus(0, 1.0, 1 << 30))
print(time.process_time() - before)
"""
"""What `sleuth run` does between the end of the program and its own."""


def start_empty(bench: Bench) -> Result:
    """A program that only imports TensorFlow, under `sleuth run` and bare; `also` has the same without a verdict."""
    program = bench.folder / "empty.py"
    program.write_text(EMPTY)
    _compile()
    variants = {
        "bare": (sys.executable, program),
        "ours": (*SLEUTH, "run", program),
        "quiet": (*SLEUTH, "run", "--quiet", program),
    }
    taken: dict[str, list[float]] = {variant: [] for variant in variants}
    for i in range(bench.rounds(15)):
        bench.progress(f"round {i + 1}")
        for variant, command in list(variants.items())[:: -1 if i % 2 else 1]:
            taken[variant].append(_processor_seconds(bench.folder, command))
    more = {v: median(one - bare for one, bare in zip(taken[v], taken["bare"])) for v in ("ours", "quiet")}
    return {"ours": more["ours"], "bare_s": median(taken["bare"]), "also": {"quiet": more["quiet"]}}


def end_verdict(bench: Bench) -> Result:
    """From the end of a program of 10,000 events to the end of `sleuth run`, the imports of that time included."""
    run = _recorded(bench)
    taken = []
    for i in range(bench.rounds(15)):
        bench.progress(f"the verdict, round {i + 1}")
        done = _run(bench.folder, (sys.executable, "-c", CLOSING, run))
        assert "takes log(0)" in done.stderr, done.stderr
        taken.append(float(done.stdout))
    return {"ours": median(taken)}


def command(*words: str) -> Callable[[Bench], Result]:
    """A command of ours from its start to its end, on runs of 10,000 events."""
    return partial(_command, words)


def _command(words: tuple[str, ...], bench: Bench) -> Result:
    run = _recorded(bench)
    for i in range(1, LISTED_RUNS if words == ("runs",) else 0):
        os.symlink(run, run.with_name(f"{run.name}-{i}"), target_is_directory=True)
    taken = []
    for i in range(bench.rounds(15)):
        bench.progress(f"sleuth {' '.join(words)}, round {i + 1}")
        taken.append(_processor_seconds(bench.folder, (*SLEUTH, *words)))
    return {
        "ours": median(taken),
        "bare_s": median(_processor_seconds(bench.folder, (sys.executable, "-c", "")) for _ in taken),
    }


def _recorded(bench: Bench) -> Path:
    _compile()
    bench.progress("recording 10,000 events")
    _run(bench.folder, (*SLEUTH, "run", "--quiet", *TEN_THOUSAND))
    from tensorsleuth.trace.reader import open_trace

    (run,) = _runs(bench.folder).iterdir()
    events = len(open_trace(run).events)
    assert events >= FEWEST_EVENTS, f"the program has only {events:,} events"
    return run


def _compile() -> None:
    compileall.compile_dir(ROOT / "src", quiet=1)


def _processor_seconds(folder: Path, command: tuple[str | Path, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(folder, command, (0, 1))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(
    folder: Path, command: tuple[str | Path, ...], expected: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ENVIRONMENT | {"SLEUTH_LOGDIR": str(_runs(folder))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in expected, done.stderr
    return done


def _runs(folder: Path) -> Path:
    return folder / "runs"
