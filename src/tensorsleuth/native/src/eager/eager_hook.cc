// Replaces TensorFlow's three eager entry points (TFE_Py_FastPathExecute, TFE_Py_Execute, TFE_Py_ExecuteCancelable).
// Each calls the original, then records the op, its inputs and its outputs. Python callbacks handle rare events: a new
// source line, a function call, an error. All of it runs under the GIL.
#include <algorithm>
#include <atomic>
#include <vector>

#include "eager/buffer_reads.h"
#include "eager/call_rows.h"
#include "eager/eager_layer_stats.h"
#include "eager/eager_place.h"
#include "eager/python_abi.h"
#include "files/threads.h"
#include "kernels/health.h"
#include "memory/tensor_lifetimes.h"
#include "observers/breaks.h"
#include "observers/guard.h"
#include "observers/watches.h"
#include "recording.h"

namespace sleuth {
namespace {

constexpr int kFirstInput = 3;  // TFE_Py_FastPathExecute(context, op, name, *inputs_and_attributes)

std::atomic<uint64_t> eager_writes{0};  // ops that have written a variable
std::atomic<bool> suspicious{false};    // the guard knows of bad tensors: call it before an op writes a variable

struct Uids {
  std::vector<uint64_t> list;  // kNoUid for an input that is not a tensor yet
  bool variables = false;      // whether there are variables, which the op reads itself

  void clear() {
    list.clear();
    variables = false;
  }

  void add(Object* thing, int depth = 0) {
    Object* type = PyObject_Type(thing);
    Py_DecRef(type);
    if (type == hook.tensor_type) list.push_back(uid_of(thing));
    else if (type == hook.list_type && depth == 0) add_items(thing, PyList_Size(thing), PyList_GetItem);
    else if (type == hook.tuple_type && depth == 0) add_items(thing, PyTuple_Size(thing), PyTuple_GetItem);
    else if (has_handle(thing, type)) add_handle(thing);
    else list.push_back(kNoUid);
  }

  void add_items(Object* items, Size count, Object* (*item)(Object*, Size)) {
    for (Size i = 0; i < count && list.size() < 4096; ++i) add(item(items, i), 1);
  }

  // Returns whether one of them was made by no recorded op.
  bool strange() const {
    if (variables) return true;
    for (uint64_t uid : list)
      if (uid == kNoUid || !is_made(uid)) return true;
    return false;
  }

  void replace(Object* uids) {
    for (size_t i = 0; i < list.size() && Size(i) < PyList_Size(uids); ++i)
      list[i] = PyLong_AsUnsignedLongLong(PyList_GetItem(uids, Size(i)));
  }

  static bool has_handle(Object* thing, Object* type) {
    auto known = hook.has_handle.find(type);
    if (known != hook.has_handle.end()) return known->second;
    Object* handle = PyObject_GetAttr(thing, hook.handle);
    if (!handle) PyErr_Clear();
    bool found = handle && is_a(handle, hook.tensor_type);
    if (handle) Py_DecRef(handle);
    Py_IncRef(type);  // so that its address stays unique
    return hook.has_handle[type] = found;
  }

