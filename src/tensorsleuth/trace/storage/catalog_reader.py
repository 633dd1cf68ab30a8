"""Reads the catalogue, which the rows of a trace refer to."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorsleuth.core.catalog import (
    BadRead,
    Catalogue,
    Creation,
    EagerOp,
    FailedCall,
    ForwardOp,
    Frame,
    Function,
    FunctionTrace,
    IdleUpdate,
    Instance,
    MissingGradient,
    Node,
    Site,
    Span,
    UnusedTapeVariables,
)
from tensorsleuth.core.replay_outcome import Replay, ReplayOutcome
from tensorsleuth.core.series import LogMessage, Series
from tensorsleuth.core.texts import TextSummary
from tensorsleuth.core.violation import Violation
from tensorsleuth.trace.storage import journal
from tensorsleuth.trace.storage.files import open_regular

_MAX_FIRST_RECORD_BYTES = 1 << 20  # in bytes; our first records are shorter
# Errors that a record with unexpected content may raise.
_RECORD_ERRORS = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)


def read_catalogue(path: Path) -> tuple[Catalogue, list[str]]:
    """Return the catalogue, and messages about the parts that could not be read."""
    try:
        with open_regular(path) as file:
            if not os.fstat(file.fileno()).st_size:
                return Catalogue(), [f"{path.name} is empty"]
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _read(path.name, data)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        return Catalogue(), [f"{path.name} cannot be read: {reason}"]


def read_first_meta(path: Path) -> dict[str, Any]:
    """Return the first record of a catalogue, its description, before the others are trusted."""
    try:
        with open_regular(path) as file:
            first = next(journal.read_records(file.read(_MAX_FIRST_RECORD_BYTES)), None)
    except OSError:
        return {}
    return first[1] if isinstance(first, tuple) and first[0] == "meta" else {}


def _read(name: str, data: mmap.mmap) -> tuple[Catalogue, list[str]]:
    catalogue, files = Catalogue(), dict[int, str]()
    lost = left_out = unknown = 0
    for record in journal.read_records(data):
        if isinstance(record, journal.Damage):
            lost += 0 if record.torn_end or record.too_large else record.bytes
            left_out += record.bytes if record.too_large else 0
            continue
        try:
            _add_record(catalogue, files, *record)
        except _RECORD_ERRORS:
            unknown += 1
    unknown += _drop_strays(catalogue)
    catalogue.not_covered = list({tuple(entry.values()): entry for entry in catalogue.not_covered}.values())
    said = {
        f"{lost:,} bytes of {name} are damaged": lost,
        f"{left_out:,} bytes of {name} are left out: they would take too much memory or time": left_out,
        f"{unknown:,} records of {name} are invalid": unknown,
    }
    return catalogue, [line for line, count in said.items() if count]


def _add_record(catalogue: Catalogue, files: dict[int, str], kind: str, fields: dict[str, Any]) -> None:
    if kind == "meta":
        catalogue.meta |= fields
    elif kind == "file":
        files[int(fields["id"])] = str(fields["path"])
        if isinstance(fields["text"], str):
            catalogue.sources[str(fields["path"])] = fields["text"]
    elif kind == "site":
        site = _site(fields, files)
        catalogue.sites[site.id] = site
    elif kind == "function":
        function = _check_references(_function(fields))
        catalogue.functions[function.id] = function
    elif kind == "instance":
        instance = Instance(*_ints(fields, "id", "function", "parent", "node", "first"))
        catalogue.instances[instance.id] = instance
    elif kind == "eager":
        number, site_id, first, outputs, inside, forward = _ints(
            fields, "id", "site", "first", "outputs", "instance", "forward"
        )
        made = number, str(fields["type"]), site_id, first, outputs, inside, forward, str(fields.get("scope", ""))
        catalogue.eager[number] = EagerOp(*made)
    elif kind in ("failure", "hidden"):
        call, op = _ints(fields, "call", "op")
        inputs = tuple(str(text) for text in fields["inputs"])
        makers, uids = (tuple(int(number) for number in fields.get(name, ())) for name in ("makers", "uids"))
        failed = FailedCall(call, op, str(fields["type"]), str(fields["message"]), inputs, makers, uids)
        (catalogue.failures if kind == "failure" else catalogue.hidden_failures).append(failed)
    elif kind == "violation":
        catalogue.violations.append(Violation.from_json(fields))
    elif kind == "dataset":
        catalogue.datasets[int(fields["instance"])] = str(fields["type"]), int(fields["site"])
    elif kind == "replay":
        why = str(fields["why"]) if fields["why"] is not None else None
        call = int(fields["call"])
        catalogue.replays[call] = Replay(call, ReplayOutcome(fields["outcome"]), str(fields["function"]), why)
    elif kind == "scopes":
        paths = {str(scope): str(path) for scope, path in fields["paths"].items()}
        catalogue.scopes.setdefault(int(fields["graph"]), {}).update(paths)
    elif kind == "variable":
        catalogue.variables[int(fields["uid"])] = str(fields["name"]), str(fields["role"])
    elif kind == "left_out":
        catalogue.unused_tape_variables.append(_unused_tape_variables(fields))
    elif kind == "loss":
        catalogue.losses.setdefault(int(fields["op"]), set()).update(int(uid) for uid in fields["variables"])
    elif kind == "no_gradient":
        catalogue.missing_gradients |= {one.uid: one for one in _missing_gradients(fields)}
    elif kind == "idle_update":
        graph = int(fields["graph"])
        catalogue.idle_updates.pop(graph, None)
        if fields["op"] is not None:
            idle = str(fields["op"]), int(fields["site"]), str(fields["loss"]), int(fields["instance"])
            catalogue.idle_updates[graph] = IdleUpdate(*idle)
    elif kind == "gradient":
        for uid in fields["variables"]:
            catalogue.missing_gradients.pop(int(uid), None)
    elif kind == "series":
        place = _place(fields)
        number, of, trains = int(fields["id"]), _text(fields, "of"), bool(fields.get("trains", True))
        named = number, str(fields["kind"]), str(fields["name"])
        more = (_text(fields, name) for name in ("op", "by", "activation"))
        catalogue.series[number] = Series(*named, *place, of, trains, *more)
    elif kind == "log":
        message = float(fields["time"]), int(fields["step"]), str(fields["message"])
        clock = int(fields["clock"]) if "clock" in fields else None
        catalogue.logs.append(LogMessage(*message, *_place(fields), clock))
    elif kind == "texts":
        catalogue.texts[int(fields["id"])] = TextSummary.from_json(fields)
    elif kind == "pattern":
        catalogue.patterns.add(str(fields["text"]))
    elif kind == "trace":
        arguments = tuple((str(name), str(text)) for name, text in fields["arguments"])
        traced = str(fields["name"]), int(fields["call"]), arguments
        made_at = _expression(fields["made"]) if fields.get("made") else None
        owned = str(fields["function"]), int(fields["owner"])
        after = int(fields["made_after"]) if fields.get("made_after") is not None else None
        catalogue.traces.append(FunctionTrace(*traced, *_place(fields), *owned, made_at, after))
    elif kind == "made":
        described = str(fields["kind"]), str(fields["name"]), str(fields["type"])
        catalogue.creations.append(Creation(*described, _expression(fields)))
    elif kind == "bad_read":
        read = BadRead(int(fields["uid"]), int(fields["site"]), bool(fields["nan"]), bool(fields["finite"]))
        catalogue.bad_reads.setdefault(read.uid, read)
    elif kind == "not_covered":
        entry = {"what": str(fields["what"]), "why": str(fields["why"]), "site": int(fields["site"])}
        entry["unseen"] = bool(fields.get("unseen", False))
        catalogue.not_covered.append(entry)


def _unused_tape_variables(fields: dict[str, Any]) -> UnusedTapeVariables:
    said = fields["variables"]
    shapes = {int(one["uid"]): tuple(int(size) for size in one["shape"]) for one in said}
    names = {int(one["uid"]): str(one["name"]) for one in said}
    return UnusedTapeVariables(shapes, names, tuple(int(uid) for uid in fields["asked"]))


def _missing_gradients(fields: dict[str, Any]) -> Iterator[MissingGradient]:
    for one in fields["variables"]:
        named = int(one["uid"]), str(one["name"]), tuple(int(size) for size in one["shape"])
        yield MissingGradient(*named, int(fields["site"]), int(fields["op"]), str(fields["loss"]))


def _text(fields: dict[str, Any], name: str) -> str | None:
    return str(fields[name]) if fields.get(name) is not None else None


def _place(fields: dict[str, Any]) -> tuple[str | None, int | None]:
    file, line = fields["file"], fields["line"]
    return (None if file is None else str(file)), (None if line is None else int(line))


def _expression(fields: dict[str, Any]) -> Frame:
    line, column, end_line, end_column = fields["span"]
    known = column is not None and end_line is not None and end_column is not None
    span = Span(int(line), int(column), int(end_line), int(end_column)) if known else None
    return Frame(str(fields["file"]), int(line), str(fields["function"]), span)


def _drop_strays(catalogue: Catalogue) -> int:
    """Remove instances with an unknown function or caller. A caller comes before the functions that it calls."""
    functions, kept = catalogue.functions, dict[int, Instance]()
    for number, one in sorted(catalogue.instances.items()):
        caller = kept.get(one.parent)
        nodes = len(functions[caller.function].nodes) if caller is not None else 0
        if one.function in functions and (one.parent < 0 or (0 <= one.node < nodes and one.parent < number)):
            kept[number] = one
    strays = len(catalogue.instances) - len(kept)
    catalogue.instances = kept
    return strays


def _check_references(function: Function) -> Function:
    """Raise an error if a node or a result refers to something that does not exist."""
    sources = [source for node in function.nodes for source in node.inputs]
    for node, output in (*sources, *function.returns):
        if node < 0:
            function.arguments[-1 - node]
        else:
            function.nodes[node].dtypes[max(output, 0)]
    return function


def _ints(fields: dict[str, Any], *names: str) -> list[int]:
    return [int(fields[name]) for name in names]


def _site(fields: dict[str, Any], files: dict[int, str]) -> Site:
    frames = tuple(Frame(files.get(int(file), "?"), int(line), str(name)) for file, line, name in fields["frames"])
    user = int(fields["user"])
    return Site(int(fields["id"]), frames, user if -1 <= user < len(frames) else -1)


def _function(fields: dict[str, Any]) -> Function:
    nodes: list[Node] = []
    first = len(fields["arguments"])
    for described in fields["nodes"]:
        node = _node(described, first)
        nodes.append(node)
        first += len(node.dtypes)
    return Function(
        int(fields["id"]),
        str(fields["name"]),
        int(fields["graph"]),
        tuple(str(name) for name in fields["arguments"]),
        tuple(int(dtype) for dtype in fields["argument_dtypes"]),
        {int(number): dict(captured) for number, captured in fields["captures"].items()},
        tuple(nodes),
        tuple(_pair(source) for source in fields["returns"]),
        str(fields["kind"]),
        int(fields["tensors"]),
        tuple(_shape(shape) for shape in fields.get("argument_shapes", ())),
        tuple(str(name) for name in fields.get("elements", ())),
    )


def _shape(sizes: list[int] | None) -> tuple[int, ...] | None:
    return tuple(int(size) for size in sizes) if sizes is not None else None


def _node(described: list[Any], first: int) -> Node:
    name, kind, device, inputs, controls, attrs, site, forward, dtypes = described
    return Node(
        str(name),
        str(kind),
        str(device),
        tuple(_pair(source) for source in inputs),
        tuple(int(control) for control in controls),
        dict(attrs),
        int(site),
        ForwardOp(int(forward[0]), str(forward[1]), str(forward[2]), int(forward[3])) if forward else None,
        tuple(int(dtype) for dtype in dtypes),
        first,
    )


def _pair(source: list[int]) -> tuple[int, int]:
    return int(source[0]), int(source[1])
