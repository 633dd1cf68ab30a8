// How much a tensor has changed since it was computed last: |new - old| / |old|. Keeps a copy of each that is asked about.
#pragma once
#include <cstdint>

#include "recording.h"

namespace sleuth {

// NaN the first time, after zeros, where the shape or dtype is another, or where copies have used up their bound.
double change_since(uint32_t tensor, const TensorView& now);
void forget_changes();
void abandon_changes();  // in a forked child

}  // namespace sleuth
