"""An attention mask that is inverted, leaves padding visible, hides tokens, or lies along the wrong axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.violation import Violation
from tensorsleuth.diagnose.attention.masks.mask_path import MaskPath
from tensorsleuth.diagnose.attention.masks.multiplied_masks import MultipliedMasks
from tensorsleuth.diagnose.attention.masks.observed_mask import MASK_OF_QUERIES
from tensorsleuth.diagnose.attention.masks.padded_attention import UNNAMED_MASK, AttentionOverPadding, PaddedAttention
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import RepeatedViolation, repeated_violations
from tensorsleuth.diagnose.inputs.token_wording import token_finding
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.trace.process.process import ProcessTrace

MASK_RULES = ("mask-inverted", "mask-open", "mask-covers")
SHAPE_RULES = ("token-shape",)
MAY_BE_INTENDED = ("mask-covers",)  # tokens may be hidden on purpose; scores far apart underflow to the same zeros


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    multiplied = process.cached(MultipliedMasks)  # these hide nothing, whatever they are
    masked = [
        one for one in process.cached(PaddedAttention).all if one.masks and not multiplied.of_softmax(one.ops.softmax)
    ]
    found = ((over, finding) for over in masked for finding in _judge(process.cached(ModelInputs), over))
    yield from merge_same_line(replace(finding, about=(over.ops.name,)) for over, finding in found)


RULE = Rule(
    id="attention-mask",
    severity=Severity.WRONG,
    find=find,
    causes=(*MASK_RULES, *SHAPE_RULES, MASK_OF_QUERIES, "token-dtype"),
)


def _judge(model_inputs: ModelInputs, attention_over_padding: AttentionOverPadding) -> Iterator[RuleFinding]:
    softmax, seen = attention_over_padding.ops.softmax, attention_over_padding.observed_mask
    series, taker = attention_over_padding.mask_source
    way, layer = MaskPath(model_inputs, softmax, series), model_inputs.training.layer(softmax)
    does = (
        f"masks attention{f' ({layer})' if layer else ''} over {attention_over_padding.ids.name}, as its weights show"
    )
    along = list(_wrong_axis(model_inputs, attention_over_padding, way, does))
    yield from along
    for found in repeated_violations(attention_over_padding.steps, seen.judge, MASK_RULES) if not along else ():
        wraps = way.wrapping_op() if found.violation.rule not in MAY_BE_INTENDED else None
        if wraps is not None:
            yield _wraparound(way, found, wraps, does)
        else:
            yield _key_mask_finding(model_inputs, attention_over_padding, found, taker, does, way)


def _wrong_axis(
    model_inputs: ModelInputs, attention_over_padding: AttentionOverPadding, way: MaskPath, does: str
) -> Iterator[RuleFinding]:
    """Yield a mask along the wrong axis. Its other effects follow from that."""
    seen, attends = (
        attention_over_padding.observed_mask,
        model_inputs.training.frame(attention_over_padding.ops.softmax),
    )
    frame, shape = way.widening_line()
    for found in repeated_violations(attention_over_padding.steps, seen.laid_over_queries, SHAPE_RULES):
        yield token_finding(found, does, attends, "Softmax")
        return
    for found in repeated_violations(attention_over_padding.steps, seen.laid_over_heads, SHAPE_RULES):
        yield token_finding(found, does, frame or attends, "Softmax")
        return
    for found in repeated_violations(
        attention_over_padding.steps, lambda step: seen.masks_queries(step, shape), (MASK_OF_QUERIES,)
    ):
        yield token_finding(found, does, frame or way.making_line() or attends, "Softmax")


def _wraparound(way: MaskPath, found: RepeatedViolation, wraps: OpNode, does: str) -> RuleFinding:
    """Return the finding of a mask that was right until unsigned numbers wrapped around."""
    assert wraps.graph_node is not None
    dtype = dtype_of(wraps.graph_node.dtypes[0])
    said = f"{2 ** (8 * dtype.itemsize) - 1:,}: {dtype.name} is unsigned and wraps around"
    wrong = Violation("token-dtype", found.violation.name, "-1 on padding", said, change=_SIGNED)
    return token_finding(replace(found, violation=wrong), does, way.user_line(wraps), wraps.type)


def _key_mask_finding(
    model_inputs: ModelInputs,
    attention_over_padding: AttentionOverPadding,
    found: RepeatedViolation,
    taker: OpNode,
    does: str,
    way: MaskPath,
) -> RuleFinding:
    name = attention_over_padding.observed_mask.name
    frame = model_inputs.entry(taker) if name != UNNAMED_MASK else way.making_line() or _line(model_inputs, taker)
    does = f"is given {name}, which {does}" if name != UNNAMED_MASK else does
    return token_finding(found, does, frame, taker.type, found.violation.rule not in MAY_BE_INTENDED)


_SIGNED = "cast the mask before it is subtracted from: tf.cast(mask, tf.float32) - 1.0; or subtract it, 1 - mask"


def _line(model_inputs: ModelInputs, op_node: OpNode) -> Frame | None:
    site = model_inputs.training.neighbours.site(op_node)
    return site.frame if site is not None and site.frame is not None else model_inputs.entry(op_node)
