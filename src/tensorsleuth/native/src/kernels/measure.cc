#include "kernels/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/health.h"
#include "kernels/health_decode.h"
#include "kernels/plain_floats.h"

namespace sleuth {
namespace {

constexpr uint64_t kExact = 65536;  // above this many values, quantiles come from the histogram
constexpr double kAt[kQuantiles] = {0.05, 0.25, 0.5, 0.75, 0.95};

template <class T>
struct Stored {  // Plain<T>, as a decoder
  using Value = T;
  static constexpr size_t kBytes = sizeof(T);
  T operator()(const char* p) const { return read<T>(p); }
};

class Bins {
 public:
  Bins(double min, double max) : min_(min) {
    bin_edges(min, max, edges_);
    per_bin_ = 1 / (edges_[1] - edges_[0]);
    search_ = !std::isfinite(per_bin_) || !std::isfinite(per_bin_ * kBins);
  }

  void add(double x) {
    int at = search_ ? int(std::upper_bound(edges_, edges_ + kBins, x) - edges_) - 1 : guess(x);
    ++counts_[turn_++ & 3][at];  // four histograms in turn, so equal values do not wait for each other
  }

  void give(uint32_t* bins) const {
    for (int i = 0; i < kBins; ++i)
      bins[i] =
          uint32_t(std::min<uint64_t>(counts_[0][i] + counts_[1][i] + counts_[2][i] + counts_[3][i], 0xFFFFFFFFu));
  }

 private:
  int guess(double x) const {  // rounding may be off by one
    int at = std::clamp(int((x - min_) * per_bin_), 0, kBins - 1);
    while (at > 0 && x < edges_[at]) --at;
    while (at < kBins - 1 && x >= edges_[at + 1]) ++at;
    return at;
  }

