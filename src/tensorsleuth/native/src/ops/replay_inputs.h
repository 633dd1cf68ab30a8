// The inputs that a step took from outside (a batch, random numbers, results of Python), kept until the step has ended,
// so that it can be replayed with the same inputs.
#pragma once
#include <cstdint>

#include "ops/tf_abi.h"

namespace sleuth::held {

void keep(uint64_t tf_step, uint32_t slot, TF_Tensor* tensor);  // takes ownership of the tensor
void joined(uint64_t tf_step, uint64_t call);
const TF_Tensor* next(uint32_t slot);  // of the call being replayed, in the order of `keep`; or null

}  // namespace sleuth::held
