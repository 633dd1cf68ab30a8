// The memory of the cgroup that this process is in: what it uses, and the smallest limit of it and of those around it.
#pragma once
#include <cstdint>
#include <string>

namespace sleuth {

class MemoryGroup {
 public:
  // `membership` is /proc/self/cgroup, `root` is /sys/fs/cgroup; tests have others.
  void open(const std::string& membership = "/proc/self/cgroup", const std::string& root = "/sys/fs/cgroup");
  void close();
  uint64_t used() const;   // 0 where it is not known
  uint64_t limit() const;  // 0 where there is none

 private:
  void find(const std::string& folder, std::string path, const char* used, const char* limit);

  int used_ = -1, limit_ = -1;
};

uint64_t number_in(int descriptor);  // the first number of a file, 0 where there is none ("max")

}  // namespace sleuth
