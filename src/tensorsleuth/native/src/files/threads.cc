#include "files/threads.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "files/ring.h"

namespace sleuth {
namespace threads {
namespace {

constexpr int kSlots = 127;  // threads inside TensorFlow at the same time; further threads are not recorded
constexpr uint64_t kHeader = 4096, kBytes = kHeader + kSlots * sizeof(ThreadSlot);

struct Header {
  char magic[8];
  uint32_t version, slots, slot_size, pid;
};

// The file is always mapped at the same address, and anonymous memory if there is no file, so writers need no check.
std::atomic<char*> place{nullptr};
std::string file;                               // its path; empty if there is no file
std::atomic<int> last_taken{0}, most_taken{0};  // most_taken: in the current file

bool map_slots(int fd) {
  char* before = place.load(std::memory_order_relaxed);
  int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (before ? MAP_FIXED : 0);
  void* mapped = mmap(before, kBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (mapped == MAP_FAILED) return false;
  place.store(static_cast<char*>(mapped), std::memory_order_release);
  return true;
}

ThreadSlot* slot(int number) {
  return reinterpret_cast<ThreadSlot*>(place.load(std::memory_order_acquire) + kHeader) + number;
}

void count_taken(int number) {
  int most = most_taken.load(std::memory_order_relaxed);
  while (most <= number && !most_taken.compare_exchange_weak(most, number + 1)) {}
}

struct Mine {
  int number = -1;
  uint32_t id = 0;
  uint16_t depth = 0;  // also counts the levels that do not fit into the slot

  ~Mine() {
    if (number >= 0) __atomic_store_n(&slot(number)->id, 0, __ATOMIC_RELEASE);
  }

  // Returns the slot of this thread in the current file, or nullptr if all are taken.
  ThreadSlot* get() {
    if (!place.load(std::memory_order_relaxed)) return nullptr;
    if (number >= 0 && __atomic_load_n(&slot(number)->id, __ATOMIC_RELAXED) == id) return slot(number);
    return take();
  }

  ThreadSlot* take() {
    id = uint32_t(syscall(SYS_gettid));
    int first = last_taken.load(std::memory_order_relaxed);
    for (int tried = 0; tried < kSlots; ++tried) {
      number = (first + tried) % kSlots;
      uint32_t nobody = 0;
      if (!__atomic_compare_exchange_n(&slot(number)->id, &nobody, id, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        continue;
      last_taken.store(number + 1, std::memory_order_relaxed);
      count_taken(number);
      memset(slot(number)->begun, 0, sizeof slot(number)->begun);
      slot(number)->thread = thread_number();
      __atomic_store_n(&slot(number)->depth, 0, __ATOMIC_RELEASE);
      depth = 0;
      return slot(number);
    }
    number = -1;
    return nullptr;
  }
};

thread_local Mine mine;

void set_depth(ThreadSlot* mine_now, uint16_t depth) {
  mine.depth = depth;
  __atomic_store_n(&mine_now->depth, depth, __ATOMIC_RELEASE);
}

}  // namespace

int open(const char* path) {
  if (!*path) return map_slots(-1) ? 0 : errno;
  int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  int error = posix_fallocate(fd, 0, off_t(kBytes));
  most_taken = 0;
  if (!error && !map_slots(fd)) error = errno;
  ::close(fd);
  if (error) return error;
  Header header{{'S', 'L', 'E', 'U', 'T', 'H', 'T', 'H'}, 1, kSlots, sizeof(ThreadSlot), uint32_t(getpid())};
  memcpy(place, &header, sizeof header);
  file = path;
  return 0;
}

void close() {
  if (!place) return;
  if (!map_slots(-1) || file.empty()) return;
  uint64_t used = kHeader + uint64_t(most_taken) * sizeof(ThreadSlot);
  if (truncate(file.c_str(), off_t(used))) {}  // if it fails, the remaining zeros mean the same
  file.clear();
}

void abandon() {
  file.clear();
  close();
}

void begin(uint32_t op, uint64_t call, int64_t step, uint64_t time) {
  ThreadSlot* now = mine.get();
  if (!now) return;
  if (mine.depth < kNesting) now->begun[mine.depth] = {time, call, step, op, 0};
  set_depth(now, uint16_t(mine.depth + 1));
}

void end() {
  ThreadSlot* now = mine.get();
  if (now && mine.depth) set_depth(now, uint16_t(mine.depth - 1));
}

void end_call(uint64_t call) {
  ThreadSlot* now = mine.get();
  if (!now) return;
  for (int at = 0; at < mine.depth && at < kNesting; ++at)
    if (now->begun[at].call == call) return set_depth(now, uint16_t(at));
}

}  // namespace threads
}  // namespace sleuth

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

SLEUTH_API int sleuth_open_threads(const char* path) { return sleuth::threads::open(path); }
SLEUTH_API void sleuth_begin_call(uint32_t op, uint64_t call, int64_t step, uint64_t time) {
  sleuth::threads::begin(op, call, step, time);
}
SLEUTH_API void sleuth_end_call(uint64_t call) { sleuth::threads::end_call(call); }
}
