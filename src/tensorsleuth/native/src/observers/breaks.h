// Conditions on tensors (live/breakpoints/). Each tensor id has a set of them, judged when the tensor is recorded. If
// one holds, Python is called on the thread that computed the tensor, and that thread waits there during a pause.
#pragma once
#include <atomic>
#include <cstdint>

#include "recording.h"

namespace sleuth::breaks {

constexpr int kMost = 62;  // conditions at a time, one bit each
// In a tensor's set: probed only for conditions, so the guard ignores it.
constexpr uint64_t kNotGuards = 1ull << 63;

extern std::atomic<uint64_t> active;        // the conditions to judge
extern std::atomic<int64_t> closely_until;  // up to this training step, every tensor is recorded in full

uint64_t look_up(uint32_t tensor);
int needed(uint64_t asked);  // how closely to examine a tensor to judge these

// The conditions on a tensor.
inline uint64_t asked(uint32_t tensor) { return active.load(std::memory_order_relaxed) ? look_up(tensor) : 0; }

inline int closer(int look, uint64_t asked) {
  if (closely_until.load(std::memory_order_relaxed) >= 0 && step_now() <= closely_until) return kValue;
  int need = asked ? needed(asked) : 0;
  return need > look ? need : look;
}

void judge(uint64_t asked, const Health& health, const TensorView& tensor, const Where& where);
int take_stop();  // the hit for which Python wants this thread's op to fail, reported once; 0: none
void abandon();   // in a forked child

}  // namespace sleuth::breaks
