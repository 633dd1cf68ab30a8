// The functions that are watched: which of their nodes to look at, under which numbers.
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
  uint32_t hold;    // the slot to keep it in, 0: none
};

struct WatchedNode {
  uint32_t first;
  int mark = -1;  // its number in its function, where only its end is noted
  std::vector<Output> outputs;
  std::vector<std::string> inputs;  // the nodes of its function that fed it, before the optimiser came
};

struct WatchedFunction {
  uint64_t session, run;
  std::unordered_map<std::string, WatchedNode> nodes;
  bool probed = false;
  std::unordered_set<uint32_t> tensors;  // that a probe stands behind
};

// `nodes`: a line a node, "name \t first tensor id \t dtype:look,dtype:look… \t inputs", an output without a look as "-".
// "@12" in their place: only note when the node, number 12 of the function whose first tensor id that is, has ended.
// `run`: the number of the session's graph that it belongs to, see tf1_runs.h. The functions in such a graph are named
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
std::shared_ptr<WatchedFunction> find_function(std::string_view name);  // null where it is not watched
bool none_watched();
std::vector<std::string> watched_names();

std::vector<std::string_view> split(std::string_view text, char by);
uint64_t number_in(std::string_view text);

}  // namespace sleuth
