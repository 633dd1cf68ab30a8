// Runs of TensorFlow 1 sessions. We add no nodes to a session's graph, so this file finds what a watched function
// reports itself: which graph the optimizer is processing, and which of TensorFlow's steps belongs to which call.
#pragma once
#include <cstdint>
#include <string>

namespace sleuth::runs {

// The graph that the session on this thread would optimize, or "" if there is none. A session optimizes on the thread
// that calls it.
const std::string& graph_of_thread();
int rounds_of_thread();  // rounds of the optimizer over that graph; Estimators set one
// Called by a probe for each tensor. Gives the step to the oldest run of that graph that has none yet. Returns the step
// as rows store it, since sessions and functions count separately, or kUnwatched if the run is not watched.
constexpr uint64_t kUnwatched = ~0ull;
uint64_t join(uint64_t graph, uint64_t tf_step);
void abandon();  // in a forked child

}  // namespace sleuth::runs