  double edges_[kBins + 1], min_, per_bin_;
  bool search_;
  unsigned turn_ = 0;
  uint64_t counts_[4][kBins] = {};
};

// A power of two that keeps squares in range.
double scale_for(double min, double max) {
  double peak = std::max(std::fabs(min), std::fabs(max));
  return peak > 0 && !(peak > 0x1p-400 && peak < 0x1p400) ? std::ldexp(1, std::clamp(-std::ilogb(peak), -1000, 1000))
                                                          : 1;
}

struct Sums {
  double sum[4] = {}, squares[4] = {}, all = 0, all_squares = 0;
  void fold() {  // often, so small values are not lost in a large sum
    all += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    all_squares += (squares[0] + squares[1]) + (squares[2] + squares[3]);
    for (int i = 0; i < 4; ++i) sum[i] = squares[i] = 0;
  }
};

template <bool binned, class Decode>
void pass(Decode decode, const char* data, uint64_t n, Bins* bins, std::vector<double>* kept, Watched* row) {
  Sums sums;
  double scale = scale_for(row->min, row->max);
  constexpr uint64_t kBlock = 4096;
  for (uint64_t start = 0; start < n; start += kBlock, sums.fold())
    for (uint64_t i = start; i < std::min(n, start + kBlock); ++i) {
      double x = double(decode(data + i * Decode::kBytes));
      if (!std::isfinite(x)) continue;
      sums.sum[i & 3] += x * scale;
      sums.squares[i & 3] += (x * scale) * (x * scale);
      if constexpr (binned) bins->add(x);
      if (kept) kept->push_back(x);
    }
  row->sum = sums.all / scale;
  row->norm = std::sqrt(sums.all_squares) / scale;
}

// As NumPy's default: linear interpolation between the two nearest values.
double exact_quantile(std::vector<double>& values, double q) {
  double place = q * double(values.size() - 1), below = std::floor(place), part = place - below;
  auto at = values.begin() + long(below);
  std::nth_element(values.begin(), at, values.end());
  if (at + 1 == values.end()) return *at;
  double low = *at, high = *std::min_element(at + 1, values.end());
  return low * (1 - part) + high * part;
}

double rough_quantile(const Watched& row, const double* edges, double q) {
  double total = 0, seen = 0;
  for (uint32_t count : row.bins) total += count;
  for (int i = 0; i < kBins; ++i) {
    if (row.bins[i] && seen + row.bins[i] >= q * total) {
      double part = (q * total - seen) / row.bins[i];
      return edges[i] * (1 - part) + edges[i + 1] * part;
    }
    seen += row.bins[i];
  }
  return row.max;
}

template <class Decode>
void measure_as(Decode decode, const char* data, uint64_t n, uint32_t what, Watched* row) {
  uint64_t finite = n - row->nan - row->neg_inf - row->pos_inf;
  if (!finite) return;
  bool quantiles = what & kWatchQuantiles, exact = quantiles && finite <= kExact;
  bool binned = what & kWatchHistogram || (quantiles && !exact);
  std::vector<double> kept;
  if (exact) kept.reserve(finite);
  Bins bins(row->min, row->max);
  if (binned) pass<true>(decode, data, n, &bins, exact ? &kept : nullptr, row);
  else pass<false>(decode, data, n, nullptr, exact ? &kept : nullptr, row);
  if (binned) bins.give(row->bins);
  double edges[kBins + 1];
  bin_edges(row->min, row->max, edges);
  for (int i = 0; quantiles && i < kQuantiles; ++i)
    row->quantiles[i] = exact ? exact_quantile(kept, kAt[i]) : rough_quantile(*row, edges, kAt[i]);
  row->flags |= (binned ? kWatchHistogram : 0u) | (quantiles ? kWatchQuantiles : 0u) | (exact ? kWatchExact : 0u);
}

template <class Decode, class Out>
void subtract_as(Decode decode, const char* after, const char* before, uint64_t n, Out* out) {
  for (uint64_t i = 0; i < n; ++i)
    out[i] = Out(decode(after + i * Decode::kBytes)) - Out(decode(before + i * Decode::kBytes));
}

}  // namespace

void bin_edges(double min, double max, double* edges) {
  double step = max / kBins - min / kBins;  // does not overflow for any range
  for (int i = 0; i <= kBins; ++i) {
    volatile double way = step * (i < kBins / 2 ? i : kBins - i);  // rounded separately, the same on every machine
    edges[i] = i < kBins / 2 ? min + way : max - way;
  }
}

void measure(const void* data, uint64_t n, int tf_dtype, uint32_t what, Watched* row) {
  PlainFloats plain;
  const char* bytes = static_cast<const char*>(data);
  switch (tf_dtype) {  // TensorFlow's DataType numbers; core/dtypes.py names them
    case 1: return measure_as(Stored<float>{}, bytes, n, what, row);
    case 2: return measure_as(Stored<double>{}, bytes, n, what, row);
    case 3:
    case 13: return measure_as(Stored<int32_t>{}, bytes, n, what, row);
    case 4:
    case 12: return measure_as(Stored<uint8_t>{}, bytes, n, what, row);
    case 5:
    case 15: return measure_as(Stored<int16_t>{}, bytes, n, what, row);
    case 6:
    case 11: return measure_as(Stored<int8_t>{}, bytes, n, what, row);
    case 8: return measure_as(Complex<float>{}, bytes, n, what, row);
    case 9: return measure_as(Stored<int64_t>{}, bytes, n, what, row);
    case 10: return measure_as(Bool{}, bytes, n, what, row);
    case 14: return measure_as(Brain{}, bytes, n, what, row);
    case 16:
    case 17: return measure_as(Stored<uint16_t>{}, bytes, n, what, row);
    case 18: return measure_as(Complex<double>{}, bytes, n, what, row);
    case 19: return measure_as(Half{}, bytes, n, what, row);
    case 22: return measure_as(Stored<uint32_t>{}, bytes, n, what, row);
    case 23: return measure_as(Stored<uint64_t>{}, bytes, n, what, row);
    case 24:
    case 25:
    case 26:
    case 27:
    case 28: return measure_as(Table{float8_values(tf_dtype)}, bytes, n, what, row);
  }
}

int subtract(const void* after, const void* before, uint64_t n, int tf_dtype, void* out) {
  PlainFloats plain;
  const char *a = static_cast<const char*>(after), *b = static_cast<const char*>(before);
  if (tf_dtype == 1) return subtract_as(Stored<float>{}, a, b, n, static_cast<float*>(out)), 1;
  if (tf_dtype == 2) return subtract_as(Stored<double>{}, a, b, n, static_cast<double*>(out)), 2;
  if (tf_dtype == 14) return subtract_as(Brain{}, a, b, n, static_cast<float*>(out)), 1;
  if (tf_dtype == 19) return subtract_as(Half{}, a, b, n, static_cast<float*>(out)), 1;
  return 0;
}

}  // namespace sleuth

// For tests: both passes over a tensor.
extern "C" __attribute__((visibility("default"))) void sleuth_measure(const void* data, uint64_t n, int tf_dtype,
                                                                      uint32_t what, sleuth::Watched* row) {
  sleuth::Health health;
  sleuth::look(data, n, tf_dtype, sleuth::kFull, &health);
  row->nan = health.nan, row->neg_inf = health.neg_inf, row->pos_inf = health.pos_inf, row->zero = health.zero;
  row->min = health.min, row->max = health.max, row->elements = n;
  sleuth::measure(data, n, tf_dtype, what, row);
}
