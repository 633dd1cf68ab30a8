// Measures a watched tensor: a second pass, after the first has found the range. native/numpy_measure.py does the same
// in NumPy, and a test keeps them equal.
#pragma once
#include <cstdint>

#include "files/rows.h"

namespace sleuth {

// Bin i holds values from edge i up to, but excluding, edge i + 1. The last bin includes the maximum.
void bin_edges(double min, double max, double* edges);  // writes kBins + 1 edges

// Fills in sum, norm and, if selected, bins and quantiles, all of the finite values. `row` has the counts and the
// range.
void measure(const void* data, uint64_t n, int tf_dtype, uint32_t what, Watched* row);

// Writes the difference of two values of a variable to `out`, as floats (doubles stay doubles). Returns the dtype of
// `out`, or 0 if the values are not floats.
int subtract(const void* after, const void* before, uint64_t n, int tf_dtype, void* out);

}  // namespace sleuth
