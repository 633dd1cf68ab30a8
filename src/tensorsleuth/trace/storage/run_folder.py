"""A run is a folder in a log directory. Names it, describes it in run.json, and finds it again."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.version import TRACE_FORMAT, VERSION
from tensorsleuth.trace.storage.files import open_regular, write_atomically

DEFAULT_LOGDIR = "sleuth_runs"
META_FILE = "run.json"
TENSORFLOW_SEEN_FILE = "tensorflow.seen"  # written by live/startup/autostart.py once TensorFlow was imported
TENSORBOARD_FOLDER = "tensorboard"  # a folder: watched series as TensorBoard event files
FAULTS_FOLDER = "faults"  # a folder: the stacks of a process that crashed or hung, by live/startup/autostart.py
PAUSED_FILE = "paused"  # in a process's folder while it waits at a break point
HANG_FILE = "hang.json"  # written by `sleuth run` when nothing happened for a time
SHARED_FOLDER = "shared"  # a folder: messages between the processes of the run
_MAX_META_BYTES = 4_000_000  # in bytes; our run.json is shorter
_MAX_START_TIME = 1e11  # in seconds; a later start time is invalid
_MAX_LISTED_RUNS = 5  # how many runs an error message names

_META_FIELDS: dict[str, type | tuple[type, ...]] = {
    "version": int,
    "tensorsleuth": str,
    "program": list,
    "cwd": str,
    "python": str,
    "started": (int, float),
    "pid": int,
    "ended": dict,
    "joined": bool,
}


def logdir(option: str | None) -> Path:
    """Return the log directory: the option, else SLEUTH_LOGDIR, else ./sleuth_runs."""
    return Path(option or os.environ.get("SLEUTH_LOGDIR") or DEFAULT_LOGDIR).expanduser()


def create(logdir: Path, program: Sequence[str]) -> Path:
    """Make the folder of a new run of `program` (its argv). The calling process counts as the program."""
    started = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(started))
    run = _new_folder(logdir.absolute(), f"{stamp}-{program_stem(program)}")
    _describe(run, program, started)
    return run


def join(logdir: Path, name: str, program: Sequence[str]) -> Path:
    """Return the run of that name, for several programs that record as one. The first of them makes it."""
    run = logdir.absolute() / name
    if not re.fullmatch(r"[\w][\w.-]*", name):
        raise SleuthError(f"{name!r} cannot be the name of a run: use letters, digits, '-', '_' and '.'.")
    logdir.mkdir(parents=True, exist_ok=True)
    try:
        run.mkdir()
    except FileExistsError:
        if not run.is_dir() or foreign_files(run):
            raise SleuthError(f"{run} exists and is not a run. Choose another name.") from None
    else:
        _describe(run, program, joined=True)
    return run


def write_pid(run: Path, pid: int) -> None:
    """Write which process is the program."""
    _write_meta(run, {**read_meta(run), "pid": pid})


def write_end(
    run: Path, exit_code: int | None, signal_name: str | None = None, facts: Mapping[str, Any] | None = None
) -> None:
    """Write how the program ended: its exit code or signal, and other facts about its end."""
    ended = {"time": time.time(), "exit": exit_code, "signal": signal_name, **(facts or {})}
    with _exclusive(run):
        meta = read_meta(run)
        earlier = meta.get("ended", {})
        if earlier.get("exit") or earlier.get("signal"):
            ended = earlier  # keep the failure of another program that joined the run
        _write_meta(run, {**meta, "ended": ended})


def read_meta(run: Path) -> dict[str, Any]:
    """Return the content of run.json, without entries that are missing, corrupt or of another type."""
    try:
        with open_regular(run / META_FILE) as file:
            meta = json.loads(file.read(_MAX_META_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(meta, dict):
        return {}
    known = {key: meta[key] for key, kind in _META_FIELDS.items() if isinstance(meta.get(key), kind)}
    if not all(isinstance(word, str) for word in known.get("program", ())):
        del known["program"]
    if not 0 <= known.get("started", 0) < _MAX_START_TIME:
        del known["started"]
    return known


def is_run(folder: Path) -> bool:
    """Return whether a folder is a run: it has a run.json, or the folder of a process."""
    return (folder / META_FILE).is_file() or any(path.is_dir() for path in folder.glob("p-*"))


def foreign_files(run: Path) -> list[str]:
    """Return the files in a run folder that do not belong to a run."""
    ours = (META_FILE, TENSORFLOW_SEEN_FILE, SHARED_FOLDER, TENSORBOARD_FOLDER, FAULTS_FOLDER, HANG_FILE)
    names = [path.name for path in run.iterdir()]
    return sorted(name for name in names if name not in ours and not name.startswith(("p-", f".{META_FILE}.")))


def is_alive(run: Path) -> bool:
    """Return whether the program of this run is still running, as far as this machine can tell."""
    meta = read_meta(run)
    if meta.get("joined"):
        return any(is_running(*found) for found in _recording_processes(run))
    pid = meta.get("pid")
    return pid is not None and "ended" not in meta and is_running(pid, meta.get("started", time.time()))


def is_running(pid: int, started: float) -> bool:
    """Return whether a process of this machine that was running at a time (epoch) is still running."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    return _process_start(pid) <= started + 60  # a later start: another process has the pid


