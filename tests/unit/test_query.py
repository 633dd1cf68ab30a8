"""What can be asked of a trace, on one that was made without a program."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tensorsleuth
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import synthetic

EVENTS, STEPS, BAD = 6000, 6, 5


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write(tmp_path_factory.mktemp("runs") / "six-steps", EVENTS, BAD)


@pytest.fixture(scope="module")
def trace(run: Path) -> Trace:
    return tensorsleuth.open(run)


# ---- ops


def test_ops_know_their_place_in_the_program(trace: Trace) -> None:
    op = trace.ops(name="layer_2/Log_24")[0]
    assert (op.type, op.layer, op.outputs, op.function, op.graph) == ("Log", "layer_2", 1, "train", "train_step")
    assert op.file == synthetic.__file__ and op.line == 25 and op.differentiates is None


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, synthetic.NODES + 1),  # and the call
        ({"type": "Log"}, 100),
        ({"type": "Log|Sum"}, 200),
        ({"type": "Lo"}, 0),
        ({"name": "layer_1/.*"}, 10),
        ({"name": re.compile("LAYER_1/LOG.*", re.I)}, 1),
        ({"layer": "layer_1"}, 10),
        ({"layer": r"layer_\d"}, 100),
        ({"layer": "layer"}, 0),
        ({"file": "synthetic.py"}, synthetic.NODES + 1),
        ({"file": "trace/storage/synthetic.py", "line": 60}, 0),
        ({"file": "thetic.py"}, 0),
        ({"line": 1}, 18),
    ],
)
def test_ops_by(trace: Trace, asked: dict[str, str], count: int) -> None:
    assert len(trace.ops(**asked)) == count  # type: ignore[arg-type]


# ---- tensors


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, EVENTS),
        ({"name": "layer_0/Relu_2"}, STEPS),
        ({"name": "layer_0/Relu_2:0"}, STEPS),
        ({"name": "layer_0/Relu_2:1"}, 0),
        ({"op": "Relu"}, 100 * STEPS),
        ({"op": "Relu", "layer": "layer_0"}, STEPS),
        ({"layer": "layer_0", "step": 2}, 10),
        ({"step": -1}, 1000),
        ({"step": np.int64(3)}, 1000),
        ({"step": range(1, 6, 2)}, 3000),
        ({"step": range(5, 2, -1)}, 3000),
        ({"step": slice(None, 2)}, 2000),
        ({"step": slice(-2, None)}, 2000),
        ({"step": slice(50, 90)}, 0),
        ({"bad": True}, BAD),
        ({"bad": False}, EVENTS - BAD),
        ({"bad": True, "step": range(3)}, 0),
        ({"file": "synthetic.py", "line": 2}, 17 * STEPS),
    ],
)
def test_tensors_by(trace: Trace, asked: dict[str, str], count: int) -> None:
    assert len(trace.tensors(**asked)) == count  # type: ignore[arg-type]


def test_tensors_of_one_op(trace: Trace) -> None:
    tensors = trace.tensors(op=trace.ops(type="Log")[1])
    assert {tensor.name for tensor in tensors} == {"layer_1/Log_14:0"}
    assert [tensor.step for tensor in tensors] == trace.steps == [0, 1, 2, 3, 4, 5]


def test_a_selection_is_a_sequence(trace: Trace) -> None:
    tensors = trace.tensors(layer="layer_3")
    assert [tensor.name for tensor in tensors[:2]] == ["layer_3/MatMul_30:0", "layer_3/BiasAdd_31:0"]
    assert tensors[-1].step == 5 and tensors[::-1][0].name == tensors[-1].name
    assert len(tensors[5:].health["nan"]) == len(tensors) - 5
    assert len(tensors[99:].to_dict()["name"]) == 0
    with pytest.raises(IndexError):
        tensors[60]


def test_health_is_columns(trace: Trace) -> None:
    health = trace.tensors(bad=True).health
    assert health["bad"].all() and health["nan"].tolist() == [2] * BAD and health["first_bad"].tolist() == [7] * BAD
    assert health["step"].min() == 3 and set(health["dtype"]) == {"float32"}
    everything = trace.tensors().health
    assert everything["elements"][:4].tolist() == [1, 32, 32 * 64, 64 * 64]
    assert everything["first_bad"][0] == -1 and everything["process"][0] == 0
    assert np.isnan(everything["mean"]).all() and everything["max"][0] == 2.5
    assert "nan" in everything and "shape" not in everything and len(everything) == 19


def test_to_dict_fits_a_data_frame(trace: Trace) -> None:
    columns = trace.tensors(layer="layer_9").to_dict()
    assert type(columns) is dict and {column.shape for column in columns.values()} == {(10 * STEPS,)}
    assert (
        columns["name"][0] == "layer_9/MatMul_90" and columns["layer"][0] == "layer_9" and columns["op"][0] == "MatMul"
    )
    assert columns["file"][0].endswith("synthetic.py") and columns["line"][0] == 32


def test_first_bad(trace: Trace) -> None:
    first = trace.tensors().first_bad()
    assert first is not None and first.bad and first.step == 3
    assert trace.tensors(step=0).first_bad() is None


# ---- one tensor


def test_inputs_and_consumers_are_of_the_same_step(trace: Trace) -> None:
    log = trace.tensors("layer_0/Log_4", step=4)[0]
    assert [(one.name, one.step) for one in log.inputs()] == [("layer_0/Mul_3:0", 4)]
    assert [(one.name, one.step) for one in log.consumers()] == [("layer_0/Sum_5:0", 4)]
    assert log.consumers(limit=0) == []
    assert "Log layer_0/Log_4:0" in repr(log) and "synthetic.py:5 step 4" in repr(log)


def test_a_tensor_says_what_was_in_it(trace: Trace) -> None:
    tensor = trace.tensors("layer_0/Relu_2", step=1)[0]
    assert (tensor.dtype, tensor.shape, tensor.iteration, tensor.layer) == ("float32", (32, 64), 0, "layer_0")
    assert tensor.health["pos"] == 34 and tensor.health["step"] == 1 and tensor.value is None and not tensor.bad
    assert tensor.source is not None and tensor.source.line == 3
    assert tensor.source.code == Path(synthetic.__file__).read_text().splitlines()[2].strip()


def test_source_is_the_text_that_ran(trace: Trace) -> None:
    assert trace.source("synthetic.py") == Path(synthetic.__file__).read_text()


# ---- several processes, other modes


@pytest.fixture
def two(tmp_path: Path) -> Trace:
    for _ in range(2):
        synthetic.write(tmp_path / "two", 2000, bad=1)
    return tensorsleuth.open(tmp_path / "two")


def test_processes_one_after_the_other(two: Trace) -> None:
    tensors = two.tensors("layer_0/Log_4")
    assert tensors.health["process"].tolist() == [0, 0, 1, 1] and tensors.health["step"].tolist() == [0, 1, 0, 1]
    assert [tensor.health["process"] for tensor in tensors[1:3]] == [0, 1]
    assert tensors[::-1].health["process"].tolist() == [1, 1, 0, 0]
    assert len(two.ops(name="layer_0/Log_4")) == 2 and two.steps == [0, 1]
    assert two.tensors(op=two.ops(type="Log")[-1]).health["process"].tolist() == [1, 1]


def test_what_a_mode_does_not_record_is_not_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "HEALTHY", EventFlag.LOOKED)
    health = tensorsleuth.open(synthetic.write(tmp_path / "curt", 10, bad=1)).tensors().health
    assert (
        set(health["nan"]) == set(health["pos"]) == {-1} and np.isnan(health["max"]).all() and health["bad"].sum() == 1
    )


def test_what_the_catalogue_does_not_name_is_still_counted(tmp_path: Path) -> None:
    run = synthetic.write(tmp_path / "nameless", 10, bad=1)
    next(run.glob("p-*/catalog.journal")).unlink()
    trace = tensorsleuth.open(run)
    first = trace.tensors().first_bad()
    assert first is not None and first.inputs() == [] == first.consumers() and first.source is None
    assert len(trace.tensors(".*")) == 0 and trace.ops() == [] and trace.tensors().to_dict()["op"][0] == "?"


def test_a_run_without_processes_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    trace = tensorsleuth.open(tmp_path)
    assert len(trace.tensors(bad=True)) == len(trace.tensors().to_dict()["nan"]) == 0
    assert not any([trace.ops(), trace.steps, trace.variables(), trace.tensors().first_bad()])
    with pytest.raises(tensorsleuth.SleuthError, match="no step 0: the run has no training steps"):
        trace.tensors(step=0)


# ---- questions that make no sense


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"name": "dense["}, r"name 'dense\[' is not a regular expression: .*pass re.escape\('dense\['\)"),
        ({"op": "(Log"}, r"type '\(Log' is not a regular expression"),
        ({"layer": "*"}, r"layer '\*' is not a regular expression"),
        ({"step": 6}, r"there is no step 6: the run has steps from 0 to 5\. trace\.steps lists them"),
        ({"step": "first"}, r"step is 'first'; it must be a number, a range or a slice"),
    ],
)
def test_nonsense_is_named(trace: Trace, asked: dict[str, str], sentence: str) -> None:
    with pytest.raises(tensorsleuth.SleuthError, match=sentence):
        trace.tensors(**asked)  # type: ignore[arg-type]


def test_unknown_columns_and_files_are_named(trace: Trace) -> None:
    with pytest.raises(tensorsleuth.SleuthError, match=r"^there is no column 'nans'\. Take one of process, step, "):
        trace.tensors().health["nans"]
    with pytest.raises(tensorsleuth.SleuthError, match=r"no source of 'train\.py'\. It kept 1 files: .*synthetic"):
        trace.source("train.py")


# ---- diagnose


ORDERS = {
    "alone": "import tensorsleuth",
    "after a part": "import tensorsleuth, tensorsleuth.diagnose.report",
    "before a part": "import tensorsleuth; tensorsleuth.diagnose; import tensorsleuth.diagnose.health_words",
    "part under a name": "import tensorsleuth.diagnose.report as report; import tensorsleuth; report.diagnose",
    "from the package": "import tensorsleuth; from tensorsleuth import diagnose; diagnose.__call__",
    "from the subpackage": "from tensorsleuth.diagnose import diagnose; import tensorsleuth",
    "command line": "import tensorsleuth.cli.commands.why, tensorsleuth.diagnose.report, tensorsleuth",
}


@pytest.mark.parametrize("order", ORDERS)
def test_diagnose_in_every_order_of_imports(run: Path, order: str) -> None:
    ask = f"{ORDERS[order]}\ntrace = tensorsleuth.open({str(run)!r})\n"
    ask += f"print(*(len(tensorsleuth.diagnose(run).masked) for run in (trace, {str(run)!r})))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    assert first == second != "0"


def test_diagnose_says_what_it_is() -> None:
    assert "tensorsleuth.diagnose(run)" in str(tensorsleuth.diagnose.__doc__)
    with pytest.raises(tensorsleuth.SleuthError, match="no run 'none'"):
        tensorsleuth.diagnose("none")


# ---- a million


@pytest.fixture
def million(tmp_path: Path) -> Trace:
    return tensorsleuth.open(synthetic.write(tmp_path / "million", 1_000_000))


def test_a_million_events_are_asked_in_seconds(million: Trace) -> None:
    start = time.process_time()
    assert len(million.tensors(".*Log.*", step=range(100, 200), layer=r"layer_\d")) == 1000
    assert million.tensors(op="Log").health["nan"].sum() >= 0
    first = million.tensors(bad=True).first_bad()
    assert first is not None and first.consumers()
    assert time.process_time() - start < 4.0  # 1 on an idle machine; `make bench` has the narrow bound
