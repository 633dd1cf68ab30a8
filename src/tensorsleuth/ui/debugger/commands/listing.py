"""Lists of tensors: lt, find, alerts."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import ALERTS, Debugger
from tensorsleuth.ui.debugger.filters import join_words
from tensorsleuth.ui.debugger.listing import SORTS, TFDBG_SORTS, Listing, ListOptions
from tensorsleuth.ui.debugger.result import CommandResult, TableBlock, TextBlock, Tone
from tensorsleuth.ui.debugger.tensor_description import describe_tensor

MAX_ROWS = 50  # in a list
COLUMNS = ("#", "step", "tensor", "op", "type", "health", "line")
MAX_CODE_LINES = 10  # of the program, in a search


def list_tensors(debugger: Debugger, arguments: Arguments) -> CommandResult:
    sort = TFDBG_SORTS.get(arguments.sort_by, arguments.sort_by) or "time"
    list_options = ListOptions(
        join_words(arguments.filter),
        arguments.name,
        arguments.type,
        step=arguments.step,
        sort=sort,
        reverse=arguments.reverse,
        without=arguments.without,
    )
    return as_result(debugger.show_list(list_options), arguments.limit)


def as_result(listing: Listing, limit: int = MAX_ROWS) -> CommandResult:
    """Return the first rows of a list as a table."""
    shown = min(len(listing), max(limit, 0))
    portraits = [
        (int(listing.places[at]), describe_tensor(listing.event(at)), listing.event(at)) for at in range(shown)
    ]
    rows = tuple(
        (
            f"#{place}",
            str(event.step if event.step is not None else "–"),
            one.name,
            one.op,
            one.kind,
            one.health,
            one.line or "",
        )
        for place, one, event in portraits
    )
    tones = tuple(Tone.BAD if one.bad else Tone.PLAIN for _, one, _ in portraits)
    title = TextBlock(f"{len(listing):,} tensor{'s' * (len(listing) != 1)}: {listing.options.title}", Tone.TITLE)
    more = TextBlock(f"{len(listing) - shown:,} more: --limit {len(listing)}", Tone.DIM)
    blocks = (title, *((TableBlock(COLUMNS, rows, tones),) if rows else ()), *((more,) if shown < len(listing) else ()))
    return CommandResult(blocks, listing)


def find_text(debugger: Debugger, arguments: Arguments) -> CommandResult:
    if not arguments.text:
        raise SleuthError("find needs a part of a name, a type, a layer or a line. For example: find softmax")
    listing = debugger.show_list(ListOptions(text=arguments.text))
    listed = as_result(listing, MAX_ROWS)
    code = _code(debugger, arguments.text)
    return CommandResult((*listed.blocks, *((TextBlock("in the program", Tone.TITLE), code) if code else ())), listing)


def _code(debugger: Debugger, text: str) -> TableBlock | None:
    sources = {path: source for one in debugger.trace.processes for path, source in one.catalogue.sources.items()}
    found = [
        (f"{path}:{number}", line.strip())
        for path, source in sorted(sources.items())
        for number, line in enumerate(source.splitlines(), 1)
        if text.lower() in line.lower()
    ]
    return TableBlock(("line", "code"), tuple(found[:MAX_CODE_LINES])) if found else None


def alerts(debugger: Debugger, arguments: Arguments) -> CommandResult:
    """List bad tensors by op, in the order in which the ops first went bad."""
    listing = debugger.show_list(ALERTS)
    if not len(listing):
        return CommandResult((TextBlock("no tensor holds a NaN or an infinity", Tone.GOOD),), listing)
    names = debugger.everything.words("name")[listing.places].astype(str)
    _, first, count = np.unique(names, return_index=True, return_counts=True)
    order = np.argsort(first)[:MAX_ROWS]
    rows = tuple(_alert(listing, int(first[at]), int(count[at])) for at in order)
    title = TextBlock(f"{len(listing):,} bad tensors of {len(first):,} ops, first bad first", Tone.TITLE)
    more = TextBlock(f"{len(first) - MAX_ROWS:,} more ops: lt -f has_inf_or_nan", Tone.DIM)
    table_block = TableBlock(("#", "step", "op", "times", "at first", "line"), rows)
    hint = TextBlock("Threads run at once: the first bad tensor need not be the cause. For that, type: why", Tone.HINT)
    return CommandResult((title, table_block, *((more,) if len(first) > MAX_ROWS else ()), hint), listing)


def _alert(listing: Listing, at: int, count: int) -> tuple[str, ...]:
    event = listing.event(at)
    one = describe_tensor(event)
    step = str(event.step if event.step is not None else "–")
    return f"#{listing.places[at]}", step, event.op.name, f"{count:,}", one.health, one.line or ""


COMMANDS = (
    Command(
        "lt",
        list_tensors,
        "List tensors, oldest first.",
        (
            option(
                "-f",
                "--filter",
                "--tensor_filter",
                help="only tensors that pass this filter: has_inf_or_nan, 'max > 1e4'",
                nargs="+",
            ),
            option(
                "-fenn",
                "--filter_exclude_node_names",
                dest="without",
                help="leave out names that begin with this regular expression",
            ),
            option("-n", "--name", "--node_name_filter", help="only names that begin with this regular expression"),
            option("-t", "--type", "--op_type_filter", help="only op types that begin with this regular expression"),
            option("--step", help="only this training step", type=int),
            option("-s", "--sort_by", help=f"one of {', '.join(SORTS)}; or {', '.join(TFDBG_SORTS)}"),
            option("-r", "--reverse", help="in reverse order", action="store_true"),
            option("--limit", help="how many to show", type=int, default=MAX_ROWS),
        ),
        ("list_tensors",),
        "lt -f has_inf_or_nan -t Log -s step",
    ),
    Command(
        "find", find_text, "Search names, types, layers and lines; also /TEXT.", raw="text", example="find softmax"
    ),
    Command("alerts", alerts, "List the bad tensors by op, first bad first."),
)
