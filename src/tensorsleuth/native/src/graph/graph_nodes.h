// A graph as TensorFlow passes it to the graph optimizer: views into the bytes of a GraphDef.
#pragma once
#include <string_view>
#include <vector>

#include "graph/wire.h"

namespace sleuth {

inline bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

struct Node {
  std::string_view whole, name, op, device, label, function;  // label: the node's name in its function
  std::vector<std::string_view> inputs;
};

inline void read_debug_info(std::string_view bytes, Node* node) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.next(&field)) {
    if (field.number == 1) node->label = field.bytes;
    if (field.number == 2) node->function = field.bytes;
  }
}

inline bool read_node(std::string_view bytes, Node* node) {
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

inline std::vector<int> read_types(std::string_view value) {  // AttrValue { list { type: [packed] } }
  constexpr uint32_t kList = 1, kTypes = 6;
  std::vector<int> types;
  wire::Reader reader(value);
  wire::Field list, part;
  while (reader.next(&list)) {
    if (list.number != kList) continue;
    wire::Reader parts(list.bytes);
    while (parts.next(&part)) {
      if (part.number != kTypes) continue;
      if (part.type == 0) types.push_back(int(part.varint));
      for (wire::Numbers packed(part.bytes); packed.next();) types.push_back(int(packed.value));
    }
  }
  return types;
}

inline bool is_call(const Node& node) { return node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall"; }

// Returns the dtypes of a call's outputs. The optimizer may call another function than the program, with fewer of them.
inline std::vector<int> call_dtypes(const Node& node) {
  constexpr uint32_t kAttributes = 5;
  wire::Reader reader(node.whole);
  wire::Field field, part;
  while (reader.next(&field)) {
    if (field.number != kAttributes) continue;
    std::string_view key, value;
    wire::Reader entry(field.bytes);
    while (entry.next(&part)) (part.number == 1 ? key : value) = part.bytes;
    if (key == "Tout") return read_types(value);
  }
  return {};
}

struct Graph {
  std::vector<Node> nodes;
  std::vector<std::string_view> others;  // library, versions: copied unchanged
};

inline bool read_graph(std::string_view bytes, Graph* graph) {
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

// A session's graph gets its arguments and results after optimization. A function's graph has them before.
inline bool is_function(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.op == "_Arg" || node.op == "_Retval") return true;
  return false;
}

}  // namespace sleuth
