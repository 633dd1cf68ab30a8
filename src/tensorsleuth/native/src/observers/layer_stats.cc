#include "observers/layer_stats.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/health_decode.h"
#include "kernels/measure.h"
#include "observers/input_rows.h"
#include "observers/tensor_map.h"
#include "observers/watches.h"

namespace sleuth::inside {

std::atomic<uint32_t> wanted{0};

namespace {

struct Plan {
  std::atomic<uint32_t> kind{kNorm};
  std::atomic<int> axis{0};       // of attention weights: the axis of the rows
  std::atomic<int64_t> seen{-1};  // the last step in which it was sampled
};

constexpr uint64_t kRows = 64, kInputBytes = 256 << 10;  // limits for an input
constexpr uint32_t kHasRows = 1u << 31;                  // flag beside a series: hash this input's rows in every step

Plan plans[kMost];
TensorMap<uint32_t> map;
std::mutex mutex;

// Returns how many units (the last axis) are zero for all elements.
template <class Value>
uint64_t dead_units(const Value* data, uint64_t rows, uint64_t units) {
  std::vector<char> alive(units);
  uint64_t left = units;
  for (uint64_t row = 0; row < rows && left; ++row)
    for (uint64_t unit = 0; unit < units; ++unit)
      if (!alive[unit] && data[row * units + unit] != Value{0}) alive[unit] = 1, --left;
  return left;
}

void count_units(const TensorView& tensor, Watched* row) {
  int last = std::min(tensor.rank, 8) - 1;
  uint64_t units = last >= 1 ? uint64_t(tensor.dims[last]) : 0, rows = units ? tensor.elements / units : 0;
  if (!rows) return;
  if (tensor.dtype == 1) row->before = double(dead_units(static_cast<const float*>(tensor.data), rows, units));
  else if (tensor.dtype == 2) row->before = double(dead_units(static_cast<const double*>(tensor.data), rows, units));
  // Half precision, compared as integers: -0 is not zero, but no relu produces it.
  else if (tensor.dtype == 14 || tensor.dtype == 19)
    row->before = double(dead_units(static_cast<const uint16_t*>(tensor.data), rows, units));
  else return;
  row->change = double(units);
  row->flags |= kWatchUnits;
}

// The first rows of an input.
std::string first_rows(const TensorView& tensor, uint32_t* kept) {
  uint64_t rows = tensor.rank ? uint64_t(tensor.dims[0]) : 1, row = rows ? tensor.bytes / rows : 0;
  uint64_t fit = row ? std::min({rows, kRows, kInputBytes / row}) : 0;
  *kept = uint32_t(fit);
  return std::string(static_cast<const char*>(tensor.data), fit * row);
}

bool is_ours(uint32_t series) { return series >= kFirst && series < kFirst + kMost; }

bool is_first(uint32_t series, const Where& where) {
  if (where.kind == kGraph && (!where.step || where.iteration)) return false;  // graph optimizer; later loop iteration
  int64_t step = step_now();
  return plans[series - kFirst].seen.exchange(step) != step;
}

}  // namespace

uint32_t series_of(uint32_t tensor, uint32_t now) {
  uint32_t series = map.get(tensor);
  return series & kHasRows || now & kLook ? series & ~kHasRows : 0;
}

void see_rows(uint32_t series, const TensorView& tensor, const Where& where) {
  if (!is_ours(series) || !(wanted.load(std::memory_order_relaxed) & kInputRows)) return;
  uint32_t kind = plans[series - kFirst].kind;
  if (kind == kInput || (kind == kHeldOut && input_rows::validates())) input_rows::saw(series, tensor, where);
}

void saw(uint32_t series, const TensorView& tensor, const Where& where) {
  see_rows(series, tensor, where);
  look_at(series, tensor, where);
}

void look_at(uint32_t series, const TensorView& tensor, const Where& where) {
  if (!is_due() || !is_ours(series) || (!tensor.data && tensor.elements)) return;
  Writing writing;
  if (!writing.ok || !is_first(series, where)) return;
  const Plan& plan = plans[series - kFirst];
  Watched row = watches::row_of(series, tensor, where, watches::health_of(tensor));
  std::string kept;
  if (plan.kind == kAttention) {
    kept = attention::measure(tensor, plan.axis);
    row.flags = kept.empty() ? 0u : kWatchAttention;
  } else if (plan.kind == kInput || plan.kind == kHeldOut || plan.kind == kFirstRows) {
    kept = first_rows(tensor, &row.kept);
    row.flags = kept.empty() ? 0u : kWatchValue;
  } else {
    row.flags = kWatchNorm;
    measure(tensor.data, tensor.elements, tensor.dtype, kWatchNorm, &row);
    if (plan.kind == kUnits) count_units(tensor, &row);
  }
  watches::write(row, where, kept);
}

void close() {
  wanted = 0;
  input_rows::close();
}

void abandon() {
  new (&mutex) std::mutex();
  wanted = 0;
  input_rows::abandon();
}

}  // namespace sleuth::inside

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))
using namespace sleuth;

// Says whether layer statistics are due in the step that begins.
SLEUTH_API void sleuth_inside_due(int due) {
  if (due) inside::wanted |= inside::kLook;
  else inside::wanted &= ~uint32_t(inside::kLook);
}

// Starts hashing the rows of inputs, until the recording is closed. 0 or errno.
SLEUTH_API int sleuth_inside_open_rows(const char* path, uint64_t chunk_rows, uint64_t chunks) {
  int error = input_rows::open(path, uint32_t(chunk_rows), chunks);
  if (!error) inside::wanted |= inside::kInputRows;
  return error;
}

SLEUTH_API void sleuth_inside_set(uint32_t series, uint32_t kind, int axis) {
  if (!inside::is_ours(series)) return;
  inside::Plan& plan = inside::plans[series - inside::kFirst];
  plan.kind = kind, plan.axis = axis, plan.seen = -1;
}

SLEUTH_API void sleuth_inside_on(uint32_t tensor, uint32_t series) {
  if (!inside::is_ours(series)) return;
  uint32_t kind = inside::plans[series - inside::kFirst].kind;
  uint32_t rows = kind == inside::kInput || kind == inside::kHeldOut ? inside::kHasRows : 0;
  std::lock_guard<std::mutex> lock(inside::mutex);
  inside::map.put(tensor, series | rows);
}

// Forgets the selected tensors, because tensor ids are about to change meaning.
SLEUTH_API void sleuth_inside_forget() {
  std::lock_guard<std::mutex> lock(inside::mutex);
  inside::map.clear();
}

// Samples a tensor that no probe sees.
SLEUTH_API void sleuth_inside_saw(uint32_t series, const TensorView* tensor, const Where* where) {
  inside::look_at(series, *tensor, *where);
}

// Hashes the rows of an input that no probe sees.
SLEUTH_API void sleuth_inside_rows(uint32_t series, const TensorView* tensor, const Where* where) {
  inside::see_rows(series, *tensor, *where);
}
}
