"""Labels that are wrong for the ids beside them: not moved in a causal model, or padding that counts in the loss."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.arguments import judge_arguments
from tensorsleuth.data.tokens.roles import IDS, LABELS, Argument
from tensorsleuth.diagnose.attention.causal_leak import is_causal, moved_by
from tensorsleuth.diagnose.graph.loss_reduction import summed_by
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.input_parts import Cut, Part, called
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import Sequences, held, sequences_of
from tensorsleuth.diagnose.inputs.token_wording import finding_of
from tensorsleuth.diagnose.inputs.tokens.even_weights import even_weights, told
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

MOVED_BY_BOTH = "pass labels=input_ids: the model shifts them itself, once more than the data did"
IGNORED = "set labels to -100 where there is padding (the mask is 0): this loss leaves those out"
EVEN = "weigh what is padding (id {pad}) with 0: now all positions weigh the same, as if there were no weights"


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.once(Inside)
    if not inside.inputs:
        return
    given = process.once(Given)
    every = sequences_of(given) if given.labels else []
    for labels, spot in given.labels:
        root = given.training.root_of(spot)
        cut = given.cut_of_logits(spot)
        mine = [one for one in every if given.training.root_of(one.lookup.spot) == root and _fits(one, labels, cut)]
        if len(mine) == 1:  # else it is not known which ids they belong to
            yield from _with_labels(given, mine[0], inside, labels, spot)


RULE = Rule(id="token-labels", severity=Severity.WRONG, find=find, causes=("labels-shift", "loss-padding"))


def _fits(one: Sequences, labels: Part, cut: Cut) -> bool:
    kept = labels.values()
    return any(step in kept and kept[step].shape[:2] == ids.shape for step, ids in one.cut(cut).items())


def _with_labels(given: Given, one: Sequences, inside: Inside, labels: Part, spot: Spot) -> Iterator[RuleFinding]:
    name, kept = called(labels.series.name), labels.values()
    name = name if name != one.name else f"{name} as labels"
    causal, cut = is_causal(given, inside, one), given.cut_of_logits(spot)
    ids, moved = one.cut(cut), moved_by(one, kept, cut)
    # Who moves them otherwise than by one may mean it: to copy the token before is a task. Not where the data does it
    # by one, and the model once more.
    sure = "data" if causal and (moved == 0 or (moved == 2 and _moves(cut, labels.cut))) else None
    settings = {"labels-shift": one.setting(shifted_by=sure), "loss-padding": one.setting(causal=True)}
    # By one is right, whoever did it: the loss was seen to compare them so.
    weighed = _counts_padding(given, one, spot)
    asked = {"labels-shift": causal and moved != 1, "loss-padding": weighed is not None}

    def judge(step: int, rule: str) -> list[Violation] | None:
        if step not in kept:
            return None
        arguments = [Argument(one.name, ids[step]), Argument(name, kept[step])]
        return judge_arguments(arguments, settings[rule], {one.name: IDS, name: LABELS})

    changes = {
        "labels-shift": MOVED_BY_BOTH if moved == 2 and _moves(cut, labels.cut) else None,
        "loss-padding": _change_of(given, one, spot, weighed),
    }
    ways = {"loss-padding": f", {weighed}" if weighed else ""}
    around = given.training.around
    for rule in (rule for rule, is_asked in asked.items() if is_asked):
        site = around.site(summed_by(around, spot) if rule == "loss-padding" else spot)
        for found in held([*one.at], partial(judge, rule=rule), (rule,)):
            does = f"computes the loss of {one.name}, with {called(labels.series.name)} as labels{ways.get(rule, '')}"
            frame = site.frame if site is not None else given.entry(spot)
            yield finding_of(found, does, frame, spot.type, change=changes[rule])


def _moves(logits: Cut, labels: Cut) -> bool:
    """Does the model itself compare each position with the label of the next one."""
    ends = [part[1] for part in (logits, labels) if len(part) == 2]
    return len(ends) == 2 and ends[0].stop == -1 and ends[1].start == 1


def _counts_padding(given: Given, one: Sequences, spot: Spot) -> str | None:
    """Does padding weigh as much as tokens do, and by which weights that do not leave it out, as they are told."""
    if one.padding is None or given.is_plain_sum(spot, but_ignored=True):
        return "" if one.padding is not None else None
    even = even_weights(given, spot, one)
    return told(even.values()) if given.is_plain_sum(spot, but_ignored=True, even=even.keys()) else None


def _change_of(given: Given, one: Sequences, spot: Spot, weighed: str | None) -> str | None:
    """None where the rule's own words fit."""
    if weighed:
        return EVEN.format(pad=one.padding)
    is_ignoring = weighed is not None and given.is_plain_sum(spot, but_ignored=True) and not given.is_plain_sum(spot)
    return IGNORED if is_ignoring else None
