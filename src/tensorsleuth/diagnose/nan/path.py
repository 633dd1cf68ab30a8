"""The path of a bad value from its origin to the harm that it did, in a handful of hops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from tensorsleuth.core.catalog import Site
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import DEBUG_OPS, VIEWS
from tensorsleuth.diagnose.nan.spread import Spread
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace

MAX_HOPS = 8
MAX_NAMES = 3
WRITTEN = "written to"


class Hop(NamedTuple):
    """A part of the path, in words, with its tensor."""

    text: str
    tensor: ObservedTensor | None = None


def chain_of(spread: Spread, variables: dict[int, str], computed: str | None = None) -> tuple[Hop, ...]:
    """Return one entry a hop: the op, its line and output if those change, and at the end the harm.

    `computed` is what TensorFlow's optimizer made of the first.
    """
    hops = _hops([one for one in spread.path if one.op not in VIEWS | DEBUG_OPS], computed)
    if len(hops) > MAX_HOPS:
        left_out = len(hops) - MAX_HOPS + 1
        hops = [*hops[: MAX_HOPS - 3], Hop(f"… {left_out} more ops …"), *hops[-2:]]
    return (*hops, *map(Hop, _last_hop(spread, variables)))


def _hops(path: list[ObservedTensor], first: str | None) -> list[Hop]:
    hops: list[Hop] = []
    place, badness = "", ""
    for one in path:
        op = first if first is not None and not hops else one.op
        name = f"gradient of {_forward(one)}" if one.is_gradient else op
        here, now = _place(_site(one)), _bad_value_word(one)
        said = [text for text, before in ((here, place), (now, badness)) if text and text != before]
        place, badness = here or place, now
        hop = f"{name} ({', '.join(said)})" if said else name
        if not hops or hops[-1].text != hop:
            hops.append(Hop(hop, one))
    return hops


def _forward(one: ObservedTensor) -> str:
    node, eager = one.tensor.node, one.tensor.eager
    if node is not None:
        return node.forward.type if node.forward is not None else node.type
    forward = one.process.catalogue.eager.get(eager.forward) if eager is not None else None
    return forward.type if forward is not None else one.op


def _site(one: ObservedTensor) -> Site | None:
    node, sites = one.tensor.node, one.process.catalogue.sites
    if node is not None and node.forward is not None:
        return sites.get(node.forward.site)
    return one.tensor.site


def _place(site: Site | None) -> str:
    frame = site.frame if site is not None else None
    return f"{os.path.basename(frame.file)}:{frame.line}" if frame is not None else ""


def _bad_value_word(one: ObservedTensor) -> str:
    if one.has_nan:
        return "NaN"
    return "−∞" if not one.count("pos_inf") else "+∞" if not one.count("neg_inf") else "±∞"


def _last_hop(spread: Spread, variables: dict[int, str]) -> Iterator[str]:
    if spread.variables:
        names = [variables.get(handle, "a variable") for handle in spread.written_variables[:MAX_NAMES]]
        more = len(spread.variables) - len(names)
        yield f"{WRITTEN} {', '.join(names)}{f' and {more} more' if more > 0 else ''}"
    elif spread.results:
        yield f"given to Python{_function(spread.reached[spread.results[0]])}"
    elif spread.refused:
        yield "refused by CheckNumerics, which raised"
    elif spread.raised:
        yield f"{next(iter(spread.raised.values())).type} was raised because of it"


def _function(one: ObservedTensor) -> str:
    process: ProcessTrace = one.process
    instance = one.tensor.instance
    for _ in range(100):
        if instance is None or instance.parent < 0:
            break
        instance = process.catalogue.instances.get(instance.parent)
    function = process.catalogue.functions.get(instance.function) if instance is not None else None
    name = program_name(function.name) if function is not None else ""
    return f" by {name}" if function is not None and name != function.name else ""
