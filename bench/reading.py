"""Rows about the trace on disk: its size, and the time and memory that a fresh process takes to read it."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.rounds import ENVIRONMENT, WARM_UP, interleave
from bench.row import Bench, Result

STEPS = 30
GROWTH_LIMIT_MB = 16.0
MILLION = 1_000_000

PEAK = "[line.split()[1] for line in open('/proc/self/status') if line.startswith(('VmHWM', 'RssAnon'))]"
OURS = f"""
import sys, tensorsleuth
trace = tensorsleuth.open(sys.argv[1])
bad = list(trace.bad())
print('[%d, %d, %s, %s]' % (len(trace.events), len(bad), *{PEAK}))
"""
WHY = """
import sys, tensorsleuth
found = tensorsleuth.diagnose(sys.argv[1])
print([found.events, len(found.findings) + len(found.masked)])
"""
BARE = "import numpy; print([])"
"""What any reader costs before it reads: seconds mean little without it on a busy machine."""

TFDBG2 = """
import sys, time
from tensorflow.python.debug.lib import debug_events_monitors, debug_events_reader
start = time.perf_counter()
with debug_events_reader.DebugDataReader(sys.argv[1]) as reader:
    debug_events_monitors.InfNanMonitor(reader)
    reader.update()
    print([reader.num_graph_execution_traces(), time.perf_counter() - start])
"""


def bytes_an_event(bench: Bench) -> Result:
    """The size of the run folder after a clean end, over the number of events in it."""
    variants = dict.fromkeys(("ours", "tfdbg2"), "FULL_HEALTH")
    samples = interleave(bench, "transformer", STEPS // (WARM_UP + 1), variants, rounds=1)
    result: Result = {"failed": samples.failed, "events": {}}
    for variant, program in (("ours", OURS), ("tfdbg2", TFDBG2)):
        if variant in samples.rounds:
            folder = _run(bench.folder / variant)
            events = _fresh(program, folder)[0]
            result["events"][variant] = events
            result[variant] = _size(folder) / events
    return result


def open_million(bench: Bench) -> Result:
    """Open a trace and list its bad tensors, in a new process each time; imports are included."""
    result: Result = {"failed": {}}
    try:
        result |= _open_ours(bench)
    except (ImportError, AttributeError, subprocess.CalledProcessError) as error:
        result["failed"]["ours"] = str(error)
    return result | _open_tfdbg2(bench)


def why_million(bench: Bench) -> Result:
    """The verdict on a trace of a million events, a hundred of them bad, in a new process on one core."""
    synthetic: Any = importlib.import_module("tensorsleuth.trace.storage.synthetic")
    bench.progress(f"writing {MILLION:,} events")
    run = bench.folder / "why-million"
    synthetic.write(run, events=MILLION, bad=100)
    _fresh(WHY, run)
    taken = []
    for i in range(bench.rounds(7)):
        bench.progress(f"asking why, round {i + 1}")
        seconds, (events, found) = _timed(WHY, run)
        assert events == MILLION and found, f"expected findings in a million events, got {found} in {events}"
        taken.append(seconds)
    return {"ours": median(taken)}


def _open_ours(bench: Bench) -> Result:
    synthetic: Any = importlib.import_module("tensorsleuth.trace.storage.synthetic")
    runs = {events: bench.folder / f"events-{events}" for events in (MILLION // 10, MILLION)}
    for events, run in runs.items():
        bench.progress(f"writing {events:,} events")
        synthetic.write(run, events=events, bad=100)
        _fresh(OURS, run)
    seconds, bare, peaks, anonymous = [], [], [], []
    for i in range(bench.rounds(7)):
        bench.progress(f"opening, round {i + 1}")
        (_, small), (taken, large) = (_timed(OURS, run) for run in runs.values())
        assert large[:2] == [MILLION, 100], f"expected a million events and 100 bad ones, got {large[:2]}"
        seconds.append(taken)
        bare.append(_timed(BARE, bench.folder)[0])
        peaks.append((large[2] - small[2]) / 1024)
        anonymous.append((large[3] - small[3]) / 1024)
    growth = {"growth_mb": median(peaks), "growth_anonymous_mb": median(anonymous)}
    bounded = {"growth_limit_mb": GROWTH_LIMIT_MB, "bounded": median(peaks) <= GROWTH_LIMIT_MB}
    return {"ours": median(seconds), "bare_s": median(bare)} | growth | bounded


def _open_tfdbg2(bench: Bench) -> Result:
    samples = interleave(bench, "narrow", 7, {"tfdbg2": "FULL_HEALTH"}, rounds=1)
    if samples.failed:
        return {}
    bench.progress("reading with tfdbg2")
    taken, (events, reading) = _timed(TFDBG2, bench.folder / "tfdbg2")
    return {
        "tfdbg2": taken - reading + reading * MILLION / events,
        "tfdbg2_note": f"its reader with InfNanMonitor, extrapolated from {events:,} events",
    }


def _timed(program: str, run: Path) -> tuple[float, list[float]]:
    start = time.perf_counter()
    answer = _fresh(program, run)
    return time.perf_counter() - start, answer


def _fresh(program: str, run: Path) -> list[float]:
    command = [sys.executable, "-c", program, str(run)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | ENVIRONMENT)
    answer: list[float] = json.loads(done.stdout)
    return answer


def _run(folder: Path) -> Path:
    """The run inside a log directory, where there is one inside; tfdbg2 writes straight into it."""
    inside = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    return inside[0] if len(inside) == 1 else folder


def _size(folder: Path) -> int:
    """All but looks into the model, which are no events and have a bound of their own."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("inside"))
    return sum(path.stat().st_size for path in files)
