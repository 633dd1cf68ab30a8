// Eager tensors of 64 kB or more, in buffers.bin: the address of each, and when Python released it. A weak reference
// with a native callback reports the release, so the tensor lives no longer than without us.
#pragma once
#include "eager/python_abi.h"
#include "recording.h"

namespace sleuth {

// Gets the tensor's memory, valid until `buffer` is released; false if the host cannot access it.
bool dense_view(py::Object* tensor, int dtype, py::Buffer* buffer, TensorView* view);
bool is_handle(int dtype);  // a resource or variant, which contains no numbers

namespace births {

void begin(bool slow_tensors);  // `slow_tensors`: they may be on an accelerator
void saw(py::Object* tensor, const TensorView& view, const Where& where);
void noted(py::Object* tensor, int dtype, const Where& where);  // the same, for a tensor whose memory is not mapped yet

}  // namespace births
}  // namespace sleuth
