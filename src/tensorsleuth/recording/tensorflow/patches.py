"""The only place that patches a running TensorFlow, and undoes the patches."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tensorsleuth.native.loader import Native
from tensorsleuth.recording.call_sites import is_ours
from tensorsleuth.recording.eager.feeds import BadReads
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.observer import Observers, first_alarm, tell_all
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.gradient_marks import without_mark

ENTRY_POINTS = ("TFE_Py_FastPathExecute", "TFE_Py_Execute", "TFE_Py_ExecuteCancelable")
Before = Callable[[Any, Any], None]  # gets the object whose method is called, and its first argument
After = Callable[[Any], None]
Raised = Callable[[BaseException, Any], None]  # told of an exception and its traceback
_RECORDING_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep  # recording/


def disguise(stand_in: Any, real: Any) -> None:
    """Make our function look like TensorFlow's own in tracebacks, from which TensorFlow removes its frames."""
    code = getattr(real, "__code__", None)
    if code is not None:
        stand_in.__code__ = stand_in.__code__.replace(
            co_filename=code.co_filename, co_firstlineno=code.co_firstlineno, co_name=code.co_name
        )
    stand_in.__doc__ = real.__doc__


class Patches:
    """The replaced attributes, in order, so that they can be restored."""

    def __init__(self) -> None:
        self._saved: list[tuple[Any, str, Any, Any]] = []
        self._undo_actions: list[Callable[[], Any]] = []

    def __bool__(self) -> bool:
        return bool(self._saved)

    def at_undo(self, action: Callable[[], Any]) -> None:
        """Have something else undone too, that is no attribute."""
        self._undo_actions.append(action)

    def replace(self, owner: Any, name: str, new: Any) -> Any:
        """Replace an attribute by `new`, and return the old value."""
        old = getattr(owner, name)
        setattr(owner, name, new)
        self._saved.append((owner, name, old, new))
        return old

    def listen(
        self,
        owner: Any,
        name: str,
        before: Sequence[Before] = (),
        after: Sequence[After] = (),
        ended: Sequence[After] = (),
    ) -> None:
        """Call `before` with the first argument of each call of a method, and `after` when the call has returned.

        Call `ended` when it has returned or raised.
        """

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            first = args[0] if args else next(iter(kwargs.values()), None)
            for told in before:
                harmless(told, self, first)
            try:
                result = real(self, *args, **kwargs)
                for told_after in after:
                    harmless(told_after, self)
                return result
            finally:
                for told_ended in ended:
                    harmless(told_ended, self)

        real = self.replace(owner, name, method)
        disguise(method, real)

    def undo(self) -> None:
        """Restore all attributes, except those that somebody else has replaced since."""
        for owner, name, old, new in reversed(self._saved):
            if getattr(owner, name) is new:
                setattr(owner, name, old)
        self._saved.clear()
        for action in self._undo_actions:
            action()
        self._undo_actions.clear()


def watch_tf_functions(patches: Patches, made: Callable[[Any], None]) -> None:
    """Hear of each tf.function that is made."""
    patches.listen(tf.PolymorphicFunction, "__init__", after=[made])


def watch_removals(patches: Patches, forget: Callable[[str], None]) -> None:
    """Call `forget` when TensorFlow drops a function."""

    def remove(handle: Any, name: Any) -> Any:
        result = real(handle, name)
        forget(name.decode() if isinstance(name, bytes) else name)
        return result

    real = patches.replace(tf.pywrap_tfe, "TFE_ContextRemoveFunction", remove)


def watch_tracebacks(patches: Patches, module: Any, raised: Raised) -> None:
    """Hear of exceptions before TensorFlow or Keras cut their own frames from them, and let them cut ours too."""

    def process(trace: Any) -> Any:
        error = sys.exc_info()[1]
        if error is not None:
            harmless(raised, error, trace)
        return real(trace)

    if hasattr(module, "_process_traceback_frames"):
        real = patches.replace(module, "_process_traceback_frames", process)
        disguise(process, real)
    excluded = getattr(module, "_EXCLUDED_PATHS", None)
    if isinstance(excluded, tuple):
        patches.replace(module, "_EXCLUDED_PATHS", (*excluded, _RECORDING_FOLDER))


