"""Values: pt, eval, pf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.ui.debugger import values
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.evaluation import evaluate, live_expression
from tensorsleuth.ui.debugger.listing import ListOptions
from tensorsleuth.ui.debugger.live_program import LiveConnection
from tensorsleuth.ui.debugger.live_run import pause_place
from tensorsleuth.ui.debugger.result import Block, CommandResult, TableBlock, TextBlock, Tone
from tensorsleuth.ui.debugger.tensor_description import VALUE_KINDS, describe_tensor
from tensorsleuth.ui.debugger.tensor_names import find_tensor, split_slice

LINE_WIDTH = 100
_ROUNDED = ("float16", "float32")  # JSON writes their values with more digits than they have
SYMBOLS = dict(zip(VALUE_KINDS, ("−", "0", "+", "−∞", "+∞", "NaN")))
NO_VALUE = (
    "its value was not kept. To see values: sleuth run --mode FULL_TENSOR program.py, or pause the live program and "
    "sleuth debug --attach"
)


def print_tensor(debugger: Debugger, arguments: Arguments) -> CommandResult:
    name, part = split_slice(arguments.tensor or "")
    if debugger.live is not None and not name.startswith("#"):
        return _live_value(debugger, debugger.live, name, part, arguments)
    return _recorded_value(debugger, name, part, arguments)


def _recorded_value(debugger: Debugger, name: str, part: str, arguments: Arguments) -> CommandResult:
    event = find_tensor(debugger, name, arguments.step, arguments.number)
    debugger.select(event)
    blocks = (_title(event, part), TextBlock(describe_tensor(event).health, Tone.BAD if event.bad else Tone.PLAIN))
    if event.value is None:
        return CommandResult((*blocks, *statistics(event), TextBlock(NO_VALUE, Tone.HINT)), moved=True)
    return CommandResult((*blocks, *_value_blocks(values.take_slice(event.value, part), arguments)), moved=True)


def _value_blocks(value: Array, arguments: Arguments) -> list[Block]:
    blocks: list[Block] = []
    ranges = values.parse_ranges(arguments.ranges)
    if ranges:
        found = np.argwhere(values.in_ranges(value, ranges))
        first = f", the first at {found[0].tolist()}" if len(found) else ""
        blocks.append(TextBlock(f"{len(found):,} of {value.size:,} in the range, marked {values.IN_RANGE_MARK}{first}"))
    if arguments.numeric_summary:
        blocks.append(_summary(value))
    if arguments.write_path:
        blocks.append(_write(value, Path(arguments.write_path)))
    return [*blocks, TextBlock(values.format_array(value, ranges, arguments.all, LINE_WIDTH))]


def _write(value: Array, path: Path) -> TextBlock:
    """Write the shown value for `numpy.load`. Never overwrites a file."""
    try:
        with open(path, "xb") as file:
            np.save(file, value, allow_pickle=False)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SleuthError(f"{path} cannot be written: {reason}. Give -w another path.") from error
    return TextBlock(f"written to {path}: numpy.load reads it", Tone.HINT)


def _title(event: TensorEvent, part: str) -> TextBlock:
    one = describe_tensor(event)
    return TextBlock(f"{one.name}{part}  {one.op}  {one.kind}  {one.when}  {one.line or ''}".rstrip(), Tone.TITLE)


def statistics(event: TensorEvent) -> list[Block]:
    """Return the recorded counts and range."""
    one = describe_tensor(event)
    if one.counts is None:
        return []
    cells = [*(f"{count:,}" for count in one.counts), *(f"{value:.6g}" for _, value in one.statistics)]
    return [TableBlock((*SYMBOLS.values(), *(name for name, _ in one.statistics)), (tuple(cells),))]


def _summary(value: Array) -> Block:
    """Return a summary computed from a value."""
    if value.dtype.kind not in "fiub":
        raise SleuthError(f"-s needs numbers, but the values are {value.dtype}.")
    numbers = value.astype(np.float64).ravel()
    finite = numbers[np.isfinite(numbers)]
    tests = (finite < 0, finite == 0, finite > 0, numbers == -np.inf, numbers == np.inf, np.isnan(numbers))
    made = (finite.min(), finite.max(), finite.mean(), finite.std()) if finite.size else ()
    stats = dict(zip(("min", "max", "mean", "std"), made))
    cells = [*(f"{int(test.sum()):,}" for test in tests), *(f"{number:.6g}" for number in stats.values())]
    return TableBlock((*SYMBOLS.values(), *stats), (tuple(cells),))


def _live_value(
    debugger: Debugger, live_connection: LiveConnection, name: str, part: str, arguments: Arguments
) -> CommandResult:
    """Return the tensor's value now; the recorded one if the program no longer has it."""
    try:
        answer = live_connection.ask("value", name=name or None, slice=part)  # None: the tensor at which it is paused
        name = name or str(pause_place(live_connection.ask("status")).get("name"))
    except SleuthError as error:
        try:
            recorded = _recorded_value(debugger, name, part, arguments)
        except SleuthError:
            raise error from None
        return CommandResult((*recorded.blocks, TextBlock(f"as recorded: {error}", Tone.DIM)), moved=True)
    title = TextBlock(
        f"{name}{part}  {answer.get('dtype')} {answer.get('shape')}  now, in the live program", Tone.TITLE
    )
    cut = [TextBlock("cut short by the program: take a slice, [0:10]", Tone.HINT)] if answer.get("truncated") else []
    return CommandResult((title, *_value_blocks(as_array(answer), arguments), *cut))


