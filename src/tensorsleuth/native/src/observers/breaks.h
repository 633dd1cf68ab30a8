// Conditions on tensors (live/breakpoints/): each tensor id has a set of them, judged where the tensor is noted. What holds is
// told to Python on the thread that computes, which so waits there for as long as the program is to pause.
#pragma once
#include <atomic>
#include <cstdint>

#include "recording.h"

namespace sleuth::breaks {

constexpr int kMost = 62;  // conditions at a time: each is a bit
// In a tensor's set: looked at for conditions only, no matter of the guard's.
constexpr uint64_t kNotGuards = 1ull << 63;

extern std::atomic<uint64_t> active;        // the conditions that are to be judged
extern std::atomic<int64_t> closely_until;  // up to this training step everything is looked at in full

uint64_t look_up(uint32_t tensor);
int needed(uint64_t asked);  // how closely to look so that they can be judged

// The conditions on a tensor.
inline uint64_t asked(uint32_t tensor) { return active.load(std::memory_order_relaxed) ? look_up(tensor) : 0; }

inline int closer(int look, uint64_t asked) {
  if (closely_until.load(std::memory_order_relaxed) >= 0 && step_now() <= closely_until) return kValue;
  int need = asked ? needed(asked) : 0;
  return need > look ? need : look;
}

void judge(uint64_t asked, const Health& health, const TensorView& tensor, const Where& where);
int take_stop();  // number of the hit for which Python wants this thread's op to fail, once; 0: none
void abandon();   // in a forked child

}  // namespace sleuth::breaks
