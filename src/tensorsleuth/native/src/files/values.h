// Full tensor values: the bytes in values.bin, which wraps around within its bound, and a row for each value in
// value_rows.bin. An offset never repeats (its position in the file is the offset modulo the bound), so a reader can
// detect overwritten values.
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
  void freeze_soon();  // stop overwriting after another quarter of the bound, to keep the values around the alarm

 private:
  std::atomic<int> fd_{-1};  // set last, so a thread that sees it sees all other fields
  uint64_t bound_ = 0;
  std::atomic<uint64_t> end_{0}, frozen_{~0ull};
  Ring rows_;
};

}  // namespace sleuth
