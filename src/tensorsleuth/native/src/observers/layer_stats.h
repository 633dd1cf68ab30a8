// Samples the model at some steps (live/layer_stats/observer.py): outputs of layers, attention weights, gradients,
// inputs. All of them are due in the same steps, so in other steps a probe only reads one flag. The exception is the
// rows of inputs, which input_rows.h hashes in every step: if there are any, a probe also checks whether its tensor is
// one.
#pragma once
#include <atomic>
#include <cstdint>

#include "recording.h"

namespace sleuth::inside {

constexpr uint32_t kFirst = 1u << 16;  // number of the first series; those of watches.h are below
constexpr uint32_t kMost = 16384;

// What to compute beside the norm. live/layer_stats/observer.py has the same numbers. kHeldOut: an input of a function
// that does not train. kFirstRows: the first rows of anything else.
enum Kind : uint32_t { kNorm = 0, kUnits = 1, kAttention = 2, kInput = 3, kHeldOut = 4, kFirstRows = 5 };

// What is due in the current training step: samples of everything, the rows of inputs, or nothing.
enum Want : uint32_t { kLook = 1, kInputRows = 2 };
extern std::atomic<uint32_t> wanted;

inline bool has(uint32_t series) { return series >= kFirst; }
inline bool is_due() { return wanted.load(std::memory_order_relaxed) & kLook; }
uint32_t series_of(uint32_t tensor, uint32_t now);
inline uint32_t asked(uint32_t tensor) {
  uint32_t now = wanted.load(std::memory_order_relaxed);
  return now ? series_of(tensor, now) : 0;
}

// Called by a probe: hashes the rows of an input, and samples the tensor.
void saw(uint32_t series, const TensorView& tensor, const Where& where);
void look_at(uint32_t series, const TensorView& tensor, const Where& where);  // once a step, if due
void close();
void abandon();  // in a forked child

}  // namespace sleuth::inside
