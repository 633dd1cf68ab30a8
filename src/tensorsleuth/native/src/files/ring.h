// A memory-mapped file of fixed-width rows. The operating system owns the pages, so all rows survive SIGKILL. Rows live
// in chunks. Space is allocated before it is mapped, so that a full disk causes no SIGBUS. When the file has reached
// its bound, the oldest chunk is reused that is not pinned and that nobody is writing to.
//
//   | Header, 4096 bytes | table: uint64 a chunk, logical number + 1 (bit 63: pinned) | chunk 0 | chunk 1 | …
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace sleuth {

constexpr uint64_t kPinned = 1ull << 63;

// A mask of −∞ in the first step must not take the window from the NaN of a later one, so each kind has a window.
enum Alarm : int { kFirstNan, kFirstPosInf, kFirstNegInf, kAlarms };

struct RingHeader {
  char magic[8];  // "SLEUTHRG"
  uint32_t version, row_size, chunk_rows, pid;
  uint64_t rows_offset, max_chunks;
  int64_t epoch;                  // nanoseconds to add to a row's time to get wall-clock time
  std::atomic<uint64_t> head;     // rows claimed so far
  std::atomic<uint64_t> chunks;   // chunks that exist in the file
  std::atomic<uint64_t> dropped;  // rows that were lost
  std::atomic<uint64_t> alarm;    // 1 + the number of the first row that raised the alarm, 0 if none did
  std::atomic<uint64_t> trouble;  // errno that stopped the file from growing
  std::atomic<uint64_t> closed;   // 1 once the program ended the recording itself
};
static_assert(sizeof(RingHeader) <= 4096, "the header is one page");

struct RingPlan {
  uint32_t row_size, kind_at;  // kind_at: offset of a row's kind, which is 0 until the row is finished
  uint32_t chunk_rows;
  uint64_t max_chunks;      // the bound
  uint64_t window = 0;      // chunks to pin before and after the first alarm of each kind
  bool keep_all = false;    // at the bound, drop the newest rows, not the oldest
  bool has_alarms = false;  // chunks are set aside for those that alarms pin
};

template <class Row>
RingPlan plan_of(uint64_t chunk_rows, uint64_t max_chunks) {
  return {sizeof(Row), offsetof(Row, kind), uint32_t(chunk_rows), max_chunks};
}

class Ring {
 public:
  int open(const std::string& path, const RingPlan& plan);  // 0 or errno
  void close();                                             // truncates the unused part
  void abandon();                                           // in a forked child: forget the file without touching it
  char* claim(uint64_t* number);                            // the row to fill in, or nullptr; write its kind last
  void raise_alarm(uint64_t number, Alarm kind);
  bool has_alarm(Alarm kind) const { return alarms_[kind].load(std::memory_order_relaxed); }
  bool is_open() const { return header() != nullptr; }
  RingHeader* header() const { return header_.load(std::memory_order_acquire); }

 private:
  struct Active {
    std::atomic<uint64_t> logical{~0ull};
    std::atomic<char*> rows{nullptr};
  };
  static constexpr int kActive = 8;

  void drop(const std::string& path);  // closes and removes a file that could not be set up
  char* prepare(uint64_t logical);
  char* find(uint64_t logical) const;  // nullptr if it has been overwritten
  int64_t take_chunk();
  int64_t find_victim();  // the chunk to reuse, or -1
  bool is_finished(uint64_t chunk) const;
  bool grow();
  char* rows_of(uint64_t chunk) const;
  void say_trouble(int error);
  bool pinned_by_alarm(uint64_t logical) const;
  bool has_room_for_all() const { return plan_.max_chunks > most_pinned(); }
  uint64_t most_pinned() const { return kAlarms * (2 * plan_.window + 1); }
  bool may_grow() const;  // chunks are set aside for those that alarms pin

  std::string path_;
  RingPlan plan_{};
  int fd_ = -1;
  std::atomic<RingHeader*> header_{nullptr};  // set last, so a thread that sees it sees all other fields
  uint64_t* table_ = nullptr;
  size_t header_bytes_ = 0;
  uint64_t chunk_bytes_ = 0, limit_ = 0, next_victim_ = 0, pinned_ = 0;
  Active active_[kActive];
  std::atomic<uint64_t> alarms_[kAlarms]{};  // 1 + the number of the row, 0 if none raised it
  struct Extent {
    char* base;
    uint64_t first, count;
  };
  std::vector<Extent> extents_;
  std::mutex mutex_;
};

// Writes a row of that many bytes: first all but its kind, then the kind, which marks the row as finished.
template <class Row>
void write_row(char* place, const Row& row, decltype(Row::kind) kind, size_t bytes = sizeof(Row)) {
  constexpr size_t at = offsetof(Row, kind), behind = at + sizeof kind;
  std::memcpy(place, &row, at);
  std::memcpy(place + behind, reinterpret_cast<const char*>(&row) + behind, bytes - behind);
  __atomic_store_n(&reinterpret_cast<Row*>(place)->kind, kind, __ATOMIC_RELEASE);
}

uint64_t now_ns();
uint16_t thread_number();

}  // namespace sleuth
