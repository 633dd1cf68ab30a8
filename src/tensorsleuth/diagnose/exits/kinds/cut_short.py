"""A program that recorded itself, and was gone without a word."""

from __future__ import annotations

from tensorsleuth.diagnose.exits.end import End, Told
from tensorsleuth.diagnose.exits.wording import was_doing


def match(end: End) -> Told | None:
    if not end.cut_short:
        return None
    sentence = f"The program ended without a message (killed, crashed, or os._exit). {was_doing(end)}."
    return Told("cut-short", 0.4, sentence, "run it with `sleuth run`, which outlives it and sees how it ends")
