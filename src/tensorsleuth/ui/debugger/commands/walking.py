"""Commands for the graph around a tensor: ni, li, lo."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tensorsleuth.core.catalog import Catalogue, Function, Node, Site
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.result import Block, CommandResult, TableBlock, TextBlock, Tone
from tensorsleuth.ui.debugger.tensor_description import describe_tensor
from tensorsleuth.ui.debugger.tensor_names import find_tensor, split_slice

MAX_TREE_LINES = 200  # in a tree
DEFAULT_DEPTH = 20  # of -r
NeighboursOf = Callable[[TensorEvent], list[TensorEvent]]


def node_info(debugger: Debugger, arguments: Arguments) -> CommandResult:
    event = find_tensor(debugger, split_slice(arguments.node or "")[0])
    debugger.select(event)
    node, site = _node(debugger, event.op), _site(debugger, event.op)
    blocks: list[Block] = [TextBlock(f"{event.op.name}  {event.op.type}", Tone.TITLE), _facts(event, node)]
    blocks += [_neighbours("input", event.inputs()), _neighbours("consumer", event.consumers())]
    if arguments.attributes:
        rows = tuple((name, str(value)) for name, value in (node.attrs.items() if node else ()))
        blocks += [TextBlock("attributes", Tone.TITLE), TableBlock(("name", "value"), rows)]
    if arguments.dumps:
        blocks += [TextBlock("every time it was computed", Tone.TITLE), _dumps(debugger, event.op)]
    if arguments.traceback:
        blocks += [TextBlock("made at", Tone.TITLE), _traceback(site)]
    return CommandResult(tuple(blocks), moved=True)


def _facts(event: TensorEvent, node: Node | None) -> TableBlock:
    one = describe_tensor(event)
    facts = {
        "layer": one.layer,
        "function": event.op.graph or ("eager" if event.op.eager >= 0 else None),
        "device": node.device if node is not None else None,
        "line": f"{event.op.file}:{event.op.line}" if event.op.file else None,
        "gradient of": one.differentiates,
        "seen": one.when if event.row is not None else None,
        "value": one.kind,
        "health": one.health,
    }
    return TableBlock(("", ""), tuple((name, text) for name, text in facts.items() if text))


def _neighbours(what: str, events: list[TensorEvent]) -> TableBlock:
    rows = tuple((one.name, one.op, one.kind, one.health, one.line or "") for one in map(describe_tensor, events))
    tones = tuple(Tone.BAD if event.bad else Tone.PLAIN for event in events)
    return TableBlock((f"{len(events)} {what}{'s' * (len(events) != 1)}", "op", "type", "health", "line"), rows, tones)


def _dumps(debugger: Debugger, op: Op) -> TableBlock:
    tensors = debugger.trace.tensors(op=op)
    first = tensors[:MAX_TREE_LINES]
    rows = tuple(
        (str(number), describe_tensor(one).when, describe_tensor(one).kind, describe_tensor(one).health)
        for number, one in enumerate(first)
    )
    return TableBlock((f"{len(tensors):,} times", "when", "type", "health"), rows)


def _traceback(site: Site | None) -> TableBlock:
    frames = site.frames if site is not None else ()
    rows = tuple((f"{frame.file}:{frame.line}", frame.function) for frame in frames)
    user = site.user_index if site is not None else -1
    return TableBlock(("line", "in"), rows, tuple(Tone.TITLE if at == user else Tone.DIM for at in range(len(rows))))


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


# ---- inputs and consumers


def list_inputs(debugger: Debugger, arguments: Arguments) -> CommandResult:
    return _walk(debugger, arguments, "inputs", lambda event: event.inputs())


def list_outputs(debugger: Debugger, arguments: Arguments) -> CommandResult:
    return _walk(debugger, arguments, "consumers", lambda event: event.consumers())


def _walk(debugger: Debugger, arguments: Arguments, what: str, follow: NeighboursOf) -> CommandResult:
    event = find_tensor(debugger, split_slice(arguments.node or "")[0])
    debugger.select(event)
    depth = arguments.depth if arguments.depth is not None else DEFAULT_DEPTH if arguments.recursive else 1
    lines = list(_tree(event, follow, depth))
    rows, tones = tuple(row for row, _ in lines[:MAX_TREE_LINES]), tuple(tone for _, tone in lines[:MAX_TREE_LINES])
    one = describe_tensor(event)
    blocks: list[Block] = [TextBlock(f"{what} of {one.name}  {one.op}  {one.when}", Tone.TITLE)]
    blocks.append(TableBlock(("tensor", "op", "health", "line"), rows, tones) if rows else TextBlock("none", Tone.DIM))
    if len(lines) > MAX_TREE_LINES:
        blocks.append(TextBlock(f"more than {MAX_TREE_LINES} lines: limit the depth, for example -d 2", Tone.DIM))
    if arguments.control:
        blocks += [TextBlock(f"control {what}", Tone.TITLE), _controls(debugger, event.op, what)]
    return CommandResult(tuple(blocks), moved=True)


def _tree(start: TensorEvent, follow: NeighboursOf, depth: int) -> Iterator[tuple[tuple[str, ...], Tone]]:
    """Walk depth first and yield each tensor once, up to one line more than is shown."""
    seen: set[tuple[str, int, int]] = {_key(start)}
    stack = [(event, 1) for event in reversed(follow(start))]
    count = 0
    while stack and count <= MAX_TREE_LINES:
        event, level = stack.pop()
        again = _key(event) in seen
        seen.add(_key(event))
        one = describe_tensor(event)
        name = "  " * (level - 1) + one.name + (" …" if again else "")
        yield (name, one.op, one.health, one.line or ""), Tone.BAD if event.bad else Tone.PLAIN
        count += 1
        if level < depth and not again:
            stack += [(further, level + 1) for further in reversed(follow(event))]


def _key(event: TensorEvent) -> tuple[str, int, int]:
    time = int(event.row["time"]) if event.row is not None else -1
    return event.name, time, event.op.first_tensor


def _controls(debugger: Debugger, op: Op, what: str) -> Block:
    """Return the ops that had to run before an op, or that wait for it."""
    function, node = _function(debugger, op), _node(debugger, op)
    if function is None or node is None:
        return TextBlock("none: only ops in functions have control dependencies", Tone.DIM)
    if what == "inputs":
        found = [function.nodes[number] for number in node.controls if 0 <= number < len(function.nodes)]
    else:
        found = [other for other in function.nodes if op.node in other.controls]
    return (
        TableBlock(("op", "type"), tuple((one.name, one.type) for one in found))
        if found
        else TextBlock("none", Tone.DIM)
    )


_WALK_OPTIONS = (
    option("node", help="a name or a number from a list  [default: the selected tensor]", nargs="?"),
    option("-c", "--control", help="also list control dependencies", action="store_true"),
    option("-r", "--recursive", help="continue with their inputs or consumers, and so on", action="store_true"),
    option("-t", "--op_type", help="op types; accepted for tfdbg, always shown", action="store_true"),
    option("-d", "--depth", help=f"the depth  [default: {DEFAULT_DEPTH} with -r]", type=int),
)

COMMANDS = (
    Command(
        "ni",
        node_info,
        "Describe an op: layer, device, line, neighbours, health.",
        (
            option("node", help="a name or a number from a list  [default: the selected tensor]", nargs="?"),
            option("-a", "--attributes", help="also its attributes", action="store_true"),
            option("-d", "--dumps", help="also each time that it was computed", action="store_true"),
            option("-t", "--traceback", help="also the stack that made it", action="store_true"),
        ),
        ("node_info",),
        "ni Log -t",
    ),
    Command("li", list_inputs, "List the inputs of an op.", _WALK_OPTIONS, ("list_inputs",), "li -r -d 3 Mul:0"),
    Command("lo", list_outputs, "List the consumers of a tensor.", _WALK_OPTIONS, ("list_outputs",), "lo -c Log:0"),
)
