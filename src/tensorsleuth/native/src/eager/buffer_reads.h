// Hears of eager tensors that Python reads through the buffer protocol, as np.asarray and memoryview do. None of their
// Python methods runs for that, so EagerTensor's own C function is replaced while somebody listens.
// Part of eager_hook.cc and included only there.
#pragma once

#include "eager/eager_place.h"
#include "kernels/health.h"

namespace sleuth {
namespace {

using GetBuffer = int (*)(Object*, Buffer*, int);

struct BufferProcs {  // PyBufferProcs
  GetBuffer get;
  void (*release)(Object*, Buffer*);
};

constexpr Size kAsBuffer = 160;    // offset of tp_as_buffer in PyTypeObject; `listen_to_reads` checks it
constexpr int kGetBufferSlot = 1;  // Py_bf_getbuffer
constexpr Size kSmallRead = 4096;  // bytes: losses, metrics, anything that is printed

struct BufferReads {
  BufferProcs* real = nullptr;
  BufferProcs ours{};
  Object* listener = nullptr;
  bool everything = false;  // not only small tensors if nothing bad was recorded
} reads;

bool is_bad(Object* tensor, const void* data, uint64_t elements) {
  Object* datatype = PyObject_VectorcallMethod(hook.datatype_enum, &tensor, 1, nullptr);
  if (!datatype) return PyErr_Clear(), false;
  int dtype = int(PyLong_AsUnsignedLongLong(datatype));
  Py_DecRef(datatype);
  Health health;
  look(data, elements, dtype, kCurt, &health);
  return health.first_bad != ~0ull;
}

// A large tensor that a recorded op made has been examined already, and was fine if nothing is known to be bad.
bool may_be_bad(Object* tensor, const Buffer& buffer) {
  return buffer.len <= kSmallRead || reads.everything || bad_rows() || !is_made(number_of(tensor, hook.id));
}

// The listener raised: the read fails with its error. NumPy drops that error and asks the tensor's `__array__` next.
int refuse(Buffer* buffer) {
  Object *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyBuffer_Release(buffer);
  PyErr_Restore(type, value, traceback);
  return -1;
}

int get_buffer(Object* tensor, Buffer* buffer, int flags) {
  int error = reads.real->get(tensor, buffer, flags);
  if (error || busy || !reads.listener || !buffer->itemsize || !may_be_bad(tensor, *buffer)) return error;
  if (!is_bad(tensor, buffer->buf, uint64_t(buffer->len / buffer->itemsize))) return 0;
  busy = true;
  Object* done = PyObject_Vectorcall(reads.listener, &tensor, 1, nullptr);
  busy = false;
  if (done) return Py_DecRef(done), 0;
  return refuse(buffer);
}

// Tells `listener` of each bad tensor that is read, until it is None; false if this Python is laid out differently.
bool listen_to_reads(Object* type, Object* listener, bool everything) {
  auto** procs = reinterpret_cast<BufferProcs**>(reinterpret_cast<char*>(type) + kAsBuffer);
  auto current = reinterpret_cast<GetBuffer>(PyType_GetSlot(type, kGetBufferSlot));
  if (!current || !*procs || (*procs)->get != current) return false;
  if (*procs != &reads.ours) {
    reads.real = *procs;
    reads.ours = {get_buffer, reads.real->release};
  }
  *procs = listener == None ? reads.real : &reads.ours;
  if (reads.listener) Py_DecRef(reads.listener);
  reads.listener = listener == None ? nullptr : listener;
  if (reads.listener) Py_IncRef(reads.listener);
  reads.everything = everything;
  return true;
}

}  // namespace
}  // namespace sleuth
