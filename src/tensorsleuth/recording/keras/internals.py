"""All private parts of Keras that we use: of Keras 3, of tf-keras, and of the Keras in TensorFlow 2.15.

Programs may import Keras at any time or never, so each part is looked up among the loaded modules.
`tests/compat/test_keras_internals.py` names each part that a new version moves.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorsleuth.core.catalog import OPERATION

# Modules that have a CallbackList: Keras 3, tf-keras, Keras 2 as in TensorFlow 2.15.
CALLBACK_LIST_MODULES = ("keras.src.callbacks.callback_list", "tf_keras.src.callbacks", "keras.src.callbacks")
VARIABLE_MODULES = ("keras.src.backend.tensorflow.core",)  # defines the variables of Keras 3
CALLBACK_MODULES = ("keras.src.callbacks.callback", "tf_keras.src.callbacks", "keras.src.callbacks")
TRACEBACK_MODULES = ("keras.src.utils.traceback_utils", "tf_keras.src.utils.traceback_utils")

KERAS_PACKAGES = ("keras", "tf_keras")
# Methods at whose end a part of a program has its name: what it is, modules, class, method.
NAMING_METHODS = (
    ("layer", ("keras.src.ops.operation",), "Operation", "__init__"),
    ("layer", ("keras.src.engine.base_layer", "tf_keras.src.engine.base_layer"), "Layer", "_init_set_name"),
    ("layer", ("keras.src.engine.functional", "tf_keras.src.engine.functional"), "Functional", "_init_set_name"),
    ("optimizer", ("keras.src.optimizers.base_optimizer",), "BaseOptimizer", "__init__"),
    (
        "optimizer",
        ("keras.src.optimizers.optimizer", "tf_keras.src.optimizers.optimizer"),
        "_BaseOptimizer",
        "__init__",
    ),
    (
        "optimizer",
        ("keras.src.optimizers.legacy.optimizer_v2", "tf_keras.src.optimizers.legacy.optimizer_v2"),
        "OptimizerV2",
        "_init_set_name",
    ),
    ("loss", ("keras.src.losses.loss", "keras.src.losses", "tf_keras.src.losses"), "Loss", "__init__"),
    (
        "compile",
        ("keras.src.engine.compile_utils", "tf_keras.src.engine.compile_utils"),
        "LossesContainer",
        "__init__",
    ),
)

# Methods of Keras 2 that make a variable of an optimizer: modules, class, method. In Keras 3 the variables tell.
SLOT_METHODS = (
    (("keras.src.optimizers.optimizer", "tf_keras.src.optimizers.optimizer"), "_BaseOptimizer", "build"),
    (
        ("keras.src.optimizers.optimizer", "tf_keras.src.optimizers.optimizer"),
        "_BaseOptimizer",
        "add_variable_from_reference",
    ),
    (
        ("keras.src.optimizers.legacy.optimizer_v2", "tf_keras.src.optimizers.legacy.optimizer_v2"),
        "OptimizerV2",
        "add_slot",
    ),
)


def loaded_attributes(names: tuple[str, ...], attribute: str) -> Iterator[Any]:
    """Yield this attribute of each module that is loaded and already defines it."""
    for name in names:
        found = getattr(sys.modules.get(name), attribute, None)
        if found is not None:
            yield found


_PART_MODULES = re.compile(r"(?:tf_)?keras\.src\.(optimizer|loss|metric)")
_MAX_MAKER_FRAMES = 20  # between an optimizer and the variable that it makes
_MAX_LAYER_DEPTH = 50  # the depth of nested layers
_WHOLE_LOSS = "compile_loss"  # Keras 3's name for the sum of a model's losses


def naming_methods() -> Iterator[tuple[str, type, str]]:
    """Return what the methods of NAMING_METHODS make, their classes and their names, of each Keras that is loaded."""
    for kind, modules, name, method in NAMING_METHODS:
        yield from ((kind, owner, method) for owner in loaded_attributes(modules, name))


def slot_methods() -> Iterator[tuple[type, str]]:
    """Return the classes and the names of SLOT_METHODS, of each Keras 2 that is loaded."""
    for modules, name, method in SLOT_METHODS:
        yield from ((owner, method) for owner in loaded_attributes(modules, name))


def optimizer_variables(optimizer: Any) -> list[Any]:
    """Return the variables that an optimizer of Keras 2 has made so far."""
    made = list(getattr(optimizer, "_variables", None) or getattr(optimizer, "_weights", None) or ())
    rate = getattr(optimizer, "_learning_rate", None)
    return [rate, *made] if hasattr(rate, "handle") else made


def part_kind(kind: str, part: Any) -> str | None:
    """Return whether it is a layer, model, other operation, optimizer, loss or compiled losses."""
    bases = {base.__name__ for base in type(part).__mro__}
    if kind == "layer":
        return (
            "model"
            if "Model" in bases
            else "layer"
            if "Layer" in bases
            else OPERATION
            if "Operation" in bases
            else None
        )
    return "compile" if kind == "loss" and type(part).__name__ == "CompileLoss" else kind


def scope_owner(frame: Any, scope: str) -> str | None:
    """Return `optimizer adam`, `loss mse` or `metric accuracy` for their scopes; None for the scope of a layer."""
    owner = frame.f_locals.get("self")
    if scope not in (getattr(owner, "name", None), getattr(owner, "_name_scope", None)):
        return None
    kind = _part_kind(owner)
    return f"{kind} {scope}" if kind is not None and scope != _WHOLE_LOSS else kind


def maker_role(frame: Any) -> str:
    """Return `optimizer` or `metric` if one of these is making a variable; else an empty text."""
    for _ in range(_MAX_MAKER_FRAMES):
        if frame is None:
            break
        kind = _part_kind(frame.f_locals.get("self"))
        if kind in ("optimizer", "metric"):
            return kind
        frame = frame.f_back
    return ""


def _part_kind(owner: Any) -> str | None:
    """`optimizer`, `loss` or `metric`, if it is one of Keras's, or of a class made from one."""
    kinds = (_PART_MODULES.match(base.__module__) for base in type(owner).__mro__)
    return next((found.group(1) for found in kinds if found), None)


