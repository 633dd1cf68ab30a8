"""All questions that the page can ask of a run, one in each file. web/src/api/types.ts has the types of the answers."""

from __future__ import annotations

from tensorsleuth.ui.web.answers import alerts, history, run, scalars, tensor, tensors, watched
from tensorsleuth.ui.web.answers.attention import attention, layers, weights
from tensorsleuth.ui.web.answers.compare import compare
from tensorsleuth.ui.web.answers.graph import graph
from tensorsleuth.ui.web.answers.memory import memory
from tensorsleuth.ui.web.answers.source import source
from tensorsleuth.ui.web.answers.timeline import flame, timeline
from tensorsleuth.ui.web.answers.value import value
from tensorsleuth.ui.web.answers.verdict import verdict
from tensorsleuth.ui.web.run.question import Question

QUESTIONS: tuple[Question, ...] = (
    Question("", run.answer, "the run: program, end, what was recorded and what was not"),
    Question("verdict", verdict.answer, "what went wrong, as `sleuth why` reports it"),
    Question("tensors", tensors.answer, "the list of tensors"),
    Question("tensors/at", tensors.answer_at, "the position of a tensor in that list"),
    Question("alerts", alerts.answer, "bad tensors and errors, by kind"),
    Question("next", alerts.answer_next, "the next or previous bad tensor"),
    Question("timeline", timeline.answer, "computed tensors over time, by thread and device; the steps"),
    Question("flame", flame.answer, "what ran in one step: functions, layers, ops, and where the time went"),
    Question("memory", memory.answer, "resident memory over time, and the tensors in it by kind"),
    Question("memory/at", memory.answer_at, "the memory at one time: live tensors by kind, layer, line, op or type"),
    Question("scalars", scalars.answer, "repeatedly computed single numbers, the likely loss first"),
    Question("scalars/{op}", scalars.answer_points, "one of them over time"),
    Question("watched", watched.answer, "the watched series, and the measures of each"),
    Question("watched/{series}", watched.answer_series, "one of them over the steps"),
    Question("logs", watched.answer_logs, "the messages that the program logged"),
    Question("inside", attention.answer_inside, "the number of layer statistics by kind"),
    Question("attention", attention.answer, "the attention of the model: layers, heads, steps; remarks"),
    Question("attention/{attention}/heads", attention.answer_heads, "the numbers of its heads over the steps"),
    Question("attention/{attention}/thumbs", weights.answer_thumbs, "a small picture of each head, at one step"),
    Question("attention/{attention}/weights", weights.answer, "the weights of one head, at one step"),
    Question("layers", layers.answer, "layers by steps: outputs, gradients, updates, weights"),
    Question("layers/at", layers.answer_location, "the line and the tensor of a layer statistic"),
    Question("sources/{file}", source.answer, "a file as it was during the run, with the health of each line"),
    Question("graph", graph.answer, "the ops around an op, in one call"),
    Question("compare", compare.answer, "this run and another: the first tensor that differs"),
    Question("tensors/{id}/history", history.answer, "the same tensor over the run"),
    Question("tensors/{id}/value", value.answer, "the value of a tensor"),
    Question("tensors/{id}", tensor.answer, "one tensor, its inputs and its consumers"),
)
