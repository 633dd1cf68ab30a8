// Looks into the model now and then (watching/inside.py): the outputs of layers, attention weights, gradients, inputs.
// All of it is due in the same steps, so that in all others a probe reads one flag.
#pragma once
#include <atomic>
#include <cstdint>

#include "session.h"

namespace sleuth::inside {

constexpr uint32_t kFirst = 1u << 16;  // number of the first series; those of watches.h are below
constexpr uint32_t kMost = 16384;

// What is looked for, beside the norm. watching/inside.py has the same numbers.
enum Kind : uint32_t { kNorm = 0, kUnits = 1, kAttention = 2, kInput = 3 };

extern std::atomic<bool> due;  // in the training step that is under way

inline bool has(uint32_t series) { return series >= kFirst; }
uint32_t series_of(uint32_t tensor);
inline uint32_t asked(uint32_t tensor) { return due.load(std::memory_order_relaxed) ? series_of(tensor) : 0; }

void look_at(uint32_t series, const TensorView& tensor, const Where& where);  // once a step
void close();
void abandon();  // in a forked child

}  // namespace sleuth::inside
