// Rings that many threads write at once while a reader reads their file, as Python does.
#include <fcntl.h>
#include <unistd.h>

#include "driver.h"
#include "files/ring.h"

namespace {

constexpr int kThreads = 6;
constexpr uint64_t kRingRows = 64, kChunks = 12;

struct Row {  // the same number in each field, so a mix of two rows is detected
  uint64_t fields[7], kind;
};

sleuth::RingPlan plan(uint64_t window, bool keep_all = false) {
  sleuth::RingPlan plan = sleuth::plan_of<Row>(kRingRows, kChunks);
  plan.window = window, plan.keep_all = keep_all;
  return plan;
}

void fill(char* place, uint64_t number) {
  Row* row = reinterpret_cast<Row*>(place);
  for (uint64_t& field : row->fields) field = number;
  __atomic_store_n(&row->kind, uint64_t(1), __ATOMIC_RELEASE);
}

uint64_t write_rows(sleuth::Ring* ring, int count) {
  uint64_t written = 0;
  for (int i = 0; i < count; ++i) {
    uint64_t number;
    if (char* place = ring->claim(&number)) fill(place, number), ++written;
  }
  return written;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : file_(open(path.c_str(), O_RDONLY)) {}
  ~Reader() { close(file_); }

  // Returns whether a row is there; a row is never half written. Reads the chunk's number before and after.
  bool has_row(uint64_t chunk, uint64_t number) const {
    uint64_t before = chunk_at(chunk), place = kRows + (chunk * kRingRows + number) * sizeof(Row);
    if (!before || !at<uint64_t>(place + offsetof(Row, kind))) return false;
    Row row = at<Row>(place);
    if (chunk_at(chunk) != before) return false;
    for (uint64_t field : row.fields) CHECK(field == (before - 1) * kRingRows + number);
    return true;
  }

  uint64_t count() const {
    uint64_t rows = 0;
    for (uint64_t i = 0; i < kChunks * kRingRows; ++i) rows += has_row(i / kRingRows, i % kRingRows);
    return rows;
  }

 private:
  static constexpr uint64_t kTable = 4096, kRows = 8192;

  template <class T>
  T at(uint64_t offset) const {
    T value{};
    if (pread(file_, &value, sizeof value, off_t(offset)) < 0) return T{};
    return value;
  }
  uint64_t chunk_at(uint64_t chunk) const { return at<uint64_t>(kTable + 8 * chunk) & ~sleuth::kPinned; }

  int file_;
};

// Six threads wrap around, and one of them raises the alarm; the reader never sees half a row.
void wrap(const std::string& folder) {
  sleuth::Ring ring;
  std::string path = folder + "/ring";
  CHECK(!ring.open(path, plan(1)));
  std::atomic<uint64_t> written{0};
  int each = kSlow ? 20'000 : 100'000;
  {
    Meanwhile reads(1, [&](int) { Reader(path).count(); });
    on_threads(kThreads, [&](int thread) {
      written += write_rows(&ring, each / 2);
      if (!thread) ring.raise_alarm(ring.header()->head / 2, sleuth::kFirstNan);
      written += write_rows(&ring, each / 2);
    });
  }
  CHECK(ring.header()->head == uint64_t(kThreads) * uint64_t(each));
  CHECK(written + ring.header()->dropped == ring.header()->head);
  ring.close();
  CHECK(Reader(path).count() > (kChunks - 2) * kRingRows);
}

// A writer that sleeps while the others wrap around finds its row unchanged.
void sleeper(const std::string& folder) {
  sleuth::Ring ring;
  std::string path = folder + "/ring";
  CHECK(!ring.open(path, plan(0)));
  write_rows(&ring, 10);
  uint64_t number;
  char* place = ring.claim(&number);
  on_threads(2, [&](int) { write_rows(&ring, 5'000); });
  fill(place, number);
  ring.close();
  Reader(path).count();
}

// A ring that keeps the oldest rows drops and counts all rows beyond its bound.
void keep_all(const std::string& folder) {
  sleuth::Ring ring;
  std::string path = folder + "/ring";
  CHECK(!ring.open(path, plan(0, true)));
  on_threads(kThreads, [&](int) { write_rows(&ring, 1000); });
  CHECK(ring.header()->dropped == kThreads * 1000 - kChunks * kRingRows);
  ring.close();
  CHECK(Reader(path).count() == kChunks * kRingRows);
}

// Opens and closes while another thread checks whether it is open.
void reopen(const std::string& folder) {
  sleuth::Ring ring;
  Meanwhile asks(2, [&](int) { ring.is_open(); });
  for (int i = 0; i < 50; ++i) {
    CHECK(!ring.open(folder + "/" + std::to_string(i), plan(0)));
    write_rows(&ring, 200);
    ring.close();
  }
}

}  // namespace

const std::vector<Scenario> kRings{
    {"ring-wraps", wrap}, {"ring-sleeper", sleeper}, {"ring-keeps-all", keep_all}, {"ring-reopens", reopen}};
