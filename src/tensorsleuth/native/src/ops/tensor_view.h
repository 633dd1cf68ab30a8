// Shows a kernel's tensor to the code that needs no TensorFlow.
#pragma once
#include "ops/tf_abi.h"
#include "recording.h"

namespace sleuth {

inline TensorView view_of(const TF_Tensor* tensor) {
  TensorView view{TF_TensorData(tensor),     uint64_t(TF_TensorElementCount(tensor)),
                  TF_TensorByteSize(tensor), TF_TensorType(tensor),
                  TF_NumDims(tensor),        {}};
  for (int i = 0; i < view.rank && i < 8; ++i) view.dims[i] = TF_Dim(tensor, i);
  return view;
}

}  // namespace sleuth
