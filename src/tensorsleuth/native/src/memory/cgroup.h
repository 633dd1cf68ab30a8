// The memory of this process's cgroup: its use, and the smallest limit of the group and its parents.
#pragma once
#include <cstdint>
#include <string>

namespace sleuth {

class MemoryGroup {
 public:
  // `membership` is /proc/self/cgroup and `root` is /sys/fs/cgroup, except in tests.
  void open(const std::string& membership = "/proc/self/cgroup", const std::string& root = "/sys/fs/cgroup");
  void close();
  uint64_t used() const;   // 0 if unknown
  uint64_t limit() const;  // 0 if there is none

 private:
  void find(const std::string& folder, std::string path, const char* used, const char* limit);

  int used_ = -1, limit_ = -1;
};

uint64_t number_in(int descriptor);  // the first number in a file, 0 if there is none ("max")

}  // namespace sleuth