  void add_handle(Object* variable) {
    Object* handle = PyObject_GetAttr(variable, hook.handle);
    if (!handle) PyErr_Clear();
    variables = true;
    list.push_back(handle && is_a(handle, hook.tensor_type) ? uid_of(handle) : kNoUid);
    if (handle) Py_DecRef(handle);
  }
};

bool look_slowly(Object* tensor, const Where& where, uint64_t uid, int look) {
  Object* arguments[] = {tensor, PyLong_FromUnsignedLongLong(where.tensor), PyLong_FromUnsignedLongLong(where.step),
                         PyLong_FromUnsignedLongLong(uid), PyLong_FromUnsignedLongLong(uint64_t(look))};
  Object* done = PyObject_Vectorcall(hook.callbacks[kLookSlowly], arguments, 5, nullptr);
  bool bad = done && PyObject_IsTrue(done) == 1;
  if (done) Py_DecRef(done);
  else PyErr_Clear();
  for (int i = 1; i < 5; ++i) Py_DecRef(arguments[i]);
  return bad;
}

// Records an output of an op; returns whether it is bad.
bool note_output(Object* tensor, const Place& place, uint32_t index, uint64_t call) {
  if (!is_a(tensor, hook.tensor_type)) return false;
  uint64_t uid = uid_of(tensor);
  made[uid % kSeen] = {uid, place.op};
  Object* datatype = PyObject_VectorcallMethod(hook.datatype_enum, &tensor, 1, nullptr);
  if (!datatype) return PyErr_Clear(), false;
  uint64_t dtype = PyLong_AsUnsignedLongLong(datatype);
  Py_DecRef(datatype);
  uint8_t look = dtype < kDtypes ? place.looks[dtype] : kDoNotLook;
  Where where{call, place.first + std::min(index, place.outputs - 1), uint32_t(uid), uint32_t(uid >> 32), kEager};
  if (look == kDoNotLook) return births::noted(tensor, int(dtype), where), false;
  if (!is_handle(int(dtype)))
    look = uint8_t(watches::closer(breaks::closer(look, breaks::asked(where.tensor)), watches::asked(where.tensor)));
  TensorView view{nullptr, 0, 0, int(dtype), 0, {}};
  Buffer buffer;
  if (look == kNoTensor) {
    births::noted(tensor, int(dtype), where);
    return note(view, look, where);
  }
  if (hook.slow_tensors || !dense_view(tensor, int(dtype), &buffer, &view))
    return look_slowly(tensor, where, uid, look);
  births::saw(tensor, view, where);
  bool bad = note(view, look, where);
  PyBuffer_Release(&buffer);
  return bad;
}

uint32_t count_outputs(Object* result) {
  if (is_a(result, hook.tensor_type)) return 1;
  return is_a(result, hook.list_type) ? uint32_t(PyList_Size(result)) : 0;
}

// Removes the frames of our callback, so that the user's traceback is that of the bare program.
void hide_callback_frames() {
  Object *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value && PyException_SetTraceback(value, None)) PyErr_Clear();
  if (traceback) Py_DecRef(traceback);
  PyErr_Restore(type, value, nullptr);
}

// Calls the guard with (op, inputs) and up to two more arguments; returns false if it raised.
bool ask_guard(Callback callback, Object* op, Object* const* inputs, Size count, Object* call, Object* result) {
  Object* given = tuple_of(inputs, count);
  Object* arguments[] = {op, given, call, result};
  busy = true;
  Object* done = PyObject_Vectorcall(hook.callbacks[callback], arguments, result ? 4 : 2, nullptr);
  busy = false;
  Py_DecRef(given);
  if (!done) return hide_callback_frames(), false;
  Py_DecRef(done);
  return true;
}

bool tell_of_bad(Object* op, Object* const* inputs, Size count, uint64_t call, Object* result) {
  Object* number = PyLong_FromUnsignedLongLong(call);
  bool fine = ask_guard(kMadeBad, op, inputs, count, number, result);
  Py_DecRef(number);
  return fine;
}

// An output is bad: let Python examine the inputs that no op made.
void look_at_strangers(const Place& place, Object* const* inputs, Size count, Uids* uids) {
  Object* arguments[] = {PyLong_FromUnsignedLongLong(place.op), tuple_of(inputs, count)};
  Object* found = PyObject_Vectorcall(hook.callbacks[kStrangers], arguments, 2, nullptr);
  if (found && is_a(found, hook.list_type)) uids->replace(found);
  if (found) Py_DecRef(found);
  else PyErr_Clear();
  for (Object* argument : arguments) Py_DecRef(argument);
}

// Records an op that has run; returns false if the guard raised.
bool note_op(const Beginning& beginning, Object* op, Object* const* inputs, Size count, Object* result,
             uint64_t began) {
  uint32_t outputs = count_outputs(result);
  Place place;  // a copy, since during the callbacks another thread may start a new recording
  if (!place_after(beginning, op, outputs, &place)) return true;
  count = std::min<Size>(count, place.inputs);
  if (place.writes) eager_writes.fetch_add(1, std::memory_order_relaxed);
  static thread_local Uids uids;
  uids.clear();
  for (Size i = 0; i < count; ++i) uids.add(inputs[i]);
  Call call = row_of_call(kOp, next_call(), place.op, began, now_ns() - began);
  busy = true;
  bool bad = false;
  if (outputs && is_a(result, hook.tensor_type)) bad = note_output(result, place, 0, call.call);
  else
    for (uint32_t i = 0; i < outputs; ++i) bad |= note_output(PyList_GetItem(result, i), place, i, call.call);
  if (bad && uids.strange()) look_at_strangers(place, inputs, count, &uids);
  busy = false;
  write_with_inputs(call, uids.list);
  if (!uids.list.empty()) {
    uint64_t key = mix(place.type, uids.list[0]);
    took[key % kSeen] = {key, place.op};
  }
  bool ask = breaks::take_stop() || (bad && guard::on());
  return !ask || tell_of_bad(op, inputs, count, call.call, result);
}

// Python decides whether this is an error (TensorFlow also raises to request its slow path).
void note_failure(Object* op, Object* const* inputs, Size count) {
  Object *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Object* given = tuple_of(inputs, count);
  Object* arguments[] = {op, given, type, value ? value : type};
  busy = true;
  Object* done = PyObject_Vectorcall(hook.callbacks[kFailed], arguments, 4, nullptr);
  busy = false;
  Py_DecRef(given);
  if (!done) return hide_callback_frames();  // the guard has a better explanation
  Py_DecRef(done);
  PyErr_Restore(type, value, traceback);
}

Object* run_and_note(int entry, Object* op, Object* const* args, Size count, Object* const* inputs, Size input_count) {
  if (suspicious.load(std::memory_order_relaxed) && guard::on() && PySet_Contains(hook.writing_ops, op) == 1 &&
      !ask_guard(kWrites, op, inputs, input_count, nullptr, nullptr))
    return nullptr;
  Beginning begins;
  find_beginning(op, args, count, &begins);
  uint64_t began = now_ns();
  threads::begin(begins.found ? begins.place.op : 0, 0, step_now(), began);
  Object* result = PyObject_Vectorcall(hook.real[entry], args, size_t(count), nullptr);
  threads::end();
  if (!result) return note_failure(op, inputs, input_count), nullptr;
  // Otherwise a pending signal would raise in the callback of a break point, which cannot raise.
  if (breaks::active.load(std::memory_order_relaxed) && PyErr_CheckSignals()) return Py_DecRef(result), nullptr;
  if (!note_op(begins, op, inputs, input_count, result, began)) return Py_DecRef(result), nullptr;
  if (inside::is_due() && !forward) look_inside(entry, begins.key, args, count, result);
  return result;
}

// Datasets take functions as attributes. Python replaces them with their watched copies.
Object* run_substituted(Object* const* args, Size count) {
  busy = true;
  Object* changed = PyObject_Vectorcall(hook.callbacks[kSubstitute], args, size_t(count), nullptr);
  busy = false;
  if (!changed) {
    PyErr_Clear();
    return run_and_note(0, args[1], args, count, args + kFirstInput, count - kFirstInput);
  }
  std::vector<Object*> items;
  for (Size i = 0; i < PyTuple_Size(changed); ++i) items.push_back(PyTuple_GetItem(changed, i));
  Size size = Size(items.size());
  Object* result = run_and_note(0, args[1], items.data(), size, items.data() + kFirstInput, size - kFirstInput);
  Py_DecRef(changed);
  return result;
}

bool passive() { return busy || !recording(hook.session); }

Object* fast_path(Object*, Object* const* args, Size count) {
  if (passive() || count < kFirstInput) return PyObject_Vectorcall(hook.real[0], args, size_t(count), nullptr);
  if (PySet_Contains(hook.ops_with_functions, args[1]) == 1) return run_substituted(args, count);
  return run_and_note(0, args[1], args, count, args + kFirstInput, count - kFirstInput);
}

// TFE_Py_Execute(handle, device, op, inputs, attributes, …): ops that need a conversion first, and all functions.
Object* execute(int entry, Object* const* args, Size count) {
  if (passive() || count < 4) return PyObject_Vectorcall(hook.real[entry], args, size_t(count), nullptr);
  if (PySet_Contains(hook.known_ops, args[2]) != 1) {
    std::vector<Object*> with_entry{hook.real[entry]};
    with_entry.insert(with_entry.end(), args, args + count);
    Object* result = PyObject_Vectorcall(hook.callbacks[kFunctionCall], with_entry.data(), with_entry.size(), nullptr);
    if (!result) hide_callback_frames();
    if (!result || is_a(result, hook.list_type)) return result;
    Py_DecRef(result);  // None: not a function after all
  }
  return run_and_note(entry, args[2], args, count, args + 3, 1);
}

Object* execute_plain(Object*, Object* const* args, Size count) { return execute(1, args, count); }
Object* execute_cancelable(Object*, Object* const* args, Size count) { return execute(2, args, count); }

MethodDef methods[] = {{"TFE_Py_FastPathExecute", fast_path, kFastCall, nullptr},
                       {"TFE_Py_Execute", execute_plain, kFastCall, nullptr},
                       {"TFE_Py_ExecuteCancelable", execute_cancelable, kFastCall, nullptr}};

// Records the value of a variable as if the program had read it; returns whether it is bad.
bool note_read(Object* value, uint32_t op, uint32_t first, uint64_t handle, int look) {
  Place place{op, first, 1, 0, {}, 1, false};
  memset(place.looks, look, sizeof place.looks);
  Call call = row_of_call(kOp, next_call(), op, now_ns(), 0);
  call.inputs_count = 1;
  call.inputs[0] = handle;
  bool bad = note_output(value, place, 0, call.call);
  note_call(call);
  return bad;
}

bool is_bad(Object* tensor) {
  TensorView view{};
  Buffer buffer;
  if (!dense_view(tensor, 0, &buffer, &view)) return false;
  bool bad = is_bad(tensor, view.data, view.elements);
  PyBuffer_Release(&buffer);
  return bad;
}

Object* keep(Object* tuple, Size index) {
  Object* item = PyTuple_GetItem(tuple, index);
  Py_IncRef(item);
  return item;
}

}  // namespace
}  // namespace sleuth

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

