// What a step took from outside (a batch, random numbers, what Python returned), kept until the step has ended, so that it
// can be run again with the same.
#pragma once
#include <cstdint>

#include "ops/tf_abi.h"

namespace sleuth::held {

void keep(uint64_t tf_step, uint32_t slot, TF_Tensor* tensor);  // takes the tensor over
void joined(uint64_t tf_step, uint64_t call);
const TF_Tensor* next(uint32_t slot);  // of the call that is run again, in the order in which they were kept; or null

}  // namespace sleuth::held
