// An argument that a dataset passes to its function with every element: Keras passes all of its arrays, and the function
// takes the rows of one batch from them. To read such an array for each batch would cost more than a short step.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "files/buffers.h"
#include "ops/tf_abi.h"
#include "recording.h"

namespace sleuth {

inline std::atomic<uint64_t> repeated_rows{0};  // rows that were written without reading the tensor again

// Remembers what was found in a tensor. An equal address alone proves nothing, because memory is reused. But nobody can
// free or change the memory of a tensor while we hold a reference to it. So it takes a reference when it sees an address
// for the second time in a row, and gives it back with the next address.
class RepeatedTensor {
 public:
  ~RepeatedTensor() { release(); }

  bool knows(const TensorView& tensor, int look, Health* found) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!held_ || !is_same(tensor) || look != look_) return false;
    *found = found_;
    repeated_rows.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  // `take` returns a new reference to the tensor.
  template <class Take>
  void saw(const TensorView& tensor, int look, const Health& found, Take take) {
    if (tensor.bytes < buffers::kLeast) return;
    std::lock_guard<std::mutex> lock(mutex_);
    bool again = is_same(tensor);
    release();
    data_ = tensor.data, bytes_ = tensor.bytes, look_ = look, found_ = found;
    if (again) held_ = take();
  }

 private:
  bool is_same(const TensorView& tensor) const { return tensor.data == data_ && tensor.bytes == bytes_; }

  void release() {
    if (held_) TF_DeleteTensor(held_);
    held_ = nullptr;
  }

  std::mutex mutex_;
  const void* data_ = nullptr;
  uint64_t bytes_ = 0;
  int look_ = 0;
  Health found_;
  TF_Tensor* held_ = nullptr;
};

}  // namespace sleuth
