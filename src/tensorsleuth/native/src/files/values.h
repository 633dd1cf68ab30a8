// The values of tensors, kept in full: bytes in values.bin, used round and round within its bound, and a row for
// each in value_rows.bin. An offset never repeats (its place in the file is the offset modulo the bound), so a
// reader can tell what has been written over.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "files/ring.h"

namespace sleuth {

class Values {
 public:
  int open(const std::string& bytes, const std::string& rows, uint64_t bound);
  bool is_open() const { return fd_.load(std::memory_order_acquire) >= 0; }
  void close();
  void abandon();
  bool keep(uint64_t event, const void* data, uint64_t bytes);
  void freeze_soon();  // after a quarter of the bound more, nothing is written over: the alarm's surroundings stay

 private:
  std::atomic<int> fd_{-1};  // set last: who sees it sees all the rest
  uint64_t bound_ = 0;
  std::atomic<uint64_t> end_{0}, frozen_{~0ull};
  Ring rows_;
};

}  // namespace sleuth
