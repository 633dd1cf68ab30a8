// Puts probes into a graph that TensorFlow has finished optimising, so that what is watched is what would have run
// anyway, to the bit. Nodes are known by the debug names that the watched copies of functions give them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sleuth {

// `nodes`: a line a node, "name \t first tensor id \t dtype:look,dtype:look… \t inputs", an output without a look as "-".
// "@12" in their place: only note when the node, number 12 of the function whose first tensor id that is, has ended.
// `run`: the number of the session's graph that it belongs to, see session_runs.h. The functions in such a graph are named
// "<name of the graph> kInside <names of the nodes that call it, from the outermost, kBelow between them> kInside <its name>".
constexpr char kInside = '\1', kBelow = '\2';
void watch_function(const std::string& copy, uint64_t session, std::string_view nodes, uint64_t run = 0);
// Functions that another process watches and this one runs: their nodes lie in a folder, in files of the copies' names.
void share_functions(std::string_view folder, uint64_t session);
void name_devices(std::string_view lines);  // the logical devices, e.g. "CPU:0\nCPU:1"
int device_number(std::string_view name);   // 1 …, 0 where it is not among them
void forget_function(const std::string& copy);
bool was_probed(const std::string& copy);
bool has_probe(const std::string& copy, uint32_t tensor);

bool add_probes(std::string_view graph, std::string* out);  // false: leave the graph as it is

}  // namespace sleuth
