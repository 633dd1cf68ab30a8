"""What the move cannot derive: edits of texts, each found exactly once after the imports were rewritten.

The move stops at an edit that no longer fits, so nothing is lost silently when `main` has moved on.
"""
# ruff: noqa: E501 (texts as they stand in the files)

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

NEW = Path(__file__).resolve().parent / "new"
SRC = "src/tensorsleuth/"

# (old module, name) -> new module: for importers. The definitions are moved by EDITS.
SYMBOLS = {
    ("trace.ring_reader", "Array"): "core.array",
    ("data.block", "Array"): "core.array",
    ("checking.judge", "Array"): "core.array",
    ("native.twin", "Array"): "core.array",
    ("native.row_looker", "Array"): "core.array",
    ("show.heat_map", "Array"): "core.array",
    ("checking.expectation", "OnViolation"): "core.violation",
    ("show.ending", "BARS"): "ui.terminal.charts.sparkline",
}


def array(after: str) -> list[tuple[str, str]]:
    return [("\nArray = npt.NDArray[Any]\n", "\n"), (after, f"from tensorsleuth.core.array import Array\n{after}")]


RULES = '''"""What a program does without any bad value, and should not: one rule a file, beside what only that rule needs.

A new file in one of FOLDERS with `find(process) -> Iterator[Habit]` is found by itself. A habit that makes results
wrong or memory grow without end is a problem; what only costs time or memory is a note, which makes no healthy run ill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from tensorsleuth.core.finding import Finding
from tensorsleuth.diagnose import attention, inputs, leaks, training
from tensorsleuth.diagnose.rule import Habit, as_finding
from tensorsleuth.trace.process.process import ProcessTrace

Find = Callable[[ProcessTrace], Iterator[Habit]]
FOLDERS = (attention, inputs, leaks, training)


@cache
def habits() -> tuple[Find, ...]:
    """In the order of their files' names, wherever these lie."""
    found = [one for folder in FOLDERS for one in walk_packages(folder.__path__, f"{folder.__name__}.")]
    names = sorted((one.name for one in found if not one.ispkg), key=lambda name: name.rpartition(".")[2])
    return tuple(module.find for module in map(import_module, names) if hasattr(module, "find"))
'''

