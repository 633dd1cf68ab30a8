#include "files/values.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "files/rows.h"

namespace sleuth {

int Values::open(const std::string& bytes, const std::string& rows, uint64_t bound) {
  bound_ = bound;
  end_ = 0;
  frozen_ = ~0ull;
  int file = ::open(bytes.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  int error = rows_.open(rows, plan_of<Value>(1024, std::max<uint64_t>(bound >> 22, 64)));
  if (error) ::close(file);
  else fd_.store(file, std::memory_order_release);
  return error;
}

void Values::close() {
  if (fd_ < 0) return;
  rows_.close();
  ::close(fd_);
  fd_ = -1;
}

void Values::abandon() {
  rows_.abandon();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Values::freeze_soon() {
  if (is_open()) frozen_ = std::max(end_.load() + bound_ / 4, bound_);
}

bool Values::keep(uint64_t event, const void* data, uint64_t bytes) {
  int file = fd_.load(std::memory_order_acquire);
  if (file < 0 || bytes > bound_ || !bytes) return false;
  uint64_t start = end_.load(), from;
  do {  // a value never wraps around the end of the file
    from = start % bound_ + bytes > bound_ ? start + bound_ - start % bound_ : start;
    if (from + bytes > frozen_.load(std::memory_order_relaxed)) return false;
  } while (!end_.compare_exchange_weak(start, from + bytes));
  uint64_t done = 0;
  while (done < bytes) {
    ssize_t wrote = pwrite(file, static_cast<const char*>(data) + done, bytes - done, off_t(from % bound_ + done));
    if (wrote <= 0) return false;  // the disk is full: the event stays, its value is lost
    done += uint64_t(wrote);
  }
  uint64_t number;
  Value* row = reinterpret_cast<Value*>(rows_.claim(&number));
  if (!row) return false;
  row->event = event;
  row->offset = from;
  row->size = bytes;
  __atomic_store_n(&row->kind, 1, __ATOMIC_RELEASE);
  return true;
}

}  // namespace sleuth
