"""Has the library of another process put the probes in, once its TensorFlow has optimised a function that we sent it.

As in `optimizer_probes`, the copy only names its nodes. Which of them to look at lies in the run's folder, in a file
of the copy's name: the library there looks for it when it meets the function for the first time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.optimizer_probes import describe_probes, label_node
from tensorsleuth.recording.functions.probes import ProbeContext, Prober, add_join


class RemoteProber:
    """Names the nodes of a copy, and leaves word for whoever runs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add_probes(
        self, definition: Definition, copy: Any, probe_context: ProbeContext, arguments: bool, called: set[int]
    ) -> None:
        name = copy.signature.name
        for node in copy.node_def:
            label_node(node, name)
        self._folder.mkdir(exist_ok=True)
        draft = self._folder / f"{name}.draft"
        draft.write_text(describe_probes(definition, probe_context, arguments, called))
        draft.rename(self._folder / name)

    def join(self, copy: Any, session: int) -> None:
        add_join(copy, session)

    def took_effect(self, copy: str) -> bool:
        return True  # elsewhere: it is not known here

    def fallback(self) -> Prober:
        return self

    def forget(self, copy: str) -> None:
        pass  # it may still be looked for; it goes with the run
