#include "ops/replay_inputs.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace sleuth::held {
namespace {

using Queue = std::vector<TF_Tensor*>;

struct Step {
  uint64_t call = 0, order = 0;
  std::map<uint32_t, Queue> slots;
  std::map<uint32_t, size_t> taken;  // how many tensors of each slot the replay has used

  Step() = default;
  Step(Step&& other) = default;
  Step& operator=(Step&& other) {
    std::swap(call, other.call), std::swap(order, other.order), std::swap(slots, other.slots),
        std::swap(taken, other.taken);
    return *this;
  }
  ~Step() {
    for (auto& slot : slots)
      for (TF_Tensor* tensor : slot.second) TF_DeleteTensor(tensor);
  }
};

constexpr size_t kMostSteps = 256;  // concurrent steps, or steps kept for later
std::mutex mutex;
std::map<uint64_t, Step> steps;  // by TensorFlow's step id
Step again;                      // the step that is being replayed
uint64_t steps_begun = 0;

// Keeps an order of its own, because TensorFlow's step ids have none.
Step& step_of(uint64_t tf_step) {
  Step& step = steps[tf_step];
  if (!step.order) step.order = ++steps_begun;
  if (steps.size() <= kMostSteps) return step;
  auto older = [](const auto& one, const auto& other) { return one.second.order < other.second.order; };
  steps.erase(std::min_element(steps.begin(), steps.end(), older));
  return step;
}

}  // namespace

void keep(uint64_t tf_step, uint32_t slot, TF_Tensor* tensor) {
  std::lock_guard<std::mutex> lock(mutex);
  step_of(tf_step).slots[slot].push_back(tensor);
}

void joined(uint64_t tf_step, uint64_t call) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = steps.find(tf_step);
  if (found != steps.end()) found->second.call = call;
  else if (call) step_of(tf_step).call = call;
}

const TF_Tensor* next(uint32_t slot) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = again.slots.find(slot);
  size_t& taken = again.taken[slot];
  return found == again.slots.end() || taken >= found->second.size() ? nullptr : found->second[taken++];
}

// A forked child must neither wait for a thread that it lacks nor use data that the thread was changing. It frees
// nothing.
__attribute__((constructor)) void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] {
    new (&mutex) std::mutex();
    new (&steps) std::map<uint64_t, Step>();
    new (&again) Step();
  });
}

}  // namespace sleuth::held

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

// Drops the inputs of a call that ended well.
SLEUTH_API void sleuth_held_drop(uint64_t call) {
  using namespace sleuth::held;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto step = steps.begin(); step != steps.end();)
    if (step->second.call == call) step = steps.erase(step);
    else ++step;
}

// Prepares the replay of a call: its inputs are returned from the first one on. 0 restarts the same replay.
SLEUTH_API void sleuth_held_again(uint64_t call) {
  using namespace sleuth::held;
  std::lock_guard<std::mutex> lock(mutex);
  if (call && again.call != call) {
    again = Step{};
    for (auto& step : steps)
      if (step.second.call == call) again = std::move(step.second);
  }
  again.taken.clear();
}

// Returns how many values a slot holds in the call to replay.
SLEUTH_API uint64_t sleuth_held_count(uint32_t slot) {
  using namespace sleuth::held;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = again.slots.find(slot);
  return found == again.slots.end() ? 0 : found->second.size();
}

// Returns the bytes that the inputs of a call occupy.
SLEUTH_API uint64_t sleuth_held_bytes(uint64_t call) {
  using namespace sleuth::held;
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t bytes = 0;
  for (auto& step : steps)
    if (step.second.call == call)
      for (auto& slot : step.second.slots)
        for (TF_Tensor* tensor : slot.second) bytes += TF_TensorByteSize(tensor);
  return bytes;
}

// Assigns the values kept outside of any step (by SleuthHold, for a step loaded from a file) to a call.
SLEUTH_API void sleuth_held_join(uint64_t call) { sleuth::held::joined(0, call); }

// Clears everything: a recording begins or ends, and calls are numbered anew.
SLEUTH_API void sleuth_held_clear() {
  using namespace sleuth::held;
  std::lock_guard<std::mutex> lock(mutex);
  steps.clear();
  again = Step{};
}

SLEUTH_API void sleuth_held_forget() {
  using namespace sleuth::held;
  std::lock_guard<std::mutex> lock(mutex);
  again = Step{};
}
}
