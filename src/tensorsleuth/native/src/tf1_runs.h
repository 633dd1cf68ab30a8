// Runs of TensorFlow 1 sessions. Nothing of ours stands in their graphs, so what a watched function says of itself is
// found here: which graph the optimiser has before it, and which of TensorFlow's steps belongs to which call.
#pragma once
#include <cstdint>
#include <string>

namespace sleuth::runs {

// The graph that the session which runs on this thread would have optimised: sessions do that on the thread that calls
// them. Empty where there is none.
const std::string& graph_of_thread();
int rounds_of_thread();  // that the optimiser makes over it; Estimators ask for one
// A probe of a graph has a tensor before it. The step is handed to the oldest run of that graph that has none yet.
// Returns the step as rows have it, for sessions and functions each count their own; kUnwatched where none is wanted.
constexpr uint64_t kUnwatched = ~0ull;
uint64_t join(uint64_t graph, uint64_t tf_step);
void abandon();  // in a forked child

}  // namespace sleuth::runs
