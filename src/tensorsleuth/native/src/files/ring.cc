#include "files/ring.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

namespace sleuth {
namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return uint64_t(t.tv_sec) * 1000000000ull + uint64_t(t.tv_nsec);
}

uint64_t page_up(uint64_t bytes) { return (bytes + 4095) & ~4095ull; }

constexpr uint64_t kExtentBytes = 8 << 20;  // how far ahead the file is allocated
constexpr int kPassedOver = 8;              // how many chunks with unfinished rows to skip
std::atomic<bool> complained{false};        // a full disk stops all files of a trace, so report it once

}  // namespace

uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

uint16_t thread_number() {
  static std::atomic<uint16_t> next{1};
  static thread_local uint16_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

int Ring::open(const std::string& path, const RingPlan& plan) {
  path_ = path;
  plan_ = plan;
  limit_ = plan.max_chunks;
  next_victim_ = pinned_ = 0;
  complained = false;
  chunk_bytes_ = uint64_t(plan.row_size) * plan.chunk_rows;
  header_bytes_ = page_up(4096 + 8 * plan.max_chunks);
  for (auto& slot : active_) slot.logical = ~0ull;
  for (auto& alarm : alarms_) alarm = 0;
  bool in_memory = path.rfind("/proc/self/fd/", 0) == 0;  // an unnamed file that Python created
  if (!in_memory && access(path.c_str(), F_OK) == 0) return EEXIST;
  // The file gets its name once its header is complete: a reader may open the run at any time.
  std::string temporary = in_memory ? path : path + ".new";
  fd_ = ::open(temporary.c_str(), O_RDWR | O_CLOEXEC | (in_memory ? 0 : O_CREAT | O_EXCL), 0644);
  if (fd_ < 0) return errno;
  int error = posix_fallocate(fd_, 0, off_t(header_bytes_));
  void* map = error ? MAP_FAILED : mmap(nullptr, header_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) {
    error = error ? error : errno;
    drop(temporary);
    return error;
  }
  RingHeader* header = new (map) RingHeader{};
  table_ = reinterpret_cast<uint64_t*>(static_cast<char*>(map) + 4096);
  header->version = 1;
  header->row_size = plan.row_size;
  header->chunk_rows = plan.chunk_rows;
  header->pid = uint32_t(getpid());
  header->rows_offset = header_bytes_;
  header->max_chunks = plan.max_chunks;
  header->epoch = int64_t(clock_ns(CLOCK_REALTIME)) - int64_t(now_ns());
  memcpy(header->magic, "SLEUTHRG", 8);
  if (!in_memory && rename(temporary.c_str(), path.c_str())) {
    error = errno;
    munmap(map, header_bytes_);
    drop(temporary);
    return error;
  }
  header_.store(header, std::memory_order_release);
  return 0;
}

void Ring::drop(const std::string& path) {
  ::close(fd_);
  fd_ = -1;
  unlink(path.c_str());
}

void Ring::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  RingHeader* header = this->header();
  if (!header) return;
  uint64_t chunks = header->chunks, head = header->head;
  // The file can shrink only if its last chunk is the newest one.
  bool newest_last = chunks && (table_[chunks - 1] & ~kPinned) == (head + plan_.chunk_rows - 1) / plan_.chunk_rows;
  uint64_t in_last = newest_last ? (head - 1) % plan_.chunk_rows + 1 : plan_.chunk_rows;
  uint64_t rows = chunks ? (chunks - 1) * plan_.chunk_rows + in_last : 0;
  header->closed = 1;
  for (auto& extent : extents_) munmap(extent.base, extent.count * chunk_bytes_);
  extents_.clear();
  header_.store(nullptr, std::memory_order_release);
  munmap(header, header_bytes_);
  if (ftruncate(fd_, off_t(header_bytes_ + rows * plan_.row_size))) {}  // on failure, the zeros left mean the same
  ::close(fd_);
  fd_ = -1;
}

