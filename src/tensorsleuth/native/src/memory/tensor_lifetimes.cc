#include "memory/tensor_lifetimes.h"

#include <unordered_map>

#include "files/buffers.h"

namespace sleuth {

using namespace py;

bool dense_view(Object* tensor, int dtype, Buffer* buffer, TensorView* view) {
  bool before = busy;
  busy = true;  // this is not the program's read
  int error = PyObject_GetBuffer(tensor, buffer, kStrided);
  busy = before;
  if (error) return PyErr_Clear(), false;
  view->data = buffer->buf;
  view->bytes = uint64_t(buffer->len);
  view->elements = buffer->itemsize ? uint64_t(buffer->len / buffer->itemsize) : 0;
  view->dtype = dtype;
  view->rank = buffer->ndim;
  for (int i = 0; i < view->rank && i < 8; ++i) view->dims[i] = buffer->shape[i];
  return true;
}

bool is_handle(int dtype) { return dtype == 20 || dtype == 21; }

namespace births {
namespace {

constexpr int kResource = 20, kString = 7;
bool slow = false;

struct Life {
  uint64_t session;  // the recording that saw its birth; later recordings have other numbers
  BufferUse row;
};

// Keyed by weak reference, each of which lives as long as its entry. Accessed only under the GIL. Never destroyed,
// since tensors die until the very end of the program.
auto& alive = *new std::unordered_map<Object*, Life>;

Object* died(Object*, Object* const* references, Size) {
  auto found = alive.find(references[0]);
  if (found != alive.end()) {
    if (recording(found->second.session)) buffers::freed(found->second.row);
    alive.erase(found);
    Py_DecRef(references[0]);
  }
  Py_IncRef(None);
  return None;
}

MethodDef method{"tensor_died", died, kFastCall, nullptr};

void await_death(Object* tensor, const BufferUse& row) {
  static Object* callback = PyCFunction_NewEx(&method, nullptr, nullptr);
  Object* reference = callback ? PyWeakref_NewRef(tensor, callback) : nullptr;
  if (reference) alive[reference] = {current_session(), row};
  else PyErr_Clear();
}

}  // namespace

void begin(bool slow_tensors) { slow = slow_tensors; }

void saw(Object* tensor, const TensorView& view, const Where& where) {
  bool large = view.bytes >= buffers::kLeast && view.data;
  if (!buffers::on() || !(large || view.dtype == kResource)) return;
  Writing writing;
  if (!writing.ok || !buffers::on()) return;  // a new recording may have begun
  BufferUse row = buffers::row_of(view, where, 0);
  buffers::write(row);
  await_death(tensor, row);
}

void noted(Object* tensor, int dtype, const Where& where) {
  if (!buffers::on() || slow || dtype == kString) return;
  TensorView view{nullptr, 0, 0, dtype, 0, {}};
  if (is_handle(dtype)) return saw(tensor, view, where);  // of a variable: it has a lifetime, but no memory of its own
  Buffer buffer;
  if (!dense_view(tensor, dtype, &buffer, &view)) return;
  saw(tensor, view, where);
  PyBuffer_Release(&buffer);
}

}  // namespace births
}  // namespace sleuth

extern "C" {
// For a tensor that Python recorded.
__attribute__((visibility("default"))) void sleuth_born(sleuth::py::Object* tensor, int dtype,
                                                        const sleuth::Where* where) {
  sleuth::births::noted(tensor, dtype, *where);
}
}
