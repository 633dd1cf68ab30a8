// What one look at a tensor finds. native/numpy_health.py does the same in NumPy; a test holds them equal.
#pragma once
#include <cstdint>

#include "files/rows.h"

namespace sleuth {

enum Isa : int { kPortable = 0, kAvx2 = 1 };

// Fills `out` with what `look` asks for and leaves the rest as Health{} has it. `data` may be misaligned.
// Integers are never bad. A complex value is sorted by its real part and measured by its modulus.
// Types that are not numbers (and the 4-bit ones) get their elements counted, no more.
void look(const void* data, uint64_t n, int tf_dtype, int look, Health* out);
void look_with(int isa, const void* data, uint64_t n, int tf_dtype, int look, Health* out);
int best_isa();

}  // namespace sleuth

extern "C" {  // the door for ctypes; isa -1 is the best there is
void sleuth_health(const void* data, uint64_t n, int tf_dtype, int look, int isa, sleuth::Health* out);
int sleuth_isa();
}
