"""The facts before a batch is judged: the vocabulary, the padding, the purpose of the labels."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.tokens.vocabulary import Vocabulary

SHIFTED_BY = ("model", "data")
GIVEN, TOKENIZER, MASK, LOOKS = "given", "tokenizer", "mask", "looks"


@dataclass
class Setting:
    """The user's settings, and the guesses for the rest."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    pad: int | None = None
    pad_by: str | None = None  # who says what padding is: given, tokenizer, mask, looks
    pad_why: str = ""  # of a guess: what it rests on
    ignore: int = -100  # the label that does not count
    causal: bool | None = None  # does the model predict the next token; None: not said
    shifted_by: str | None = None  # who moves the labels by one: the model, or the data
    max_length: int | None = None
    compared: bool = False  # is there a second set, for validation
    together: bool = False  # do the labels come beside the ids, as Hugging Face's models take them

    def __post_init__(self) -> None:
        if self.shifted_by is not None and self.shifted_by not in SHIFTED_BY:
            raise SleuthError(f'shifted_by={self.shifted_by!r}: "model" (as in Hugging Face\'s models) or "data".')
        if self.pad is not None:
            self.pad_by = self.pad_by or GIVEN
        elif self.vocabulary["pad"] is not None:
            self.pad, self.pad_by = self.vocabulary["pad"], TOKENIZER
        self.max_length = self.max_length or self.vocabulary.max_length

    @property
    def guessed(self) -> bool:
        """Does what is padding rest on a guess."""
        return self.pad_by in (MASK, LOOKS)

    @property
    def of_padding(self) -> str:
        """Return the severity of a finding about padding: a mere guess of the padding id makes no error."""
        return "warning" if self.pad_by == LOOKS else "error"

    @property
    def shared(self) -> bool:
        """May the padding id also be a token: the end of a text, in GPT-2 and others."""
        others = {number for name, number in self.vocabulary.specials.items() if name != "pad"}
        return self.pad in others or (self.pad_by == LOOKS and self.pad != 0)
