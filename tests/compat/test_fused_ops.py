"""Rows of fused ops are of the ops that they are said to be of, whether TensorFlow uses oneDNN or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ROWS = {  # the rows that each function has, whatever is fused
    "dense, relu": ["Relu"],
    "dense, tanh": ["Tanh"],
    "dense, gelu": ["BiasAdd"],
    "dense, approximate gelu": ["BiasAdd", "Gelu/mul_1", "Gelu/Tanh"],
    "dense, residual, relu": ["add", "Relu"],
    "conv, relu": ["Relu"],
    "pad, conv, relu": ["Pad", "Relu"],
    "conv1d, relu": ["BiasAdd", "Relu"],
    "attention": ["add", "Softmax", "MatMul_1"],
}


@pytest.fixture(scope="module", params=["without oneDNN", "with oneDNN"])
def recorded(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    environment = os.environ | {
        "TF_ENABLE_ONEDNN_OPTS": str(int(request.param == "with oneDNN")),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.compat.fused_ops"]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("function", ROWS)
def test_rows_are_of_the_ops_that_they_name(recorded: dict[str, dict[str, Any]], function: str) -> None:
    found = recorded[function]
    assert found["same"], "the recorded function computes other bits"
    assert not found["wrong"]
    assert set(ROWS[function]) <= set(found["seen"])


def test_a_function_that_the_optimizer_fails_on_is_watched_from_its_second_call(
    recorded: dict[str, dict[str, Any]],
) -> None:
    """With oneDNN, TensorFlow's remapper breaks the graph of relu(dense(x) + x), and runs it unoptimised."""
    found = recorded["dense, residual, relu"]
    assert found["not covered"] in ([], ["the graph optimizer did not see it, or failed on it"])
    assert "Relu" in found["seen"]
