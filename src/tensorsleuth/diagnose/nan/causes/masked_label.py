"""A label at a position whose logit is masked with −∞: the loss is infinite, or 0 · −∞ if the label is 0."""

from __future__ import annotations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES, DENSE_CROSS_ENTROPY
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.masked_logits import infinite_loss_logits, mask_of
from tensorsleuth.diagnose.nan.origins import is_literal
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

OPS = CROSS_ENTROPIES | {"Neg"}


def match(case: Case) -> Explanation | None:
    if not case.origin.from_infinity or case.differentiates is not None:
        return None
    logits = infinite_loss_logits(case.finder.call_graphs, case.out)
    if logits is not None:
        return _explained(case, logits, _infinite_words(case), _LABELS)
    logits = case.input(0)
    if case.op != DENSE_CROSS_ENTROPY or logits is None or not _has_finite_rows(case, logits):
        return None
    return _explained(case, logits, _ZERO_WORDS, _FINITE)


def _explained(case: Case, logits: ObservedTensor, words: str, fix: str) -> Explanation:
    """Return the story at the line that masked the logits, if it is another than that of the loss."""
    mask = mask_of(case.finder.call_graphs, logits, is_literal)
    site = mask.tensor.site if mask is not None else None
    frame = site.frame if site is not None else None
    own = case.site.frame if case.site is not None else None
    evidence = (mask,) if mask is not None and mask.key != logits.key else ()
    if frame is None or frame == own or mask is None:
        return Explanation("masked-label", 0.95, words, fix)
    why = f"masks logits with −∞ ({mask.op}), and then {_place(own)} {words}"
    return Explanation("masked-label", 0.95, why, fix, frame=frame, evidence=evidence)


def _place(frame: Frame | None) -> str:
    return f"line {frame.line}" if frame is not None else "the loss"


def _infinite_words(case: Case) -> str:
    count, total = case.out.count("pos_inf"), case.out.elements
    losses = f"{count:,} of {total:,} losses are" if total > 1 else "the loss is"
    return f"takes the log probability of labels there, which is −∞: {losses} infinite"


def _has_finite_rows(case: Case, logits: ObservedTensor) -> bool:
    """Return whether rows became NaN that cannot all be masked from end to end."""
    shape = logits.shape
    width = shape[-1] if shape else 0
    return 0 < logits.count("neg_inf") < case.out.count("nan") * width


_ZERO_WORDS = "multiplies labels of 0 by the log probability there, and 0 · −∞ is NaN"
_LABELS = (
    "give no label to what is masked, or do not mask it. Where labels are probabilities, set those to 0, divide the "
    "others by their sum, and mask with a large finite number (-1e9), for 0 · −∞ is NaN"
)
_FINITE = "mask with a large finite number (-1e9) in place of −∞, or take the sparse cross-entropy"
