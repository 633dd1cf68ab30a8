// A place is an op and the stack that calls it. This file identifies places and stores what Python says about them.
// Part of eager_hook.cc and included only there, so that the code for every op is inlined.
#pragma once

#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "eager/python_abi.h"
#include "recording.h"

namespace sleuth {
namespace {

using namespace py;

constexpr int kDtypes = 64;

enum Callback {
  kIntern,
  kSubstitute,
  kFunctionCall,
  kFailed,
  kLookSlowly,
  kStrangers,
  kMadeBad,
  kWrites,
  kBegins,
  kLookInside,
  kCallbacks
};

// An op together with the stack that calls it.
struct Place {
  uint32_t op, first, outputs, type;  // `type` is a hash of the op's type
  uint8_t looks[kDtypes];             // how closely to examine an output of each dtype
  uint32_t inputs;                    // how many of its arguments are tensors; the rest are attributes
  bool writes;                        // whether it writes a variable
};

struct Hook {
  Object* real[3] = {};
  Object* callbacks[kCallbacks] = {};
  Object *tensor_type = nullptr, *list_type = nullptr, *tuple_type = nullptr;
  Object *ops_with_functions = nullptr, *known_ops = nullptr, *writing_ops = nullptr;
  Object *id = nullptr, *datatype_enum = nullptr, *handle = nullptr;
  uint64_t session = 0;
  bool slow_tensors = false;  // tensors may be on an accelerator, so Python examines them
  std::unordered_map<uint64_t, Place> places;
  std::unordered_map<Object*, bool> has_handle;  // by type
} hook;

thread_local uint32_t scope = 0;    // Python's current name scope: one source line may run in several layers
thread_local uint32_t forward = 0;  // while a gradient function runs: the op that it differentiates

struct Seen {  // the op that made a tensor, or took it first: a bounded table for gradients
  uint64_t key;
  uint32_t op;
};
constexpr uint64_t kSeen = 1 << 16;
Seen made[kSeen], took[kSeen];

bool is_made(uint64_t uid) { return made[uid % kSeen].key == uid && made[uid % kSeen].op; }

uint64_t number_of(Object* owner, Object* attribute) {
  Object* value = PyObject_GetAttr(owner, attribute);
  if (!value) return PyErr_Clear(), 0;
  uint64_t number = PyLong_AsUnsignedLongLong(value);
  Py_DecRef(value);
  return number;
}

constexpr uint64_t kNoUid = ~0ull;

uint64_t uid_of(Object* tensor) { return number_of(tensor, hook.id); }

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

// Identifies the stack by its code objects and positions. The callback keeps the code objects alive.
uint64_t place_key(Object* op) {
  uint64_t key = mix(mix(0x51E07Bull + forward, scope), reinterpret_cast<uint64_t>(op));
  Object* frame = PyEval_GetFrame();
  if (frame) Py_IncRef(frame);
  while (frame) {
    Object* code = PyFrame_GetCode(frame);
    int position = PyFrame_GetLasti ? PyFrame_GetLasti(frame) : PyFrame_GetLineNumber(frame);
    key = mix(mix(key, reinterpret_cast<uint64_t>(code)), uint64_t(position));
    Py_DecRef(code);
    Object* back = PyFrame_GetBack(frame);
    Py_DecRef(frame);
    frame = back;
  }
  return key;
}

bool is_a(Object* thing, Object* type) {
  Object* its = PyObject_Type(thing);
  Py_DecRef(its);
  return its == type;
}

Object* tuple_of(Object* const* items, Size count) {
  Object* tuple = PyTuple_New(count);
  for (Size i = 0; i < count; ++i) {
    Py_IncRef(items[i]);
    PyTuple_SetItem(tuple, i, items[i]);
  }
  return tuple;
}

bool read_place(Object* described, Place* place) {
  if (!described) return PyErr_Clear(), false;
  place->op = uint32_t(PyLong_AsUnsignedLongLong(PyTuple_GetItem(described, 0)));
  place->first = uint32_t(PyLong_AsUnsignedLongLong(PyTuple_GetItem(described, 1)));
  place->outputs = uint32_t(PyLong_AsUnsignedLongLong(PyTuple_GetItem(described, 2)));
  place->type = uint32_t(PyLong_AsUnsignedLongLong(PyTuple_GetItem(described, 3)));
  memcpy(place->looks, PyBytes_AsString(PyTuple_GetItem(described, 4)), kDtypes);
  place->inputs = uint32_t(PyLong_AsUnsignedLongLong(PyTuple_GetItem(described, 5)));
  Py_DecRef(described);
  return true;
}

bool known_place(uint64_t key, Place* place) {
  auto known = hook.places.find(key);
  return known != hook.places.end() && (*place = known->second, true);
}

// Asks Python about a new place. `given` is the number of outputs, or the arguments if the op has not run yet.
bool new_place(Callback callback, uint64_t key, Object* op, Object* given, Place* place) {
  uint64_t session = hook.session;
  Object* arguments[] = {op, given, PyLong_FromUnsignedLongLong(forward)};
  busy = true;
  Object* described = PyObject_Vectorcall(hook.callbacks[callback], arguments, 3, nullptr);
  busy = false;
  Py_DecRef(arguments[2]);
  // None: Python cannot tell yet.
  if (described && !is_a(described, hook.tuple_type)) return Py_DecRef(described), false;
  if (!read_place(described, place) || hook.session != session) return false;  // a new recording began meanwhile
  place->writes = PySet_Contains(hook.writing_ops, op) == 1;
  hook.places[key] = *place;
  return true;
}

bool find_place(uint64_t key, Object* op, uint32_t outputs, Place* place) {
  if (known_place(key, place)) return true;
  Object* count = PyLong_FromUnsignedLongLong(outputs);
  bool found = new_place(kIntern, key, op, count, place);
  Py_DecRef(count);
  return found;
}

struct Beginning {  // an op that is about to run
  uint64_t key, session;
  Place place;
  bool found;  // if false, the place becomes known after the op has run
};

// Identifies the place before the op runs, because the op may be the program's last.
void find_beginning(Object* op, Object* const* args, Size count, Beginning* begins) {
  begins->key = place_key(op);
  begins->session = hook.session;
  begins->found = known_place(begins->key, &begins->place);
  if (begins->found) return;
  Object* given = tuple_of(args, count);
  begins->found = new_place(kBegins, begins->key, op, given, &begins->place);
  Py_DecRef(given);
}

// Returns the place after the op has run. A new recording may have begun meanwhile.
bool place_after(const Beginning& began, Object* op, uint32_t outputs, Place* place) {
  if (began.found && began.session == hook.session) return *place = began.place, true;
  return find_place(began.key, op, outputs, place);
}

}  // namespace
}  // namespace sleuth
