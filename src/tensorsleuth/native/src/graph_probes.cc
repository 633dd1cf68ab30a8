#include "graph_probes.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "buffers.h"
#include "session_runs.h"
#include "wire.h"

namespace sleuth {
namespace {

using std::string;
using std::string_view;

struct Output {
  int dtype, look;  // look < 0: none
  uint32_t hold;    // the slot to keep it in, 0: none
};

struct WatchedNode {
  uint32_t first;
  std::vector<Output> outputs;
  std::vector<string> inputs;  // the nodes of its function that fed it, before the optimiser came
};

struct WatchedFunction {
  uint64_t session, run;
  std::unordered_map<string, WatchedNode> nodes;
  bool probed = false;
  std::unordered_set<uint32_t> tensors;  // that a probe stands behind
};

constexpr int kOnlyMemory = 255;  // a look at where a tensor lies, not at its values; as in probe.cc

std::mutex mutex;
std::unordered_map<string, std::shared_ptr<WatchedFunction>> functions;
std::vector<string> devices;
string shared_folder;
uint64_t shared_session = 0;

std::vector<string_view> split(string_view text, char by) {
  std::vector<string_view> parts;
  for (size_t end; (end = text.find(by)) != string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

uint64_t number_in(string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::shared_ptr<WatchedFunction> read_function(uint64_t session, string_view lines) {
  auto function = std::make_shared<WatchedFunction>();
  function->session = session;
  for (string_view line : split(lines, '\n')) {
    auto parts = split(line, '\t');
    if (parts.size() != 4) continue;
    WatchedNode& node = function->nodes[string(parts[0])];
    node.first = uint32_t(number_in(parts[1]));
    for (string_view output : split(parts[2], ',')) {
      auto pair = split(output, ':');
      node.outputs.push_back(pair.size() == 3 ? Output{int(number_in(pair[0])), int(number_in(pair[1])),
                                                       uint32_t(number_in(pair[2]))}
                                              : Output{0, -1, 0});
    }
    for (string_view input : split(parts[3], ','))
      if (!input.empty()) node.inputs.emplace_back(input);
  }
  return function;
}

// Another process of the run may have sent the function: it left word of it. Without it, the function is not watched.
std::shared_ptr<WatchedFunction> find_shared(string_view name) {
  if (shared_folder.empty() || name.find("__sleuth_") == string_view::npos || name.find('/') != string_view::npos)
    return nullptr;
  std::ifstream file(shared_folder + "/" + string(name));
  if (!file) return nullptr;
  string lines((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return read_function(shared_session, lines);
}

std::shared_ptr<WatchedFunction> find_function(string_view name) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = functions.find(string(name));
  if (found != functions.end()) return found->second;
  auto shared = find_shared(name);
  if (shared) functions[string(name)] = shared;
  return shared;
}

struct Node {
  string_view whole, name, op, device, label, function;  // label: the node's name in its function
  std::vector<string_view> inputs;
};

void read_debug_info(string_view bytes, Node* node) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.next(&field)) {
    if (field.number == 1) node->label = field.bytes;
    if (field.number == 2) node->function = field.bytes;
  }
}

bool read_node(string_view bytes, Node* node) {
  wire::Reader reader(bytes);
  wire::Field field;
  node->whole = bytes;
  while (reader.next(&field)) {
    if (field.number == 1) node->name = field.bytes;
    else if (field.number == 2) node->op = field.bytes;
    else if (field.number == 3) node->inputs.push_back(field.bytes);
    else if (field.number == 4) node->device = field.bytes;
    else if (field.number == 6) read_debug_info(field.bytes, node);
  }
  return !reader.failed();
}

bool ends_with(string_view text, string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Where each function's nodes were inlined to: prefix of their names -> function. A node that the optimiser made
// anew has no debug names, but its name tells what it stands for.
class Places {
 public:
  void learn(const Node& node) {
    if (!node.function.empty() && ends_with(node.name, node.label))
      prefixes_[string(node.name.substr(0, node.name.size() - node.label.size()))] = string(node.function);
  }

  const WatchedNode* find(const Node& node, std::shared_ptr<WatchedFunction>* function) {
    if (!node.function.empty()) {
      if (const WatchedNode* found = in(node.function, node.label, function)) return found;
    }
    if (const WatchedNode* found = by_name(node.name, function)) return found;
    string_view suffix = "/unary_ops_composition";
    if (ends_with(node.name, suffix)) return by_name(node.name.substr(0, node.name.size() - suffix.size()), function);
    return by_stage(node.name, function);
  }

 private:
  // "scope/ArithmeticOptimizer/SomeStage_name" took the place of "scope/name".
  const WatchedNode* by_stage(string_view name, std::shared_ptr<WatchedFunction>* function) {
    string_view mark = "ArithmeticOptimizer/";
    size_t at = name.find(mark);
    if (at == string_view::npos) return nullptr;
    string_view scope = name.substr(0, at), rest = name.substr(at + mark.size());
    for (size_t cut; (cut = rest.find('_')) != string_view::npos;) {
      rest.remove_prefix(cut + 1);
      if (const WatchedNode* found = by_name(string(scope) + string(rest), function)) return found;
    }
    return nullptr;
  }

  const WatchedNode* by_name(string_view name, std::shared_ptr<WatchedFunction>* function) {
    for (auto place = prefixes_.rbegin(); place != prefixes_.rend(); ++place) {  // the longest first
      if (name.substr(0, place->first.size()) != place->first) continue;
      if (const WatchedNode* found = in(place->second, name.substr(place->first.size()), function)) return found;
    }
    return nullptr;
  }

  static const WatchedNode* in(string_view function_name, string_view label, std::shared_ptr<WatchedFunction>* function) {
    *function = find_function(function_name);
    if (!*function) return nullptr;
    auto found = (*function)->nodes.find(string(label));
    return found == (*function)->nodes.end() ? nullptr : &found->second;
  }

  std::map<string, string> prefixes_;
};

const std::unordered_set<string_view>& never() {
  static const std::unordered_set<string_view> ops{"Const",  "_Retval", "Placeholder", "Enter",   "Exit",
                                                   "Merge",  "Switch", "NoOp",    "LoopCond",    "NextIteration",
                                                   "Identity", "_DeviceArg", "_DeviceRetval", "SleuthProbe"};
  return ops;
}

string attribute(string_view name, uint32_t field, uint64_t value) {
  string content, entry;
  wire::put_number(&content, field, value);
  wire::put_bytes(&entry, 1, name);
  wire::put_bytes(&entry, 2, content);
  return entry;
}

string make_probe(const string& name, const string& source, string_view device, Output output, uint32_t tensor,
                  const WatchedFunction& function) {
  constexpr uint32_t kInt = 3, kType = 6;  // fields of AttrValue
  string node;
  wire::put_bytes(&node, 1, name);
  wire::put_bytes(&node, 2, "SleuthProbe");
  wire::put_bytes(&node, 3, source);
  if (!device.empty()) wire::put_bytes(&node, 4, device);
  wire::put_bytes(&node, 5, attribute("T", kType, uint64_t(output.dtype)));
  wire::put_bytes(&node, 5, attribute("session", kInt, function.session));
  if (function.run) wire::put_bytes(&node, 5, attribute("run", kInt, function.run));
  wire::put_bytes(&node, 5, attribute("tensor", kInt, tensor));
  wire::put_bytes(&node, 5, attribute("look", kInt, uint64_t(output.look)));
  wire::put_bytes(&node, 5, attribute("dtype", kInt, uint64_t(output.dtype)));
  if (output.hold) wire::put_bytes(&node, 5, attribute("hold", kInt, output.hold));
  wire::put_bytes(&node, 5, attribute("device", kInt, uint64_t(device_number(device))));
  return node;
}

string normal(string_view input) {  // "node:0" and "node" are the same tensor
  return string(ends_with(input, ":0") ? input.substr(0, input.size() - 2) : input);
}

// The node with some of its inputs taken from elsewhere.
string redirected(const Node& node, const std::unordered_map<string, string>& probes) {
  string out;
  wire::Reader reader(node.whole);
  wire::Field field;
  while (reader.next(&field)) {
    auto probe = field.number == 3 ? probes.find(normal(field.bytes)) : probes.end();
    if (probe == probes.end()) out.append(field.whole);
    else wire::put_bytes(&out, 3, probe->second);
  }
  return out;
}

// (x·a)·b becomes x·(a·b), and the node that was x·a computes a·b under its old name. Such a node says something else
// than its name. It is known by the input that it lost to the one node that takes what it computes, or, in a chain of
// constants where that cannot be seen, by the constant: there only the end of the chain is sure to be what it was.
class Reordered {
 public:
  explicit Reordered(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      by_name_[node.name] = &node;
      for (string_view input : node.inputs)
        if (input[0] != '^') users_[string(node_of(input))].push_back(&node);
    }
  }

  bool holds(const Node& node, const WatchedNode& watched) const {
    auto users = users_.find(string(node.name));
    if (users == users_.end() || users->second.size() != 1) return false;
    const Node& user = *users->second[0];
    for (const string& input : watched.inputs)
      if (!takes(node, input) && takes(user, input)) return true;
    return family(node.op) && family(node.op) == family(user.op) && takes_constant(node);
  }

 private:
  static string_view node_of(string_view input) {
    size_t colon = input.rfind(':');
    return colon == string_view::npos ? input : input.substr(0, colon);
  }

  bool takes(const Node& node, const string& wanted) const {
    for (string_view input : node.inputs) {
      auto found = by_name_.find(node_of(input));
      if (found != by_name_.end() && found->second->label == wanted) return true;
    }
    return false;
  }

  static int family(string_view op) {
    if (op == "Mul" || op == "RealDiv" || op == "Div") return 1;
    return op == "Add" || op == "AddV2" || op == "Sub" || op == "AddN" || op == "BiasAdd" ? 2 : 0;
  }

  bool takes_constant(const Node& node) const {
    for (string_view input : node.inputs) {
      auto found = by_name_.find(node_of(input));
      if (found != by_name_.end() && found->second->op == "Const") return true;
    }
    return false;
  }

  std::unordered_map<string_view, const Node*> by_name_;
  std::unordered_map<string, std::vector<const Node*>> users_;
};

// A loop that TensorFlow has lowered puts its outputs out by Exit nodes. Which output one is, the number in the name of
// its Merge tells: TensorFlow makes those in order, and then the LoopCond.
class Loops {
 public:
  explicit Loops(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      by_name_[node.name] = &node;
      if (node.op == "LoopCond") conditions_[key(node)] = number_of(node.name);
    }
  }

  // The number of the output; -1 where it cannot be told.
  int output_of(const Node& exit, size_t outputs) const {
    const Node* merge = input_of(input_of(&exit));
    auto condition = conditions_.find(key(exit));
    if (!merge || merge->op != "Merge" || condition == conditions_.end()) return -1;
    int output = number_of(merge->name) - (condition->second - int(outputs));
    return output >= 0 && output < int(outputs) ? output : -1;
  }

 private:
  static string key(const Node& node) { return string(node.function) + "\n" + string(node.label); }

  static int number_of(string_view name) {
    size_t at = name.rfind("/_");
    return at == string_view::npos ? -1 : int(number_in(name.substr(at + 2)));
  }

  const Node* input_of(const Node* node) const {
    if (!node || node->inputs.empty()) return nullptr;
    string_view input = node->inputs[0];
    auto found = by_name_.find(input.substr(0, input.rfind(':')));
    return found == by_name_.end() ? nullptr : found->second;
  }

  std::unordered_map<string_view, const Node*> by_name_;
  std::unordered_map<string, int> conditions_;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<string_view> others;  // library, versions: copied as they are
};

bool read_graph(string_view bytes, Graph* graph) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.next(&field)) {
    if (field.number != 1) {
      graph->others.push_back(field.whole);
      continue;
    }
    graph->nodes.emplace_back();
    if (!read_node(field.bytes, &graph->nodes.back())) return false;
  }
  return !reader.failed();
}

// The graph of a session has no labels of ours. A node of the graph itself is known by its name; one of a function that was
// inlined names the function, and its own name begins with that of the node which called it.
class SessionLabels {
 public:
  explicit SessionLabels(const string& root) : root_(root) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [key, function] : functions) {
      auto parts = split(key, kInside);
      if (parts.size() == 3 && parts[0] == root) inlined_.push_back({key, strings(split(parts[1], kBelow)), string(parts[2])});
    }
  }

  void put(Graph* graph) {
    for (const Node& node : graph->nodes)
      if (node.op == "VariableV2" || node.op == "Variable") references_.insert(node.name);
    for (Node& node : graph->nodes) {
      if (node.function.empty()) {
        node.label = node.name;
        node.function = root_;
      } else if (const Inlined* found = find(node)) {
        node.function = found->key;
      }
    }
  }

  // What reads a variable of the old kind looks like any Identity.
  bool reads(const Node& node) const {
    return node.op == "Identity" && !node.inputs.empty() && references_.count(node.inputs[0]);
  }

 private:
  struct Inlined {
    string key;
    std::vector<string> callers;
    string function;
  };

  static std::vector<string> strings(const std::vector<string_view>& views) { return {views.begin(), views.end()}; }

  // "while/body/_1/call/Exp" is below "while", and below "call" in that.
  static bool is_below(string_view name, const std::vector<string>& callers) {
    if (name.substr(0, callers[0].size() + 1) != callers[0] + "/") return false;
    size_t at = callers[0].size();
    for (size_t i = 1; i < callers.size(); ++i) {
      at = name.find("/" + callers[i] + "/", at);
      if (at == string_view::npos) return false;
      at += callers[i].size() + 1;
    }
    return true;
  }

  const Inlined* find(const Node& node) const {
    const Inlined* best = nullptr;
    for (const Inlined& one : inlined_)
      if (one.function == node.function && is_below(node.name, one.callers) &&
          (!best || best->key.size() < one.key.size()))
        best = &one;
    return best;
  }

  string root_;
  std::vector<Inlined> inlined_;
  std::unordered_set<string_view> references_;
};

