// How much a tensor has changed since it was last computed: |new - old| / |old|. Keeps a copy of each compared tensor.
#pragma once
#include <cstdint>

#include "recording.h"

namespace sleuth {

// NaN the first time, after zeros, if the shape or dtype differs, or if the copies have reached their limit.
double change_since(uint32_t tensor, const TensorView& now);
void forget_changes();
void abandon_changes();  // in a forked child

}  // namespace sleuth
