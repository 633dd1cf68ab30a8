// The watched functions: which nodes to probe, and with which ids.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sleuth {

struct Output {
  int dtype, look;  // look < 0: none
  uint32_t hold;    // the slot to keep it in; 0: do not keep it
};

struct WatchedNode {
  uint32_t first;
  int mark = -1;  // its number in its function, if only its end is recorded
  std::vector<Output> outputs;
  std::vector<std::string> inputs;  // the nodes of its function that fed it, before optimization
};

struct WatchedFunction {
  uint64_t session, run;
  std::unordered_map<std::string, WatchedNode> nodes;
  bool probed = false;
  // A probe of each graph with nodes of the function. TensorFlow discards a graph that it finds invalid, and never runs
  // some others, such as that of a branch which it inlines elsewhere.
  std::vector<uint32_t> witnesses;
  std::unordered_set<uint32_t> tensors;  // the tensors that have a probe
};

// `nodes` has one line for each node, "name \t first tensor id \t dtype:look,dtype:look… \t inputs", with "-" for an
// output without a probe. "@12" instead of the outputs: only record when the node ends. It is number 12 of the function
// with that first tensor id.
// `run` is the number of the session's graph, see tf1_runs.h. The functions in such a graph are named "<name of the
// graph> kInside <names of the nodes that call it, outermost first, joined by kBelow> kInside <its name>".
constexpr char kInside = '\1', kBelow = '\2';
void watch_function(const std::string& copy, uint64_t session, std::string_view nodes, uint64_t run = 0);
// Functions that another process watches and this one runs: a folder has one file of nodes for each, named like the
// copy.
void share_functions(std::string_view folder, uint64_t session);
void name_devices(std::string_view lines);  // the logical devices, e.g. "CPU:0\nCPU:1"
int device_number(std::string_view name);   // from 1; 0 if unknown
void forget_function(const std::string& copy);
void note_witness(WatchedFunction* function, uint32_t tensor);
void note_kernel(uint64_t session, uint32_t tensor);  // a probe that is about to run
bool was_probed(const std::string& copy);             // and the graph with the probes is what runs
bool has_probe(const std::string& copy, uint32_t tensor);
std::shared_ptr<WatchedFunction> find_function(std::string_view name);  // null if it is not watched
bool none_watched();
std::vector<std::string> watched_names();

std::vector<std::string_view> split(std::string_view text, char by);
uint64_t number_in(std::string_view text);

}  // namespace sleuth
