"""Every question that the page asks of a run, one file each. The routes are those of web/src/api/types.ts."""

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
    Question("verdict", verdict.answer, "what went wrong, as `sleuth why` tells it"),
    Question("tensors", tensors.answer, "the list of tensors"),
    Question("tensors/at", tensors.answer_at, "where a tensor stands in that list"),
    Question("alerts", alerts.answer, "bad tensors and errors, by kind"),
    Question("next", alerts.answer_next, "the next bad tensor, or the one before"),
    Question("timeline", timeline.answer, "when what was computed, by thread and device; the steps"),
    Question("flame", flame.answer, "what ran when in one step: functions, layers, ops; what its time went into"),
    Question("memory", memory.answer, "resident memory over time, and the tensors in it by kind"),
    Question("memory/at", memory.answer_at, "one moment of it: what was alive, by kind, layer, line, op or type"),
    Question("scalars", scalars.answer, "single numbers that are computed again and again, the likely loss first"),
    Question("scalars/{op}", scalars.answer_points, "one of them over time"),
    Question("watched", watched.answer, "what the program watched: each thing, and what there is of it"),
    Question("watched/{series}", watched.answer_series, "one of them over the steps"),
    Question("logs", watched.answer_logs, "what the program logged"),
    Question("inside", attention.answer_inside, "how much was seen inside of the model"),
    Question("attention", attention.answer, "the attention of the model: layers, heads, steps; what is remarkable"),
    Question("attention/{attention}/heads", attention.answer_heads, "the numbers of its heads over the steps"),
    Question("attention/{attention}/thumbs", weights.answer_thumbs, "a small picture of each head, at one step"),
    Question("attention/{attention}/weights", weights.answer, "the weights of one head, at one step"),
    Question("layers", layers.answer, "layers by steps: outputs, gradients, updates, weights"),
    Question("layers/at", layers.answer_location, "the line and the tensor of what was seen inside of the model"),
    Question("sources/{file}", source.answer, "a file as it was when it ran, with the health of each line"),
    Question("graph", graph.answer, "the ops around one, at one moment"),
    Question("compare", compare.answer, "this run and another: the first tensor at which they part"),
    Question("tensors/{id}/history", history.answer, "the same tensor over the run"),
    Question("tensors/{id}/value", value.answer, "what was in it"),
    Question("tensors/{id}", tensor.answer, "one tensor, what went in and what took it"),
)