EDITS: dict[str, list[tuple[str, str]]] = {
    # ---- what finds files by where it lies itself
    SRC + "inject/sitecustomize.py": [
        (
            'os.path.join(package, "capture", "autostart.py")',
            'os.path.join(package, "live", "startup", "autostart.py")',
        ),
    ],
    SRC + "recording/backends/machine.py": [
        ('Path(__file__).absolute().parent.parent / "native"', 'Path(__file__).absolute().parents[2] / "native"'),
    ],
    SRC + "recording/tensorflow/patches.py": [
        (
            '_FOLDER = __file__.rsplit("patches.py", 1)[0]',
            "_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep  # recording/",
        ),
        ("import contextlib\nimport sys\n", "import contextlib\nimport os\nimport sys\n"),
    ],
    SRC + "cli/program/launch.py": [
        ('Path(__file__).absolute().parent.parent / "inject"', 'Path(__file__).absolute().parents[2] / "inject"'),
    ],
    SRC + "cli/commands/demo.py": [
        ('Path(__file__).absolute().parent.parent / "demo"', 'Path(__file__).absolute().parents[2] / "demo"'),
    ],
    SRC + "cli/doctor/machine.py": [
        ("Path(__file__).absolute().parent.parent.parent", "Path(__file__).absolute().parents[3]"),
    ],
    SRC + "cli/command_table.py": [
        ('f"tensorsleuth.cli.{name', 'f"tensorsleuth.cli.commands.{name'),
    ],
    SRC + "native/build.py": [
        ('"""Compiles `src/*.cc` into `libsleuth.so`.', '"""Compiles `src/**/*.cc` into `libsleuth.so`.'),
        ('    "-Wextra",\n]', '    "-Wextra",\n    f"-I{SOURCES}",\n]'),
        ('*SOURCES.glob("*.cc"), *SOURCES.glob("*.h")]', '*SOURCES.rglob("*.cc"), *SOURCES.rglob("*.h")]'),
        ('sources = sorted(SOURCES.glob("*.cc"))', 'sources = sorted(SOURCES.rglob("*.cc"))'),
    ],
    # ---- upward imports
    SRC + "recording/api.py": [
        ('INSIDE = "tensorsleuth.live.layer_stats.observer"  # by name: it stands above us\n', ""),
        ("import importlib\n", ""),
        (
            "        harmless(lambda: add_rider(importlib.import_module(INSIDE).rider()))\n",
            "        harmless(_add_default_observers)\n",
        ),
        (
            "def _start_recorder(settings",
            "def _add_default_observers() -> None:\n    for make in default_observers.MAKERS:\n        add_rider(make())\n\n\ndef _start_recorder(settings",
        ),
        (
            "from tensorsleuth.recording.harmless import",
            "from tensorsleuth.recording import default_observers\nfrom tensorsleuth.recording.harmless import",
        ),
    ],
    SRC + "__init__.py": [
        (
            "from tensorsleuth.core.version import VERSION\n",
            "from tensorsleuth.core.version import VERSION\nfrom tensorsleuth.recording import default_observers\n",
        ),
        (
            "def __getattr__(name: str) -> Any:",
            """def _layer_stats() -> Any:
    from tensorsleuth.live.layer_stats.observer import rider

    return rider()


default_observers.MAKERS.append(_layer_stats)


def __getattr__(name: str) -> Any:""",
        ),
    ],
    SRC + "live/startup/start.py": [
        ("import importlib\n", ""),
        (
            """# By name: they stand above us, and most programs do without.
RIDERS = {"SLEUTH_BREAKS": "tensorsleuth.live.startup.break_points", "SLEUTH_WATCHES": "tensorsleuth.live.startup.watches"}
""",
            "",
        ),
        (
            """        for setting, module in RIDERS.items():
            if os.environ.get(setting):
                importlib.import_module(module).start()
""",
            """        if os.environ.get("SLEUTH_BREAKS"):
            from tensorsleuth.live.startup import break_points

            break_points.start()
        if os.environ.get("SLEUTH_WATCHES"):
            from tensorsleuth.live.startup import watches

            watches.start()
""",
        ),
    ],
    SRC + "core/violation.py": [
        ("from typing import Any\n", "from typing import Any, Literal\n"),
        (
            "SHOWN = 3  # positions and values in a sentence\n",
            'OnViolation = Literal["raise", "warn", "record"]\nSHOWN = 3  # positions and values in a sentence\n',
        ),
    ],
    SRC + "live/expect/expectation.py": [
        ('OnViolation = Literal["raise", "warn", "record"]\n', ""),
        ("from tensorsleuth.core.violation import shown", "from tensorsleuth.core.violation import OnViolation, shown"),
    ],
    SRC + "recording/violations/actions.py": [
        ("from tensorsleuth.live.expect.expectation import Expectation\n", ""),
        (
            "def finish(violation: Violation | None, expected: Expectation) -> None:",
            "def finish(violation: Violation | None, how: OnViolation) -> None:",
        ),
        ("error = act(violation, expected.on_violation) if", "error = act(violation, how) if"),
    ],
    SRC + "live/expect/tensors.py": [
        (
            "finish(arrays.judge_array(expected, tf.array_of(leaf), name, place), expected)",
            "finish(arrays.judge_array(expected, tf.array_of(leaf), name, place), expected.on_violation)",
        ),
        (
            "finish(arrays.judge_ragged(expected, tf.array_of(leaf.flat_values), splits, name, place), expected)",
            "found = arrays.judge_ragged(expected, tf.array_of(leaf.flat_values), splits, name, place)\n        finish(found, expected.on_violation)",
        ),
        ("finish(found, expected)\n", "finish(found, expected.on_violation)\n"),
    ],
    SRC + "live/expect/api.py": [
        (
            "finish(arrays.judge_array(expected, array, name, place), expected)",
            "finish(arrays.judge_array(expected, array, name, place), expected.on_violation)",
        ),
    ],
    SRC + "live/expect/graphs.py": [
        (
            "    finish(violation(expected, report, name, dtype, shape, place) if report is not None else None, expected)",
            "    found = violation(expected, report, name, dtype, shape, place) if report is not None else None\n    finish(found, expected.on_violation)",
        ),
    ],
    SRC + "ui/terminal/ending.py": [
        ('BARS = "▁▂▃▄▅▆▇█"\n', ""),
        (
            "from tensorsleuth.core.last_moments import",
            "from tensorsleuth.ui.terminal.charts.sparkline import BARS\nfrom tensorsleuth.core.last_moments import",
        ),
    ],
    SRC + "ui/terminal/charts/sparkline.py": [
        ("from tensorsleuth.ui.terminal.charts.sparkline import BARS\n", '\nBARS = "▁▂▃▄▅▆▇█"\n'),
    ],
    # ---- one type of arrays
    SRC + "native/numpy_health.py": array("from tensorsleuth.core.dtypes import DType, Kind, dtype_of\n"),
    SRC + "native/numpy_measure.py": array("from tensorsleuth.core.layout.histogram_bins import"),
    SRC + "data/block.py": array("from tensorsleuth.core.modes import Mode\n"),
    SRC + "live/expect/judge.py": array("from tensorsleuth.core.errors import SleuthError\n"),
    SRC + "trace/storage/ring_reader.py": array("from tensorsleuth.core.errors import OtherVersion, TraceError\n"),
    SRC + "ui/terminal/charts/heat_map.py": [
        ("\nArray = NDArray[Any]\n", "\n"),
        (
            "from tensorsleuth.core.formatting import printable\n",
            "from tensorsleuth.core.array import Array\nfrom tensorsleuth.core.formatting import printable\n",
        ),
    ],
    # ---- settings of tools
    "pyproject.toml": [
        (
            """  "tensorsleuth.capture.*",
  "tensorsleuth.checking.*",
  "tensorsleuth.checks.*",
  "tensorsleuth.guarding.*",
  "tensorsleuth.integrations.*",
  "tensorsleuth.native.*",
""",
            """  "tensorsleuth.integrations.*",
  "tensorsleuth.live.expect.*",
  "tensorsleuth.live.guard.*",
  "tensorsleuth.native.*",
  "tensorsleuth.recording.*",
""",
        ),
    ],
    "web/build.py": [('"tensorsleuth" / "page" / "static"', '"tensorsleuth" / "ui" / "web" / "static"')],
    # ---- tests
    "tests/integration/started.py": [
        ('"fakes/tensorsleuth/capture/__init__.py"', '"fakes/tensorsleuth/live/startup/__init__.py"'),
        ('"fakes/tensorsleuth/capture/inject.py"', '"fakes/tensorsleuth/live/startup/start.py"'),
    ],
    "tests/integration/test_run_recorder.py": [
        (
            '("__init__.py", "capture/__init__.py", "live/startup/start.py")',
            '("__init__.py", "live/startup/__init__.py", "live/startup/start.py")',
        ),
    ],
    "tests/integration/test_wheel.py": [
        (
            "from pathlib import Path; from tensorsleuth.trace.storage import synthetic; synthetic.write(Path('runs/first'), 2000)",
            "import pathlib as p; from tensorsleuth.trace.storage.synthetic import write; write(p.Path('runs/first'), 2000)",
        ),
        (
            'assert (source / "src" / "tensorsleuth" / "page" / "static" / "index.html").is_file()',
            'assert (source / "src/tensorsleuth/ui/web/static/index.html").is_file()',
        ),
        (
            'shutil.rmtree(copy / "src" / "tensorsleuth" / "page" / "static")',
            'shutil.rmtree(copy / "src/tensorsleuth/ui/web/static")',
        ),
        (
            """    shipped = {path.name for path in (source / "src" / "tensorsleuth" / "native" / "src").iterdir()}
    assert shipped == {path.name for path in (BUILD.parent / "src").iterdir() if path.suffix in (".cc", ".h")}
""",
            """    shipped = {path.name for path in (source / "src/tensorsleuth/native/src").rglob("*.*")}
    assert shipped == {path.name for path in (BUILD.parent / "src").rglob("*.*") if path.suffix in (".cc", ".h")}
""",
        ),
    ],
    "tests/integration/test_run.py": [('    "closing is interrupted": ', '    "interrupted": ')],
    "tests/unit/test_docs.py": [
        ("src/tensorsleuth/diagnose/endings", "src/tensorsleuth/diagnose/exits/kinds"),
        ("src/tensorsleuth/tokens/checks", "src/tensorsleuth/data/tokens/checks"),
        ("src/tensorsleuth/insight", "src/tensorsleuth/analyze/attention"),
    ],
    "tests/unit/test_messages.py": [
        (
            'FOLDERS = ("checking", "data", "watching")',
            'FOLDERS = ("data", "live/expect", "live/layer_stats", "live/watch", "recording/violations")',
        ),
        (
            'for path in [path for folder in FOLDERS for path in sorted((ROOT / "src/tensorsleuth" / folder).rglob("*.py"))]:',
            'folders = [ROOT / "src/tensorsleuth" / folder for folder in FOLDERS]\n    paths = [path for folder in folders for path in sorted(folder.rglob("*.py")) if "tokens" not in path.parts]\n    for path in paths:',
        ),
    ],
    "tests/unit/test_faults.py": [
        ("/site/src/tensorsleuth/capture/eager.py", "/site/src/tensorsleuth/recording/eager/callbacks.py")
    ],
    "tests/unit/test_health.py": [
        ('"-fvisibility=hidden"]', '"-fvisibility=hidden", f"-I{SOURCES}"]'),
    ],
    "tests/unit/test_measure.py": [
        ('"-fvisibility=hidden"]', '"-fvisibility=hidden", f"-I{SOURCES}"]'),
    ],
    "tests/unit/test_attention_numbers.py": [
        ('"-fvisibility=hidden"]', '"-fvisibility=hidden", f"-I{SOURCES}"]'),
    ],
    "bench/kernel.py": [
        ('"-fvisibility=hidden"]', '"-fvisibility=hidden", f"-I{SOURCES}"]'),
    ],
    # ---- words
    SRC + "recording/backends/python_sink.py": [("see breaking/", "see live/breakpoints/")],
    SRC + "native/src/observers/breaks.h": [("(breaking/)", "(live/breakpoints/)")],
    SRC + "native/src/observers/watches.h": [("(watching/)", "(live/watch/)")],
    SRC + "native/src/files/rows.h": [
        ("watching/what.py has the same numbers.", "`What` in core/layout/rows.py has the same numbers.")
    ],
    SRC + "core/finding.py": [("rules of `tokens/checks/`", "rules of `data/tokens/checks/`")],
    "tests/compat/test_keras_internals.py": [("that capture/ touches", "that recording/ touches")],
    "tests/compat/test_session_internals.py": [("that capture/ touches", "that recording/ touches")],
    "tests/compat/test_strategy_internals.py": [("that capture/ touches", "that recording/ touches")],
    "tests/compat/test_tensorflow_internals.py": [("that capture/ touches", "that recording/ touches")],
    # ---- lines that became too long
    SRC + "core/layout/ring_header.py": [
        ("No NumPy: `sleuth run` looks at them, too.", "No NumPy: `sleuth run` reads them, too.")
    ],
    SRC + "live/expect/judge.py": [],
    SRC + "cli/commands/rm.py": [
        (
            "        raise SleuthError(f\"{run.name} is still running (pid {run_folder.read_meta(run)['pid']}). Stop it, or add --force.\")",
            '        pid = run_folder.read_meta(run)["pid"]\n        raise SleuthError(f"{run.name} is still running (pid {pid}). Stop it, or add --force.")',
        ),
    ],
    SRC + "live/breakpoints/evaluator.py": [
        ("numpy_health.look(array, dtype, Mode.FULL_NUMERICS)", "health"),
        (
            "            where = number, self._sink.latest_call, uid & 0xFFFF_FFFF, uid >> 32\n",
            "            where = number, self._sink.latest_call, uid & 0xFFFF_FFFF, uid >> 32\n            health = numpy_health.look(array, dtype, Mode.FULL_NUMERICS)\n",
        ),
    ],
    SRC + "native/row_health.py": array("from tensorsleuth.core.dtypes import DTYPES\n")
    + [
        (
            "        found[place] = tuple(numpy_health.look(flat[place * each : (place + 1) * each], _NUMBERS[flat.dtype.name], mode))",
            "        row = flat[place * each : (place + 1) * each]\n        found[place] = tuple(numpy_health.look(row, _NUMBERS[flat.dtype.name], mode))",
        ),
    ],
    "tests/unit/test_page_size.py": [
        (
            'pytestmark = pytest.mark.skipif(not (page_files.STATIC / "index.html").exists(), reason=',
            'built = (page_files.STATIC / "index.html").exists()\npytestmark = pytest.mark.skipif(not built, reason=',
        ),
    ],
    "tests/unit/test_view.py": [
        (
            'needs_page = pytest.mark.skipif(not (page_files.STATIC / "index.html").exists(), reason=',
            'built = (page_files.STATIC / "index.html").exists()\nneeds_page = pytest.mark.skipif(not built, reason=',
        ),
    ],
    "tests/compat/test_expect_internals.py": [
        ("is there, and does what is assumed.", "is there and does what is assumed.")
    ],
}
EDITS[SRC + "live/expect/judge.py"] = array("from tensorsleuth.core.errors import SleuthError\n") + [
    ("and all there is where that cannot be loaded.", "and all there is without the library.")
]
EDITS[SRC + "trace/storage/ring_reader.py"] += [
    ("also while it is being written, and when it is damaged.", "also while it is written, and when it is damaged.")
]