def _recording_processes(run: Path) -> Iterator[tuple[int, float]]:
    """Yield the pid and the start time of each process that recorded into a run, from its folder's name."""
    for folder in run.glob("p-*"):
        found = re.fullmatch(r"p-(\d+)-(\d+)", folder.name)
        if found is not None:
            yield int(found.group(2)), int(found.group(1)) / 1e9


def list_runs(logdir: Path) -> list[Path]:
    """Return all runs of a log directory, newest first."""
    try:
        folders = [path for path in logdir.absolute().iterdir() if path.is_dir() and is_run(path)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SleuthError(f"cannot read the log directory {logdir}: {error.strerror}.") from error
    return sorted(folders, key=_age)


def find(logdir: Path, query: str | None) -> Path:
    """Return the requested run: the latest for None, else by path, name, or the start of a name."""
    runs = list_runs(logdir)
    if query is None:
        return _latest(logdir, runs)
    path = Path(query).expanduser()
    if path.is_dir() and is_run(path):
        return path.absolute()
    matches = [run for run in runs if run.name == query] or [run for run in runs if run.name.startswith(query)]
    if len(matches) == 1 and query:
        return matches[0]
    raise SleuthError(_not_found(logdir, query, runs, matches))


def program_stem(program: Sequence[str]) -> str:
    """Return a short name for a program, fit for a folder: train for train.py, pkg.mod for -m pkg.mod."""
    first = program[0] if program else ""
    if first == "-m" and len(program) > 1:
        name = program[1]
    else:
        name = {"-c": "command", "-": "stdin", "": "python"}.get(first) or Path(os.path.abspath(first)).stem
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "program"


def _describe(run: Path, program: Sequence[str], started: float | None = None, joined: bool = False) -> None:
    meta = {"version": TRACE_FORMAT, "tensorsleuth": VERSION, "program": list(program), "cwd": _cwd()}
    meta |= {"python": sys.executable, "joined": joined}
    _write_meta(run, {**meta, "started": started or time.time(), "pid": os.getpid(), "ended": None})


def _new_folder(logdir: Path, name: str) -> Path:
    logdir.mkdir(parents=True, exist_ok=True)
    for candidate in _numbered(name):
        try:
            (logdir / candidate).mkdir()  # fails if another process took the name, so there is no race
            return logdir / candidate
        except FileExistsError:
            continue
    raise AssertionError("the names never run out")


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in itertools.count(2):
        yield f"{name}-{number}"


@contextlib.contextmanager
def _exclusive(run: Path) -> Iterator[None]:
    """Hold a lock, so that no other process of the run writes its end meanwhile."""
    folder = os.open(run, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _write_meta(run: Path, meta: dict[str, Any]) -> None:
    write_atomically(run / META_FILE, json.dumps(meta, indent=1) + "\n")


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # the directory was deleted
        return ""


def _age(run: Path) -> tuple[float, str]:
    """Return a sort key, newest first. The time in run.json counts more than the folder's, which copying changes."""
    try:
        started = float(read_meta(run).get("started") or run.stat().st_mtime)
    except (OSError, OverflowError):
        started = 0.0
    return -started, run.name


def _process_start(pid: int) -> float:
    """Return the time at which a process was started (epoch), or 0 if the machine does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return time.time() - uptime + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _latest(logdir: Path, runs: list[Path]) -> Path:
    if not runs:
        raise SleuthError(f"no run in {logdir.absolute()} yet. Make one: sleuth run program.py")
    return runs[0]


def _not_found(logdir: Path, query: str, runs: list[Path], matches: list[Path]) -> str:
    where = logdir.absolute()
    if matches:
        return f"{query!r} could be {len(matches)} runs in {where}: {_names(matches)}. Type more of the name."
    if Path(query).is_dir():
        return (
            f"{query!r} is a folder but not a run: it has no {META_FILE} and no p-* folder. List the runs: "
            f"{_list_command(logdir)}"
        )
    if not runs:
        return f"no run {query!r}: there is no run in {where} yet. Make one: sleuth run program.py"
    return f"no run {query!r} in {where}; the runs there: {_names(runs)}. List them all: {_list_command(logdir)}"


def _list_command(where: Path) -> str:
    """Return the command that lists the runs, relative to the user's directory."""
    is_usual = where.absolute() == logdir(None).absolute()
    return "sleuth runs" if is_usual else f"sleuth runs --logdir {shlex.quote(os.path.relpath(where))}"


def _names(runs: list[Path]) -> str:
    more = f" and {len(runs) - _MAX_LISTED_RUNS} more" if len(runs) > _MAX_LISTED_RUNS else ""
    return ", ".join(run.name for run in runs[:_MAX_LISTED_RUNS]) + more
