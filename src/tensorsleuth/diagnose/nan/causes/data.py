"""A value that was bad when TensorFlow first saw it: in the data, in an initial value, in a checkpoint."""

from __future__ import annotations

import math

from tensorsleuth.core.catalog import Site
from tensorsleuth.core.ops.data_ops import FILE_READS, STORED_VALUES
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES
from tensorsleuth.diagnose.health_words import describe_index
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.data_source import arrival_batch, data_site, reads_csv, source_words
from tensorsleuth.diagnose.nan.unseen_pipeline import UnseenPipeline
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

IN_DATASET = "nan-in-dataset-function"
MAX_LINES = 3  # in a sentence
OPS = EXTERNAL_SOURCES | STORED_VALUES


def match(case: Case) -> Explanation | None:
    if case.out.constant is not None:
        return Explanation(_slug(case.out), 0.9, f"{_constant_words(case)}{source_words(case)}", _CAPTURED)
    if case.variable_write is not None or not (case.origin.from_outside or _unwritten(case)):
        return None
    what = _bad_value_word(case.out)
    where = describe_index(case.out.first_bad)
    if case.op in FILE_READS:
        return Explanation("nan-in-checkpoint", 0.95, f"restores a value that is {what} ({where})", _CHECKPOINT)
    if _unwritten(case):
        return Explanation(
            "nan-initial-value", 0.7, f"reads a variable that held {what} before anything wrote it ({where})", _INITIAL
        )
    loaded = _loaded_into_variable(case)
    if loaded is not None:
        return loaded
    site = data_site(case)
    if _is_from_unseen_function(case):
        return _from_unseen_function(case, f"{what} from a dataset ({where})", site)
    why = f"feeds {what} ({where}): it is in the data{_batch(case)}{source_words(case, site)}"
    return Explanation(_slug(case.out), 0.9, why, _fix(case), site=site)


def _slug(one: ObservedTensor) -> str:
    return "nan-in-data" if one.has_nan else "inf-in-data"


def _is_from_unseen_function(case: Case) -> bool:
    """Return whether it came from a dataset of which nothing was recorded, as in a session: a function may make it."""
    return case.out.op.startswith("IteratorGetNext") and not case.finder.datasets_behind(case.out)


def _from_unseen_function(case: Case, what: str, site: Site | None) -> Explanation:
    """Judge by the graphs of the functions, and by what the dataset was made of."""
    pipeline, slug = UnseenPipeline(case), _slug(case.out)
    suspects, bad_before = pipeline.suspects if pipeline else [], pipeline.is_bad_from_start if pipeline else None
    if bad_before:
        why = f"gives {what}: it is in the array that the dataset was made of"
        return Explanation(slug, 0.9, why, _CLEAN_ELEMENTS, site=pipeline.source_site() or site)
    lines = [one.site.frame for one in suspects if one.site is not None and one.site.frame is not None]
    if len(suspects) == len(lines) == 1:
        finite = ", and the array that it was made of is finite" if bad_before is False else ""
        why = f"most likely makes {what} with {suspects[0].type}: no other op of its functions can{finite}"
        return Explanation(IN_DATASET, 0.85 if finite else 0.7, why, _UNSEEN, site=suspects[0].site)
    if suspects:
        places = " and ".join(f"line {frame.line}" for frame in lines[:MAX_LINES])
        told = f"one of its functions made it{f', in {places}' if places else ''}"
        either = told if bad_before is False else f"it is in the data, or {told}"
        return Explanation(slug, 0.5, f"takes {what}: {either}", _UNSEEN, site=site)
    if pipeline:
        why = f"takes {what}: it is in the data, for no op of its functions can make one"
        return Explanation(slug, 0.75, why, _CLEAN_ELEMENTS, site=site)
    why = f"takes {what}: it is in the data, or a function of the dataset made it"
    return Explanation(slug, 0.5, why, _UNSEEN, site=site)


def _constant_words(case: Case) -> str:
    """Describe a bad array that became a constant of a function when it was traced."""
    constant = case.out.constant or ()
    at = next((number for number, value in enumerate(constant) if not math.isfinite(value)), 0)
    where = f" (element {at} of {len(constant)})" if len(constant) > 1 else ""
    return f"takes an array that holds {_bad_value_word(case.out)}{where}: it was bad before TensorFlow saw it"


def _fix(case: Case) -> str:
    if arrival_batch(case) is None and not case.finder.datasets_behind(case.out):
        return _CLEAN
    return _CLEAN_FILE if reads_csv(case) else _CLEAN_ELEMENTS


def _batch(case: Case) -> str:
    """Describe the batch with the bad element of a dataset, and its place in that batch."""
    batch = arrival_batch(case)
    if batch is None or batch is case.out:
        return ""
    moment = case.finder.call_graphs.graph_of(batch)
    fit = case.process.batches.of_call(moment.call)
    told = f" ({fit})" if fit is not None and str(fit) else ""
    of_step = f" of step {moment.step}{told}" if moment.step is not None else ""
    return f", and comes in at {describe_index(batch.first_bad)} of the batch{of_step}"


def _bad_value_word(one: ObservedTensor) -> str:
    return "NaN" if one.has_nan else "∞" if one.count("pos_inf") else "−∞"


def _unwritten(case: Case) -> bool:
    return case.op == "ReadVariableOp" and not case.inputs


def _loaded_into_variable(case: Case) -> Explanation | None:
    """Describe a value that was written to a variable without a gradient: an initial or a loaded value."""
    moments, variables = case.finder.call_graphs, case.finder.variables
    for handle, key in case.spread.variables.items():
        if key not in case.spread.forward or not _is_assigned(case, handle):
            continue
        call = next((w.call for w in variables.writes_of(handle) if any(v.bad for v in w.values)), -1)
        earlier = variables.last_write(handle, call)
        name, where = variables.name(handle), describe_index(case.out.first_bad)
        if earlier is None:
            why = f"gives {name} a first value that is {_bad_value_word(case.out)}"
            return Explanation("nan-initial-value", 0.9, why, _INITIAL)
        if moments.calls.step(call) in (None, 0):
            why = f"loads {_bad_value_word(case.out)} into {name} ({where}): what was saved is bad"
            return Explanation("nan-in-checkpoint", 0.85, why, _CHECKPOINT)
    return None


def _is_assigned(case: Case, handle: int) -> bool:
    writes = case.finder.variables.writes_of(handle)
    first_bad = next((write for write in writes if any(value.bad for value in write.values)), None)
    return first_bad is not None and first_bad.op == "AssignVariableOp" and first_bad.node is None


_CAPTURED = (
    "check the array where the program computes it: np.isfinite(array).all(); a division by 0 is the usual cause"
)
_CLEAN = "check the data before it goes in: np.isfinite(array).all(), and drop or fill what is missing"
_CLEAN_FILE = (
    "find it in the file: sleuth data check FILE.csv; drop or fill what is missing, or have the pipeline leave it out: "
    "dataset.apply(tensorsleuth.checked(schema, on_violation='skip'))"
)
_CLEAN_ELEMENTS = (
    "find it in the files with sleuth data check, or in the pipeline with dataset.apply(tensorsleuth.checked(schema)), "
    "which can leave it out; drop or fill what is missing"
)
_UNSEEN = (
    "check the elements before and after each function of the dataset: tf.debugging.check_numerics in the function "
    "raises at the op that makes it"
)
_CHECKPOINT = "what was saved had diverged already: load an earlier checkpoint, and check it: np.isfinite(value).all()"
_INITIAL = "look at how the first value is computed, or at what was loaded into it"
