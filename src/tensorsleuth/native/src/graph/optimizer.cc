// Joins TensorFlow's graph optimizer as its last pass, through the plug-in interface in
// tensorflow/c/experimental/grappler/grappler.h (unchanged from 2.15 to 2.21).
#include <cstddef>
#include <cstring>

#include "graph/graph_probes.h"
#include "graph/watched_functions.h"
#include "tf1_runs.h"

extern "C" {
struct TF_Status;
struct TF_GrapplerItem;
struct TF_Buffer {
  const void* data;
  size_t length;
  void (*deallocate)(void*, size_t);
};
struct TP_OptimizerConfigs {
  size_t struct_size;
  void* ext;
  int settings[19];  // all left at the default: the user's choice
};
struct TP_Optimizer {
  size_t struct_size;
  void* ext;
  void* (*create)();
  void (*optimize)(void*, const TF_Buffer*, const TF_GrapplerItem*, TF_Buffer*, TF_Status*);
  void (*destroy)(void*);
};
struct TP_OptimizerRegistrationParams {
  size_t struct_size;
  void* ext;
  int32_t major, minor, patch;
  const char* device_type;
  TP_OptimizerConfigs* configs;
  TP_Optimizer* optimizer;
};
}

namespace {

// The optimizer makes two rounds over a graph, unless the first leaves fewer nodes than this or the session's config
// sets another number. Probes go in during the last round: earlier they would block the other passes and change the
// program's results.
constexpr size_t kTiny = 4;

struct Rounds {
  int done = 0;
};

size_t count_nodes(std::string_view graph) {
  size_t count = 0;
  for (size_t at = 0; at < graph.size();) {  // top-level fields, all length-delimited or small
    uint64_t tag = uint8_t(graph[at++]), size = 0;
    if ((tag & 7) != 2) return kTiny;
    for (int shift = 0; at < graph.size(); shift += 7) {
      uint64_t byte = uint8_t(graph[at++]);
      size |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    count += tag >> 3 == 1;
    at += size;
  }
  return count;
}

void give(TF_Buffer* out, std::string_view bytes) {
  char* copy = new char[bytes.size() + 1];
  memcpy(copy, bytes.data(), bytes.size());
  *out = {copy, bytes.size(), [](void* data, size_t) { delete[] static_cast<char*>(data); }};
}

void optimize(void* state, const TF_Buffer* in, const TF_GrapplerItem*, TF_Buffer* out, TF_Status*) {
  std::string_view graph(static_cast<const char*>(in->data), in->length);
  bool last = ++static_cast<Rounds*>(state)->done >= sleuth::runs::rounds_of_thread() || count_nodes(graph) < kTiny;
  std::string probed;
  give(out, last && sleuth::add_probes(graph, &probed) ? std::string_view(probed) : graph);
}

}  // namespace

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

SLEUTH_API void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status*) {
  params->struct_size = sizeof *params;
  params->device_type = "CPU";
  params->configs->struct_size = offsetof(TP_OptimizerConfigs, settings) + sizeof params->configs->settings;
  params->optimizer->struct_size = sizeof *params->optimizer;
  params->optimizer->create = []() -> void* { return new Rounds; };
  params->optimizer->optimize = optimize;
  params->optimizer->destroy = [](void* state) { delete static_cast<Rounds*>(state); };
}

SLEUTH_API void sleuth_watch_function(const char* copy, uint64_t session, const char* nodes) {
  sleuth::watch_function(copy, session, nodes);
}
SLEUTH_API void sleuth_share_functions(const char* folder, uint64_t session) {
  sleuth::share_functions(folder, session);
}

SLEUTH_API void sleuth_watch_run(const char* name, uint64_t session, uint64_t run, const char* nodes) {
  sleuth::watch_function(name, session, nodes, run);
}
SLEUTH_API void sleuth_name_devices(const char* lines) { sleuth::name_devices(lines); }
SLEUTH_API void sleuth_forget_function(const char* copy) { sleuth::forget_function(copy); }
SLEUTH_API int sleuth_was_probed(const char* copy) { return sleuth::was_probed(copy); }
SLEUTH_API int sleuth_has_probe(const char* copy, uint32_t tensor) { return sleuth::has_probe(copy, tensor); }
}
