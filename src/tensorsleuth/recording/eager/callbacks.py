"""Callbacks of the eager hook for new call sites, calls of functions, and errors."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.cluster.remote_functions import JOB_PREFIX, RemoteTasks
from tensorsleuth.recording.eager.feeds import Feeds
from tensorsleuth.recording.eager.op_sites import OpSite, OpSites
from tensorsleuth.recording.eager.retracing import TraceNotes
from tensorsleuth.recording.eager.text_inputs import RELEVANT_OPS, TextInputs
from tensorsleuth.recording.functions.function_def import function_attributes
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.functions.watched_functions import WatchedCopy, WatchedFunctions
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.observer import GUARD_STOP_MESSAGE, Alarm, FunctionCall, Observers, first_alarm
from tensorsleuth.recording.replay.replay_buffer import ReplayBuffer
from tensorsleuth.recording.steps import StepCounter
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.error_messages import describe_inputs, is_caused_by_copy, restore_message
from tensorsleuth.recording.tensorflow.gradient_marks import ARGUMENT_MAKER
from tensorsleuth.recording.tensorflow.op_outputs import count_outputs
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

END_OF_DATA = "OutOfRangeError"  # raised by a dataset at its end
FIRST_INPUT = 3  # TFE_Py_FastPathExecute(context, op, name, *inputs_and_attributes)


class EagerCallbacks:
    """Handles the rare events of eager execution. Native code handles the frequent ones."""

    def __init__(
        self,
        catalog: CatalogWriter,
        call_sites: CallSites,
        op_sites: OpSites,
        functions: Lazy[WatchedFunctions],
        step_counter: StepCounter,
        sink: Sink,
        observers: Observers,
        remote: Lazy[RemoteTasks],
        flights: Lazy[ReplayBuffer] | None = None,
        texts: Lazy[TextInputs] | None = None,
    ) -> None:
        self._catalog = catalog
        self._sites = call_sites
        self._places = op_sites
        self._functions = functions
        self._steps = step_counter
        self._sink = sink
        self._observers = observers
        self._remote = remote
        self._replay_buffer = flights
        self._texts = texts
        self.feeds = Feeds(op_sites, call_sites, sink, texts)
        self._traces = Lazy(lambda: TraceNotes(catalog))
        self._known_functions: set[str | bytes] = set()  # names that are not names of ops
        self._run_copies: set[str] = set()  # watched copies that have run at least once
        self.known_ops: set[str | bytes] = set()  # names of ops, for which the hook need not call `call_function`

    def function_made(self, function: Any) -> None:
        """The program, or Keras, has made a tf.function."""
        self._traces().note_made(function)

    def intern(self, op: str | bytes, outputs: int, forward: int) -> OpSite:
        """Return the facts that the hook needs about an op at a new call site."""
        return self._places.of_caller(tf.as_text(op), outputs, forward)

    def intern_before_run(self, op: str | bytes, args: tuple[Any, ...], forward: int) -> OpSite | None:
        """Return the facts of `intern` before the op has run; None if only its result shows the number of outputs."""
        outputs = count_outputs(tf.as_text(op), args)
        place = self._places.of_caller(tf.as_text(op), outputs, forward) if outputs is not None else None
        if place is not None and not forward:
            self.note_texts(tf.as_text(op), args, place[0])
        return place

    def note_texts(self, op: str, args: Sequence[Any], place: int) -> None:
        """Pass an op to the text summaries if it may take strings."""
        if self._texts is not None and op in RELEVANT_OPS:
            harmless(self._texts().note_op, op, args, place, self._places.site_of(place))

    def substitute(self, *args: Any) -> tuple[Any, ...]:
        """Return an op's arguments, with watched copies in place of functions."""
        if args[1] == tf.MAKE_ITERATOR and not self._sink.maker(getattr(args[FIRST_INPUT], "_id", 0)):
            self._catalog.not_covered("functions of datasets made before recording began", "they are already built in")
        names = set(function_attributes(tf.as_text(args[1])))
        changed = list(args)
        for at in range(FIRST_INPUT, len(args) - 1):
            if isinstance(args[at], str) and args[at] in names:
                changed[at + 1] = self._substituted(args[at + 1], tf.as_text(args[1]))
        return tuple(changed)

    def _substituted(self, value: Any, op: str) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([self._substituted(item, op) for item in value])
        name = getattr(value, "name", None)
        if name is None:
            return value
        renamed_function = _RenamedFunction(tf.as_text(name), value, self._functions())
        watched = self._functions().watched_copy(tf.as_text(name), lambda: getattr(value, "graph", None), joined=False)
        if watched is None:
            return value
        self._catalog.dataset({"instance": watched.instance, "type": op, "site": self._sites.of_caller(3)})
        renamed_function.name = watched.name
        return renamed_function

    def call_function(
        self, real: Any, handle: Any, device: Any, name: str, inputs: Sequence[Any], attrs: Any, *rest: Any
    ) -> Any:
        """Run the watched copy of a function, and record the call. Return None if the name is that of an op."""
        if name not in self._known_functions:
            if tf.op_definition(tf.as_text(name)) is not None:
                self.known_ops.add(name)
                return None
            self._known_functions.add(name)
        functions = self._functions()
        functions.begin_use()
        try:
            call = harmless(self._begin, device, name, inputs, rest[-1])
            if call is None:
                return real(handle, device, name, inputs, attrs, *rest)
            self._sink.begin_call(call.place[0], call.number, call.began)
            try:
                return self._run(call, lambda ran, given: real(handle, device, ran, given, attrs, *rest), inputs)
            finally:
                self._sink.end_call(call.number)
        finally:
            functions.end_use()

    def _run(self, call: FunctionCall, run: Callable[[str, Sequence[Any]], Any], inputs: Sequence[Any]) -> Any:
        try:
            outputs = run(call.run_name, call.inputs)
        except tf.TensorFlowErrors as error:
            raise_in_program(first_alarm(self._observers.on_call_failed, call, error))
            if GUARD_STOP_MESSAGE in str(error) or not harmless(self._failed_call, call, error):
                raise
            return run(call.name, inputs)  # TensorFlow cannot run the copy
        seen = harmless(self._end, call, outputs)
        raise_in_program(first_alarm(self._observers.on_call_end, call, outputs, bool(seen)))
        return outputs

    def _begin(self, device: str | None, name: str, inputs: Sequence[Any], outputs: int) -> FunctionCall:
        """Record a call of a function, and return it with the name of the function to run."""
        find = _GraphFinder(sys._getframe(2))
        functions = self._functions()
        task = self._remote().task(device) if device and JOB_PREFIX in device else None
        as_it_is = task is not None and not self._remote().is_watched(task)
        elsewhere = self._remote().prober if task is not None and not as_it_is else None
        watched = None if as_it_is else functions.watched_copy(name, find, elsewhere=elsewhere)
        known = functions.describe_unwatched(name, find) if as_it_is else watched
        kind = known.kind if known else functions.kind(name, find)
        self._steps.function_called(kind)
        place = self._places.at_site(name, self._sites.of_caller(3), outputs, instance=known.instance if known else -1)
        if self._texts is not None:
            harmless(self._texts().note_call, name, inputs, self._places.site_of(place[0]))
        began = time.monotonic_ns()
        number, unmade = self._sink.begin_function(place[0], inputs, began)
        harmless(self._traces().note_call, name, number, find.frame)
        for told in self._observers.on_function:
            harmless(told, name, find, inputs)
        flight = self._keep_for_replay(number, name, find, inputs) if task is None else None
        if watched is None:
            return FunctionCall(name, name, inputs, number, began, place, None, flight, kind == "train")
        if unmade:
            self._note_external_inputs(inputs, unmade, watched, number)
        joined = [*inputs, tf.int64_scalar(number)]
        return FunctionCall(name, watched.name, joined, number, began, place, watched, flight, kind == "train")

    def _keep_for_replay(self, number: int, name: str, find: _GraphFinder, inputs: Sequence[Any]) -> Any:
        """Keep the inputs and variables of a call if a replay may need them."""
        if self._replay_buffer is None or not harmless(self._functions().keeps_inputs, name):
            return None
        return harmless(self._replay_buffer().begin, number, name, find, inputs)

    def _end(self, call: FunctionCall, outputs: Sequence[Any]) -> bool:
        """Record the outputs of a call. Return whether probes recorded its inside."""
        seen = call.watched is not None
        if call.watched is not None and call.run_name not in self._run_copies:
            self._run_copies.add(call.run_name)
            seen = self._functions().check_probes(call.name, call.watched)
        self._sink.call(CallKind.ENDED, call.number, call.place[0], call.began, time.monotonic_ns() - call.began, [])
        if call.watched is not None:
            self._sink.note_results(call.place[0], call.place[1], call.place[4], call.number, outputs)
        else:
            self._note_unprobed_results(call, outputs)
        if call.replayable is not None and self._replay_buffer is not None:
            harmless(self._replay_buffer().end, call, call.replayable, outputs)
        return seen

    def _note_unprobed_results(self, call: FunctionCall, outputs: Sequence[Any]) -> None:
        for index, tensor in enumerate(outputs):
            look = call.place[4][tensor._datatype_enum()]
            self._sink.set_maker(tensor._id, call.place[0])
            if look != DO_NOT_LOOK:
                self._sink.note_tensor(tensor, call.place[1] + index, call.number, tensor._id, look)
            else:
                self._sink.note_buffer(tensor, call.place[1] + index, call.number)

    def _failed_call(self, call: FunctionCall, error: Any) -> bool:
        """Record the error. Return True if our copy caused it and the original has not begun to run."""
        if call.watched is not None and call.run_name not in self._run_copies and is_caused_by_copy(error):
            self._functions().refuse(call.name, f"its watched copy does not run: {error}")
            return True
        restore_message(error)
        inputs = call.inputs[:-1] if call.watched is not None else call.inputs  # without the call's number
        self._note_failure(call.number, call.place[0], error, inputs)
        if call.replayable is not None and self._replay_buffer is not None:
            harmless(self._replay_buffer().fail, call, call.replayable)
        return False

    def _note_external_inputs(
        self, inputs: Sequence[Any], unmade: Sequence[int], watched_copy: WatchedCopy, call: int
    ) -> None:
        """Record the arguments that no recorded op made, which are data that enters here."""
        looks = self._places.modes_for("Argument")
        for number in unmade:
            tensor = inputs[number]
            look = looks[tensor._datatype_enum()]
            if look != DO_NOT_LOOK:
                self._sink.note_tensor(tensor, watched_copy.first + number, call, tensor._id, look)
                self._sink.set_maker(tensor._id, ARGUMENT_MAKER)
            else:
                self._sink.note_buffer(tensor, watched_copy.first + number, call)

    def on_op_failed(self, op: str | bytes, inputs: Sequence[Any], kind: type[BaseException], error: Any) -> None:
        """Record an error of an op. OutOfRangeError does not count, because datasets end with it."""
        if not issubclass(kind, tf.TensorFlowErrors) or tf.error_name(error) == END_OF_DATA:
            return
        raise_in_program(first_alarm(self._observers.on_op_failed, tf.as_text(op), error))
        harmless(self._note_failed_op, op, inputs, error, self._sites.of_caller())

    def _note_failed_op(self, op: str | bytes, inputs: Sequence[Any], error: Any, site: int) -> None:
        restore_message(error)
        self._note_failure(self._sink.next_call(), self._places.at_site(tf.as_text(op), site, 0)[0], error, inputs)

    def _note_failure(self, call: int, op: int, error: Any, inputs: Sequence[Any]) -> None:
        message = str(getattr(error, "message", error))
        described = {"inputs": describe_inputs(inputs)} | self.feeds.describe_makers(inputs)
        self._catalog.failure({"call": call, "op": op, "type": tf.error_name(error), "message": message} | described)
        self._sink.call(CallKind.FAILED, call, op, time.monotonic_ns(), 0, [])

    def note_tensor(self, tensor: Any, number: int, call: int, uid: int, look: int) -> bool:
        """Record a tensor whose memory the native hook cannot reach, and return whether it is bad."""
        return self._sink.note_tensor(tensor, number, call, uid, look)

    def look_inside(self, entry: int, args: tuple[Any, ...], result: Any, place: int) -> None:
        """Pass an op to the observers, in a step in which layer statistics sample the model."""
        self.note_texts(tf.as_text(args[1] if entry == 0 else args[2]), args, place)
        for told in self._observers.on_eager_op:
            harmless(told, entry, args, result, place)

    def on_bad_output(self, op: str | bytes, inputs: Sequence[Any], call: int, result: Any) -> None:
        """Tell the observers of an op with a bad output. They may raise in the program."""
        outputs = result if isinstance(result, list) else [result]
        raise_in_program(first_alarm(self._observers.on_bad_op, tf.as_text(op), inputs, call, outputs))

    def on_variable_write(self, op: str | bytes, inputs: Sequence[Any]) -> None:
        """Tell the observers that an op is about to write a variable. They may raise in the program."""
        raise_in_program(first_alarm(self._observers.on_write, tf.as_text(op), inputs))


def raise_in_program(alarm: Alarm) -> None:
    """Raise the error of an observer in the program, without the error that was being handled."""
    if alarm is not None:
        raise alarm from None


class _GraphFinder:
    """Finds the Python graph of the running function on request, because the search is slow and rarely needed."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __call__(self) -> Any:
        return tf.graph_of(tf.calling_function(self.frame))


class _RenamedFunction:
    """Stands for a function under another name. It keeps the original alive, so no copy is removed meanwhile."""

    def __init__(self, name: str, original: Any, watched_functions: WatchedFunctions) -> None:
        self.name = name
        self._original = original
        self._functions = watched_functions
        watched_functions.begin_use()

    def __del__(self) -> None:
        self._functions.end_use()

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._original, attribute)
