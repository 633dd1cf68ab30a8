"""A program that recorded itself and ended without a message."""

from __future__ import annotations

from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.diagnose.exits.wording import describe_activity


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    if not process_exit.cut_short:
        return None
    sentence = f"The program ended without a message (killed, crashed, or os._exit). {describe_activity(process_exit)}."
    return ExitExplanation(
        "cut-short", 0.4, sentence, "run it with `sleuth run`, which outlives it and sees how it ends"
    )
