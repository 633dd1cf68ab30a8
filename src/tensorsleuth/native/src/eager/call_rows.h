// Functions for Python that write the rows of calls. Each short step needs several of these rows, and ctypes would take
// longer to convert the arguments than we need to write them. Part of eager_hook.cc and included only there.
#pragma once

#include <algorithm>
#include <vector>

#include "eager/eager_place.h"
#include "files/threads.h"
#include "memory/tensor_lifetimes.h"

namespace sleuth {
namespace {

uint64_t whole_number(Object* value) {
  uint64_t number = PyLong_AsUnsignedLongLong(value);
  if (number == ~0ull) PyErr_Clear();  // also the number of a value without a uid
  return number;
}

Object* nothing() {
  Py_IncRef(None);
  return None;
}

// The items of a list or a tuple; none for anything else.
struct Items {
  Object* all;
  bool is_list;
  Size count;

  explicit Items(Object* items) : all(items), count(PyList_Size(items)) {  // may run before the hook knows any types
    is_list = count >= 0;
    if (!is_list) PyErr_Clear(), count = PyTuple_Size(items);
    if (count < 0) PyErr_Clear(), count = 0;
  }
  Object* at(Size i) const { return is_list ? PyList_GetItem(all, i) : PyTuple_GetItem(all, i); }
};

// Writes a row, and more rows if there are more uids than fit into one.
void write_with_inputs(Call call, const std::vector<uint64_t>& uids) {
  size_t at = 0;
  do {
    call.inputs_count = uint8_t(std::min<size_t>(6, uids.size() - at));
    std::copy_n(uids.begin() + long(at), call.inputs_count, call.inputs);
    note_call(call);
    at += call.inputs_count;
    call.kind = kMoreInputs;
  } while (at < uids.size());
}

Call row_of_call(uint8_t kind, uint64_t number, uint32_t op, uint64_t began, uint64_t duration) {
  Call call{};
  call.kind = kind;
  call.call = number;
  call.step = step_now();
  call.op = op;
  call.thread = thread_number();
  call.time = began;
  call.duration = duration;
  return call;
}

// (kind, number, op, began, duration, uids)
Object* write_call(Object*, Object* const* args, Size count) {
  if (count != 6) return nothing();
  std::vector<uint64_t> uids;
  Items items(args[5]);
  for (Size i = 0; i < items.count; ++i) uids.push_back(whole_number(items.at(i)));
  write_with_inputs(row_of_call(uint8_t(whole_number(args[0])), whole_number(args[1]), uint32_t(whole_number(args[2])),
                                whole_number(args[3]), whole_number(args[4])),
                    uids);
  return nothing();
}

// (op, inputs, began): records the call of a function, and returns its number, and the indices of the inputs that no
// recorded op made.
Object* begin_function(Object*, Object* const* args, Size count) {
  if (count != 3) return nothing();
  uint64_t number = next_call();
  std::vector<uint64_t> uids;
  std::vector<Size> unmade;
  Items inputs(args[1]);
  for (Size i = 0; i < inputs.count; ++i) {
    bool is_tensor = is_a(inputs.at(i), hook.tensor_type);
    uids.push_back(is_tensor ? uid_of(inputs.at(i)) : kNoUid);
    if (is_tensor && !is_made(uids.back())) unmade.push_back(i);
  }
  write_with_inputs(row_of_call(kFunction, number, uint32_t(whole_number(args[0])), whole_number(args[2]), 0), uids);
  Object* indices = PyTuple_New(Size(unmade.size()));
  for (size_t i = 0; i < unmade.size(); ++i)
    PyTuple_SetItem(indices, Size(i), PyLong_FromUnsignedLongLong(uint64_t(unmade[i])));
  Object* made_of = PyTuple_New(2);
  PyTuple_SetItem(made_of, 0, PyLong_FromUnsignedLongLong(number));
  PyTuple_SetItem(made_of, 1, indices);
  return made_of;
}

// Records that a tensor is the result of a function whose probes have recorded its value.
void note_probed_result(Object* tensor, uint32_t op, uint32_t number, uint64_t call, const char* looks) {
  if (!is_a(tensor, hook.tensor_type)) return;
  uint64_t uid = uid_of(tensor);
  made[uid % kSeen] = {uid, op};
  Object* datatype = PyObject_VectorcallMethod(hook.datatype_enum, &tensor, 1, nullptr);
  if (!datatype) return PyErr_Clear();
  uint64_t dtype = whole_number(datatype);
  Py_DecRef(datatype);
  Where where{call, number, uint32_t(uid), uint32_t(uid >> 32), kEager};
  births::noted(tensor, int(dtype), where);
  if (dtype < kDtypes && uint8_t(looks[dtype]) != kDoNotLook)
    note(TensorView{nullptr, 0, 0, int(dtype), 0, {}}, kNoTensor, where);
}

// (op, first tensor, looks, call, results): records the results of a function that has probes.
Object* note_results(Object*, Object* const* args, Size count) {
  if (count != 5) return nothing();
  Items results(args[4]);
  uint32_t op = uint32_t(whole_number(args[0])), first = uint32_t(whole_number(args[1]));
  for (Size i = 0; i < results.count; ++i)
    note_probed_result(results.at(i), op, first + uint32_t(i), whole_number(args[3]), PyBytes_AsString(args[2]));
  return nothing();
}

// (op, call, began): a function runs on this thread until its end.
Object* begin_call(Object*, Object* const* args, Size count) {
  if (count == 3)
    threads::begin(uint32_t(whole_number(args[0])), whole_number(args[1]), step_now(), whole_number(args[2]));
  return nothing();
}

Object* end_call(Object*, Object* const* args, Size count) {
  if (count == 1) threads::end_call(whole_number(args[0]));
  return nothing();
}

MethodDef call_methods[] = {{"write_call", write_call, kFastCall, nullptr},
                            {"begin_function", begin_function, kFastCall, nullptr},
                            {"note_results", note_results, kFastCall, nullptr},
                            {"begin_call", begin_call, kFastCall, nullptr},
                            {"end_call", end_call, kFastCall, nullptr}};

}  // namespace
}  // namespace sleuth
