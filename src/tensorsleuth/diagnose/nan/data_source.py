"""The line that fed a value to the program, and its batch."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.catalog import Frame, Site
from tensorsleuth.diagnose.nan.array_source import array_sources
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

MOST_SOURCES = 2  # lines: more of them help nobody


def data_site(case: Case) -> Site | None:
    """Return the farthest user line of the dataset's pipeline; else the line of the call that got the value."""
    finder, sites, out = case.finder, case.process.catalogue.sites, case.out
    if out.op == "Argument" and out.call >= 0:
        op = finder.call_graphs.calls.op(out.call)
        return sites.get(op.site) if op is not None else None
    found = (sites.get(op.site) for op, _ in reversed(finder.datasets_behind(out)))
    return next((site for site in found if site is not None and site.frame is not None), case.site)


def arrival_batch(case: Case) -> ObservedTensor | None:
    """Return the batch in which an element of a dataset reached the program."""
    return next((one for one in case.spread.reached.values() if one.op.startswith("IteratorGetNext")), None)


def data_frame(case: Case, site: Site) -> Frame | None:
    """Return the line that made the dataset, with the line in which its batch reached the program."""
    batch = arrival_batch(case) if case.origin.from_outside else None
    op = case.finder.call_graphs.calls.op(batch.call) if batch is not None and batch.call >= 0 else None
    used = case.process.catalogue.sites.get(op.site) if op is not None else None
    if site.frame is None or used is None or used.frame in (None, site.frame):
        return site.frame
    return replace(site.frame, shown_at=used.frame)


def source_words(case: Case, site: Site | None = None) -> str:
    """Name the lines of the program that may have computed it with NumPy or pandas, if they are few."""
    site = site if site is not None else case.site
    frame = site.frame if site is not None else None
    text = case.process.catalogue.sources.get(frame.file) if frame is not None else None
    found = array_sources(text, frame.line) if frame is not None and text is not None else []
    if not 1 <= len(found) <= MOST_SOURCES:
        return ""
    return f", and {' or '.join(f'line {one.line} ({one.code})' for one in found)} may have made it"


def reads_csv(case: Case) -> bool:
    """Return whether it was read from text: by an op, or by a dataset."""
    return case.op == "DecodeCSV" or any("csv" in op.type.lower() for op, _ in case.finder.datasets_behind(case.out))