_RULES_TAIL = '''

def habits_of(process: ProcessTrace) -> list[Finding]:
    """All that was found in a process: wrong results first, then what grows, the surest first, then notes."""
    found = [habit for find in habits() for habit in find(process)]
    ranked = sorted(found, key=lambda habit: (habit.is_note, not habit.is_wrong, -habit.confidence, -habit.harm))
    return [as_finding(process, habit) for habit in ranked]
'''

NEW_FILES = {
    SRC
    + "recording/default_observers.py": '''"""Observers that every recording has. They stand above this folder: `tensorsleuth/__init__.py` adds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MAKERS: list[Callable[[], Any]] = []  # each makes a rider, see `observers.py`
''',
}


class Block(NamedTuple):
    """A part of a file that was written anew by hand, for what it said before: `digest`, of the text that goes."""

    file: str
    first: str
    last: str  # the block ends with it
    digest: str
    text: str


BLOCKS = [
    Block(
        SRC + "diagnose/rules.py",
        '"""What a program does',
        "for habit in ranked]\n",
        "f9036fa284ae17c5",
        RULES + _RULES_TAIL,
    ),
    Block(
        "ARCHITECTURE.md",
        "# Architecture\n",
        "puts on the program's path |\n",
        "33c0981d6f2984fd",
        (NEW / "architecture_head.md").read_text(),
    ),
    Block(
        "tests/unit/test_architecture.py",
        '"""The ground the project',
        'where TensorFlow is not installed: {wrong}"\n',
        "a1543abe0b9a2ffe",
        (NEW / "test_architecture_head.py.txt").read_text(),
    ),
]
EDITS["tests/unit/test_sanitizers.py"] = [
    (
        'sources = [path for path in build.SOURCES.glob("*.cc") if path.name not in NEED_TENSORFLOW]\n',
        'without = {build.SOURCES / name for name in NEED_TENSORFLOW}\n    sources = [path for path in build.SOURCES.rglob("*.cc") if path not in without]\n',
    ),
]
EDITS[SRC + "recording/structure/attention.py"] = [
    (
        "a softmax of scores of keys, whose weights mix values; `attending` says what is which.\n",
        "a softmax of scores of keys, whose weights mix values.\n",
    ),
    ("No name matters: it is", "`attention_ops` says what is which. No name matters: it is"),
]
EDITS[SRC + "recording/tensorflow/internals.py"] = [
    ("beside it `tf_variables`, `tf_sessions`, `tracing`.", "beside it `variables`, `sessions`, `tracing`."),
]
EDITS["docs/crashes.md"] = [("src/tensorsleuth/diagnose/endings/", "src/tensorsleuth/diagnose/exits/kinds/")]
EDITS[SRC + "diagnose/rule.py"] = [("A file of `habits/`.", "A file that `rules` finds.")]
EDITS["docs/why.md"] = [
    ("A file in `src/tensorsleuth/diagnose/causes/` with", "A file in `src/tensorsleuth/diagnose/nan/causes/` with"),
    (
        "is a file in `src/tensorsleuth/diagnose/habits/` with",
        "is a file in `training/`, `attention/`, `inputs/` or `leaks/` of `src/tensorsleuth/diagnose/`, with",
    ),
]
EDITS[SRC + "diagnose/inputs/model_inputs.py"] = [("As `summing` has it.", "As `loss_reduction` has it.")]
EDITS[SRC + "recording/cluster/remote_probes.py"] = [
    (
        "As in `optimized`, the copy only names its nodes. Which of them to look at lies in the run's folder, in a file of the\ncopy's name: the",
        "As in `optimizer_probes`, the copy only names its nodes. Which of them to look at lies in the run's folder, in a file\nof the copy's name: the",
    ),
]
EDITS["ARCHITECTURE.md"] = [
    ("`diagnose/endings/`, one kind a file", "`diagnose/exits/kinds/`, one kind a file"),
    ("built by Vite into `page/static`", "built by Vite into `ui/web/static`"),
    ("(`breaking/subjects.py`: its layer", "(`recording/structure/tensor_roles.py`: its layer"),
    ("is raised by `capture`, outside", "is raised by `recording`, outside"),
    ("and `capture` raises what", "and `recording` raises what"),
    ("`calls` and `moment` (one call", "`calls` and `call_graph` (one call"),
    ("`flow` (through functions", "`value_flow` (through functions"),
    ("`pipelines` (which datasets", "`dataset_pipelines` (which datasets"),
    ("`births` (a bad tensor", "`origins` (a bad tensor"),
    (
        "`history` and `learning` (growth), `around` (the ops",
        "`history` and `last_update` (growth), `neighbours` (the ops",
    ),
    ("look at; `chain` and", "look at; `path` and"),
    (
        "`recording/replay/replay_buffer.py`, `replay.py`, docs/replay.md",
        "`recording/replay/replay_buffer.py`, `replayer.py`, docs/replay.md",
    ),
    ("(`outside.py`: iterators", "(`side_effects.py`: iterators"),
    ("`again.py` makes the uncompiled copy", "`replay_copy.py` makes the uncompiled copy"),
    ("compiled, alone (`compiled.py`)", "compiled, alone (`uncompiled.py`)"),
    ("are written (`inside.py`, from", "are written (`function_writes.py`, from"),
]
