#include "graph/graph_probes.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "files/buffers.h"
#include "graph/graph_labels.h"
#include "graph/graph_nodes.h"
#include "graph/watched_functions.h"
#include "graph/wire.h"
#include "tf1_runs.h"

namespace sleuth {
namespace {

using std::string;
using std::string_view;

const std::unordered_set<string_view>& never() {
  static const std::unordered_set<string_view> ops{
      "Const", "_Retval",  "Placeholder",   "Enter",    "Exit",       "Merge",         "Switch",
      "NoOp",  "LoopCond", "NextIteration", "Identity", "_DeviceArg", "_DeviceRetval", "SleuthProbe"};
  return ops;
}

string attribute(string_view name, uint32_t field, uint64_t value) {
  string content, entry;
  wire::put_number(&content, field, value);
  wire::put_bytes(&entry, 1, name);
  wire::put_bytes(&entry, 2, content);
  return entry;
}

string make_probe(const string& name, const string& source, const Node& probed, Output output, uint32_t tensor,
                  const WatchedFunction& function) {
  constexpr uint32_t kInt = 3, kType = 6;  // fields of AttrValue
  string node;
  wire::put_bytes(&node, 1, name);
  wire::put_bytes(&node, 2, "SleuthProbe");
  wire::put_bytes(&node, 3, source);
  if (!probed.device.empty()) wire::put_bytes(&node, 4, probed.device);
  wire::put_bytes(&node, 5, attribute("T", kType, uint64_t(output.dtype)));
  wire::put_bytes(&node, 5, attribute("session", kInt, function.session));
  if (function.run) wire::put_bytes(&node, 5, attribute("run", kInt, function.run));
  wire::put_bytes(&node, 5, attribute("tensor", kInt, tensor));
  wire::put_bytes(&node, 5, attribute("look", kInt, uint64_t(output.look)));
  wire::put_bytes(&node, 5, attribute("dtype", kInt, uint64_t(output.dtype)));
  if (output.hold) wire::put_bytes(&node, 5, attribute("hold", kInt, output.hold));
  wire::put_bytes(&node, 5, attribute("device", kInt, uint64_t(device_number(probed.device))));
  if (probed.op == "_Arg") wire::put_bytes(&node, 5, attribute("argument", kInt, 1));
  return node;
}

string make_mark(const Node& marked, const string& name, const WatchedNode& watched, const WatchedFunction& function) {
  constexpr uint32_t kInt = 3;  // of AttrValue
  string node;
  wire::put_bytes(&node, 1, name);
  wire::put_bytes(&node, 2, "SleuthPassed");
  wire::put_bytes(&node, 3, "^" + string(marked.name));
  if (!marked.device.empty()) wire::put_bytes(&node, 4, marked.device);
  wire::put_bytes(&node, 5, attribute("session", kInt, function.session));
  wire::put_bytes(&node, 5, attribute("tensor", kInt, watched.first));
  wire::put_bytes(&node, 5, attribute("look", kInt, uint64_t(watched.mark)));
  return node;
}

// The marker op has only a CPU kernel, and step ids do not tell when a session's run ends.
bool can_mark(const Node& node, const WatchedFunction& function) {
  return !function.run && (node.device.empty() || node.device.find("CPU") != string_view::npos);
}

string normal(string_view input) {  // "node:0" and "node" are the same tensor
  return string(ends_with(input, ":0") ? input.substr(0, input.size() - 2) : input);
}

// Once our pass is done, oneDNN gives such a gradient what its forward op has worked out, if an edge joins the two.
// With a probe between them both run as TensorFlow's own kernels, several times as slow.
string_view paired_forward_op(string_view gradient) {
  if (gradient == "MaxPoolGrad") return "MaxPool";
  if (gradient == "MaxPool3DGrad") return "MaxPool3D";
  return gradient == "LRNGrad" ? "LRN" : "";
}

using Probes = std::unordered_map<string, string>;  // by the tensor that they examine
using OutputsByOp = std::unordered_map<string_view, std::unordered_set<string>>;

// Returns the first outputs of the forward ops that have a gradient with which they are paired.
OutputsByOp paired_outputs(const std::vector<Node>& nodes) {
  OutputsByOp outputs;
  for (const Node& node : nodes)
    if (auto forward = paired_forward_op(node.op); !forward.empty()) outputs[forward];
  if (outputs.empty()) return outputs;
  for (const Node& node : nodes)
    if (auto found = outputs.find(node.op); found != outputs.end()) found->second.emplace(node.name);
  return outputs;
}

// Returns the node with some inputs redirected to probes.
string redirected(const Node& node, const Probes& probes, const OutputsByOp& paired) {
  string out;
  wire::Reader reader(node.whole);
  wire::Field field;
  auto kept = paired.find(paired_forward_op(node.op));
  while (reader.next(&field)) {
    string input = field.number == 3 ? normal(field.bytes) : "";
    bool keeps = kept != paired.end() && kept->second.count(input);
    auto probe = input.empty() || keeps ? probes.end() : probes.find(input);
    if (probe == probes.end()) out.append(field.whole);
    else wire::put_bytes(&out, 3, probe->second);
  }
  return out;
}

// Returns whether a call has the outputs that the program's call has. The optimizer may have specialized its function, or
// chosen another implementation, and left out outputs that nothing uses: then their numbers have shifted.
bool has_own_outputs(const Node& node, const WatchedNode& watched) {
  if (!is_call(node)) return true;
  std::vector<int> dtypes = call_dtypes(node);
  if (dtypes.size() != watched.outputs.size()) return false;
  for (size_t i = 0; i < dtypes.size(); ++i)
    if (watched.outputs[i].look >= 0 && watched.outputs[i].dtype != dtypes[i]) return false;
  return true;
}

// Returns whether an earlier pass created a node without an op. TensorFlow then discards the whole graph, with our
// probes, and runs the original function. Up to 2.21 its remapper does this with oneDNN for relu(dense(x) + x).
bool is_broken(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.op.empty()) return true;
  return false;
}

}  // namespace

