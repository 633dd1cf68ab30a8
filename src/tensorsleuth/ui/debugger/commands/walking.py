"""The graph around a tensor: ni, li, lo."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tensorsleuth.core.catalog import Catalogue, Function, Node, Site
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.portrait import portrait
from tensorsleuth.ui.debugger.result import Block, Result, Table, Text, Tone
from tensorsleuth.ui.debugger.tensor_names import find, split_slice

SHOWN = 200  # lines of a tree
DEPTH = 20  # how deep -r goes
Next = Callable[[TensorEvent], list[TensorEvent]]


def node_info(debugger: Debugger, arguments: Arguments) -> Result:
    event = find(debugger, split_slice(arguments.node or "")[0])
    debugger.go(event)
    node, site = _node(debugger, event.op), _site(debugger, event.op)
    blocks: list[Block] = [Text(f"{event.op.name}  {event.op.type}", Tone.TITLE), _facts(event, node)]
    blocks += [_neighbours("input", event.inputs()), _neighbours("consumer", event.consumers())]
    if arguments.attributes:
        rows = tuple((name, str(value)) for name, value in (node.attrs.items() if node else ()))
        blocks += [Text("attributes", Tone.TITLE), Table(("name", "value"), rows)]
    if arguments.dumps:
        blocks += [Text("every time it was computed", Tone.TITLE), _dumps(debugger, event.op)]
    if arguments.traceback:
        blocks += [Text("made at", Tone.TITLE), _traceback(site)]
    return Result(tuple(blocks), moved=True)


def _facts(event: TensorEvent, node: Node | None) -> Table:
    one = portrait(event)
    facts = {
        "layer": one.layer,
        "function": event.op.graph or ("eager" if event.op.eager >= 0 else None),
        "device": node.device if node is not None else None,
        "line": f"{event.op.file}:{event.op.line}" if event.op.file else None,
        "gradient of": one.differentiates,
        "seen": one.when if event.row is not None else None,
        "value": one.kind,
        "health": one.words,
    }
    return Table(("", ""), tuple((name, text) for name, text in facts.items() if text))


def _neighbours(what: str, events: list[TensorEvent]) -> Table:
    rows = tuple((one.name, one.op, one.kind, one.words, one.line or "") for one in map(portrait, events))
    tones = tuple(Tone.BAD if event.bad else Tone.PLAIN for event in events)
    return Table((f"{len(events)} {what}{'s' * (len(events) != 1)}", "op", "type", "health", "line"), rows, tones)


def _dumps(debugger: Debugger, op: Op) -> Table:
    tensors = debugger.trace.tensors(op=op)
    first = tensors[:SHOWN]
    rows = tuple(
        (str(number), portrait(one).when, portrait(one).kind, portrait(one).words) for number, one in enumerate(first)
    )
    return Table((f"{len(tensors):,} times", "when", "type", "health"), rows)


def _traceback(site: Site | None) -> Table:
    frames = site.frames if site is not None else ()
    rows = tuple((f"{frame.file}:{frame.line}", frame.function) for frame in frames)
    user = site.user if site is not None else -1
    return Table(("line", "in"), rows, tuple(Tone.TITLE if at == user else Tone.DIM for at in range(len(rows))))


def _catalogue(debugger: Debugger, op: Op) -> Catalogue:
    return debugger.trace.processes[op.process].catalogue


def _function(debugger: Debugger, op: Op) -> Function | None:
    catalogue = _catalogue(debugger, op)
    instance = catalogue.instances.get(op.instance) if op.node >= 0 else None
    return catalogue.functions.get(instance.function) if instance is not None else None


def _node(debugger: Debugger, op: Op) -> Node | None:
    function = _function(debugger, op)
    return function.nodes[op.node] if function is not None and op.node < len(function.nodes) else None


def _site(debugger: Debugger, op: Op) -> Site | None:
    catalogue, node = _catalogue(debugger, op), _node(debugger, op)
    eager = catalogue.eager.get(op.eager)
    number = node.site if node is not None else eager.site if eager is not None else -1
    return catalogue.sites.get(number)


# ---- what went in, what was computed from it


def list_inputs(debugger: Debugger, arguments: Arguments) -> Result:
    return _walk(debugger, arguments, "inputs", lambda event: event.inputs())


def list_outputs(debugger: Debugger, arguments: Arguments) -> Result:
    return _walk(debugger, arguments, "consumers", lambda event: event.consumers())


def _walk(debugger: Debugger, arguments: Arguments, what: str, follow: Next) -> Result:
    event = find(debugger, split_slice(arguments.node or "")[0])
    debugger.go(event)
    depth = arguments.depth if arguments.depth is not None else DEPTH if arguments.recursive else 1
    lines = list(_tree(event, follow, depth))
    rows, tones = tuple(row for row, _ in lines[:SHOWN]), tuple(tone for _, tone in lines[:SHOWN])
    one = portrait(event)
    blocks: list[Block] = [Text(f"{what} of {one.name}  {one.op}  {one.when}", Tone.TITLE)]
    blocks.append(Table(("tensor", "op", "health", "line"), rows, tones) if rows else Text("none", Tone.DIM))
    if len(lines) > SHOWN:
        blocks.append(Text(f"more than {SHOWN}: go less deep, -d 2", Tone.DIM))
    if arguments.control:
        blocks += [Text(f"control {what}", Tone.TITLE), _controls(debugger, event.op, what)]
    return Result(tuple(blocks), moved=True)


def _tree(start: TensorEvent, follow: Next, depth: int) -> Iterator[tuple[tuple[str, ...], Tone]]:
    """Depth first, each tensor once, at most one line more than is shown."""
    seen: set[tuple[str, int, int]] = {_key(start)}
    stack = [(event, 1) for event in reversed(follow(start))]
    count = 0
    while stack and count <= SHOWN:
        event, level = stack.pop()
        again = _key(event) in seen
        seen.add(_key(event))
        one = portrait(event)
        name = "  " * (level - 1) + one.name + (" …" if again else "")
        yield (name, one.op, one.words, one.line or ""), Tone.BAD if event.bad else Tone.PLAIN
        count += 1
        if level < depth and not again:
            stack += [(further, level + 1) for further in reversed(follow(event))]


def _key(event: TensorEvent) -> tuple[str, int, int]:
    time = int(event.row["time"]) if event.row is not None else -1
    return event.name, time, event.op.first


def _controls(debugger: Debugger, op: Op, what: str) -> Block:
    """Ops that had to run before it, or wait for it."""
    function, node = _function(debugger, op), _node(debugger, op)
    if function is None or node is None:
        return Text("none: only ops in functions have them", Tone.DIM)
    if what == "inputs":
        found = [function.nodes[number] for number in node.controls if 0 <= number < len(function.nodes)]
    else:
        found = [other for other in function.nodes if op.node in other.controls]
    return Table(("op", "type"), tuple((one.name, one.type) for one in found)) if found else Text("none", Tone.DIM)


_WALK = (
    option("node", help="a name or a number of a list; the selected tensor if none is named", nargs="?"),
    option("-c", "--control", help="control dependencies too", action="store_true"),
    option("-r", "--recursive", help="and theirs, and so on", action="store_true"),
    option("-d", "--depth", help=f"how deep, {DEPTH} with -r", type=int),
)

COMMANDS = (
    Command(
        "ni",
        node_info,
        "Tell about an op: layer, device, line, neighbours, health.",
        (
            option("node", help="a name or a number of a list; the selected tensor if none is named", nargs="?"),
            option("-a", "--attributes", help="its attributes", action="store_true"),
            option("-d", "--dumps", help="every time it was computed", action="store_true"),
            option("-t", "--traceback", help="the stack that made it", action="store_true"),
        ),
        ("node_info",),
        "ni Log -t",
    ),
    Command("li", list_inputs, "List what went into an op.", _WALK, ("list_inputs",), "li -r -d 3 Mul:0"),
    Command("lo", list_outputs, "List what was computed from a tensor.", _WALK, ("list_outputs",), "lo -c Log:0"),
)
