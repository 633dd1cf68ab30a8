#include "observers/input_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

namespace sleuth::input_rows {
namespace {

constexpr uint64_t kRows = 1024, kBytes = 1 << 20;    // limits for a batch
constexpr uint64_t kNarrow = 3;                       // tensors with fewer columns are not text
enum Phase : uint32_t { kTrain = 1, kEvaluate = 2 };  // core/fit_position.py

Ring rows;
std::atomic<uint32_t> fits{0};
std::atomic<bool> validating{false};

template <class Id>
void narrow(const void* from, uint64_t count, uint32_t* ids) {
  const Id* p = static_cast<const Id*>(from);
  for (uint64_t i = 0; i < count; ++i) ids[i] = uint32_t(p[i]);
}

using Narrow = void (*)(const void*, uint64_t, uint32_t*);

Narrow narrow_of(int dtype) {  // TensorFlow's DataType numbers; nullptr if it is not an id type
  switch (dtype) {
    case 3: return narrow<int32_t>;
    case 4: return narrow<uint8_t>;
    case 5: return narrow<int16_t>;
    case 6: return narrow<int8_t>;
    case 9: return narrow<int64_t>;
    case 17: return narrow<uint16_t>;
    case 22: return narrow<uint32_t>;
    case 23: return narrow<uint64_t>;
    default: return nullptr;
  }
}

class Batch {
 public:
  explicit Batch(const TensorView& tensor)
      : data_(static_cast<const char*>(tensor.data)), narrow_(narrow_of(tensor.dtype)) {
    if (!narrow_ || !data_ || tensor.rank != 2 || tensor.dims[0] <= 0 || tensor.dims[1] < int64_t(kNarrow)) return;
    bytes_ = tensor.bytes / uint64_t(tensor.dims[0]);
    if (!bytes_ || bytes_ > kBytes) return;
    ids_.resize(uint64_t(tensor.dims[1]));
    count = std::min({uint64_t(tensor.dims[0]), kRows, kBytes / bytes_});
  }

  const uint32_t* row(uint64_t number) {
    narrow_(data_ + number * bytes_, ids_.size(), ids_.data());
    return ids_.data();
  }
  uint64_t width() const { return ids_.size(); }

  bool is_mask() {  // only zeros and ones; for ids, the first row decides
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t* ids = row(i);
      if (std::any_of(ids, ids + width(), [](uint32_t id) { return id > 1; })) return false;
    }
    return true;
  }

  uint64_t count = 0;  // rows to hash

 private:
  const char* data_;
  Narrow narrow_;
  uint64_t bytes_ = 0;  // of a row
  std::vector<uint32_t> ids_;
};

void write(const InputRow& row) {
  uint64_t number;
  char* place = rows.claim(&number);
  if (place) write_row(place, row, 1);
}

// The same for all inputs of one call, and different for all others. Several steps of one call are iterations of a
// loop.
uint64_t batch_of(const Where& where) {
  return mix(where.step ^ kOne, (uint64_t(where.frame) << 32 | where.iteration) ^ uint64_t(where.kind) << 63 ^ kTwo);
}

}  // namespace

void saw(uint32_t series, const TensorView& tensor, const Where& where) {
  if (where.kind == kGraph && !where.step) return;  // the graph optimizer is folding a constant
  Writing writing;
  if (!writing.ok || !rows.is_open()) return;
  Batch batch(tensor);
  if (!batch.count || batch.is_mask()) return;
  InputRow row{};
  row.batch = batch_of(where);
  row.series = series, row.fit = fits.load(std::memory_order_relaxed), row.step = int32_t(step_now());
  for (uint64_t i = 0; i < batch.count; ++i) {
    row.row = uint16_t(i);
    hash_ids(batch.row(i), batch.width(), &row);
    write(row);
  }
}

// As recording/keras/fit_batches.py encodes it: the phase, epoch + 1 and batch + 1. Validation during a fit has the
// epoch of the fit.
void moved(const Call& batch) {
  bool begins = batch.op == kTrain && !batch.inputs[0] && !batch.inputs[1];
  if (begins) fits.fetch_add(1, std::memory_order_relaxed);
  validating = batch.op == kEvaluate && batch.inputs[0];
}

bool validates() { return validating.load(std::memory_order_relaxed); }

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks) {
  return rows.is_open() ? 0 : rows.open(path, plan_of<InputRow>(chunk_rows, chunks));
}

void close() {
  rows.close();
  validating = false;
}

void abandon() {
  rows.abandon();
  validating = false;
}

}  // namespace sleuth::input_rows
