"""The settings of a check of tokens: the vocabulary, the padding, the purpose of the labels."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.tokens.vocabulary import Vocabulary

SHIFTED_BY = ("model", "data")
PAD_GIVEN, PAD_FROM_TOKENIZER, PAD_FROM_MASK, PAD_FROM_VALUES = "given", "tokenizer", "mask", "looks"


@dataclass
class TokenSettings:
    """The user's settings, and guesses for the rest."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    pad: int | None = None
    pad_by: str | None = None  # the source of the padding id: given, tokenizer, mask, looks
    pad_why: str = ""  # of a guess: its reason
    ignore: int = -100  # the label that the loss ignores
    causal: bool | None = None  # whether the model predicts the next token; None if not set
    shifted_by: str | None = None  # who shifts the labels by one: the model, or the data
    max_length: int | None = None
    compared: bool = False  # whether there is a second set, for validation
    together: bool = False  # whether labels come together with the ids, as for Hugging Face models

    def __post_init__(self) -> None:
        if self.shifted_by is not None and self.shifted_by not in SHIFTED_BY:
            raise SleuthError(f'shifted_by={self.shifted_by!r}: "model" (as in Hugging Face\'s models) or "data".')
        if self.pad is not None:
            self.pad_by = self.pad_by or PAD_GIVEN
        elif self.vocabulary["pad"] is not None:
            self.pad, self.pad_by = self.vocabulary["pad"], PAD_FROM_TOKENIZER
        self.max_length = self.max_length or self.vocabulary.max_length

    @property
    def pad_is_guessed(self) -> bool:
        """Return whether the padding id is a guess."""
        return self.pad_by in (PAD_FROM_MASK, PAD_FROM_VALUES)

    @property
    def padding_severity(self) -> str:
        """Return the severity of a finding about padding: a mere guess of the padding id makes no error."""
        return "warning" if self.pad_by == PAD_FROM_VALUES else "error"

    @property
    def pad_may_be_token(self) -> bool:
        """Return whether the padding id may also be a token: the end of a text, in GPT-2 and others."""
        others = {number for name, number in self.vocabulary.specials.items() if name != "pad"}
        return self.pad in others or (self.pad_by == PAD_FROM_VALUES and self.pad != 0)
