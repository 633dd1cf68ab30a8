// Puts probes into a graph that TensorFlow has finished optimising, so that what is watched is what would have run
// anyway, to the bit. Nodes are known by the debug names that the watched copies of functions give them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sleuth {

bool add_probes(std::string_view graph, std::string* out);  // false: leave the graph as it is

}  // namespace sleuth