def as_array(answer: dict[str, Any]) -> Array:
    """Return the values that a live program sent."""
    try:
        values = np.array(answer.get("values"))
        return values.astype(answer.get("dtype")) if answer.get("dtype") in _ROUNDED else values
    except ValueError as error:  # ragged
        raise SleuthError(f"the program sent values that do not form an array: {error}.") from error


def evaluate_expression(debugger: Debugger, arguments: Arguments) -> CommandResult:
    if not arguments.expression:
        raise SleuthError("eval needs an expression, with tensors in backquotes: eval np.max(`Log:0`)")
    if debugger.live is not None:
        return _live_answer(debugger.live.ask("eval", expression=live_expression(arguments.expression)))
    return CommandResult((TextBlock(_text(evaluate(arguments.expression, lambda name: _value(debugger, name)))),))


def _live_answer(answer: dict[str, Any]) -> CommandResult:
    if answer.get("shape") == [] and "text" in answer:
        return CommandResult((TextBlock(str(answer["text"])),))
    return CommandResult(
        (TextBlock(_text(as_array(answer)) if "values" in answer else str(answer.get("text", answer))),)
    )


def _text(found: Any) -> str:
    if isinstance(found, np.ndarray):
        return f"{found.dtype} {list(found.shape)}\n{values.format_array(found, [], False, LINE_WIDTH)}"
    return str(found)


def _value(debugger: Debugger, name: str) -> Array:
    event = find_tensor(debugger, name)
    if event.value is None:
        raise SleuthError(f"{event.name}: {NO_VALUE}")
    return event.value


def print_feed(debugger: Debugger, arguments: Arguments) -> CommandResult:
    from tensorsleuth.ui.debugger.commands.listing import as_result

    return as_result(debugger.show_list(ListOptions(type="(Feed|Argument)$", name=arguments.name)))


COMMANDS = (
    Command(
        "pt",
        print_tensor,
        "Print a tensor, or a part of it; the selected one if none is named.",
        (
            option("tensor", help="a name, a number from a list, or a slice: Log:0, #41, Log:0[0, :]", nargs="?"),
            option("-r", "--ranges", help="mark values in a range: '[0, 1]', '[[-inf, -5], [5, inf]]'"),
            option("-s", "--numeric_summary", help="counts and statistics of the shown values", action="store_true"),
            option("-a", "--all", "--print_all", help="every value", action="store_true"),
            option("-w", "--write_path", help="also write the values to this file, for numpy.load"),
            option("--step", help="the value in this training step", type=int),
            option("-n", "--number", help="the n-th time that it was computed, from 0; -1 is the last", type=int),
        ),
        ("print_tensor",),
        "pt Log:0[0, :] -r '[-inf, -80]'",
    ),
    Command(
        "eval",
        evaluate_expression,
        "Compute with NumPy; write tensors in backquotes.",
        raw="expression",
        example="eval np.argmax(`Softmax:0`, axis=1)",
    ),
    Command(
        "pf",
        print_feed,
        "List the inputs from Python: arguments of functions, and arrays.",
        (option("name", help="only names whose start matches this regular expression", nargs="?"),),
        ("print_feed",),
    ),
)
