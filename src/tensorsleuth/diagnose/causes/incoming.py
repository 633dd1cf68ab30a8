"""The value was bad when TensorFlow first saw it: in the data, in a variable's first value, in a checkpoint."""

from __future__ import annotations

from tensorsleuth.diagnose.case import Case, Story

_DATA = (
    "Argument",
    "IteratorGetNext",
    "IteratorGetNextSync",
    "Const",
    "PyFunc",
    "EagerPyFunc",
    "DecodeCSV",
    "ParseExampleV2",
)
_RESTORE = ("RestoreV2", "ReadFile")


def match(case: Case) -> Story | None:
    position = case.out.row["first_bad"] if case.out.row is not None else None
    where = f"element {int(position):,}" if position is not None else "an element"
    if case.op in _RESTORE:
        return Story("nan-in-checkpoint", 0.95, f"restores a value that is not finite ({where})", _CHECKPOINT)
    if case.op in _DATA:
        return Story("nan-in-data", 0.9, f"feeds a value that is not finite ({where} of the batch)", _CLEAN)
    if case.op == "ReadVariableOp" and not case.inputs:
        return Story(
            "nan-initial-value", 0.7, "reads a variable that was not finite before anything trained it", _INITIAL
        )
    return None


_CLEAN = "check the data before it goes in: np.isfinite(array).all(), and drop or fill what is missing"
_CHECKPOINT = "the checkpoint was saved after training had diverged: restore an earlier one"
_INITIAL = "look at the initial value, or at what was loaded into it"
