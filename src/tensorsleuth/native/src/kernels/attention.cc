#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/health_decode.h"
#include "kernels/plain_floats.h"

namespace sleuth::attention {
namespace {

constexpr uint16_t kShades = 65533, kNoShade = 65535;  // trace/series/attention.py has the same numbers
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Layout {  // the position of the weight of sample b, head h, row i, column j
  uint64_t batch = 1, heads = 1, rows = 1, columns = 1;
  uint64_t row_stride = 1;
  std::vector<uint64_t> starts;  // of each sample and head; the axes between them need not be contiguous

  Layout(const TensorView& weights, int row_axis) {
    int last = weights.rank - 1;
    columns = uint64_t(weights.dims[last]);
    std::vector<uint64_t> strides(size_t(weights.rank), 1);
    for (int at = last - 1; at >= 0; --at)
      strides[size_t(at)] = strides[size_t(at) + 1] * uint64_t(weights.dims[at + 1]);
    if (row_axis >= 0) rows = uint64_t(weights.dims[row_axis]), row_stride = strides[size_t(row_axis)];
    starts = {0};
    bool first = true;
    for (int at = 0; at < last; ++at) {
      if (at == row_axis) continue;
      spread(uint64_t(weights.dims[at]), strides[size_t(at)]);
      (first ? batch : heads) *= uint64_t(weights.dims[at]);
      first = false;
    }
  }

 private:
  void spread(uint64_t size, uint64_t stride) {
    std::vector<uint64_t> all;
    for (uint64_t start : starts)
      for (uint64_t i = 0; i < size; ++i) all.push_back(start + i * stride);
    starts = std::move(all);
  }
};

Header header_of(const Layout& layout) {
  Header header{1,
                kNumbers,
                uint32_t(std::min(kSamples, layout.batch)),
                uint32_t(layout.heads),
                uint32_t(std::min(kHeads, layout.heads)),
                uint32_t(layout.rows),
                uint32_t(layout.columns),
                0,
                0,
                1,
                1,
                uint32_t(layout.batch)};
  uint64_t pictures = std::max<uint64_t>(1, uint64_t(header.samples) * header.heads_kept);
  uint64_t side = std::min<uint64_t>(
      kSide, std::max<uint64_t>(16, uint64_t(std::sqrt(double(kBytes / sizeof(uint16_t) / pictures)))));
  header.row_block = uint32_t((layout.rows + side - 1) / side);
  header.column_block = uint32_t((layout.columns + side - 1) / side);
  header.kept_rows = uint32_t((layout.rows + header.row_block - 1) / header.row_block);
  header.kept_columns = uint32_t((layout.columns + header.column_block - 1) / header.column_block);
  return header;
}

struct Head {  // sums over the rows of one head
  double entropy = 0, distance = 0, sink = 0, off_sum = 0, ahead = 0;
  uint64_t rows = 0, nan_rows = 0, zero_rows = 0;
  std::vector<double> columns;

  void add(const float* row, uint64_t n, uint64_t i) {
    double sum = 0, entropy_here = 0, distance_here = 0, ahead_here = 0;
    bool zero = true;
    for (uint64_t j = 0; j < n; ++j) {
      double w = row[j];
      sum += w;
      if (w == 0) continue;
      zero = false;
      if (w > 0) entropy_here -= w * std::log(w);
      distance_here += w * std::fabs(double(i) - double(j));
      if (j > i) ahead_here += w;
    }
    if (!std::isfinite(sum)) return void(++nan_rows);
    if (zero) return void(++zero_rows);
    ++rows;
    entropy += entropy_here, distance += distance_here, ahead += ahead_here, sink += row[0];
    off_sum = std::max(off_sum, std::fabs(sum - 1));
    for (uint64_t j = 0; j < n; ++j) columns[j] += row[j];
  }

