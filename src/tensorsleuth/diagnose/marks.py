"""The expression to mark in the line of a finding."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.catalog import Frame, Span
from tensorsleuth.diagnose.expressions import Expressions
from tensorsleuth.trace.process.process import ProcessTrace

# Keyword arguments to change, by cause, of the call that made a layer, an optimizer or a loss.
_RATE = ("learning_rate", "lr", "optimizer")
_LOSS = ("from_logits", "loss")
ARGUMENTS = {
    "exploding-gradients": _RATE,
    "flat-loss": _RATE,
    "frozen-weights": _RATE,
    "learning-rate": _RATE,
    "learning-rate-too-high": _RATE,
    "logits-as-probabilities": _LOSS,
    "loss-rose": _RATE,
    "no-warmup": _RATE,
    "probabilities-as-logits": _LOSS,
    "saturated-layer": ("activation",),
}


def marked(process: ProcessTrace, frame: Frame | None, cause: str, op: str) -> Frame | None:
    """Return the frame with the expression that it is about, and with the line that this begins in."""
    if frame is None:
        return None
    expressions = process.cached(Expressions)
    if frame.span is None:
        return replace(frame, span=expressions.of_op(frame, op))
    span: Span = expressions.argument(frame, ARGUMENTS.get(cause, ())) or frame.span
    return replace(frame, span=span, line=span.line)
