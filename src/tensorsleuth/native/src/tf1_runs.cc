#include "tf1_runs.h"

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "files/ring.h"
#include "recording.h"

namespace sleuth::runs {
namespace {

constexpr uint64_t kNone = ~0ull;
constexpr size_t kRecent = 256;
constexpr int kUsualRounds = 2;
constexpr uint64_t kOfSession = 1ull << 61, kFolded = 1ull << 60, kIgnored = 1ull << 62;

struct Run {
  uint64_t graph, call, tf_step;
};

thread_local std::string graph_name;
thread_local uint64_t call_of_thread = 0;
thread_local int rounds = kUsualRounds;
std::mutex mutex;
std::vector<Run> under_way;             // oldest first
std::atomic<uint64_t> recent[kRecent];  // steps already joined; nearly every probe finds its step here

void note_join(uint64_t tf_step, uint64_t call) {
  Call row{};
  row.time = now_ns();
  row.call = call;
  row.thread = thread_number();
  row.kind = kJoin;
  row.tf_step = tf_step;
  note_call(row);
}

// Returns the oldest run of a graph that has a step (or that has none yet).
Run* find(uint64_t graph, bool joined) {
  for (Run& run : under_way)
    if (run.graph == graph && (run.tf_step != kNone) == joined) return &run;
  return nullptr;
}

// Returns the step, with the bit kIgnored if no run of that graph is watched.
uint64_t claim(uint64_t graph, uint64_t tf_step) {
  std::lock_guard<std::mutex> lock(mutex);
  std::atomic<uint64_t>& slot = recent[tf_step % kRecent];
  uint64_t known = slot.load(std::memory_order_relaxed);
  if ((known & ~kIgnored) == tf_step) return known;  // another probe was faster
  for (const Run& run : under_way)
    if (run.tf_step == tf_step) return tf_step;
  Run* free = find(graph, false);
  if (free) {
    free->tf_step = tf_step;
    note_join(tf_step, free->call);
  }
  known = free ? tf_step : tf_step | kIgnored;
  slot.store(known, std::memory_order_relaxed);
  return known;
}

// A run ended without a step, so its step was given to an older run of the same graph on another thread. Hand it on:
// the last row that joins a step counts.
void settle(const Run& ended) {
  Run* other = ended.tf_step == kNone ? find(ended.graph, true) : nullptr;
  if (!other) return;
  note_join(other->tf_step, ended.call);
  other->tf_step = kNone;
}

// For constants that TensorFlow evaluates while it prepares the graph, on the thread of the waiting run.
uint64_t folded(uint64_t tf_step) {
  if (!call_of_thread) return kUnwatched;
  tf_step = kFolded | call_of_thread;
  std::atomic<uint64_t>& slot = recent[tf_step % kRecent];
  if (slot.exchange(tf_step) != tf_step) note_join(tf_step, call_of_thread);
  return tf_step;
}

}  // namespace

const std::string& graph_of_thread() { return graph_name; }
int rounds_of_thread() { return rounds; }

uint64_t join(uint64_t graph, uint64_t tf_step) {
  if (int64_t(tf_step) <= 0) return folded(tf_step);  // a session's steps start at 1
  tf_step |= kOfSession;
  uint64_t known = recent[tf_step % kRecent].load(std::memory_order_relaxed);
  if ((known & ~kIgnored) != tf_step) known = claim(graph, tf_step);
  return known & kIgnored ? kUnwatched : tf_step;
}

void abandon() {
  new (&mutex) std::mutex();
  new (&under_way) std::vector<Run>();  // another thread may have been changing it during the fork
}

}  // namespace sleuth::runs

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

SLEUTH_API void sleuth_begin_run(uint64_t graph, uint64_t call, const char* name, int rounds_wanted) {
  using namespace sleuth::runs;
  rounds = rounds_wanted ? rounds_wanted : kUsualRounds;
  graph_name = name;
  call_of_thread = call;
  if (!call) return;  // prepared, but not watched
  std::lock_guard<std::mutex> lock(mutex);
  under_way.push_back({graph, call, kNone});
}

SLEUTH_API void sleuth_end_run(uint64_t call) {
  using namespace sleuth::runs;
  graph_name.clear();
  call_of_thread = 0;
  rounds = kUsualRounds;
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < under_way.size(); ++i) {
    if (under_way[i].call != call) continue;
    Run ended = under_way[i];
    under_way.erase(under_way.begin() + long(i));
    return settle(ended);
  }
}
}
