// Looks into the model now and then (live/layer_stats/observer.py): the outputs of layers, attention weights, gradients, inputs.
// All of it is due in the same steps, so that in all others a probe reads one flag; but for the rows of inputs, which
// input_rows.h wants of every step: where there are such, a probe also asks whether its tensor is one.
#pragma once
#include <atomic>
#include <cstdint>

#include "recording.h"

namespace sleuth::inside {

constexpr uint32_t kFirst = 1u << 16;  // number of the first series; those of watches.h are below
constexpr uint32_t kMost = 16384;

// What is looked for, beside the norm. live/layer_stats/observer.py has the same numbers.
// kHeldOut: an input of what does not train.
enum Kind : uint32_t { kNorm = 0, kUnits = 1, kAttention = 2, kInput = 3, kHeldOut = 4 };

// What is wanted in the training step that is under way: a look at everything, the rows of inputs, or nothing.
enum Want : uint32_t { kLook = 1, kInputRows = 2 };
extern std::atomic<uint32_t> wanted;

inline bool has(uint32_t series) { return series >= kFirst; }
inline bool is_due() { return wanted.load(std::memory_order_relaxed) & kLook; }
uint32_t series_of(uint32_t tensor, uint32_t now);
inline uint32_t asked(uint32_t tensor) {
  uint32_t now = wanted.load(std::memory_order_relaxed);
  return now ? series_of(tensor, now) : 0;
}

// A probe has seen it: the rows of an input, and a look.
void saw(uint32_t series, const TensorView& tensor, const Where& where);
void look_at(uint32_t series, const TensorView& tensor, const Where& where);  // once a step, where it is due
void close();
void abandon();  // in a forked child

}  // namespace sleuth::inside