def watch_eager(patches: Patches, hooks: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
    """Replace the eager entry points by the result of `hooks`, which gets the originals."""
    real = tuple(getattr(tf.pywrap_tfe, name) for name in ENTRY_POINTS)
    for name, hook in zip(ENTRY_POINTS, hooks(real), strict=True):
        patches.replace(tf.pywrap_tfe, name, hook)


def watch_conversions(patches: Patches, converted: Callable[[Any, Any], None]) -> None:
    """Call `converted` when TensorFlow makes an eager tensor of a Python value, which runs no op."""

    def convert(value: Any, ctx: Any, dtype: Any = None) -> Any:
        tensor = real(value, ctx, dtype)
        if tensor is not value:
            harmless(converted, value, tensor)
        return tensor

    real = patches.replace(tf.constant_op, "convert_to_eager_tensor", convert)
    disguise(convert, real)


def watch_python_functions(patches: Patches, texts: Lazy[Any], site: Callable[[int], int]) -> None:
    """Report Python functions in graphs and their results, such as the texts of a generator."""

    def insert(self: Any, func: Any) -> Any:
        token = real_insert(self, func)
        harmless(lambda: texts().python_added(token, site(3)))
        return token

    def call(self: Any, token: Any, device: Any, args: Any) -> Any:
        try:
            made = real_call(self, token, device, args)
        except BaseException as error:
            trace = error.__traceback__
            error.__traceback__ = (
                trace.tb_next if trace is not None else None
            )  # TensorFlow's message includes the frames
            raise
        known = texts.value
        if known is not None and known.is_python_asked(token):
            harmless(known.python_made, token, made)
        return made

    real_insert = patches.replace(tf.FuncRegistry, "insert", insert)
    real_call = patches.replace(tf.FuncRegistry, "__call__", call)
    disguise(insert, real_insert)
    disguise(call, real_call)


def watch_saving(patches: Patches, saved: Callable[[Any], None]) -> None:
    """Hear of the functions that the program saves in a SavedModel."""

    def serialize(concrete_function: Any, node_ids: Any) -> Any:
        harmless(saved, concrete_function)
        return real(concrete_function, node_ids)

    real = patches.replace(tf.function_serialization, "serialize_concrete_function", serialize)
    disguise(serialize, real)


def watch_loading(patches: Patches, loaded: Callable[[str, Any], None]) -> None:
    """Hear of the SavedModels that the program loads, with the lines that were saved with them."""

    def parse(export_dir: Any) -> Any:
        parsed = real(export_dir)
        harmless(loaded, str(export_dir), parsed[1])
        return parsed

    real = patches.replace(tf.loader_impl, "parse_saved_model_with_debug_info", parse)
    disguise(parse, real)


def watch_gradients(patches: Patches, tracker: Any) -> None:
    """Tell gradient ops their forward op.

    TensorFlow's tape stores each op with its name scope, and passes the scope to the function that builds the gradient.
    We append the op's own name to that scope on the way in, and remove it on the way out.
    """

    def record_gradient(op_name: Any, inputs: Any, attrs: Any, outputs: Any) -> None:
        scope = tracker.mark(tf.ops.get_name_scope(), outputs)
        tf.pywrap_tfe.TFE_Py_RecordGradient(op_name, inputs, attrs, outputs, scope)

    def gradient_function(
        op_name: Any, attrs: Any, count: Any, inputs: Any, outputs: Any, grads: Any, skip: Any, scope: Any
    ) -> Any:
        scope, differentiating = tracker.unmark(scope, op_name, inputs, outputs)
        with differentiating:
            return real(op_name, attrs, count, inputs, outputs, grads, skip, scope)

    def maybe_compile(scope: Any, op: Any, func: Any, grad_fn: Any) -> Any:  # tf.gradients, for each op
        with tf.ops.get_default_graph()._original_op(op):
            return real_maybe_compile(scope, op, func, grad_fn)

    real = tf.backprop._gradient_function
    disguise(gradient_function, real)
    real_maybe_compile = patches.replace(tf.gradients_util, "_MaybeCompile", maybe_compile)
    disguise(maybe_compile, real_maybe_compile)
    disguise(record_gradient, patches.replace(tf.execute, "record_gradient", record_gradient))
    tf.pywrap_tfe.TFE_Py_RegisterGradientFunction(gradient_function)


def unwatch_gradients() -> None:
    """Restore the gradient function, but still remove the marks that existing tapes may hold."""

    def gradient_function(*args: Any) -> Any:
        *others, scope = args
        return real(*others, without_mark(scope))

    real = tf.backprop._gradient_function
    disguise(gradient_function, real)
    tf.pywrap_tfe.TFE_Py_RegisterGradientFunction(gradient_function)


def watch_scopes(patches: Patches, scopes: Any) -> None:
    """Report name scopes: the requested name, the graph's name, and the current scope of eager code."""

    def set_scope(self: Any, scope: Any) -> None:
        set_real(self, scope)
        number = known.get(scope)
        if number is not None:
            tell(number)
        else:
            harmless(scopes.entered, scope)

    for kind in (tf.ops.name_scope_v2, tf.ops.internal_name_scope_v1):
        _watch_entering(patches, kind, scopes)
    known, tell = scopes.numbers, scopes.tell
    whole = tf.Context.scope_name
    set_real = whole.fset
    patches.replace(tf.Context, "scope_name", property(whole.fget, set_scope, doc=whole.__doc__))


def _watch_entering(patches: Patches, kind: type, scopes: Any) -> None:
    def enter(self: Any) -> Any:
        scope = real(self)
        if not tf.executing_eagerly():
            harmless(scopes.opened, self._name, scope, sys._getframe(1))
        elif scope not in known:
            harmless(scopes.named, self._name, scope, sys._getframe(1))
        return scope

    known = scopes.named_already
    real = patches.replace(kind, "__enter__", enter)
    disguise(enter, real)


def watch_values(patches: Patches, observers: Observers, bad_reads: BadReads, native: Native | None) -> None:
    """Hear of eager tensors that are turned into numbers of Python: `numpy()`, `float()`, `print`, `np.asarray`.

    NumPy drops the error of a buffer that it does not get, and asks for the array instead. There it gets the error.
    """
    refused: dict[int, BaseException] = {}  # the last tensor whose buffer was not given

    def to_numpy(self: Any) -> Any:
        alarm = refused.pop(self._id, None) or first_alarm(observers.on_python_value, self)
        if alarm is not None:
            raise alarm
        value = real(self)
        harmless(bad_reads.note_read, self, value)
        return value

    def to_buffer(tensor: Any) -> None:
        if is_ours(sys._getframe(1)):
            return
        alarm = first_alarm(observers.on_python_value, tensor)
        if alarm is not None:
            refused.clear()
            refused[tensor._id] = alarm
            raise alarm
        harmless(bad_reads.note_buffer_read, tensor)

    real = patches.replace(tf.TensorBase, "_numpy", to_numpy)
    disguise(to_numpy, real)
    if native is not None and native.listen_to_reads(tf.EagerTensor, to_buffer, not bad_reads.trusts_rows):
        patches.at_undo(lambda: native.listen_to_reads(tf.EagerTensor, None, 0))


def watch_tapes(
    patches: Patches,
    forward_pass: Callable[[bool], None],
    gradients_computed: Callable[[Any, Any], None],
    note_loss: Callable[[Any, Any, Any], None],
    observers: Observers,
) -> None:
    """Hear of a tape that starts, is it eager, and of one that is asked for gradients outside of functions.

    Observers hear of losses outside of functions, before they are differentiated, and of all gradients. `note_loss`
    gets every loss, with what it was differentiated by and the gradients.
    """
    tape = tf.backprop.GradientTape

    def enter(self: Any) -> Any:
        with contextlib.suppress(Exception):
            forward_pass(tf.executing_eagerly())
        return real_enter(self)

    def gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        is_eager = tf.executing_eagerly()
        alarm = first_alarm(observers.on_loss, target) if is_eager else None
        if alarm is not None:
            raise alarm
        result = real_gradient(self, target, sources, *args, **kwargs)
        if is_eager:
            gradients_computed(self, sources)
        harmless(note_loss, target, sources, result)
        alarm = tell_all(observers.on_gradients, sources, result)
        if alarm is not None:
            raise alarm
        return result

    real_enter = patches.replace(tape, "__enter__", enter)
    real_gradient = patches.replace(tape, "gradient", gradient)
    disguise(enter, real_enter)
    disguise(gradient, real_gradient)


def watch_strategies(patches: Patches, used: Callable[[Any], None], serves: Callable[[str, int], None]) -> None:
    """Report strategies that run code, and servers that run functions of other processes."""

    def serving(server: Any) -> None:
        serves(server.server_def.job_name, server.server_def.task_index)

    patches.listen(tf.StrategyExtended, "call_for_each_replica", before=[lambda extended, _: used(extended)])
    patches.listen(tf.Server, "__init__", after=[serving])


def watch_sessions(patches: Patches, find: Callable[[], Any]) -> None:
    """Report every run of a TensorFlow 1 session to the object that `find` returns."""
    session = tf.session.BaseSession

    def do_run(self: Any, handle: Any, targets: Any, fetches: Any, feeds: Any, options: Any, metadata: Any) -> Any:
        sessions, asked = find(), (self, handle, targets, fetches, feeds)
        with sessions.run(self, targets, fetches, feeds) if handle is None else sessions.partial_run() as running:
            running.values = real_run(*asked, running.options(options), metadata)
        return running.values

    def sessionrun(self: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any) -> Any:
        with find().run_raw(self, targets, fetches, feeds) as running:  # called by a callable or by do_run
            running.values = real_sessionrun(self, running.options(options), feeds, fetches, targets, metadata)
        return running.values

    def from_options(self: Any, options: Any) -> Any:
        sessions = find()
        with sessions.preparing(self, options):
            made = real_from_options(self, options)
        return sessions.callable(self, options, made)

    real_run = patches.replace(session, "_do_run", do_run)
    real_sessionrun = patches.replace(session, "_call_tf_sessionrun", sessionrun)
    real_from_options = patches.replace(session, "_make_callable_from_options", from_options)
    disguise(do_run, real_run)
    disguise(sessionrun, real_sessionrun)
    disguise(from_options, real_from_options)
