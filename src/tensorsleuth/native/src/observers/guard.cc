#include "observers/guard.h"

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "observers/breaks.h"

namespace sleuth::guard {
namespace {

struct Bad {
  uint64_t step;
  uint32_t tensor, nan;
};
struct Join {
  uint64_t tf_step, call;
};

constexpr size_t kMost = 1 << 16;  // bad tensors that nobody takes, such as those of datasets
constexpr uint64_t kJoins = 4096;  // more than the number of concurrent calls
std::atomic<int> level{0};         // 0: off, 1: on, 2: strict
std::atomic<uint64_t> small{0};    // tensors with at most that many elements are summarised in full
std::atomic<size_t> waiting{0};
std::mutex mutex;
std::vector<Bad> seen;
Join joins[kJoins];

uint64_t call_of(uint64_t tf_step) {
  const Join& join = joins[tf_step % kJoins];
  return join.tf_step == tf_step ? join.call : 0;
}

}  // namespace

bool on() { return level.load(std::memory_order_relaxed) > 0; }
bool strict() { return level.load(std::memory_order_relaxed) > 1; }

int closer(int look, uint64_t elements) {
  return look == kCurt && on() && elements <= small.load(std::memory_order_relaxed) ? int(kFull) : look;
}

void saw_bad(const Where& where, bool nan) {
  if (!on() || !where.step) return;  // step 0: the graph optimizer is folding a constant
  std::lock_guard<std::mutex> lock(mutex);
  if (seen.size() >= kMost) seen.erase(seen.begin(), seen.begin() + kMost / 2);
  seen.push_back({where.step, where.tensor, nan});
  waiting = seen.size();
}

void joined(uint64_t tf_step, uint64_t call) {
  if (!on() && !breaks::active.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(mutex);
  joins[tf_step % kJoins] = {tf_step, call};
}

void forget() {
  std::lock_guard<std::mutex> lock(mutex);
  seen.clear();
  waiting = 0;
  for (Join& join : joins) join = {};
}

void abandon() {
  new (&mutex) std::mutex();
  new (&seen) std::vector<Bad>();  // another thread may have been changing it during the fork
  waiting = 0;
  level = 0;
}

}  // namespace sleuth::guard

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

SLEUTH_API void sleuth_guard(int level, uint64_t small) {
  sleuth::guard::small = small;
  sleuth::guard::level = level;
}

// Returns the call that a TensorFlow step id belongs to, or 0 if that is not known yet.
SLEUTH_API uint64_t sleuth_call_of_step(uint64_t tf_step) {
  std::lock_guard<std::mutex> lock(sleuth::guard::mutex);
  return sleuth::guard::call_of(tf_step);
}

// Removes and returns the bad tensors of a call, at most `room`: two numbers each (id; whether any value is NaN).
SLEUTH_API uint64_t sleuth_take_bad(uint64_t call, uint32_t* out, uint64_t room) {
  using namespace sleuth::guard;
  if (!waiting.load(std::memory_order_relaxed)) return 0;
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t taken = 0;
  size_t kept = 0;
  for (const Bad& bad : seen) {
    if (call_of(bad.step) != call) {
      seen[kept++] = bad;
    } else if (taken < room) {
      out[2 * taken] = bad.tensor;
      out[2 * taken++ + 1] = bad.nan;
    }
  }
  seen.resize(kept);
  waiting = kept;
  return taken;
}
}
