"""A run whose every word is written by somebody who wants to get a script to run, or to fool the reader's eye."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from tensorsleuth.core.layout.rows import CALL, EVENT, SHAPE, EventFlag
from tensorsleuth.trace.storage import run_folder, synthetic
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script><!--"
QUOTES = "\"'`${alert(3)}&lt;"
CONTROL = "\x1b[31m\x00\x07\r\n"
BACKWARDS = "\u202egnp.\u202c\u2066"
WORDS = (IMAGE, SCRIPT, QUOTES, CONTROL, BACKWARDS, "javascript:alert(4)", "\udc80", "AssignSubVariableOp")
NODES = 8
STEPS = 6
RESOURCE = 20  # the dtype of a variable's handle
SICK = 4  # from this node on, all are bad


def write(run: Path, beside: Path) -> Path:
    """A run of one function, in whose later steps a NaN is born and written to a variable; its source lies `beside`."""
    folder = run / f"p-{time.time_ns()}-{synthetic.PID}"
    folder.mkdir(parents=True)
    meta = {"version": 1, "program": [f"{IMAGE}.py", SCRIPT, QUOTES, CONTROL], "cwd": IMAGE, "python": SCRIPT, "pid": 1}
    ended = {"time": 1.7e9 + 1, "exit": 0, "signal": None}
    (run / run_folder.META_FILE).write_text(json.dumps(meta | {"started": 1.7e9, "ended": ended}))
    op, first = _catalogue(folder, _source(beside))
    events = STEPS * NODES
    synthetic._write_ring(folder / "events.bin", EVENT, events, events // 2, lambda a, b: _events(a, b, first))
    calls = len(synthetic.CALLS_A_STEP) * STEPS
    synthetic._write_ring(folder / "calls.bin", CALL, calls, 0, lambda a, b: synthetic._calls(a, b, op))
    synthetic._write_ring(folder / "shapes.bin", SHAPE, len(synthetic.SHAPES), 0, synthetic._shapes)
    return run


def _source(beside: Path) -> Path:
    path = beside / f"{QUOTES.replace('/', '')}{IMAGE}.py"
    lines = [f"x = 1  # {word}" for word in (IMAGE, SCRIPT, QUOTES, BACKWARDS, "\x1b[31m\x07")]
    path.write_text("\n".join([*lines, f'"""{SCRIPT}{IMAGE}"""', *lines]) + "\n", encoding="utf-8")
    return path


def _catalogue(folder: Path, source: Path) -> tuple[int, int]:
    catalog = CatalogWriter(folder, lambda path: path == str(source))
    catalog.meta({"version": 1, "pid": 1, "argv": [IMAGE], "settings": {"mode": "FULL_HEALTH"}})
    sites = [catalog.site([(str(source), line, SCRIPT), (SCRIPT, line, IMAGE)]) for line in range(1, NODES + 1)]
    nodes = [_node(at, sites[at]) for at in range(NODES)]
    described = {"name": IMAGE, "graph": 1, "arguments": [SCRIPT], "argument_dtypes": [RESOURCE], "captures": {}}
    body = {"nodes": nodes, "returns": [[NODES - 2, 0]], "kind": "train", "tensors": NODES + 1}
    number = catalog.function(described | body)
    instance, first = catalog.instance({"function": number, "parent": -1, "node": -1}, NODES + 1)
    op, _ = catalog.eager_op({"type": IMAGE, "site": sites[0], "forward": -1, "instance": instance}, 1)
    catalog.not_covered(SCRIPT, IMAGE)
    catalog.meta({"ended": 1.7e9 + 1, "steps": STEPS})
    catalog.close()
    return op, first


def _node(at: int, site: int) -> list[object]:
    """One of a chain; the last writes a variable with what comes out of it."""
    last = at == NODES - 1
    inputs = [[-1, 0], [at - 1, 0]] if last else [[at - 1, 0]]
    outputs = [] if last else [synthetic.DTYPE]
    return [f"{WORDS[at]}/{IMAGE}_{at}", WORDS[at], QUOTES, inputs, [], {"T": synthetic.DTYPE}, site, None, outputs]


def _events(begin: int, end: int, first: int) -> np.ndarray:
    number = np.arange(begin, end)
    rows = synthetic._events(begin, end, first, np.empty(0, np.int64))
    rows["step"], rows["tensor"] = number // NODES + 1, first + 1 + number % NODES
    rows["time"] = number * 1_000_000
    sick = (number // NODES >= STEPS // 2) & (number % NODES >= SICK)
    rows["flags"][sick] = synthetic.HEALTHY | EventFlag.BAD
    rows["nan"][sick], rows["first_bad"][sick] = 2, 7
    return rows
