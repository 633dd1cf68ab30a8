// The code that examines tensors while the program runs: conditions, watches, layer statistics, the guard, session
// runs. One thread sets and removes them while others compute.
#include "driver.h"
#include "observers/breaks.h"
#include "observers/guard.h"
#include "observers/layer_stats.h"
#include "observers/watches.h"
#include "tf1_runs.h"

extern "C" {
using Hit = int (*)(int, const sleuth::TensorView*, const sleuth::Where*, const sleuth::Health*);
void sleuth_break_tell(Hit hit);
int sleuth_break_set(int number, int look, int floats_only, const double* code, int length);
void sleuth_break_activate(int number, int on, int everywhere);
void sleuth_break_on(uint32_t tensor, uint64_t set);
void sleuth_break_forget();
int sleuth_break_drain(int milliseconds);
void sleuth_break_closely(int64_t until);
int sleuth_watch_open(const char*, const char*, const char*, uint64_t, uint64_t, uint64_t);
int sleuth_inside_open(const char*, const char*, const char*, uint64_t, uint64_t, uint64_t);
int sleuth_inside_open_rows(const char* path, uint64_t chunk_rows, uint64_t chunks);
void sleuth_watch_activate(int on);
void sleuth_watch_set(uint32_t series, int64_t every, uint32_t what);
void sleuth_watch_on(uint32_t tensor, uint32_t series);
void sleuth_watch_forget();
uint64_t sleuth_watch_rows();
void sleuth_watch_variable(uint32_t, uint32_t, const sleuth::TensorView*, const sleuth::TensorView*,
                           const sleuth::Where*);
void sleuth_inside_due(int due);
void sleuth_inside_set(uint32_t series, uint32_t kind, int axis);
void sleuth_inside_on(uint32_t tensor, uint32_t series);
void sleuth_inside_forget();
void sleuth_guard(int level, uint64_t small);
uint64_t sleuth_call_of_step(uint64_t tf_step);
uint64_t sleuth_take_bad(uint64_t call, uint32_t* out, uint64_t room);
void sleuth_begin_run(uint64_t graph, uint64_t call, const char* name, int rounds);
void sleuth_end_run(uint64_t call);
}

namespace {

constexpr int kThreads = 4, kRounds = 40;
constexpr uint32_t kEverything = 127;  // all that a watch can select

// Records tensors 1 … 8: floats, one of them with a NaN, and attention weights.
void compute(int thread) {
  static thread_local Floats values(1000);
  values.values[3] += 0.5f;
  values.values[7] = thread ? 1 : __builtin_nanf("");
  for (uint32_t tensor = 1; tensor <= 8; ++tensor) {
    sleuth::TensorView view = values.view();
    view.rank = 3, view.dims[0] = 2, view.dims[1] = 20, view.dims[2] = 25;
    sleuth::note(view, sleuth::kCurt, {uint64_t(thread + 1), tensor, 0, 0, sleuth::kGraph});
  }
}

void compute_until(uint64_t events) {
  uint64_t end = sleuth_events() + events;
  await([&] { return sleuth_events() >= end; });
}

std::atomic<int> hits{0};
int count_hit(int, const sleuth::TensorView* tensor, const sleuth::Where*, const sleuth::Health* health) {
  hits += health->elements == tensor->elements;
  return 0;
}

// change > 0 and mean < 1000: both on some tensors, the second on all.
void set_conditions() {
  const double changed[] = {1, 18, 0, 0, 11, 0}, small[] = {1, 11, 0, 1000, 9, 0};
  CHECK(sleuth_break_set(0, sleuth::kShape, 1, changed, 3));
  CHECK(sleuth_break_set(1, sleuth::kNumerics, 1, small, 3));
}

void breaks(const std::string& folder) {
  Recording recording(folder, 1);
  sleuth_break_tell(count_hit);
  {
    Meanwhile computes(kThreads, compute);
    for (int round = 0; round < kRounds; ++round) {
      set_conditions();
      for (uint32_t tensor = 1; tensor < 5000; tensor += 7) sleuth_break_on(tensor, 3);
      sleuth_break_activate(0, 1, 0), sleuth_break_activate(1, 1, 1);
      sleuth_break_closely(round % 3 ? -1 : round);
      compute_until(100);
      sleuth_break_forget();
    }
  }
  CHECK(hits > 0);
  sleuth_break_tell(nullptr);
  CHECK(sleuth_break_drain(1000));
}

void open_watches(const std::string& folder) {
  auto path = [&](const char* name) { return folder + "/" + name; };
  CHECK(!sleuth_watch_open(path("watched").c_str(), path("watched_rows").c_str(), path("watched_values").c_str(),
                           kChunkRows, 6, 1 << 20));
  CHECK(!sleuth_inside_open(path("inside").c_str(), path("inside_rows").c_str(), path("inside_values").c_str(),
                            kChunkRows, 6, 1 << 20));
  CHECK(!sleuth_inside_open_rows(path("ids").c_str(), kChunkRows, 6));
}

void watch_variable() {
  Floats before(100), after(100);
  after.values[1] = 2;
  sleuth::TensorView old = before.view(), now = after.view();
  sleuth::Where where{1, 1, 0, 0, sleuth::kEager};
  sleuth_watch_variable(1, 2, &now, &old, &where);
}

void watches(const std::string& folder) {
  Recording recording(folder, 1);
  {
    Meanwhile computes(kThreads, compute);
    open_watches(folder);  // in the middle of a recording, as a program does
    for (int round = 0; round < kRounds; ++round) {
      sleuth_set_step(round);
      for (uint32_t series = 1; series <= 8; ++series) {
        sleuth_watch_set(series, 1 + series % 2, kEverything & ~(round % 2 ? 64u : 0u));
        sleuth_watch_on(series, series);
      }
      sleuth_watch_activate(1);
      watch_variable();
      compute_until(100);
      sleuth_watch_activate(round % 2);
      sleuth_watch_forget();
    }
  }
  CHECK(sleuth_watch_rows() > 0);
}

void note_ids() {
  std::vector<int32_t> ids(64 * 5);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i % 11);
  sleuth::TensorView view{ids.data(), ids.size(), 4 * ids.size(), 3, 2, {64, 5}};
  sleuth::note(view, sleuth::kShape, {1, 9, 0, 0, sleuth::kGraph});
}