SLEUTH_API int sleuth_python_ready() { return sleuth::py::find_all(); }

// given: (3 real entry points, 10 callbacks, EagerTensor, list, tuple, ops with functions, known ops, writing ops)
SLEUTH_API sleuth::py::Object* sleuth_hooks(sleuth::py::Object* given, uint64_t session, int slow_tensors) {
  using namespace sleuth;
  hook = Hook{};  // the old objects stay alive: another thread may still use them
  Size at = 0;
  for (auto& real : hook.real) real = keep(given, at++);
  for (auto& callback : hook.callbacks) callback = keep(given, at++);
  for (Object** type : {&hook.tensor_type, &hook.list_type, &hook.tuple_type, &hook.ops_with_functions, &hook.known_ops,
                        &hook.writing_ops})
    *type = keep(given, at++);
  hook.id = PyUnicode_InternFromString("_id");
  hook.datatype_enum = PyUnicode_InternFromString("_datatype_enum");
  hook.handle = PyUnicode_InternFromString("_handle");
  hook.session = session;
  hook.slow_tensors = slow_tensors != 0;
  births::begin(hook.slow_tensors);
  memset(made, 0, sizeof made);
  memset(took, 0, sizeof took);
  Object* hooks = PyTuple_New(3);
  for (Size i = 0; i < 3; ++i) PyTuple_SetItem(hooks, i, PyCFunction_NewEx(&methods[i], nullptr, nullptr));
  return hooks;
}

