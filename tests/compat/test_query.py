"""The Python API on a real program, and the examples of docs/api.md on the program that stands there."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "docs/api.md").read_text(), re.S)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:random")  # what Keras 2.15 does when seeded
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    program, *examples = BLOCKS
    Path("train.py").write_text(program)
    runpy.run_path(str(tmp_path / "train.py"), run_name="__main__")
    names: dict[str, object] = {}
    for number, example in enumerate(examples, 1):
        exec(compile(example, f"docs/api.md, example {number}", "exec"), names)
    said = capfd.readouterr().out
    assert "takes log(0)" in said and "train.py 18 likely = tf.math.log(model(x))" in said
    assert "[0, 1, 2, 3, 4, 5]" in said and "is not a regular expression" in said


def small_program() -> None:
    weight = tf.Variable([2.0, 3.0], name="weight")

    @tf.function
    def loss(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("model/encoder"):
            shifted = x * weight - 2.0  # shifted
            for _ in tf.range(3):
                shifted = tf.sqrt(shifted)  # root
        weight.assign_add(shifted)
        return tf.reduce_sum(shifted)  # total

    start = tf.constant([1.0, 1.0]) + 0.0  # start
    total = loss(start)
    tf.exp(total)  # exp


@pytest.fixture
def trace(recorded: Callable[..., Trace]) -> Trace:
    return recorded(small_program, mode="FULL_TENSOR")


def test_a_program_is_asked(trace: Trace) -> None:
    (root,) = trace.ops(type="Sqrt")
    assert root.layer == "model/encoder" and root.line == marked("root") and root.function == "loss"
    roots = trace.tensors(op="Sqrt", layer="encoder")
    assert roots.health["iteration"].tolist() == [0, 1, 2]
    assert [root.value.tolist()[0] for root in roots if root.value is not None] == [0.0, 0.0, 0.0]
    assert ("Sqrt", 0) in [(one.op.type, one.iteration) for one in roots[1].inputs()]
    assert [op.type for op in trace.ops(file=os.path.basename(__file__), line=marked("exp"))] == ["Exp"]


def test_tensors_are_followed_between_eager_ops_and_functions(trace: Trace) -> None:
    start = trace.tensors(op="AddV2", line=marked("start"))[0]
    assert [taker.op.type for taker in start.consumers()] == ["Mul"]
    total = trace.tensors(op="Sum")[0]
    assert [(taker.op.type, taker.op.graph) for taker in total.consumers()] == [("Exp", None)]
    exp = total.consumers()[0]
    assert [one.op.type for one in exp.inputs()] == ["Sum"] and exp.layer is None
    assert exp.source is not None and exp.source.code == "tf.exp(total)  # exp"
    last = trace.tensors(op="Sqrt")[-1]
    assert {taker.op.type for taker in last.consumers()} >= {"AssignAddVariableOp", "Sum"}
    written = next(taker for taker in last.consumers() if taker.op.type == "AssignAddVariableOp")
    assert written.row is None and written.health == {} and "not seen" in repr(written) and written.inputs()


def test_variables(trace: Trace) -> None:
    (weight,) = trace.variables()
    assert weight.name.startswith("weight") and weight.shape == (2,) and weight.trainable
    assert [op.type for op in weight.writes] == ["AssignAddVariableOp"]
    assert "ReadVariableOp" in {op.type for op in weight.reads}
    assert tensorsleuth.diagnose(trace).verdict == "healthy"
