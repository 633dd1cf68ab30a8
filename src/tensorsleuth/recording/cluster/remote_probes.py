"""Has another process insert the probes, after its TensorFlow has optimised a function that we sent there.

As in `optimizer_probes`, the copy only labels its nodes. A file in the run's folder, named after the copy, lists the
nodes to probe. The library in that process reads it when it meets the function for the first time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.optimizer_probes import describe_probes, label_node
from tensorsleuth.recording.functions.probes import ProbeContext, Prober, add_join


class RemoteProber:
    """Labels the nodes of a copy, and writes the list of probes for the process that will run it."""

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
        return True  # unknown here, since the copy runs elsewhere

    def fallback(self) -> Prober:
        return self

    def forget(self, copy: str) -> None:
        pass  # the other process may still read the file, which is deleted with the run