// A session's graph gets its arguments and results only after it was optimised; those of functions have them.
bool is_function(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.op == "_Arg" || node.op == "_Retval") return true;
  return false;
}

}  // namespace

void watch_function(const string& copy, uint64_t session, string_view lines, uint64_t run) {
  auto function = read_function(session, lines);
  function->run = run;
  std::lock_guard<std::mutex> lock(mutex);
  functions[copy] = function;
}

void share_functions(string_view folder, uint64_t session) {
  std::lock_guard<std::mutex> lock(mutex);
  shared_folder = folder;
  shared_session = session;
}

void name_devices(string_view lines) {
  std::lock_guard<std::mutex> lock(mutex);
  devices.clear();
  for (string_view line : split(lines, '\n')) devices.emplace_back(line);
}

int device_number(string_view name) {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < devices.size(); ++i)
    if (ends_with(name, devices[i])) return int(i) + 1;
  return 0;
}

void forget_function(const string& copy) {
  std::lock_guard<std::mutex> lock(mutex);
  functions.erase(copy);
}

bool was_probed(const string& copy) {
  auto function = find_function(copy);
  return function && function->probed;
}

bool has_probe(const string& copy, uint32_t tensor) {
  auto function = find_function(copy);
  return function && function->tensors.count(tensor);
}

