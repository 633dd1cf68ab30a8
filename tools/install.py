"""Install packages into an environment of `make`, and say how long that took and how large it is now.

    python3 tools/install.py .venv "TensorFlow 2.21" tensorflow-cpu==2.21.0

The environment is made where it is missing. On a terminal, pip shows its own progress bars. Elsewhere, in logs, it is
silent, and there is a line before and a line after each stage.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

INSTALL = ("-m", "pip", "install", "--disable-pip-version-check")


def main(environment: Path, title: str, arguments: list[str]) -> int:
    """Return the exit code of the step that failed, 0 if none did."""
    size, began = megabytes(environment), time.monotonic()
    say(f"{environment}: installing {title} …")
    python = environment / "bin" / "python"
    failed = 0 if python.exists() else run([sys.executable, "-m", "venv", str(environment)])
    failed = failed or run([str(python), *INSTALL, *verbosity(), *arguments])
    took = f"{time.monotonic() - began:.0f} s"
    if failed:
        say(f"{environment}: installing {title} failed after {took}")
        return failed
    now = megabytes(environment)
    say(f"{environment}: installed {title} in {took} · {now:,} MB on disk ({now - size:+,})")
    return 0


def run(command: list[str]) -> int:
    return subprocess.run(command, check=False).returncode


def verbosity() -> list[str]:
    """Return what pip is to be told: nothing on a terminal, where it draws progress bars unless it is quiet."""
    return [] if sys.stdout.isatty() else ["-qq"]


def megabytes(folder: Path) -> int:
    """Return the size of all files in a folder, 0 if there is none."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) // 1_000_000


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
