// Runs one scenario: driver NAME FOLDER. Without arguments it prints their names.
#include "driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

void fail(const char* truth, const char* file, int line) {
  fprintf(stderr, "%s:%d: not true: %s\n", file, line, truth);
  _Exit(1);  // other threads still run, so nothing may be destroyed
}

Recording::Recording(const std::string& folder, uint64_t session, uint64_t value_bytes) {
  auto path = [&](const char* name) { return folder + "/" + std::to_string(session) + "." + name; };
  std::string events = path("events"), calls = path("calls"), shapes = path("shapes"), rows = path("value_rows"),
              values = path("values"), memory = path("memory"), buffers = path("buffers"), passed = path("passed");
  CHECK(!sleuth_open_threads(path("threads").c_str()));
  CHECK(!sleuth_open_memory(memory.c_str(), kChunkRows, 6, buffers.c_str(), kChunkRows, 6, passed.c_str(), kChunkRows,
                            6));
  sleuth::SessionPlan plan{events.c_str(),
                           calls.c_str(),
                           shapes.c_str(),
                           rows.c_str(),
                           values.c_str(),
                           session,
                           kChunkRows,
                           12,
                           2,
                           kChunkRows,
                           6,
                           value_bytes};
  CHECK(!sleuth_open(&plan));
}

Recording::~Recording() { sleuth_close(); }

int main(int count, char** arguments) {
  for (const auto* scenarios : {&kRings, &kRecordings, &kObservers, &kKernels, &kGraphs, &kBirths})
    for (const Scenario& scenario : *scenarios) {
      if (count < 3) puts(scenario.name);
      else if (!strcmp(scenario.name, arguments[1])) return scenario.run(arguments[2]), 0;
    }
  return count < 3 ? 0 : 2;
}
