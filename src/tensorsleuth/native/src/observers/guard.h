// What the guard needs at once: which tensors of a call were bad. It reads the rest from the rows.
#pragma once
#include <cstdint>

#include "recording.h"

namespace sleuth::guard {

bool on();
bool strict();                            // a probe that sees a bad value fails
int closer(int look, uint64_t elements);  // how closely to examine it: a full summary of a small tensor costs no more
void saw_bad(const Where& where, bool nan);
void joined(uint64_t tf_step, uint64_t call);
void forget();
void abandon();  // in a forked child

}  // namespace sleuth::guard
