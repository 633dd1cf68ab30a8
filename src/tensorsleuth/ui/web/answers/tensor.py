"""One tensor: its inputs, its consumers, the lines that made it."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.catalog import Site
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.ui.debugger.tensor_description import tensor_health as in_words
from tensorsleuth.ui.web.answers.rows import tensor_row
from tensorsleuth.ui.web.run import ids
from tensorsleuth.ui.web.run.events import event_at
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters
from tensorsleuth.ui.web.run.violations import shown_violations, violation_json

MAX_VIOLATIONS = 5  # that one tensor broke


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a TensorDetail (web/src/api/types.ts)."""
    place = opened.table.place(asked.get("id", ""))
    event = event_at(opened, place)
    return tensor_row(opened, place) | {
        "inputs": [neighbour(opened, one) for one in event.inputs()],
        "consumers": [neighbour(opened, one) for one in event.consumers()],
        "stack": _stack(opened, event),
        "forward": _forward(opened, event),
        "words": in_words(event),
        "violations": [violation_json(opened, one) for one in shown_violations(opened) if one.place == place][
            :MAX_VIOLATIONS
        ],
    }


def neighbour(opened: OpenRun, event: TensorEvent) -> dict[str, Any]:
    """Return a Neighbour (web/src/api/types.ts)."""
    op = event.op
    return {
        "id": ids.make_id(op.process, event.number) if event.number >= 0 else None,
        "op": ids.op_id(op),
        "type": op.type,
        "name": event.name,
        "bad": bool(event.bad),
        "words": in_words(event),
        "place": opened.sources.place(op.file, op.line, op.function),
    }


def _stack(opened: OpenRun, event: TensorEvent) -> list[dict[str, Any]]:
    """Return the frames of the op's own call site, outermost first."""
    site = _site(opened, event)
    return [
        {
            "place": opened.sources.place(frame.file, frame.line, frame.function),
            "path": frame.file,
            "line": frame.line,
            "function": frame.function,
            "user": frame.file in opened.sources.paths or at == (site.user_index if site is not None else -1),
        }
        for at, frame in enumerate(site.frames if site is not None else ())
    ]


def _site(opened: OpenRun, event: TensorEvent) -> Site | None:
    op = event.op
    catalogue = opened.trace.processes[op.process].catalogue
    if op.eager >= 0:
        return catalogue.sites.get(catalogue.eager[op.eager].site)
    instance = catalogue.instances.get(op.instance)
    function = catalogue.functions.get(instance.function) if instance is not None else None
    return catalogue.sites.get(function.nodes[op.node].site) if function is not None and op.node >= 0 else None


def _forward(opened: OpenRun, event: TensorEvent) -> dict[str, Any] | None:
    """Return the forward op of a gradient, which has the same line."""
    op = event.op
    if op.differentiates is None:
        return None
    place = opened.sources.place(op.file, op.line, op.function)
    return {"op": op.differentiates, "name": _forward_name(opened, event), "place": place}


def _forward_name(opened: OpenRun, event: TensorEvent) -> str:
    op = event.op
    catalogue = opened.trace.processes[op.process].catalogue
    instance = catalogue.instances.get(op.instance) if op.node >= 0 else None
    function = catalogue.functions.get(instance.function) if instance is not None else None
    forward = function.nodes[op.node].forward if function is not None else None
    return forward.name if forward is not None else op.differentiates or ""
