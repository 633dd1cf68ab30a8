#include "memory/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace sleuth {
namespace {

constexpr uint64_t kNoLimit = 1ull << 60;  // cgroup v1 reports "none" as a number near 2^63

int open_file(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }

void close_one(int* descriptor) {
  if (*descriptor >= 0) ::close(*descriptor);
  *descriptor = -1;
}

// Returns the path of the group in the controller's hierarchy. v2 has one hierarchy, whose line names no controller.
bool path_in(const std::string& membership, const std::string& controller, std::string* path) {
  std::ifstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + controller + ",") == std::string::npos) continue;
    *path = line.substr(second + 1);
    return true;
  }
  return false;
}

}  // namespace

uint64_t number_in(int descriptor) {
  char text[64];
  ssize_t size = descriptor < 0 ? -1 : pread(descriptor, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = 0;
  return strtoull(text, nullptr, 10);
}

// Walks from the group to its parents: the smallest limit among them applies.
void MemoryGroup::find(const std::string& folder, std::string path, const char* used, const char* limit) {
  uint64_t smallest = kNoLimit;
  for (;;) {
    std::string group = folder + (path == "/" ? "" : path) + "/";
    int limits = open_file(group + limit), uses = open_file(group + used);
    uint64_t bytes = number_in(limits);
    bool better = uses >= 0 && ((bytes && bytes < smallest) || used_ < 0);
    if (better) {
      close_one(&used_);
      close_one(&limit_);
      used_ = uses, limit_ = limits;
      smallest = bytes && bytes < smallest ? bytes : smallest;
    } else {
      close_one(&limits);
      close_one(&uses);
    }
    if (path.empty() || path == "/") return;
    path = path.substr(0, path.rfind('/'));
  }
}

void MemoryGroup::open(const std::string& membership, const std::string& root) {
  close();
  std::string path;
  if (path_in(membership, "memory", &path))
    return find(root + "/memory", path, "memory.usage_in_bytes", "memory.limit_in_bytes");
  if (path_in(membership, "", &path)) find(root, path, "memory.current", "memory.max");
}

void MemoryGroup::close() {
  close_one(&used_);
  close_one(&limit_);
}

uint64_t MemoryGroup::used() const { return number_in(used_); }

uint64_t MemoryGroup::limit() const {
  uint64_t bytes = number_in(limit_);
  return bytes < kNoLimit ? bytes : 0;
}

}  // namespace sleuth

extern "C" __attribute__((visibility("default"))) void sleuth_memory_group(const char* membership, const char* root,
                                                                           uint64_t* found) {
  sleuth::MemoryGroup group;
  group.open(membership, root);
  found[0] = group.used();
  found[1] = group.limit();
  group.close();
}