bool add_probes(string_view bytes, string* out) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (functions.empty() && shared_folder.empty()) return false;
  }
  Graph graph;
  if (!read_graph(bytes, &graph)) return false;
  SessionLabels labels(runs::graph_of_thread());
  if (!runs::graph_of_thread().empty() && !is_function(graph)) labels.put(&graph);
  Places places;
  std::unordered_set<string> used;
  for (const Node& node : graph.nodes) {
    places.learn(node);
    for (string_view input : node.inputs)
      if (input[0] != '^') used.insert(normal(input));
  }
  Reordered reordered(graph.nodes);
  Loops loops(graph.nodes);
  std::unordered_map<string, string> probes;
  std::vector<string> made;
  std::unordered_set<string> names;
  for (const Node& node : graph.nodes) {
    if (auto function = find_function(node.function)) function->probed = true;
    bool leaves_loop = node.op == "Exit";
    if (never().count(node.op) && !leaves_loop && !labels.reads(node)) continue;
    std::shared_ptr<WatchedFunction> function;
    const WatchedNode* watched = places.find(node, &function);
    bool other = watched && !leaves_loop && reordered.holds(node, *watched);  // computes something else than its name says
    if (other && !buffers::on()) continue;
    int only = watched && leaves_loop ? loops.output_of(node, watched->outputs.size()) : -1;
    if (leaves_loop && only < 0) continue;
    for (size_t i = 0; watched && i < watched->outputs.size(); ++i) {
      if (leaves_loop && int(i) != only) continue;
      string source = string(node.name) + (i && !leaves_loop ? ":" + std::to_string(i) : "");
      if (watched->outputs[i].look < 0 || !used.count(source)) continue;
      uint32_t tensor = watched->first + uint32_t(i);
      Output output = watched->outputs[i];
      if (other) output = {output.dtype, kOnlyMemory, 0};
      string name = "sleuth/" + std::to_string(tensor);
      while (!names.insert(name).second) name += "_again";  // the optimiser may have copied the node
      probes.emplace(source, name);
      if (output.look != kOnlyMemory) function->tensors.insert(tensor);
      made.push_back(make_probe(name, source, node.device, output, tensor, *function));
    }
  }
  if (made.empty()) return false;
  for (const Node& node : graph.nodes) wire::put_bytes(out, 1, redirected(node, probes));
  for (const string& probe : made) wire::put_bytes(out, 1, probe);
  for (string_view other : graph.others) out->append(other);
  return true;
}

}  // namespace sleuth
