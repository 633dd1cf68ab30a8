// Eager tensors of 64 kB or more, in buffers.bin: where each lies, and when Python let go of it. That is told by a weak
// reference whose callback is native: the tensor lives as long as it would without us.
#pragma once
#include "eager/python_abi.h"
#include "recording.h"

namespace sleuth {

// The tensor's own memory, until `buffer` is released; false where the host cannot reach it.
bool dense_view(py::Object* tensor, int dtype, py::Buffer* buffer, TensorView* view);
bool is_handle(int dtype);  // a resource, a variant: there are no numbers in it

namespace births {

void begin(bool slow_tensors);  // `slow_tensors`: they may live on an accelerator
void saw(py::Object* tensor, const TensorView& view, const Where& where);
void noted(py::Object* tensor, int dtype, const Where& where);  // the same, of one whose memory has not been asked for

}  // namespace births
}  // namespace sleuth
