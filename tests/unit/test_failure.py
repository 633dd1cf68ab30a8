"""What sort of error a message of TensorFlow's tells of, and which of its sentences is shown."""

from __future__ import annotations

import pytest

from tensorsleuth.core.catalog import FailedCall
from tensorsleuth.diagnose.exits.failure import FatalError, error_kind

BY_A_MODEL = (
    'Graph execution error:\n\nassertion failed: [The maximum value of input_ids (Tensor(\\"bert/Max:0\\", shape=(), '
    "dtype=int32)) must be smaller than the embedding layer\\'s input dimension (50). The likely cause is some problem "
    "at tokenization time.] [Condition x < y did not hold element-wise:] [x (bert/Cast:0) = ] [[1 5 5...]...] "
    "[y (bert/Cast/x:0) = ] [50]\n\t [[{{node bert/assert_less/Assert/Assert}}]] [Op:__inference_step_1]"
)
BY_HAND = "assertion failed: [Condition x > y did not hold element-wise:] [x (shape:0) = ] [1 0] [y (y:0) = ] [0]"
OF_SHAPES = "Incompatible shapes: [3] vs. [4] [Op:AddV2] name: "


def test_the_kind_of_an_error() -> None:
    assert error_kind(BY_A_MODEL).cause == "index-out-of-range" and "resize_token_embeddings" in str(
        error_kind(BY_A_MODEL).fix
    )
    assert error_kind(BY_HAND).cause == "tensorflow-error"  # though a shape is in it
    assert error_kind(OF_SHAPES).cause == "shape-mismatch"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            BY_A_MODEL,
            "The maximum value of input_ids must be smaller than the embedding layer's input dimension (50). "
            "The likely cause is some problem at tokenization time.",
        ),
        (BY_HAND, BY_HAND),
        (OF_SHAPES, "Incompatible shapes: [3] vs. [4] [Op:AddV2] name:"),
    ],
)
def test_the_sentence_that_is_shown(message: str, shown: str) -> None:
    failure = FailedCall(1, 1, "InvalidArgumentError", message, ())
    assert FatalError(failure, error_kind(message), "Assert", "assert", None, 0, ()).message == shown
