"""The graph around an op in one call: its inputs above, its consumers below."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import TensorEvent, call_graph_of
from tensorsleuth.ui.web.answers.graph.groups import OpGroups
from tensorsleuth.ui.web.answers.graph.path import ROLES, roles
from tensorsleuth.ui.web.answers.graph.walk import GraphNode, GraphWalk
from tensorsleuth.ui.web.run import ids, parameters
from tensorsleuth.ui.web.run.events import event_at
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

DEFAULT_LEVELS = 2
MAX_LEVELS = 8


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Neighbourhood (web/src/api/types.ts)."""
    start = _start(opened, asked)
    groups = opened.cache("groups", None, lambda: OpGroups(opened.table))
    path = roles(opened.table, _finding(opened, asked))
    graph_walk = GraphWalk(opened.table, groups, _open_groups(groups, start.op, path, asked).__contains__)
    up, down = (parameters.integer(asked, name, DEFAULT_LEVELS, 0, MAX_LEVELS) for name in ("up", "down"))
    graph_walk.go(start, up, down)
    return {
        "focus": graph_walk.node_of(start.op)[0],
        "nodes": [_node(opened, groups, met, path) for met in graph_walk.nodes.values()],
        "edges": [
            {"from": one.source, "to": one.target, "bad": one.bad, "back": one.back}
            for one in graph_walk.edges.values()
        ],
        "groups": _groups(groups, graph_walk),
        "more": len(graph_walk.left_out),
    }


def _start(opened: OpenRun, asked: Parameters) -> TensorEvent:
    """Return the tensor in the middle. If another op is named, return its tensor of the same call."""
    event = event_at(opened, opened.table.place(asked.get("id", "")))
    if not asked.get("op"):
        return event
    return _at_moment(opened, opened.table.number_of_op(asked["op"]), event)


def _at_moment(opened: OpenRun, number: int, beside: TensorEvent) -> TensorEvent:
    """Return an op's first output in the same call as another tensor; it has no row if it was not recorded there."""
    op = opened.table.ops[number]
    asked = opened.table.process_indexes[op.process]
    if beside.op.process != op.process:
        first = int(opened.table.first_places[number])
        return event_at(opened, first) if first >= 0 else TensorEvent(asked, op, 0, None, asked.call_graphs.of_call(0))
    moment = call_graph_of(beside)
    rows = moment.rows[moment.rows["tensor"] == op.first_tensor]
    same = rows[rows["iteration"] == beside.row["iteration"]] if beside.row is not None else rows
    row = next(iter([*same, *rows]), None)
    return TensorEvent(asked, op, 0, row, moment if row is None else None)


def _finding(opened: OpenRun, asked: Parameters) -> Finding | None:
    """Return the finding whose path is shown: the requested one, else the first."""
    found = opened.diagnosis.findings
    number = parameters.integer(asked, "finding", 0)
    return found[number] if number < len(found) else None


def _open_groups(op_groups: OpGroups, focus: Op, path: dict[Op, str], asked: Parameters) -> set[str]:
    """Return the groups around the focus, along the finding's path and opened by the reader, without closed ones."""
    around = {group for op in (focus, *path) for group in op_groups.of_op(op)}
    return (around | set(asked.get("open", "").split(","))) - set(asked.get("close", "").split(","))


def _node(opened: OpenRun, op_groups: OpGroups, graph_node: GraphNode, path: dict[Op, str]) -> dict[str, Any]:
    """Return a GraphNode (web/src/api/types.ts)."""
    event = _representative(graph_node)
    op, group = event.op, op_groups.all[graph_node.closed] if graph_node.closed is not None else None
    name = group.name if group is not None else opened.variables.name_of(event) or op.name
    parts = {path[one] for one in graph_node.events if one in path}
    return {
        "id": graph_node.id,
        "tensor": ids.make_id(op.process, event.number) if event.number >= 0 else None,
        "type": op.type if group is None else group.kind,
        "name": op.name if group is None else group.name,
        "label": name.rpartition("/")[2] or name,
        "group": graph_node.group,
        "bad": bool(event.bad),
        "seen": event.row is not None,
        "onPath": next((role for role in ROLES if role in parts), None),
        "gradient": op.differentiates is not None,
        "place": opened.sources.place(op.file, op.line, op.function) if group is None else None,
        "up": graph_node.up,
        "down": graph_node.down,
    }


def _representative(graph_node: GraphNode) -> TensorEvent:
    """Return the tensor that stands for a node: a bad one, else a recorded one, else any."""
    events = list(graph_node.events.values())
    return min(events, key=lambda event: (not event.bad, event.row is None))


def _groups(op_groups: OpGroups, graph_walk: GraphWalk) -> list[dict[str, Any]]:
    """Return the visible groups, closed or not empty, and the groups around them."""
    bad = {
        group for met in graph_walk.nodes.values() if _representative(met).bad for group in _groups_of(op_groups, met)
    }
    shown = dict.fromkeys(group for met in graph_walk.nodes.values() for group in _groups_of(op_groups, met))
    closed = {met.closed for met in graph_walk.nodes.values()}
    return [
        {
            "id": id,
            "name": op_groups.all[id].name,
            "kind": op_groups.all[id].kind,
            "parent": op_groups.all[id].parent,
            "open": id not in closed,
            "size": op_groups.sizes[id],
            "bad": id in bad,
        }
        for id in shown
    ]


def _groups_of(op_groups: OpGroups, graph_node: GraphNode) -> list[str]:
    """Return the groups of a node, outermost first."""
    found: list[str] = []
    id = graph_node.closed or graph_node.group
    while id is not None:
        found.insert(0, id)
        id = op_groups.all[id].parent
    return found