  void give(double* numbers, const Header& header, uint64_t stride, uint64_t at) const {
    bool square = header.rows == header.columns;
    double over = rows ? double(rows) : kNone;
    double peak = columns.empty() ? kNone : *std::max_element(columns.begin(), columns.end()) / over;
    double found[kNumbers] = {header.columns > 1 ? entropy / over / std::log(double(header.columns)) : kNone,
                              square ? distance / over : kNone,
                              sink / over,
                              peak,
                              rows ? off_sum : kNone,
                              square ? ahead / over : kNone,
                              double(nan_rows),
                              double(zero_rows)};
    for (int number = 0; number < kNumbers; ++number) numbers[uint64_t(number) * stride + at] = found[number];
  }
};

// Adds a row of weights to a downscaled picture. Columns of a block are summed and rows averaged, so rows still sum to
// one.
void draw(const float* row, uint64_t i, const Header& header, float* picture) {
  uint64_t block = i / header.row_block, begin = block * header.row_block;
  float share = 1.0f / float(std::min<uint64_t>(header.row_block, header.rows - begin));
  float* out = picture + block * header.kept_columns;
  for (uint64_t j = 0; j < header.columns; ++j) out[j / header.column_block] += row[j] * share;
}

// Weights lie between 0 and 1. 16 bits store them to within 0.0000077, in half the size of floats. A tiny weight must
// not become zero: only masked weights are zero.
uint16_t shade_of(float weight) {
  if (std::isnan(weight)) return kNoShade;
  long shade = std::lround(std::min(std::max(weight, 0.0f), 1.0f) * kShades);
  return uint16_t(shade ? shade + 1 : weight > 0 ? 1 : 0);
}

template <class Read>
std::string measure_as(Read read_row, const Layout& layout) {
  Header header = header_of(layout);
  uint64_t picture = uint64_t(header.kept_rows) * header.kept_columns;
  std::vector<double> numbers(kNumbers * layout.heads);
  std::vector<float> pictures(picture * header.samples * header.heads_kept), row(layout.columns);
  for (uint64_t h = 0; h < layout.heads; ++h) {
    Head head;
    head.columns.resize(layout.columns);
    for (uint64_t b = 0; b < layout.batch; ++b)
      for (uint64_t i = 0; i < layout.rows; ++i) {
        read_row(layout.starts[b * layout.heads + h] + i * layout.row_stride, row.data(), layout.columns);
        head.add(row.data(), layout.columns, i);
        if (b < header.samples && h < header.heads_kept)
          draw(row.data(), i, header, pictures.data() + (b * header.heads_kept + h) * picture);
      }
    head.give(numbers.data(), header, layout.heads, h);
  }
  std::string all(reinterpret_cast<const char*>(&header), sizeof header);
  all.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
  std::vector<uint16_t> shades(pictures.size());
  std::transform(pictures.begin(), pictures.end(), shades.begin(), shade_of);
  return all.append(reinterpret_cast<const char*>(shades.data()), shades.size() * sizeof(uint16_t));
}

template <class Value>
struct Stored {
  static constexpr size_t kBytes = sizeof(Value);
  float operator()(const char* p) const { return float(read<Value>(p)); }
};

template <class Decode>
auto rows_of(Decode decode, const void* data) {
  return [decode, bytes = static_cast<const char*>(data)](uint64_t start, float* row, uint64_t n) {
    for (uint64_t j = 0; j < n; ++j) row[j] = float(decode(bytes + (start + j) * Decode::kBytes));
  };
}

}  // namespace

std::string measure(const TensorView& weights, int row_axis) {
  if (row_axis == kLastButOne) row_axis = weights.rank > 2 ? weights.rank - 2 : kNoRows;
  if (weights.rank < 2 || weights.rank > 8 || row_axis >= weights.rank - 1 || !weights.elements) return {};
  PlainFloats plain;
  Layout layout(weights, row_axis);
  if (layout.heads > kMostHeads) return {};
  switch (weights.dtype) {  // TensorFlow's DataType numbers; core/dtypes.py names them
    case 1: return measure_as(rows_of(Stored<float>{}, weights.data), layout);
    case 2: return measure_as(rows_of(Stored<double>{}, weights.data), layout);
    case 14: return measure_as(rows_of(Brain{}, weights.data), layout);
    case 19: return measure_as(rows_of(Half{}, weights.data), layout);
  }
  return {};
}

}  // namespace sleuth::attention

// For tests: writes the record to `out`, which has `room` bytes, and returns its size.
extern "C" __attribute__((visibility("default"))) uint64_t sleuth_attention(const sleuth::TensorView* weights,
                                                                            int row_axis, char* out, uint64_t room) {
  std::string kept = sleuth::attention::measure(*weights, row_axis);
  memcpy(out, kept.data(), std::min<uint64_t>(room, kept.size()));
  return kept.size();
}