void Ring::abandon() {
  new (&mutex_) std::mutex();             // another thread of the parent may have held it during the fork
  new (&extents_) std::vector<Extent>();  // or may have been changing these; leak what they own
  header_ = nullptr;
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

char* Ring::claim(uint64_t* number) {
  RingHeader* header = this->header();
  uint64_t row = header->head.fetch_add(1, std::memory_order_relaxed);
  uint64_t logical = row / plan_.chunk_rows;
  Active& slot = active_[logical % kActive];
  bool before = slot.logical.load(std::memory_order_acquire) == logical;
  char* rows = slot.rows.load(std::memory_order_acquire);  // `prepare` clears `logical` before changing it
  if (!before || slot.logical.load(std::memory_order_acquire) != logical) rows = prepare(logical);
  if (!rows) {
    header->dropped.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  *number = row;
  return rows + (row % plan_.chunk_rows) * plan_.row_size;
}

void Ring::raise_alarm(uint64_t number, Alarm kind) {
  uint64_t none = 0;
  if (header()->alarm && !has_room_for_all()) return;
  if (!alarms_[kind].compare_exchange_strong(none, number + 1)) return;
  uint64_t no_alarm = 0;
  header()->alarm.compare_exchange_strong(no_alarm, number + 1);
  std::lock_guard<std::mutex> lock(mutex_);
  for (uint64_t chunk = 0; chunk < header()->chunks; ++chunk)
    if (table_[chunk] && !(table_[chunk] & kPinned) && pinned_by_alarm(table_[chunk] - 1)) {
      table_[chunk] |= kPinned;
      ++pinned_;
    }
}

bool Ring::pinned_by_alarm(uint64_t logical) const {
  for (auto& alarm : alarms_) {
    uint64_t raised = alarm.load();
    uint64_t centre = (raised - 1) / plan_.chunk_rows;
    if (raised && logical + plan_.window >= centre && logical <= centre + plan_.window) return true;
  }
  return false;
}

char* Ring::prepare(uint64_t logical) {
  std::lock_guard<std::mutex> lock(mutex_);
  Active& slot = active_[logical % kActive];
  uint64_t held = slot.logical.load(std::memory_order_relaxed);
  if (held == logical) return slot.rows;
  if (held != ~0ull && held > logical) return find(logical);  // this writer slept while eight chunks were filled
  int64_t chunk = take_chunk();
  if (chunk < 0) return nullptr;
  char* rows = rows_of(uint64_t(chunk));
  bool pin = pinned_by_alarm(logical);
  pinned_ += pin;
  __atomic_store_n(&table_[chunk], (logical + 1) | (pin ? kPinned : 0), __ATOMIC_RELEASE);
  if (held != ~0ull) madvise(slot.rows, chunk_bytes_, MADV_DONTNEED);  // stays in the page cache; we need it no more
  slot.logical.store(~0ull);
  slot.rows.store(rows);
  slot.logical.store(logical, std::memory_order_release);
  return rows;
}

char* Ring::find(uint64_t logical) const {
  for (uint64_t chunk = 0; chunk < header()->chunks; ++chunk)
    if ((table_[chunk] & ~kPinned) == logical + 1) return rows_of(chunk);
  return nullptr;
}

int64_t Ring::take_chunk() {
  uint64_t have = header()->chunks;
  uint64_t allocated = extents_.empty() ? 0 : extents_.back().first + extents_.back().count;
  if (have < limit_ && may_grow() && (have < allocated || grow())) {
    header()->chunks = have + 1;
    return int64_t(have);
  }
  int64_t chunk = plan_.keep_all ? -1 : find_victim();
  if (chunk < 0) return -1;
  __atomic_store_n(&table_[chunk], 0, __ATOMIC_SEQ_CST);  // dying in the next line must not leave a chunk half cleared
  memset(rows_of(uint64_t(chunk)), 0, chunk_bytes_);
  return chunk;
}

bool Ring::may_grow() const {
  return plan_.keep_all || !plan_.has_alarms || !has_room_for_all() ||
         header()->chunks - pinned_ < plan_.max_chunks - most_pinned();
}

// A writer may sleep between claiming a row and finishing it while the others wrap around. Nobody waits for it: its
// chunk is skipped. If several chunks in a row have such a writer, or one that died, the oldest is reused.
int64_t Ring::find_victim() {
  uint64_t have = header()->chunks;
  int64_t oldest = -1;
  for (uint64_t tries = 0, passed_over = 0; tries < have && passed_over < kPassedOver; ++tries) {
    uint64_t chunk = next_victim_++ % have;
    if (table_[chunk] & kPinned) continue;
    if (is_finished(chunk)) return int64_t(chunk);
    if (!passed_over++) oldest = int64_t(chunk);
  }
  if (oldest >= 0) next_victim_ = uint64_t(oldest) + 1;
  return oldest;
}

// Writers store the kind last, with release order, so after all kinds were read the rows may be overwritten. The first
// access to each page is a write that changes nothing: the page is about to be cleared, and reading it first would cost
// two page faults.
bool Ring::is_finished(uint64_t chunk) const {
  char* kind = rows_of(chunk) + plan_.kind_at;
  uint64_t page = 0;
  for (uint64_t row = 0; row < plan_.chunk_rows; ++row, kind += plan_.row_size) {
    bool mapped = page == uint64_t(kind) / 4096;
    page = uint64_t(kind) / 4096;
    char found = mapped ? __atomic_load_n(kind, __ATOMIC_ACQUIRE) : __atomic_fetch_or(kind, 0, __ATOMIC_ACQUIRE);
    if (!found) return false;
  }
  return true;
}

bool Ring::grow() {
  uint64_t first = extents_.empty() ? 0 : extents_.back().first + extents_.back().count;
  uint64_t wish = std::max<uint64_t>(1, std::min(kExtentBytes / chunk_bytes_, first));
  uint64_t count = std::min(wish, limit_ - first);
  off_t offset = off_t(header_bytes_ + first * chunk_bytes_);
  int error = posix_fallocate(fd_, offset, off_t(count * chunk_bytes_));
  void* map = error ? MAP_FAILED : mmap(nullptr, count * chunk_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, offset);
  if (map == MAP_FAILED) {
    limit_ = first;
    say_trouble(error ? error : errno);
    return false;
  }
  extents_.push_back({static_cast<char*>(map), first, count});
  return true;
}

char* Ring::rows_of(uint64_t chunk) const {
  auto after = std::upper_bound(extents_.begin(), extents_.end(), chunk,
                                [](uint64_t value, const Extent& extent) { return value < extent.first; });
  const Extent& extent = *(after - 1);
  return extent.base + (chunk - extent.first) * chunk_bytes_;
}

void Ring::say_trouble(int error) {
  header()->trouble = uint64_t(error);
  if (complained.exchange(true)) return;
  char line[512];
  const char* then =
      header()->chunks && !plan_.keep_all ? "the newest rows replace the oldest" : "no more is kept in it";
  int size = snprintf(line, sizeof line, "tensorsleuth: %s cannot grow (%s); %s, the program goes on.\n", path_.c_str(),
                      strerror(error), then);
  if (write(2, line, size_t(std::min<int>(size, sizeof line - 1)))) {}
}

}  // namespace sleuth
