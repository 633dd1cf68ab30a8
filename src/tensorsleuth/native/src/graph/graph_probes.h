// Inserts probes into a graph that TensorFlow has finished optimizing, so the watched program runs the same ops as the
// bare one, to the bit. Nodes are identified by the debug names that the watched copies of functions give them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sleuth {

bool add_probes(std::string_view graph, std::string* out);  // false: leave the graph as it is

}  // namespace sleuth