// Returns the functions of call_rows.h, for the recording that `sleuth_hooks` has set up.
SLEUTH_API sleuth::py::Object* sleuth_call_functions() {
  using namespace sleuth;
  constexpr Size kCount = sizeof call_methods / sizeof *call_methods;
  Object* functions = PyTuple_New(kCount);
  for (Size i = 0; i < kCount; ++i)
    PyTuple_SetItem(functions, i, PyCFunction_NewEx(&call_methods[i], nullptr, nullptr));
  return functions;
}

// Records the values of variables after a step; sets `bad` to 1 for each bad value.
SLEUTH_API void sleuth_note_reads(sleuth::py::Object* values, const uint32_t* ops, const uint32_t* firsts,
                                  const uint64_t* handles, int look, uint8_t* bad) {
  using namespace sleuth;
  for (Size i = 0; i < PyList_Size(values); ++i)
    bad[i] = note_read(PyList_GetItem(values, i), ops[i], firsts[i], handles[i], look);
}

// Returns whether any of the tensors is bad, without recording them.
SLEUTH_API int sleuth_any_bad(sleuth::py::Object* tensors) {
  using namespace sleuth;
  for (Size i = 0; i < PyList_Size(tensors); ++i)
    if (is_bad(PyList_GetItem(tensors, i))) return 1;
  return 0;
}

// Returns whether `listener` will hear of bad tensors that Python reads through the buffer protocol. None ends it.
SLEUTH_API int sleuth_listen_to_reads(sleuth::py::Object* type, sleuth::py::Object* listener, int everything) {
  return sleuth::listen_to_reads(type, listener, everything != 0);
}

SLEUTH_API void sleuth_set_suspicious(int suspicious) { sleuth::suspicious = suspicious != 0; }
SLEUTH_API uint64_t sleuth_eager_writes() { return sleuth::eager_writes.load(); }

SLEUTH_API void sleuth_forget_places() { sleuth::hook.places.clear(); }
SLEUTH_API void sleuth_set_forward(uint32_t op) { sleuth::forward = op; }
SLEUTH_API void sleuth_set_scope(uint32_t scope) { sleuth::scope = scope; }
SLEUTH_API void sleuth_made(uint64_t uid, uint32_t op) { sleuth::made[uid % sleuth::kSeen] = {uid, op}; }

// Returns the eager op that made the tensor `uid`, or 0.
SLEUTH_API uint32_t sleuth_maker(uint64_t uid) {
  return sleuth::is_made(uid) ? sleuth::made[uid % sleuth::kSeen].op : 0;
}

// Returns the eager op of that type whose first input was the tensor `uid`, or 0.
SLEUTH_API uint32_t sleuth_taker(uint32_t type, uint64_t uid) {
  uint64_t key = sleuth::mix(type, uid);
  auto& seen = sleuth::took[key % sleuth::kSeen];
  return seen.key == key ? seen.op : 0;
}
}
