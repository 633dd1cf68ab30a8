// What is kept of attention weights (layer_stats.h): numbers a head, and the weights of the first samples, made smaller.
// trace/series/attention.py reads it; tests hold the numbers equal to NumPy's.
#pragma once
#include <cstdint>
#include <string>

#include "recording.h"

namespace sleuth::attention {

constexpr uint64_t kSamples = 2, kHeads = 32, kSide = 256;  // of the weights, at most
constexpr uint64_t kMostHeads = 1024;                       // of the numbers
constexpr uint64_t kBytes = 4 << 20;                        // of one look at one attention, about

// In this order, a float64 a head each.
enum Number { kEntropy, kDistance, kSink, kCollapse, kOffSum, kAhead, kNanRows, kZeroRows, kNumbers };

struct Header {
  uint32_t version, numbers, samples, heads, heads_kept;
  uint32_t rows, columns;            // of the weights
  uint32_t kept_rows, kept_columns;  // of what is kept of them
  uint32_t row_block, column_block, batch;
};
static_assert(sizeof(Header) == 48, "trace/series/attention.py says 48");

constexpr int kLastButOne = -1, kNoRows = -2;  // recording/structure/attention.py has the same

// Of weights [batch, heads…, rows, columns], with the rows at axis `row_axis`; [batch, heads…, columns] where it is kNoRows. Empty where the tensor is nothing like that.
std::string measure(const TensorView& weights, int row_axis);

}  // namespace sleuth::attention
