// The summary of a tensor. native/numpy_health.py computes the same in NumPy, and a test keeps them equal.
#pragma once
#include <cstdint>

#include "files/rows.h"

namespace sleuth {

enum Isa : int { kPortable = 0, kAvx2 = 1, kAvx512 = 2 };

// Fills `out` with the parts that `look` selects and leaves the others as in Health{}. `data` may be misaligned.
// Integers are never bad. A complex value is classified by its real part and measured by its modulus. For types that
// are not numeric (and the 4-bit ones) it only counts the elements.
void look(const void* data, uint64_t n, int tf_dtype, int look, Health* out);
void look_with(int isa, const void* data, uint64_t n, int tf_dtype, int look, Health* out);
int best_isa();

}  // namespace sleuth

extern "C" {  // the ctypes interface; isa -1 selects the best available
void sleuth_health(const void* data, uint64_t n, int tf_dtype, int look, int isa, sleuth::Health* out);
int sleuth_isa();
}
