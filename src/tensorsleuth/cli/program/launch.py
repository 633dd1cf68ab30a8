"""Starts a program with the recorder injected, and writes how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorsleuth.cli.program import child, oom
from tensorsleuth.cli.program.after_program import do_safely
from tensorsleuth.cli.program.hang import HangWatch
from tensorsleuth.cli.program.stderr_tail import StderrTail
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.exit_status import ExitStatus
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

INJECT_FOLDER = Path(__file__).absolute().parents[2] / "inject"


def check_program(program: Sequence[str]) -> None:
    """Raise an error for a program that Python could not start. Python itself reports a missing module better."""
    first = program[0]
    if first in ("-m", "-c") and len(program) == 1:
        raise SleuthError(f"{first} needs {'a module' if first == '-m' else 'code'} after it: sleuth run {first} …")
    if first in ("-m", "-c", "-"):
        return
    path = Path(first)
    if not path.exists():
        raise SleuthError(f"there is no program {first!r} in {Path.cwd()}. To run a module: sleuth run -m NAME")
    if path.is_dir() and not (path / "__main__.py").exists():
        raise SleuthError(f"{first!r} is a folder without a __main__.py: name the .py file to run.")


def new_run(logdir: Path, program: Sequence[str], join: str | None = None) -> Path | None:
    """Return the folder of a new run; on failure print a line and return None, so that the program still runs."""
    try:
        return run_folder.join(logdir, join, program) if join else run_folder.create(logdir, program)
    except OSError as error:
        console.say(f"not recording: cannot make a run in {logdir.absolute()} ({error.strerror}). It runs unrecorded.")
        return None


def run_recorded(
    program: Sequence[str],
    run: Path | None,
    settings: Mapping[str, object],
    breaks: Sequence[object] = (),
    watched: Sequence[object] = (),
    hang_after: float = 0,
) -> ExitStatus:
    """Run a program to its end, recorded into `run`. Report once if nothing happens for `hang_after` seconds."""
    environment = dict(os.environ) if run is None else recording_environment(run, settings)
    observers = {"SLEUTH_BREAKS": breaks, "SLEUTH_WATCHES": watched}
    environment |= {name: json.dumps(asked) for name, asked in observers.items() if asked and run is not None}
    with child.hold_signals() as mask:
        pid = child.spawn([sys.executable, *program], environment, mask)
        if run is None:
            return child.wait(pid)
        _note(run, pid)
        hang = HangWatch(run, pid, hang_after)
        before, words = oom.read_cgroup(), StderrTail()
        ending = child.wait(pid, hang.every, hang.poll)
        do_safely("write down how it ended", _write_end, run, pid, ending, before, words)
    return ending


def _write_end(run: Path, pid: int, exit_status: ExitStatus, before: oom.CgroupMemory, words: StderrTail) -> None:
    facts = {
        "memory": oom.memory_changes(before, oom.read_cgroup(), pid, exit_status.peak),
        "said": words.abort_reasons(),
    }
    _note(run, exit_status, facts)
    drop_empty_faults(run)


def recording_environment(run: Path, settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment in which every Python process records into `run`."""
    paths = [str(INJECT_FOLDER), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "SLEUTH_RUN": str(run),
        "SLEUTH_SETTINGS": json.dumps(settings),
    }


def drop_empty_faults(run: Path) -> None:
    """Delete empty dumps of stacks: most processes do not crash."""
    with contextlib.suppress(OSError):
        for file in (run / run_folder.FAULTS_FOLDER).iterdir():
            if not file.stat().st_size:
                file.unlink()
        (run / run_folder.FAULTS_FOLDER).rmdir()


def _note(run: Path, fact: int | ExitStatus, known: Mapping[str, object] | None = None) -> None:
    """Write the pid or the end into run.json. A full disk costs a line, not the exit code."""
    try:
        if isinstance(fact, int):
            if not run_folder.read_meta(run).get("joined"):  # a joined run knows its processes by their folders
                run_folder.write_pid(run, fact)
        else:
            run_folder.write_end(run, fact.exit_code, fact.signal_name, known)
    except OSError as error:
        console.say(f"cannot write {run / run_folder.META_FILE} ({error.strerror}).")
