"""Ops that are a whole optimizer: where their learning rate goes in."""

from __future__ import annotations

_RESOURCE = "Resource"  # begins the names of the same ops for resource variables
_RATE_INPUTS = {
    **dict.fromkeys(("ApplyGradientDescent", "ApplyProximalGradientDescent"), 1),
    **dict.fromkeys(("ApplyMomentum", "ApplyKerasMomentum", "ApplyAdagrad", "ApplyAdagradV2"), 2),
    **dict.fromkeys(("ApplyRMSProp", "ApplyAdadelta"), 3),
    **dict.fromkeys(("ApplyCenteredRMSProp", "ApplyAdaMax"), 4),
    "ApplyAdam": 5,
}


def rate_input(op: str) -> int | None:
    """Return which input of an optimizer's op is the learning rate; None if it is no such op, or not known."""
    return _RATE_INPUTS.get(op.removeprefix(_RESOURCE))
