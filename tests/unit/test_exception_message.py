"""The sentence of an exception that was raised while a function was traced."""

from __future__ import annotations

from tensorsleuth.diagnose.exits.exception_message import plain_message

TRACED = """in user code:

    File "net.py", line 13, in forward  *
        return b(h)
    File "net.py", line 7, in __call__  *
        return tf.matmul(x, self.kernel)

    ValueError: Dimensions must be equal, but are 16 and 12 for '{{node MatMul_1}} = MatMul[T=DT_FLOAT, \
grad_a=false](MatMul, MatMul_1/ReadVariableOp)' with input shapes: [2,16], [12,4].
"""
KERAS = 'Input 0 of layer "dense" is incompatible with the layer: expected shape (2, 12), found shape=(2, 16)'


def test_the_shapes_come_first_and_the_stack_does_not() -> None:
    said = plain_message(TRACED)
    assert said.startswith("MatMul got the shapes [2,16], [12,4]. Dimensions must be equal, but are 16 and 12")
    assert "called from net.py:13" in said and "user code" not in said


def test_other_messages_stay() -> None:
    assert plain_message(KERAS) == KERAS
    assert plain_message("") == ""
    assert plain_message("one\n\ntwo") == "one two"
    assert plain_message("in user code:") == "in user code:"


def test_a_key_error_writes_its_text_as_a_literal() -> None:
    text = 'in user code:\n\n    File "gan.py", line 3, in step  *\n        go()\n\n    KeyError: no\n'
    assert plain_message(str(KeyError(text))) == "no"


def test_what_keras_tried_to_infer_is_left_out() -> None:
    inner = "Iterating over a symbolic tf.Tensor is not allowed"
    tried = "Could not automatically infer the output shape / dtype of 'decoder'.\n\nError encountered:\n\n"
    said = plain_message(f"Exception encountered when calling D.call().\n\n\x1b[1m{tried}{inner}\x1b[0m\n\nArguments")
    assert said == inner


def test_what_keras_2_puts_around_a_message() -> None:
    inner = 'in user code:\n\n    File "a.py", line 7, in call  *\n        x = f(x)\n\n    ValueError: 1 and 101 differ'
    around = (
        "Exception encountered when calling layer 'ncf' (type NCF).\n\n{}\n\nCall arguments received by layer 'ncf'"
    )
    assert plain_message(around.format(inner) + " (type NCF):\n  • x=1") == "1 and 101 differ"
    assert plain_message(around.format("no such thing") + " (type NCF):\n  • x=1") == "no such thing"
    assert (
        plain_message("Exception encountered when calling it. Twice") == "Exception encountered when calling it. Twice"
    )
