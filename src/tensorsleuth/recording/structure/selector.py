"""Selectors of tensors for break points and watches: `"layer:encoder/.*"`, `"gradient:.*kernel"`, `"MatMul"`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tensorsleuth.core.errors import SleuthError

SELECTOR_KINDS = {
    "": "ops, layers and variables of that name",
    "op": "the outputs of ops of that type",
    "name": "the outputs of ops of that name",
    "layer": "the outputs of the ops of a layer",
    "variable": "the values of variables, when they are read",
    "gradient": "gradients of variables or layers",
}
WATCH_KINDS = SELECTOR_KINDS | {"update": "the change of variables in a step"}
SelectorText = str | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class TensorRole:
    """The properties by which selectors choose a tensor."""

    name: str  # of its op; for an eager op: its type
    type: str
    layer: str | None = None
    variable: str | None = None  # the variable whose value it is
    trainable: bool = True
    first_read: bool = True  # the function's first read of the variable
    gradient_of: tuple[str, ...] = ()  # the variable, layer or op whose gradient it is

    @property
    def is_gradient(self) -> bool:
        return bool(self.gradient_of)


@dataclass(frozen=True)
class Selector:
    """Selects tensors of one kind by a regular expression."""

    kind: str
    pattern: re.Pattern[str]

    def wants(self, tensor_role: TensorRole) -> bool:
        if self.kind == "op":
            return self.pattern.fullmatch(tensor_role.type) is not None
        return any(self.pattern.fullmatch(name) for name in self._names(tensor_role) if name)

    def _names(self, tensor_role: TensorRole) -> tuple[str | None, ...]:
        if self.kind == "gradient":
            return tensor_role.gradient_of
        if self.kind == "layer":
            return (tensor_role.layer,)
        if self.kind in ("variable", "update"):
            return (tensor_role.variable,)
        if self.kind == "name":
            return (tensor_role.name,)
        return tensor_role.name, tensor_role.layer, tensor_role.variable


def gradients(pattern: str = ".*") -> str:
    """Return a selector for `break_when(on=…)`: the gradients of the variables or layers whose names match."""
    return f"gradient:{pattern}"


def read_selectors(
    selector_text: SelectorText, of_gradients: bool = False, of_variables: bool = False
) -> tuple[Selector, ...]:
    """Parse `on`. If the condition is about gradients or variables, a plain name means that kind."""
    implied = "gradient" if of_gradients else "variable" if of_variables else ""
    if selector_text is None:
        return (_selector(f"{implied}:.*" if implied else ".*", ""),)
    texts = [selector_text] if isinstance(selector_text, str) else selector_text
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise SleuthError(f"on is {selector_text!r}; it must be one or more strings such as 'layer:encoder/.*'.")
    return tuple(_selector(text, implied) for text in texts)


def read_watch_selectors(tensors: str | Sequence[str]) -> tuple[Selector, ...]:
    """Return the selectors for a watch."""
    texts = [tensors] if isinstance(tensors, str) else tensors
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise SleuthError(
            f"watch({tensors!r}): name the tensors by a string such as 'encoder/.*/kernel' or 'gradient:.*', or a list "
            "of these. To watch one tensor here, give it a name: watch(x, name='x')."
        )
    return tuple(_selector(text, "", WATCH_KINDS, "watch") for text in texts)


def _selector(text: str, implied: str, kinds: dict[str, str] = SELECTOR_KINDS, word: str = "on") -> Selector:
    kind, colon, pattern = text.partition(":")
    if not colon or not kind.isidentifier():
        kind, pattern = implied, text
    if kind not in kinds:
        near = difflib.get_close_matches(kind, [kind for kind in kinds if kind], 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        named = ", ".join(filter(None, kinds))
        raise SleuthError(f"{word} {text!r} has no kind {kind!r}.{hint} The kinds are {named}.")
    if implied and kind != implied:
        words = {"gradient": "grad_norm is the norm of gradients", "variable": "change is about variables"}
        raise SleuthError(f"on is {text!r}, but {words[implied]}: leave the {kind!r} out, or use norm.")
    return Selector(kind, _compiled(kind, pattern, word))


def _compiled(kind: str, pattern: str, word: str) -> re.Pattern[str]:
    """Compile a pattern. It must match a whole op type, or whole scopes of a name: `dense` in `model/dense/MatMul`."""
    try:
        re.compile(pattern)
        return re.compile(pattern if kind == "op" else f"(?:.*/)?(?:{pattern.strip('/')})(?:/.*)?")
    except re.error as error:
        raise SleuthError(
            f"{word} {pattern!r} is not a regular expression: {error}. "
            f"To match it literally, pass re.escape({pattern!r})."
        ) from None
