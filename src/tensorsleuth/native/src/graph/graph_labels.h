// Maps a node of an optimized graph back to the node of the user's function.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph_nodes.h"
#include "graph/watched_functions.h"

namespace sleuth::labels {

using std::string;
using std::string_view;

// The places where each function was inlined: prefix of the node names -> function. A node that the optimizer created
// has no debug names, but its name says which node it replaces.
class Places {
 public:
  void learn(const Node& node) {
    if (!node.function.empty() && ends_with(node.name, node.label))
      prefixes_[string(node.name.substr(0, node.name.size() - node.label.size()))] = string(node.function);
  }

  const WatchedNode* find(const Node& node, std::shared_ptr<WatchedFunction>* function) {
    if (node.name.find("ArithmeticOptimizer/ConvertPow__inner_") != string_view::npos)
      return nullptr;  // x², a part of x³
    bool moved = node.name.find("ArithmeticOptimizer/ReorderCastLikeAndValuePreserving_") != string_view::npos;
    if (moved && node.op != "Cast") return nullptr;  // of another dtype: a cast was moved over it
    if (!node.function.empty()) {
      if (const WatchedNode* found = in(node.function, node.label, function)) return found;
    }
    if (const WatchedNode* found = by_name(node.name, function)) return found;
    string_view suffix = "/unary_ops_composition";
    if (ends_with(node.name, suffix)) return by_name(node.name.substr(0, node.name.size() - suffix.size()), function);
    return by_stage(node.name, function);
  }

 private:
  // "scope/ArithmeticOptimizer/SomeStage_name" replaces "scope/name". The stages for sums also create parts of a sum,
  // which replace no node.
  const WatchedNode* by_stage(string_view name, std::shared_ptr<WatchedFunction>* function) {
    string_view mark = "ArithmeticOptimizer/";
    size_t at = name.find(mark);
    if (at == string_view::npos) return nullptr;
    string_view scope = name.substr(0, at), rest = name.substr(at + mark.size());
    for (string_view part : {"AddOpsRewrite_Leaf_", "AddOpsRewrite_Internal_"})
      if (rest.substr(0, part.size()) == part) return nullptr;
    for (size_t cut; (cut = rest.find('_')) != string_view::npos;) {
      rest.remove_prefix(cut + 1);
      if (const WatchedNode* found = by_name(string(scope) + string(rest), function)) return found;
    }
    return nullptr;
  }

  const WatchedNode* by_name(string_view name, std::shared_ptr<WatchedFunction>* function) {
    for (auto place = prefixes_.rbegin(); place != prefixes_.rend(); ++place) {  // longest prefix first
      if (name.substr(0, place->first.size()) != place->first) continue;
      if (const WatchedNode* found = in(place->second, name.substr(place->first.size()), function)) return found;
    }
    return nullptr;
  }

  static const WatchedNode* in(string_view function_name, string_view label,
                               std::shared_ptr<WatchedFunction>* function) {
    *function = find_function(function_name);
    if (!*function) return nullptr;
    auto found = (*function)->nodes.find(string(label));
    return found == (*function)->nodes.end() ? nullptr : &found->second;
  }

  std::map<string, string> prefixes_;
};

// The optimizer turns (x·a)·b into x·(a·b), and the node that was x·a then computes a·b under its old name. Such a node
// is recognized by the input that it lost to its only consumer. In a chain of constants that is not visible, so a
// constant input decides; there only the last node surely computes its original value. A fused convolution and bias
// that has the convolution's name is another such node (all other fused nodes have the name of their last op).
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
    if (is_fused(node.op)) return takes_all(node, watched.inputs);
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

  // TensorFlow's remapper creates these. oneDNN rewrites them after our pass.
  static bool is_fused(string_view op) { return op.substr(0, 6) == "_Fused" || op.substr(0, 9) == "_MklFused"; }

  bool takes_all(const Node& node, const std::vector<string>& wanted) const {
    for (const string& input : wanted)
      if (!takes(node, input)) return false;
    return true;
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

// A lowered loop returns its outputs through Exit nodes. The number in the name of an Exit's Merge says which output it
// is: TensorFlow creates the Merges in order, and then the LoopCond.
class Loops {
 public:
  explicit Loops(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      by_name_[node.name] = &node;
      if (node.op == "LoopCond") conditions_[key(node)] = number_of(node.name);
    }
  }

  // Returns the number of the output, or -1 if it is unknown.
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

// A session's graph has none of our labels. A node of the graph itself is identified by its name. A node of an inlined
// function names that function, and its own name begins with the name of the node that called it.
class SessionLabels {
 public:
  explicit SessionLabels(const string& root) : root_(root) {
    for (const string& key : watched_names()) {
      auto parts = split(key, kInside);
      if (parts.size() == 3 && parts[0] == root)
        inlined_.push_back({key, strings(split(parts[1], kBelow)), string(parts[2])});
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

  // A read of a reference variable looks like any Identity.
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

  // "while/body/_1/call/Exp" is below "while", and within that below "call".
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

}  // namespace sleuth::labels