void inside(const std::string& folder) {
  Recording recording(folder, 1);
  Meanwhile computes(kThreads, [](int thread) { compute(thread), note_ids(); });
  open_watches(folder);
  for (int round = 0; round < kRounds; ++round) {
    sleuth_set_step(round);
    for (uint32_t tensor = 1; tensor <= 9; ++tensor) {
      uint32_t series = sleuth::inside::kFirst + tensor;
      sleuth_inside_set(series, tensor == 9 ? 3 : tensor % 5, -1);
      sleuth_inside_on(tensor, series);
    }
    sleuth_inside_due(1);
    compute_until(100);
    sleuth_inside_due(0);
    if (round % 4 == 3) sleuth_inside_forget();
  }
}

void guard(const std::string& folder) {
  Recording recording(folder, 1);
  sleuth_guard(1, 64);
  uint64_t taken = 0;
  {
    Meanwhile computes(kThreads, compute);
    for (uint64_t call = 1; call <= kRounds; ++call) {
      sleuth::Call join{0, call, 0, 0, 0, 0, sleuth::kJoin, 0, 1, {}};
      sleuth_call(&join);
      compute_until(100);
      uint32_t bad[2 * 16];
      if (sleuth_call_of_step(1) == call) taken += sleuth_take_bad(call, bad, 16);
      sleuth_guard(1 + int(call % 2), 64);
    }
  }
  CHECK(taken > 0);
  sleuth_guard(0, 0);
}

// Runs of two graphs on all threads; their probes ask which call a step belongs to.
void runs(const std::string& folder) {
  Recording recording(folder, 1);
  std::atomic<uint64_t> calls{0};
  on_threads(kThreads, [&](int thread) {
    for (int i = 0; i < (kSlow ? 500 : 5000); ++i) {
      uint64_t call = ++calls, graph = uint64_t(thread % 2 + 1);
      sleuth_begin_run(graph, call, "graph", 0);
      CHECK(sleuth::runs::join(graph, 0) != sleuth::runs::kUnwatched);
      for (int probe = 0; probe < 3; ++probe) sleuth::runs::join(graph, call);
      sleuth_end_run(call);
    }
  });
}

// A child finds no lock taken, whatever the threads of its parent were doing.
void fork_amid(const std::string& folder) {
  Recording recording(folder, 1);
  set_conditions();
  sleuth_break_tell(count_hit);
  sleuth_guard(1, 64);
  for (uint32_t tensor = 1; tensor <= 8; ++tensor) sleuth_break_on(tensor, 3);
  sleuth_break_activate(0, 1, 0);
  Meanwhile computes(kThreads, compute);
  fork_often([&] {
    set_conditions();
    sleuth_break_on(1, 1);
    sleuth_break_forget();
    sleuth_guard(1, 64);
    Recording own(folder, uint64_t(getpid()));
    compute(0);
    CHECK(sleuth_events() == 8);
  });
}

}  // namespace

const std::vector<Scenario> kObservers{{"breaks", breaks}, {"watches", watches}, {"inside", inside},
                                       {"guard", guard},   {"runs", runs},       {"observers-fork", fork_amid}};
