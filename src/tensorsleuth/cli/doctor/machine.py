"""Checks of this machine: would a program be recorded here?"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tensorsleuth.cli.doctor.check import CheckState, MachineCheck
from tensorsleuth.core.formatting import size

OLDEST_PYTHON = (3, 10)
OLDEST_TENSORFLOW = (2, 15)
MIN_FREE_BYTES = 1_000_000_000
SECONDS_TO_IMPORT = 180  # enough to import TensorFlow from a slow network disk
PACKAGE_HOME = Path(__file__).absolute().parents[3]


def machine_checks(logdir: Path) -> list[MachineCheck]:
    """Return all checks, in the order in which a recording needs them."""
    facts = tensorflow_facts()
    return [_python(), _tensorflow(facts), _devices(facts), _native(facts), _keras(facts), *_disk(logdir)]


def tensorflow_facts() -> dict[str, Any]:
    """Return the output of recording/backends/machine.py, or the reason for having none."""
    environment = {name: value for name, value in os.environ.items() if name != "SLEUTH_RUN"}
    paths = [os.environ.get("PYTHONPATH", ""), str(PACKAGE_HOME)]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    command = [sys.executable, "-m", "tensorsleuth.recording.backends.machine"]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS_TO_IMPORT, check=False
        )
        facts = json.loads(done.stdout.strip().rpartition("\n")[2])
    except subprocess.TimeoutExpired:
        return {"tensorflow_error": f"importing it took more than {SECONDS_TO_IMPORT} s"}
    except ValueError:
        return {"tensorflow_error": f"importing it ended the process ({_status(done.returncode)})"}
    return facts if isinstance(facts, dict) else {}


def _status(code: int) -> str:
    return f"exit {code}" if code >= 0 else f"signal {-code}"


def _python() -> MachineCheck:
    state = CheckState.GOOD if sys.version_info >= OLDEST_PYTHON else CheckState.BAD
    return MachineCheck("Python", state, f"{platform.python_version()} ({sys.executable})")


def _tensorflow(facts: dict[str, Any]) -> MachineCheck:
    found = facts.get("tensorflow")
    if found is None:
        why = facts.get("tensorflow_error", "unknown reason")
        absent = why.startswith("ModuleNotFoundError: No module named 'tensorflow'")
        text = "not installed in this Python: pip install tensorflow" if absent else f"cannot be imported: {why}"
        return MachineCheck("TensorFlow", CheckState.BAD, text)
    numbers = re.findall(r"\d+", found["version"])[:2]
    if tuple(map(int, numbers)) < OLDEST_TENSORFLOW:
        return MachineCheck(
            "TensorFlow",
            CheckState.BAD,
            f"{found['version']} is too old; 2.15 or newer is needed: pip install -U tensorflow",
        )
    return MachineCheck("TensorFlow", CheckState.GOOD, f"{found['version']} ({os.path.dirname(found['file'])})")


def _devices(facts: dict[str, Any]) -> MachineCheck:
    kinds: list[str] = (facts.get("tensorflow") or {}).get("devices", [])
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return MachineCheck(
        "devices", CheckState.GOOD if kinds else CheckState.POOR, counted or "unknown without TensorFlow"
    )


def _native(facts: dict[str, Any]) -> MachineCheck:
    if "native" in facts:
        return MachineCheck("native library", CheckState.GOOD, f"loaded, {facts['native']} kernels")
    if "tensorflow" not in facts:
        return MachineCheck("native library", CheckState.POOR, "not tried: it needs TensorFlow")
    why = facts.get("native_error", "unknown reason")
    return MachineCheck("native library", CheckState.POOR, f"not loaded, so recording is slow (NumPy instead): {why}")


def _keras(facts: dict[str, Any]) -> MachineCheck:
    return MachineCheck("Keras", CheckState.GOOD, facts.get("keras") or "not installed; not needed")


def _disk(logdir: Path) -> list[MachineCheck]:
    """Check whether runs can be written and whether the disk has room. The log directory need not exist yet."""
    place = logdir.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    writable = place.is_dir() and os.access(place, os.W_OK | os.X_OK)
    text = f"{logdir.absolute()}" if writable else f"cannot write {logdir.absolute()}: choose another with --logdir"
    free = shutil.disk_usage(place).free
    return [
        MachineCheck("log directory", CheckState.GOOD if writable else CheckState.BAD, text),
        MachineCheck("disk", CheckState.GOOD if free > MIN_FREE_BYTES else CheckState.POOR, f"{size(free)} free"),
    ]
