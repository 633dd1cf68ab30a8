// What a watched tensor is measured by: a second pass, over a tensor whose range the first has found.
// native/numpy_measure.py does the same in NumPy; a test holds them equal.
#pragma once
#include <cstdint>

#include "files/rows.h"

namespace sleuth {

// Bin i holds what is at edge i or above, and below edge i + 1; the last holds the maximum, too.
void bin_edges(double min, double max, double* edges);  // kBins + 1 of them

// Fills in sum, norm and, as asked, bins and quantiles; all of the finite values. `row` has the counts and the range.
void measure(const void* data, uint64_t n, int tf_dtype, uint32_t what, Watched* row);

// The distance of two values of a variable, written to `out` as floats (of doubles: as doubles). The dtype of `out`, or 0
// where the values are no floats.
int subtract(const void* after, const void* before, uint64_t n, int tf_dtype, void* out);

}  // namespace sleuth
