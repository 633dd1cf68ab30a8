#include "session_runs.h"

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "ring.h"
#include "session.h"

namespace sleuth::runs {
namespace {

constexpr uint64_t kNone = ~0ull;
constexpr size_t kRecent = 256;
constexpr uint64_t kOfSession = 1ull << 61;

struct Run {
  uint64_t graph, call, tf_step;
};

thread_local std::string graph_name;
std::mutex mutex;
std::vector<Run> under_way;              // oldest first
std::atomic<uint64_t> recent[kRecent];   // steps that were joined: what nearly every probe finds

void note_join(uint64_t tf_step, uint64_t call) {
  Call row{};
  row.time = now_ns();
  row.call = call;
  row.thread = thread_number();
  row.kind = kJoin;
  row.tf_step = tf_step;
  note_call(row);
}

// Which run the step is for, or 0: it has one already, or nobody runs that graph any more.
uint64_t claim(uint64_t graph, uint64_t tf_step) {
  std::lock_guard<std::mutex> lock(mutex);
  Run* free = nullptr;
  for (Run& run : under_way) {
    if (run.tf_step == tf_step) return 0;
    if (!free && run.graph == graph && run.tf_step == kNone) free = &run;
  }
  if (!free) return 0;
  free->tf_step = tf_step;
  return free->call;
}

}  // namespace

const std::string& graph_of_thread() { return graph_name; }

uint64_t join(uint64_t graph, uint64_t tf_step) {
  if (int64_t(tf_step) <= 0) return tf_step;  // of no session, they count from 1: a constant that is being folded
  tf_step |= kOfSession;
  std::atomic<uint64_t>& slot = recent[tf_step % kRecent];
  if (slot.load(std::memory_order_relaxed) == tf_step) return tf_step;
  if (uint64_t call = claim(graph, tf_step)) note_join(tf_step, call);
  slot.store(tf_step, std::memory_order_relaxed);
  return tf_step;
}

void abandon() {
  new (&mutex) std::mutex();
  under_way.clear();
}

}  // namespace sleuth::runs

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

SLEUTH_API void sleuth_begin_run(uint64_t graph, uint64_t call, const char* name) {
  using namespace sleuth::runs;
  graph_name = name;
  std::lock_guard<std::mutex> lock(mutex);
  under_way.push_back({graph, call, kNone});
}

SLEUTH_API void sleuth_end_run(uint64_t call) {
  using namespace sleuth::runs;
  graph_name.clear();
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < under_way.size(); ++i) {
    if (under_way[i].call != call) continue;
    under_way.erase(under_way.begin() + long(i));
    return;
  }
}
}
