"""A progress bar for long work. Short work shows none."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

SECONDS_BEFORE_BAR = 0.5  # in seconds
SECONDS_BETWEEN_UPDATES = 0.1  # in seconds


class ProgressBar:
    """A bar for each source that is being read. It disappears when the work is done."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn(" {task.description}"),
            BarColumn(),
            TextColumn("{task.fields[rows]} rows"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._began = self._last = time.monotonic()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, title: str, rows: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._began < SECONDS_BEFORE_BAR or now - self._last < SECONDS_BETWEEN_UPDATES:
            return
        self._last = now
        if not self._tasks:
            self._bar.start()
        if title not in self._tasks:
            self._tasks[title] = self._bar.add_task(title, total=total, rows="0")
        self._bar.update(self._tasks[title], completed=rows, rows=f"{rows:,}")
