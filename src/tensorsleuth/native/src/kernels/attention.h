// The record of attention weights (see layer_stats.h): statistics for each head, and the downscaled weights of the
// first samples. trace/series/attention.py reads it, and tests compare the statistics with NumPy.
#pragma once
#include <cstdint>
#include <string>

#include "recording.h"

namespace sleuth::attention {

constexpr uint64_t kSamples = 2, kHeads = 32, kSide = 256;  // limits for the weights
constexpr uint64_t kMostHeads = 1024;                       // limit for the statistics
constexpr uint64_t kBytes = 4 << 20;                        // approximate limit for one sample of one attention layer

// In this order, one float64 for each head.
enum Number { kEntropy, kDistance, kSink, kCollapse, kOffSum, kAhead, kNanRows, kZeroRows, kNumbers };

struct Header {
  uint32_t version, numbers, samples, heads, heads_kept;
  uint32_t rows, columns;            // of the original weights
  uint32_t kept_rows, kept_columns;  // of the downscaled weights
  uint32_t row_block, column_block, batch;
};
static_assert(sizeof(Header) == 48, "trace/series/attention.py says 48");

constexpr int kLastButOne = -1, kNoRows = -2;  // recording/structure/attention.py has the same numbers

// Records weights [batch, heads…, rows, columns] with the rows at axis `row_axis`, or [batch, heads…, columns] if it is
// kNoRows. Returns an empty record if the tensor has another form.
std::string measure(const TensorView& weights, int row_axis);

}  // namespace sleuth::attention