bool add_probes(string_view bytes, string* out) {
  if (none_watched()) return false;
  Graph graph;
  if (!read_graph(bytes, &graph) || is_broken(graph)) return false;
  labels::SessionLabels session(runs::graph_of_thread());
  if (!runs::graph_of_thread().empty() && !is_function(graph)) session.put(&graph);
  labels::Places places;
  std::unordered_set<string> used;
  for (const Node& node : graph.nodes) {
    places.learn(node);
    for (string_view input : node.inputs)
      if (input[0] != '^') used.insert(normal(input));
  }
  labels::Reordered reordered(graph.nodes);
  labels::Loops loops(graph.nodes);
  Probes probes;
  std::vector<string> made;
  std::unordered_set<string> names;
  std::unordered_set<std::shared_ptr<WatchedFunction>> seen;
  uint32_t witness = 0;  // the last of the probes
  for (const Node& node : graph.nodes) {
    if (auto function = find_function(node.function)) {
      function->probed = true;
      seen.insert(function);
    }
    bool leaves_loop = node.op == "Exit";
    if (never().count(node.op) && !leaves_loop && !session.reads(node)) continue;
    std::shared_ptr<WatchedFunction> function;
    const WatchedNode* watched = places.find(node, &function);
    if (watched && watched->mark >= 0) {
      string name = "sleuth/passed_" + std::to_string(watched->first) + "_" + std::to_string(watched->mark);
      while (!names.insert(name).second) name += "_again";
      if (can_mark(node, *function)) made.push_back(make_mark(node, name, *watched, *function));
      continue;
    }
    if (watched && !has_own_outputs(node, *watched)) continue;
    // The node computes something else than its name says.
    bool other = watched && !leaves_loop && reordered.holds(node, *watched);
    if (other && !buffers::on()) continue;
    int only = watched && leaves_loop ? loops.output_of(node, watched->outputs.size()) : -1;
    if (leaves_loop && only < 0) continue;
    for (size_t i = 0; watched && i < watched->outputs.size(); ++i) {
      if (leaves_loop && int(i) != only) continue;
      string source = string(node.name) + (i && !leaves_loop ? ":" + std::to_string(i) : "");
      if (watched->outputs[i].look < 0 || !used.count(source)) continue;
      uint32_t tensor = watched->first + uint32_t(i);
      Output output = watched->outputs[i];
      if (other) output = {output.dtype, kNotItself, 0};
      string name = "sleuth/" + std::to_string(tensor);
      while (!names.insert(name).second) name += "_again";  // the optimizer may have copied the node
      probes.emplace(source, name);
      if (output.look < kNotItself) function->tensors.insert(tensor);
      witness = tensor;
      made.push_back(make_probe(name, source, node, output, tensor, *function));
    }
  }
  if (made.empty()) return false;
  for (const auto& function : seen) note_witness(function.get(), witness);
  OutputsByOp paired = paired_outputs(graph.nodes);
  for (const Node& node : graph.nodes) wire::put_bytes(out, 1, redirected(node, probes, paired));
  for (const string& probe : made) wire::put_bytes(out, 1, probe);
  for (string_view other : graph.others) out->append(other);
  return true;
}

}  // namespace sleuth
