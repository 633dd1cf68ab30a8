"""The graph around an op at one moment: what went in above, what took it below."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import TensorEvent, moment_of
from tensorsleuth.ui.web.answers.graph.groups import Groups
from tensorsleuth.ui.web.answers.graph.path import ROLES, roles
from tensorsleuth.ui.web.answers.graph.walk import Met, Walk
from tensorsleuth.ui.web.run import ids, parameters
from tensorsleuth.ui.web.run.events import event_at
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

LEVELS = 2
MOST_LEVELS = 8


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """A Neighbourhood of types.ts."""
    start = _start(opened, asked)
    groups = opened.keep("groups", None, lambda: Groups(opened.table))
    path = roles(opened.table, _finding(opened, asked))
    walk = Walk(opened.table, groups, _opener(groups, start.op, path, asked).__contains__)
    up, down = (parameters.whole(asked, name, LEVELS, 0, MOST_LEVELS) for name in ("up", "down"))
    walk.go(start, up, down)
    return {
        "focus": walk.node_of(start.op)[0],
        "nodes": [_node(opened, groups, met, path) for met in walk.nodes.values()],
        "edges": [
            {"from": one.source, "to": one.target, "bad": one.bad, "back": one.back} for one in walk.edges.values()
        ],
        "groups": _groups(groups, walk),
        "more": len(walk.left_out),
    }


def _start(opened: OpenRun, asked: Parameters) -> TensorEvent:
    """The tensor in the middle; of another op, where one is named, its tensor at the same moment."""
    event = event_at(opened, opened.table.place(asked.get("id", "")))
    if not asked.get("op"):
        return event
    return _at_moment(opened, opened.table.number_of_op(asked["op"]), event)


def _at_moment(opened: OpenRun, number: int, beside: TensorEvent) -> TensorEvent:
    """The first output of an op in the same call as another tensor; without a row where it was not seen there."""
    op = opened.table.ops[number]
    asked = opened.table.asked[op.process]
    if beside.op.process != op.process:
        first = int(opened.table.firsts[number])
        return event_at(opened, first) if first >= 0 else TensorEvent(asked, op, 0, None, asked.moments.of_call(0))
    moment = moment_of(beside)
    rows = moment.rows[moment.rows["tensor"] == op.first]
    same = rows[rows["iteration"] == beside.row["iteration"]] if beside.row is not None else rows
    row = next(iter([*same, *rows]), None)
    return TensorEvent(asked, op, 0, row, moment if row is None else None)


def _finding(opened: OpenRun, asked: Parameters) -> Finding | None:
    """The one whose way is shown: the first, unless another is asked for."""
    found = opened.diagnosis.findings
    number = parameters.whole(asked, "finding", 0)
    return found[number] if number < len(found) else None


def _opener(groups: Groups, focus: Op, path: dict[Op, str], asked: Parameters) -> set[str]:
    """Return the groups around the focus, along the finding's path and opened by the reader, without closed ones."""
    around = {group for op in (focus, *path) for group in groups.of(op)}
    return (around | set(asked.get("open", "").split(","))) - set(asked.get("close", "").split(","))


def _node(opened: OpenRun, groups: Groups, met: Met, path: dict[Op, str]) -> dict[str, Any]:
    """A GraphNode of types.ts."""
    event = _telling(met)
    op, group = event.op, groups.all[met.closed] if met.closed is not None else None
    name = group.name if group is not None else opened.variables.of(event) or op.name
    parts = {path[one] for one in met.events if one in path}
    return {
        "id": met.id,
        "tensor": ids.name_of(op.process, event.number) if event.number >= 0 else None,
        "type": op.type if group is None else group.kind,
        "name": op.name if group is None else group.name,
        "label": name.rpartition("/")[2] or name,
        "group": met.group,
        "bad": bool(event.bad),
        "seen": event.row is not None,
        "onPath": next((role for role in ROLES if role in parts), None),
        "gradient": op.differentiates is not None,
        "place": opened.sources.place(op.file, op.line, op.function) if group is None else None,
        "up": met.up,
        "down": met.down,
    }


def _telling(met: Met) -> TensorEvent:
    """The tensor that stands for a node: a bad one, else one that was seen, else any."""
    events = list(met.events.values())
    return min(events, key=lambda event: (not event.bad, event.row is None))


def _groups(groups: Groups, walk: Walk) -> list[dict[str, Any]]:
    """Return the visible groups, closed or with something in them, and those around these."""
    bad = {group for met in walk.nodes.values() if _telling(met).bad for group in _around(groups, met)}
    shown = dict.fromkeys(group for met in walk.nodes.values() for group in _around(groups, met))
    closed = {met.closed for met in walk.nodes.values()}
    return [
        {
            "id": id,
            "name": groups.all[id].name,
            "kind": groups.all[id].kind,
            "parent": groups.all[id].parent,
            "open": id not in closed,
            "size": groups.sizes[id],
            "bad": id in bad,
        }
        for id in shown
    ]


def _around(groups: Groups, met: Met) -> list[str]:
    """The groups of a node, outermost first."""
    found: list[str] = []
    id = met.closed or met.group
    while id is not None:
        found.insert(0, id)
        id = groups.all[id].parent
    return found
