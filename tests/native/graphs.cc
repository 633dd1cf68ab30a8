// Graphs as TensorFlow's optimizer passes them, intact and damaged. Also tensors that a step holds, with a fake
// TensorFlow: replay_inputs.cc calls two of its functions.
#include <cstring>
#include <random>

#include "driver.h"
#include "graph/graph_probes.h"
#include "graph/watched_functions.h"
#include "graph/wire.h"
#include "ops/replay_inputs.h"

struct TF_Tensor {
  char bytes[100];
};

extern "C" {
void TF_DeleteTensor(TF_Tensor* tensor) { delete tensor; }
size_t TF_TensorByteSize(const TF_Tensor* tensor) { return sizeof tensor->bytes; }
void sleuth_held_drop(uint64_t call);
void sleuth_held_again(uint64_t call);
uint64_t sleuth_held_count(uint32_t slot);
uint64_t sleuth_held_bytes(uint64_t call);
void sleuth_held_clear();
}

namespace {

constexpr char kFunction[] = "f__sleuth_1";

std::string node(const std::string& name, const std::string& op, const std::string& input) {
  std::string debug, out;
  sleuth::wire::put_bytes(&debug, 1, name);
  sleuth::wire::put_bytes(&debug, 2, kFunction);
  sleuth::wire::put_bytes(&out, 1, kFunction + ("/" + name));
  sleuth::wire::put_bytes(&out, 2, op);
  if (!input.empty()) sleuth::wire::put_bytes(&out, 3, input);
  sleuth::wire::put_bytes(&out, 6, debug);  // NodeDef.experimental_debug_info
  return out;
}

std::string graph() {
  std::string out;
  for (const std::string& one : {node("x", "Placeholder", ""), node("a", "Exp", "x"), node("b", "Log", "a")})
    sleuth::wire::put_bytes(&out, 1, one);
  return out;
}

// A graph with missing, changed or truncated bytes stays unchanged or gets its probes. The reader never reads past its
// end.
void damaged_graphs(const std::string&) {
  sleuth::name_devices("CPU:0");
  sleuth::watch_function(kFunction, 1, "a\t5\t1:2:0\tx\nb\t6\t1:2:0\ta\n");
  std::string whole = graph();
  std::minstd_rand random(1);
  for (int round = 0; round < (kSlow ? 500 : 5000); ++round) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1)), out;
    for (int changes = int(random() % 4); changes && !bytes.empty(); --changes)
      bytes[random() % bytes.size()] = char(random());
    std::vector<char> exact(bytes.begin(), bytes.end());
    sleuth::add_probes({exact.data(), exact.size()}, &out);
  }
  sleuth::forget_function(kFunction);
}

// Functions are added and removed while other graphs are optimized.
void watched_functions(const std::string&) {
  Meanwhile finds(2, [](int) {
    std::string out;
    sleuth::add_probes(graph(), &out);
    sleuth::has_probe(kFunction, 5);
  });
  for (int round = 0; round < 300; ++round) {
    sleuth::watch_function(kFunction, 1, "a\t5\t1:2:0\tx\nb\t6\t1:2:0\ta\n");
    sleuth::watched_names();
    sleuth::forget_function(kFunction);
  }
}

void hold(uint64_t step) {
  sleuth::held::joined(step, step);
  for (uint32_t slot = 1; slot <= 3; ++slot) sleuth::held::keep(step, slot, new TF_Tensor{});
}

void held(const std::string&) {
  std::atomic<uint64_t> steps{0};
  on_threads(4, [&](int) {
    for (int i = 0; i < 1000; ++i) {
      uint64_t step = ++steps;
      hold(step);
      CHECK(sleuth_held_bytes(step) <= 300);
      sleuth_held_again(step);
      for (uint32_t slot = 1; slot <= 3; ++slot) sleuth::held::next(slot), sleuth_held_count(slot);
      sleuth_held_drop(step);
    }
  });
  sleuth_held_clear();
}

// A child finds the lock free, even if a thread of its parent held it, and starts empty.
void held_forks(const std::string&) {
  std::atomic<uint64_t> steps{0};
  Meanwhile holds(3, [&](int) {
    uint64_t step = ++steps;
    hold(step);
    sleuth_held_drop(step);
  });
  fork_often([] {
    sleuth_held_clear();
    hold(7);
    CHECK(sleuth_held_bytes(7) == 300);
  });
}

// A child finds all functions intact, whatever the threads of its parent were doing.
void functions_fork(const std::string&) {
  Meanwhile watches(3, [](int thread) {
    std::string name = kFunction + std::to_string(thread);
    sleuth::watch_function(name, 1, "a\t5\t1:2:0\tx\n");
    sleuth::forget_function(name);
  });
  fork_often([] {
    CHECK(sleuth::watched_names().size() <= 3);
    sleuth::watch_function(kFunction, 1, "a\t5\t1:2:0\tx\n");
    sleuth::forget_function(kFunction);
  });
}

}  // namespace

const std::vector<Scenario> kGraphs{{"damaged-graphs", damaged_graphs},
                                    {"watched-functions", watched_functions},
                                    {"functions-fork", functions_fork},
                                    {"held", held},
                                    {"held-forks", held_forks}};
