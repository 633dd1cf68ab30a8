// Each shape is written once and referred to by number: shapes.bin is a ring that never wraps.
#pragma once
#include <mutex>
#include <string>
#include <unordered_map>

#include "files/ring.h"

namespace sleuth {

class Shapes {
 public:
  int open(const std::string& path);
  void close();
  void abandon();
  uint32_t number(int rank, const int64_t* dims);  // 1 …, or 0 once the table is full

 private:
  uint32_t add(uint64_t key, int rank, const int64_t* dims);

  Ring ring_;
  std::unordered_map<uint64_t, uint32_t> known_;
  std::mutex mutex_;
  uint64_t generation_ = 0;
};

}  // namespace sleuth
