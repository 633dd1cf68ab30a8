"""Bad numbers that Python got, and that no origin explains: an infinity that was meant, data with holes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

from tensorsleuth.core.catalog import BadRead
from tensorsleuth.core.ops.kinds import (
    EXTERNAL_SOURCES,
    FEED,
    LITERALS,
    PYTHON_FUNCTIONS,
    SESSION_RUN,
    VARIABLE_READS,
    VIEWS,
)
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.process.process import ProcessTrace

MEANT_OPS = LITERALS | VARIABLE_READS | {FEED}  # what they put out, the program wrote down
MAX_LINES = 3  # that are told
MAX_VIEWS = 10  # between what is read and what was written down
MAX_ROWS = 10_000  # bad ones that are compared with what sessions fetch and Python functions take


def unexplained_reads(process: ProcessTrace) -> Iterator[str]:
    """Say which lines got a bad number, in a process in which nothing was found."""
    call_graphs = CallGraphs(process)
    reads = (read for read in process.catalogue.bad_reads.values() if not _is_meant(call_graphs, read))
    got = itertools.chain(((read.site, read.has_nan) for read in reads), _bad_hand_overs(process, call_graphs))
    lines = dict.fromkeys((_place(process, site), "a NaN" if has_nan else "an ∞") for site, has_nan in got)
    for place, kind in itertools.islice(lines, MAX_LINES):
        yield f"Python got {kind} in {place}, and what made it was not found"


def _is_meant(call_graphs: CallGraphs, bad_read: BadRead) -> bool:
    """Return whether a read shows an infinity that the program wrote down, alone or among finite numbers."""
    if bad_read.has_nan:
        return False
    seen = call_graphs.by_uid(bad_read.uid)
    for _ in range(MAX_VIEWS):  # a variable that is read comes through an Identity
        if seen is None or seen.op not in VIEWS:
            break
        slots = call_graphs.graph_of(seen).inputs_of(seen)
        seen = slots[0][0] if slots and slots[0] else None
    return bad_read.has_finite or (seen is not None and seen.op in MEANT_OPS)


def _bad_hand_overs(process: ProcessTrace, call_graphs: CallGraphs) -> Iterator[tuple[int, bool]]:
    """Yield the sites at which sessions returned, or Python functions took, a bad number; and whether it is a NaN."""
    sites = _fetched(process, call_graphs) | _given_to_python(process, call_graphs)
    for row in itertools.islice(process.bad_rows(), MAX_ROWS) if sites else ():
        site, tensor = sites.get(int(row["tensor"])), process.tensor(row["tensor"])
        is_all_bad = not any(row[name] for name in ("neg", "zero", "pos"))
        meant = tensor is None or tensor.type in (EXTERNAL_SOURCES | MEANT_OPS)
        if site is not None and not meant and (row["nan"] or is_all_bad):
            yield site, bool(row["nan"])


def _fetched(process: ProcessTrace, call_graphs: CallGraphs) -> dict[int, int]:
    """Return the tensors that sessions fetch, with the sites of these calls."""
    catalogue = process.catalogue
    runs = [op for op in catalogue.eager.values() if op.type == SESSION_RUN and op.instance in catalogue.instances]
    return {
        source.tensor: op.site
        for op in runs
        for output in range(op.outputs)
        for source in call_graphs.flow.output_sources(catalogue.instances[op.instance], output)
    }


def _given_to_python(process: ProcessTrace, call_graphs: CallGraphs) -> dict[int, int]:
    """Return the tensors that functions hand to `tf.py_function` and the like, with the sites of these ops."""
    return {
        source.tensor: node.site
        for instance, function in process.catalogue.called_functions()
        for number, node in enumerate(function.nodes)
        if node.type in PYTHON_FUNCTIONS
        for slot in call_graphs.flow.input_sources(instance, number)
        for source in slot
    }


def _place(process: ProcessTrace, site_id: int) -> str:
    site = process.catalogue.sites.get(site_id)
    frame = site.frame if site is not None else None
    return f"{os.path.basename(frame.file)}:{frame.line}" if frame is not None else "an unknown line"