def callback_lists() -> Iterator[type]:
    """Yield the classes through which Keras tells callbacks of epochs and batches."""
    yield from loaded_attributes(CALLBACK_LIST_MODULES, "CallbackList")


def callback_classes() -> tuple[type, ...]:
    """Return the base classes of callbacks in each loaded Keras, or in TensorFlow's own if none is loaded."""
    found = tuple(dict.fromkeys(loaded_attributes(CALLBACK_MODULES, "Callback")))
    if not found:
        import tensorflow

        found = (tensorflow.keras.callbacks.Callback,)
    return found


def batches_at_once(model: Any) -> int:
    """Return the number of batches in one call of a model's train function."""
    number: Any = getattr(model, "steps_per_execution", None) or getattr(model, "_steps_per_execution", None)
    number = number.numpy() if hasattr(number, "numpy") else number  # a variable in Keras 2, maybe one for each replica
    return int(number) if number is not None else 1


def planned_steps(callbacks: Any) -> tuple[int, int] | None:
    """Return the epochs of a fit, and the calls of its train function in each; None if Keras does not know them."""
    params = getattr(callbacks, "params", None) or {}
    epochs, steps = params.get("epochs"), params.get("steps")
    if not isinstance(epochs, int) or not isinstance(steps, int):
        return None
    return epochs, -(-steps // batches_at_once(callbacks.model))


def callback_list_around(frame: Any, callback: Any) -> Any | None:
    """Return the CallbackList through which Keras is calling a callback."""
    kinds = set(callback_lists())
    while frame is not None:
        owner: Any = frame.f_locals.get("self")
        if type(owner) in kinds and callback in owner.callbacks:
            return owner
        frame = frame.f_back
    return None


def traceback_modules() -> Iterator[Any]:
    """Yield the modules that remove Keras's own frames from tracebacks."""
    yield from (sys.modules[name] for name in TRACEBACK_MODULES if hasattr(sys.modules.get(name), "_EXCLUDED_PATHS"))


def variable_classes() -> Iterator[Any]:
    """Yield the variable classes of Keras 3, which wrap TensorFlow's variables."""
    yield from loaded_attributes(VARIABLE_MODULES, "Variable")


def variables_being_made(variable: type) -> Iterator[Any]:
    """Yield the variable that Keras is creating now. Its first op may be the one that makes us patch Keras."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        mine = frame.f_locals.get("self") if frame.f_code.co_name == "_initialize" else None
        if isinstance(mine, variable):
            yield mine


def model_variables(model: Any) -> Iterator[tuple[Any, str, str]]:
    """Yield the variables of a model: variable, path, and role (`optimizer`, `metric`, or empty)."""
    optimizer = getattr(model, "optimizer", None)
    own = getattr(optimizer, "variables", ())
    yield from ((one, variable_path(one), "optimizer") for one in (own() if callable(own) else own))
    yield from (
        (one, variable_path(one, metric.name), "metric") for metric in model.metrics for one in metric.variables
    )
    yield from ((one, called, "") for one, called in _layer_variables(model, model.name, 0))


def frozen_uids(model: Any) -> set[int]:
    """Return the handles of a model's variables that are not trained."""
    numbers = (variable_uid(one) for one in getattr(model, "non_trainable_weights", ()))
    return {number for number in numbers if number is not None}


def uids_in_frozen_layers(variables: Sequence[Any]) -> set[int]:
    """Return the handles of Keras 2 variables whose layer is not trainable.

    Neither a variable nor TensorFlow knows the layer, so Python's garbage collector finds the list with the variable.
    """
    lists = [one for one in gc.get_referrers(*variables) if isinstance(one, list)]
    owners = (one if isinstance(one, dict) else getattr(one, "__dict__", {}) for one in gc.get_referrers(*lists))
    still = (owner.get("_trainable_weights", ()) for owner in owners if owner.get("_trainable") is False)
    numbers = (variable_uid(one) for weights in still for one in weights)
    return {number for number in numbers if number is not None}


def _layer_variables(layer: Any, around: str, depth: int) -> Iterator[tuple[Any, str]]:
    """Yield the variables of a layer and of its sublayers. Keras 2 names them by the innermost layer only."""
    own = (*getattr(layer, "_trainable_weights", ()), *getattr(layer, "_non_trainable_weights", ()))
    own = own or (*getattr(layer, "_trainable_variables", ()), *getattr(layer, "_non_trainable_variables", ()))
    yield from ((one, variable_path(one, around)) for one in own)
    for inner in layer._flatten_layers(include_self=False, recursive=False) if depth < _MAX_LAYER_DEPTH else ():
        yield from _layer_variables(inner, f"{around}/{inner.name}", depth + 1)


def variable_path(variable: Any, around: str = "") -> str:
    """Return Keras 3's path of a variable; for Keras 2, its name with the scopes around it."""
    name = getattr(variable, "path", None)
    if name is not None:
        return str(name)
    name = str(getattr(variable, "name", "")).removesuffix(":0")
    return f"{around}/{name.rpartition('/')[2]}" if around else name


def variable_uid(variable: Any) -> int | None:
    """Return the id of a variable's handle, if it has exactly one."""
    inner = getattr(variable, "_value", variable) if hasattr(variable, "path") else variable
    return getattr(getattr(inner, "_handle", None), "_id", None)


def feed_name(frame: Any, find: Callable[[Any], str | None]) -> str | None:
    """Return a name such as `train_function/0` for an input of an eager Keras step. `find` searches a batch."""
    within: str | None = None
    function: str | None = None
    while frame is not None:
        code = frame.f_code
        arguments = code.co_varnames[: code.co_argcount]
        if code.co_name in _STEP_METHODS and "data" in arguments:
            within = find(frame.f_locals.get("data"))
        elif arguments == ("iterator",) and code.co_name != "function" and "keras" in code.co_filename:
            function = code.co_name
        frame = frame.f_back
    return f"{function}/{within}" if function is not None and within is not None else None


_STEP_METHODS = ("train_step", "test_step")  # programs may override these methods
