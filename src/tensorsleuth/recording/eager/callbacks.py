"""Callbacks of the eager hook: a new call site, a call of a function, an error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tensorsleuth.core.layout.rows import NO_UID, CallKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.call_sites import Sites
from tensorsleuth.recording.cluster.remote_functions import JOB, Remote
from tensorsleuth.recording.eager.external_inputs import strangers
from tensorsleuth.recording.eager.feeds import Feeds
from tensorsleuth.recording.eager.op_sites import Place, Places
from tensorsleuth.recording.eager.retracing import Traces
from tensorsleuth.recording.eager.texts import ASKED, Texts
from tensorsleuth.recording.functions.function_def import function_attributes
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.functions.watched_functions import Functions, Watched
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.observer import STOPPED, Alarm, FunctionCall, Observers, first_alarm
from tensorsleuth.recording.replay.replay_buffer import Flights
from tensorsleuth.recording.steps import Steps
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.error_messages import describe_inputs, of_our_making, restore_message
from tensorsleuth.recording.tensorflow.gradient_marks import ARGUMENT
from tensorsleuth.recording.tensorflow.op_outputs import count_outputs
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

END_OF_DATA = "OutOfRangeError"  # how a dataset says that it is at its end
FIRST_INPUT = 3  # TFE_Py_FastPathExecute(context, op, name, *inputs_and_attributes)


class EagerCallbacks:
    """The rare part of watching eager execution; the frequent part is native."""

    def __init__(
        self,
        catalog: CatalogWriter,
        sites: Sites,
        places: Places,
        functions: Lazy[Functions],
        steps: Steps,
        sink: Sink,
        observers: Observers,
        remote: Lazy[Remote],
        flights: Lazy[Flights] | None = None,
        texts: Lazy[Texts] | None = None,
    ) -> None:
        self._catalog = catalog
        self._sites = sites
        self._places = places
        self._functions = functions
        self._steps = steps
        self._sink = sink
        self._observers = observers
        self._remote = remote
        self._flights = flights
        self._texts = texts
        self.feeds = Feeds(places, sites, sink, texts)
        self._traces = Lazy(lambda: Traces(catalog))
        self._proven: set[str] = set()  # copies that have run
        self.known_ops: set[str | bytes] = set()  # what the hook need not ask about: ops, not functions

    def intern(self, op: str | bytes, outputs: int, forward: int) -> Place:
        """Return the facts that the hook needs about an op called from a new place."""
        return self._places.of_caller(tf.text(op), outputs, forward)

    def begins(self, op: str | bytes, args: tuple[Any, ...], forward: int) -> Place | None:
        """Return the same facts before the op has run; None if only its outputs tell how many there are."""
        outputs = count_outputs(tf.text(op), args)
        place = self._places.of_caller(tf.text(op), outputs, forward) if outputs is not None else None
        if place is not None and not forward:
            self.note_texts(tf.text(op), args, place[0])
        return place

    def note_texts(self, op: str, args: Sequence[Any], place: int) -> None:
        """An op may be given texts."""
        if self._texts is not None and op in ASKED:
            harmless(self._texts().op, op, args, place, self._places.site_of(place))

    def substitute(self, *args: Any) -> tuple[Any, ...]:
        """The arguments of an op that takes functions, with their watched copies in their places."""
        if args[1] == tf.MAKE_ITERATOR and not self._sink.maker(getattr(args[FIRST_INPUT], "_id", 0)):
            self._catalog.not_covered("functions of datasets made before recording began", "they are built in already")
        names = set(function_attributes(tf.text(args[1])))
        changed = list(args)
        for at in range(FIRST_INPUT, len(args) - 1):
            if isinstance(args[at], str) and args[at] in names:
                changed[at + 1] = self._substituted(args[at + 1], tf.text(args[1]))
        return tuple(changed)

    def _substituted(self, value: Any, op: str) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([self._substituted(item, op) for item in value])
        name = getattr(value, "name", None)
        if name is None:
            return value
        named = _Named(tf.text(name), value, self._functions())
        watched = self._functions().watched(tf.text(name), lambda: getattr(value, "graph", None), joined=False)
        if watched is None:
            return value
        self._catalog.dataset({"instance": watched.instance, "type": op, "site": self._sites.of_caller(3)})
        named.name = watched.name
        return named

    def call_function(
        self, real: Any, handle: Any, device: Any, name: str, inputs: Sequence[Any], attrs: Any, *rest: Any
    ) -> Any:
        """Run a function's watched copy, and note the call; None where this is no function but an op."""
        if tf.op_definition(tf.text(name)) is not None:
            self.known_ops.add(name)
            return None
        with self._functions().running():
            return self._call_function(real, handle, device, name, inputs, attrs, *rest)

    def _call_function(
        self, real: Any, handle: Any, device: Any, name: str, inputs: Sequence[Any], attrs: Any, *rest: Any
    ) -> Any:
        call = harmless(self._begin, device, name, inputs, rest[-1])
        if call is None:
            return real(handle, device, name, inputs, attrs, *rest)
        self._sink.begin_call(call.place[0], call.number, call.began)
        try:
            return self._run(call, lambda ran, given: real(handle, device, ran, given, attrs, *rest), inputs)
        finally:
            self._sink.end_call(call.number)

    def _run(self, call: FunctionCall, run: Callable[[str, Sequence[Any]], Any], inputs: Sequence[Any]) -> Any:
        try:
            outputs = run(call.ran, call.inputs)
        except tf.Failures as error:
            raise_in_program(first_alarm(self._observers.on_call_failed, call, error))
            if STOPPED in str(error) or not harmless(self._failed_call, call, error):
                raise
            return run(call.name, inputs)  # the copy could not be made to run
        seen = harmless(self._end, call, outputs)
        raise_in_program(first_alarm(self._observers.on_call_end, call, outputs, bool(seen)))
        return outputs

    def _begin(self, device: str | None, name: str, inputs: Sequence[Any], outputs: int) -> FunctionCall:
        """Note that a function is called; what to run for it."""
        find = _Graph(sys._getframe(3))
        functions = self._functions()
        task = self._remote().task(device) if device and JOB in device else None
        as_it_is = task is not None and not self._remote().is_watched(task)
        elsewhere = self._remote().prober if task is not None and not as_it_is else None
        watched = None if as_it_is else functions.watched(name, find, elsewhere=elsewhere)
        known = functions.described(name, find) if as_it_is else watched
        kind = known.kind if known else functions.kind(name, find)
        self._steps.function_called(kind)
        place = self._places.at(name, self._sites.of_caller(4), outputs, instance=known.instance if known else -1)
        if self._texts is not None:
            harmless(self._texts().call, name, inputs, self._places.site_of(place[0]))
        number, began = self._sink.next_call(), time.monotonic_ns()
        uids = [getattr(tensor, "_id", NO_UID) for tensor in inputs]
        self._sink.call(CallKind.FUNCTION, number, place[0], began, 0, uids)
        harmless(self._traces().called, name, number, find.frame)
        for told in self._observers.on_function:
            harmless(told, name, find, inputs)
        flight = self._begin_flight(number, name, find, inputs) if task is None else None
        if watched is None:
            return FunctionCall(name, name, inputs, number, began, place, None, flight, kind == "train")
        self._look_at_strangers(inputs, watched, number)
        joined = [*inputs, tf.scalar(number)]
        return FunctionCall(name, watched.name, joined, number, began, place, watched, flight, kind == "train")

    def _begin_flight(self, number: int, name: str, find: _Graph, inputs: Sequence[Any]) -> Any:
        """Keep what a call begins with, where it may have to be run again."""
        if self._flights is None or not harmless(self._functions().is_kept, name):
            return None
        return harmless(self._flights().begin, number, name, find, inputs)

    def _end(self, call: FunctionCall, outputs: Sequence[Any]) -> bool:
        """Note what came back; True where the function's inside was looked at."""
        seen = call.watched is not None
        if call.watched is not None and call.ran not in self._proven:
            self._proven.add(call.ran)
            seen = self._functions().ran(call.name, call.watched)
        self._sink.call(CallKind.ENDED, call.number, call.place[0], call.began, time.monotonic_ns() - call.began, [])
        for index, tensor in enumerate(outputs):
            look = call.place[4][tensor._datatype_enum()]
            self._sink.made(tensor._id, call.place[0])
            if look != DO_NOT_LOOK:  # a watched function has looked at it already
                close = Mode.NO_TENSOR if call.watched else look
                self._sink.look(tensor, call.place[1] + index, call.number, tensor._id, close)
            else:
                self._sink.born(tensor, call.place[1] + index, call.number)
        if call.flight is not None and self._flights is not None:
            harmless(self._flights().ended, call, call.flight, outputs)
        return seen

    def _failed_call(self, call: FunctionCall, error: Any) -> bool:
        """Note the error; True where it is our copy's fault and the original has not begun to run."""
        if call.watched is not None and call.ran not in self._proven and of_our_making(error):
            self._functions().refuse(call.name, f"its watched copy does not run: {error}")
            return True
        restore_message(error)
        inputs = call.inputs[:-1] if call.watched is not None else call.inputs  # the last is the call's number
        self._note_failure(call.number, call.place[0], error, inputs)
        if call.flight is not None and self._flights is not None:
            harmless(self._flights().failed, call, call.flight)
        return False

    def _look_at_strangers(self, inputs: Sequence[Any], watched: Watched, call: int) -> None:
        """Arguments that no op made, as far as we saw: data that comes in here."""
        for number, tensor, look in strangers(inputs, self._places, self._sink):
            if look != DO_NOT_LOOK:
                self._sink.look(tensor, watched.first + number, call, tensor._id, look)
                self._sink.made(tensor._id, ARGUMENT)
            else:
                self._sink.born(tensor, watched.first + number, call)

    def failed(self, op: str | bytes, inputs: Sequence[Any], kind: type[BaseException], error: Any) -> None:
        """An op raised. TensorFlow also raises to ask for a slower path: that is no failure."""
        if not issubclass(kind, tf.Failures) or tf.error_name(error) == END_OF_DATA:
            return
        raise_in_program(first_alarm(self._observers.on_op_failed, tf.text(op), error))
        harmless(self._note_failed_op, op, inputs, error, self._sites.of_caller())

    def _note_failed_op(self, op: str | bytes, inputs: Sequence[Any], error: Any, site: int) -> None:
        restore_message(error)
        self._note_failure(self._sink.next_call(), self._places.at(tf.text(op), site, 0)[0], error, inputs)

    def _note_failure(self, call: int, op: int, error: Any, inputs: Sequence[Any]) -> None:
        message = str(getattr(error, "message", error))
        described = describe_inputs(inputs)
        self._catalog.failure(
            {"call": call, "op": op, "type": tf.error_name(error), "message": message, "inputs": described}
        )
        self._sink.call(CallKind.FAILED, call, op, time.monotonic_ns(), 0, [])

    def look_slowly(self, tensor: Any, number: int, call: int, uid: int, look: int) -> bool:
        """Look at a tensor whose memory the native hook cannot reach; is it bad?"""
        return self._sink.look(tensor, number, call, uid, look)

    def look_inside(self, entry: int, args: tuple[Any, ...], result: Any, place: int) -> None:
        """An op has run in a step in which the model is looked into."""
        self.note_texts(tf.text(args[1] if entry == 0 else args[2]), args, place)
        for told in self._observers.on_eager_op:
            harmless(told, entry, args, result, place)

    def made_bad(self, op: str | bytes, inputs: Sequence[Any], call: int, result: Any) -> None:
        """An op put out something that is not finite; the guard may raise."""
        outputs = result if isinstance(result, list) else [result]
        raise_in_program(first_alarm(self._observers.on_bad_op, tf.text(op), inputs, call, outputs))

    def writes(self, op: str | bytes, inputs: Sequence[Any]) -> None:
        """An op is about to write a variable; the guard may raise."""
        raise_in_program(first_alarm(self._observers.on_write, tf.text(op), inputs))


def raise_in_program(alarm: Alarm) -> None:
    """Raise what the guard has to say, without a trace of what it was found in."""
    if alarm is not None:
        raise alarm from None


class _Graph:
    """Finds the Python graph of the function that is being called, where it is asked for: seldom, and it takes time."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __call__(self) -> Any:
        return tf.graph_of(tf.calling_function(self.frame))


class _Named:
    """Stands for a function under another name; while it lives the original does, and no copy is taken away."""

    def __init__(self, name: str, original: Any, functions: Functions) -> None:
        self.name = name
        self._original = original
        self._functions = functions
        functions.began()

    def __del__(self) -> None:
        self._functions.ended()

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._original, attribute)
