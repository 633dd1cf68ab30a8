"""Every question that the page asks of a run, one file each. The routes are those of web/src/api/types.ts."""

from __future__ import annotations

from tensorsleuth.page.answers import run, tensor, tensors, verdict
from tensorsleuth.page.question import Question

QUESTIONS: tuple[Question, ...] = (
    Question("", run.answer, "the run: program, end, what was recorded and what was not"),
    Question("verdict", verdict.answer, "what went wrong, as `sleuth why` tells it"),
    Question("tensors", tensors.answer, "the list of tensors"),
    Question("tensors/at", tensors.answer_at, "where a tensor stands in that list"),
    Question("tensors/{id}", tensor.answer, "one tensor, what went in and what took it"),
)
