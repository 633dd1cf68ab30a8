"""The program's text: ls, ps."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.query.op_filter import find_file
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.listing import compile_pattern
from tensorsleuth.ui.debugger.result import CodeBlock, CodeLine, CommandResult, TableBlock, TextBlock, Tone

CONTEXT_LINES = 12  # lines before and after the selected one
DEFAULT_NAMES = 10  # of the ops or tensors of a line


def list_sources(debugger: Debugger, arguments: Arguments) -> CommandResult:
    sources = _sources(debugger)
    rows, tones = [], []
    for path in _requested_files(debugger, {*sources, *debugger.margins.files}, arguments):
        marks = debugger.margins.of_file(path).values()
        bad = sum(mark.bad for mark in marks)
        kept = f"{len(sources[path].splitlines()):,}" if path in sources else "not kept"
        rows.append((path, kept, f"{sum(mark.tensors for mark in marks):,}", f"{bad:,}"))
        tones.append(Tone.BAD if bad else Tone.PLAIN)
    if not rows:
        return CommandResult((TextBlock("the run kept no source file", Tone.DIM),))
    return CommandResult((TableBlock(("file", "lines", "tensors", "bad"), tuple(rows), tuple(tones)),))


def _requested_files(debugger: Debugger, files: set[str], arguments: Arguments) -> list[str]:
    """Return the files whose path matches, and that made an op with a matching name."""
    if arguments.path:
        wanted = compile_pattern(arguments.path)
        files = {path for path in files if wanted.search(path)}
    if arguments.name:
        names = compile_pattern(arguments.name)
        files &= {op.file for op in debugger.trace.ops() if op.file is not None and names.match(op.name)}
    return sorted(files)


def print_source(debugger: Debugger, arguments: Arguments) -> CommandResult:
    file, line = _requested_line(debugger, arguments)
    path = find_file(_sources(debugger), file)
    code = code_of(debugger, path, line)
    around = CONTEXT_LINES if arguments.around is None else arguments.around
    lines = tuple(one for one in code.lines if line is None or abs(one.number - line) <= around)
    if arguments.line_begin is not None:
        lines = tuple(one for one in code.lines if one.number >= arguments.line_begin)
    if arguments.tensors or arguments.most is not None:
        names = _names_by_line(debugger, path, arguments.tensors)
        most = DEFAULT_NAMES if arguments.most is None else max(arguments.most, 0)
        lines = tuple(replace(one, notes=_first_names(names[one.number], most)) for one in lines)
    return CommandResult((TextBlock(path, Tone.TITLE), CodeBlock(path, lines)))


def _names_by_line(debugger: Debugger, path: str, tensors: bool) -> dict[int, list[str]]:
    """The ops that each line of a file made, or their outputs."""
    names: dict[int, dict[str, None]] = defaultdict(dict)
    for op in debugger.trace.ops():
        if op.file == path and op.line is not None:
            names[op.line].update(dict.fromkeys(_tensor_names(op) if tensors else [op.name]))
    return defaultdict(list, {line: list(found) for line, found in names.items()})


def _tensor_names(op: Op) -> list[str]:
    return [f"{op.name}:{output}" for output in range(op.outputs)]


def _first_names(names: list[str], most: int) -> tuple[str, ...]:
    return (*names[:most], *([f"{len(names) - most:,} more: -m {len(names)}"] if len(names) > most else []))


def _sources(debugger: Debugger) -> dict[str, str]:
    return {path: text for one in debugger.trace.processes for path, text in one.catalogue.sources.items()}


def _requested_line(debugger: Debugger, arguments: Arguments) -> tuple[str, int | None]:
    """Return `train.py`, `train.py:18`, or the line of the selected tensor."""
    if arguments.file:
        file, _, line = arguments.file.rpartition(":")
        found = (file, int(line)) if file and line.isdecimal() else (arguments.file, None)
        return found[0], arguments.line if arguments.line is not None else found[1]
    source = debugger.focus.source if debugger.focus is not None else None
    if source is None:
        raise SleuthError("ps needs a file: the current tensor has no source line. List the files with ls.")
    return source.file, source.line


def code_of(debugger: Debugger, path: str, here: int | None) -> CodeBlock:
    """Return a file with the health of each line in its margin."""
    marks = debugger.margins.of_file(path)
    lines = []
    for number, text in enumerate(debugger.trace.source(path).splitlines(), 1):
        mark = marks.get(number)
        margin, tone = (mark.text, mark.tone) if mark is not None else ("", Tone.DIM)
        lines.append(CodeLine(number, text, margin, tone, number == here))
    return CodeBlock(path, tuple(lines))


COMMANDS = (
    Command(
        "ls",
        list_sources,
        "List the program's files.",
        (
            option("-p", "--path", "--path_filter", help="only paths that contain this regular expression"),
            option("-n", "--name", "--node_name_filter", help="only files that made ops whose names begin with this"),
        ),
        ("list_source",),
        "ls -p train",
    ),
    Command(
        "ps",
        print_source,
        "Print a file as it was during the run, with the health of each line's tensors.",
        (
            option("file", help="a path or its end, also with a line: train.py:18", nargs="?"),
            option("-l", "--line", "--line_beginning", help="show the lines around this one", type=int),
            option("-b", "--line_begin", help="print from this line on", type=int),
            option("-t", "--tensors", help="name the tensors that each line made", action="store_true"),
            option(
                "-m",
                "--max_elements_per_line",
                dest="most",
                help=f"name at most so many ops (with -t tensors) of each line, {DEFAULT_NAMES} with -t",
                type=int,
            ),
            option("--around", help=f"the number of lines around it  [default: {CONTEXT_LINES}]", type=int),
        ),
        ("print_source",),
        "ps train.py:18",
    ),
)
