"""Labels that are wrong for their ids: not shifted in a causal model, or padding that counts in the loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.arguments import judge_arguments
from tensorsleuth.data.tokens.roles import IDS, LABELS, Argument
from tensorsleuth.diagnose.attention.causal_leak import is_causal, label_shift
from tensorsleuth.diagnose.graph.loss_reduction import summing_op
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.input_parts import InputPart, Slices
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences, repeated_violations, token_sequences
from tensorsleuth.diagnose.inputs.token_wording import token_finding
from tensorsleuth.diagnose.inputs.tokens.even_weights import describe_weights, even_weights
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

SHIFTED_TWICE_FIX = "pass labels=input_ids: the model shifts them itself, once more than the data did"
IGNORE_PADDING_FIX = "set labels to -100 where there is padding (the mask is 0): this loss leaves those out"
MIN_PADDING_SHARE = 0.25  # of the labels: with less, tokens still decide what is learned, and it is a note
WEIGH_PADDING_FIX = (
    "weigh what is padding (id {pad}) with 0: now all positions weigh the same, as if there were no weights"
)


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.cached(LayerStatistics)
    if not inside.inputs:
        return
    given = process.cached(ModelInputs)
    every = token_sequences(given) if given.labels else []
    for labels, spot in given.labels:
        root = given.training.root_id(spot)
        cut = given.logit_slices(spot)
        mine = [one for one in every if given.training.root_id(one.lookup.gather) == root and _fits(one, labels, cut)]
        if len(mine) == 1:  # else it is not known which ids they belong to
            yield from _with_labels(given, mine[0], inside, labels, spot)


RULE = Rule(
    id="token-labels", severity=Severity.WRONG, find=find, about_samples=True, causes=("labels-shift", "loss-padding")
)


def _fits(one: TokenSequences, labels: InputPart, slices: Slices) -> bool:
    kept = labels.values()
    return any(step in kept and kept[step].shape[:2] == ids.shape for step, ids in one.sliced(slices).items())


def _with_labels(
    model_inputs: ModelInputs,
    one: TokenSequences,
    layer_statistics: LayerStatistics,
    labels: InputPart,
    op_node: OpNode,
) -> Iterator[RuleFinding]:
    name, kept = program_input_name(labels.series.name), labels.values()
    name = name if name != one.name else f"{name} as labels"
    causal, cut = is_causal(model_inputs, layer_statistics, one), model_inputs.logit_slices(op_node)
    ids, moved = one.sliced(cut), label_shift(one, kept, cut)
    # Who moves them otherwise than by one may mean it: to copy the token before is a task. Not where the data does it
    # by one, and the model once more.
    sure = "data" if causal and (moved == 0 or (moved == 2 and _shifts_labels(cut, labels.slices))) else None
    settings = {"labels-shift": one.setting(shifted_by=sure), "loss-padding": one.setting(causal=True)}
    # By one is right, whoever did it: the loss was seen to compare them so.
    weighed = _counts_padding(model_inputs, one, op_node)
    asked = {"labels-shift": causal and moved != 1, "loss-padding": weighed is not None}

    def judge(step: int, rule: str) -> list[Violation] | None:
        if step not in kept:
            return None
        arguments = [Argument(one.name, ids[step]), Argument(name, kept[step])]
        return judge_arguments(arguments, settings[rule], {one.name: IDS, name: LABELS})

    changes = {
        "labels-shift": SHIFTED_TWICE_FIX if moved == 2 and _shifts_labels(cut, labels.slices) else None,
        "loss-padding": _change_of(model_inputs, one, op_node, weighed),
    }
    ways = {"loss-padding": f", {weighed}" if weighed else ""}
    around = model_inputs.training.neighbours
    for rule in (rule for rule, is_asked in asked.items() if is_asked):
        site = around.site(summing_op(around, op_node) if rule == "loss-padding" else op_node)
        for found in repeated_violations([*one.ids_by_step], partial(judge, rule=rule), (rule,)):
            does = (
                f"computes the loss of {one.name}, with {program_input_name(labels.series.name)} as "
                f"labels{ways.get(rule, '')}"
            )
            frame = site.frame if site is not None else model_inputs.entry(op_node)
            sure_of = (
                rule != "loss-padding" or _padding_share(map(partial(judge, rule=rule), kept)) >= MIN_PADDING_SHARE
            )
            yield token_finding(found, does, frame, op_node.type, sure=sure_of, change=changes[rule])


def _padding_share(judged: Iterable[list[Violation] | None]) -> float:
    """Return the share of padding among all labels of the batches that have some in it."""
    found = [one for several in judged for one in several or () if one.rule == "loss-padding" and one.total]
    return sum(one.broken or 0 for one in found) / max(sum(one.total or 0 for one in found), 1)


def _shifts_labels(logits: Slices, labels: Slices) -> bool:
    """Return whether the model itself compares each position with the label of the next one."""
    ends = [part[1] for part in (logits, labels) if len(part) == 2]
    return len(ends) == 2 and ends[0].stop == -1 and ends[1].start == 1


def _counts_padding(model_inputs: ModelInputs, one: TokenSequences, op_node: OpNode) -> str | None:
    """Return the weights that fail to mask padding, in words, "" without weights; None if padding does not count."""
    if one.padding_id is None or model_inputs.is_unweighted_sum(op_node, but_ignored=True):
        return "" if one.padding_id is not None else None
    even = even_weights(model_inputs, op_node, one)
    return (
        describe_weights(even.values())
        if model_inputs.is_unweighted_sum(op_node, but_ignored=True, even=even.keys())
        else None
    )


def _change_of(model_inputs: ModelInputs, one: TokenSequences, op_node: OpNode, weighed: str | None) -> str | None:
    """Return the fix; None if the words of the rule fit."""
    if weighed:
        return WEIGH_PADDING_FIX.format(pad=one.padding_id)
    is_ignoring = (
        weighed is not None
        and model_inputs.is_unweighted_sum(op_node, but_ignored=True)
        and not model_inputs.is_unweighted_sum(op_node)
    )
    return IGNORE_PADDING_FIX if is_ignoring else None
