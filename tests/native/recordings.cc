// Recordings that begin and end while threads write, and programs that fork meanwhile.
#include "driver.h"
#include "files/buffers.h"
#include "files/op_ends.h"
#include "files/threads.h"

namespace {

constexpr int kThreads = 4;

// All that one of TensorFlow's threads does during a recording.
void work(int thread, int look = sleuth::kNumerics) {
  static thread_local Floats small(37), large(20'000);
  static thread_local uint64_t turn = 0;
  uint32_t tensor = uint32_t(thread + 1);
  uint64_t began = sleuth::now_ns(), call = sleuth::next_call();
  small.values[0] = ++turn % 50 ? 1.0f : __builtin_nanf("");
  sleuth_begin_call(tensor, call, 1, began);
  sleuth::note(small.view(), look, {call, tensor, 0, 0, sleuth::kGraph});
  if (turn % 8 == 0) sleuth::note(large.view(), sleuth::kShape, {call, tensor + 10, 0, 0, sleuth::kEager});
  sleuth::buffers::saw(large.view(), {call, tensor, 0, 0, sleuth::kGraph});
  sleuth::passed::write({began, call, tensor, 1, 0, 0, 1, 0});
  sleuth::Call row{began, call, 1, tensor, 0, 0, sleuth::kOp, 10, 0, {}};
  sleuth_call(&row);
  sleuth_end_call(call);
}

void summarize(int thread) {
  Floats tensor(5);
  double counts[11] = {0, 0, 1, 1, 5, 0, 0, 1, 1, 1, 2}, moments[5] = {-1, 2, 0, 1, 3};
  sleuth::TensorView view = tensor.view();
  sleuth::Where where{7, uint32_t(thread + 1), 0, 0, sleuth::kGraph};
  sleuth_note_summary(counts, moments, &view, sleuth::kNumerics, &where);
}

void restart(const std::string& folder) {
  Meanwhile works(kThreads, [](int thread) { work(thread), summarize(thread); });
  Meanwhile asks(1, [](int) { sleuth_events(), sleuth_alarm(), sleuth::buffers::on(); });
  for (uint64_t session = 1; session <= 25; ++session) {
    Recording recording(folder, session, 1 << 20);
    sleuth_set_step(int64_t(session));
    await([&] { return sleuth_events() >= 4000; });
  }
}

// Threads that end release their slots to others; there are more threads than slots.
void many_threads(const std::string& folder) {
  Recording recording(folder, 1);
  for (int round = 0; round < 3; ++round)
    on_threads(100, [](int thread) {
      for (int i = 0; i < 5; ++i) work(thread);
    });
}

// Values wrap around in a file of one megabyte; the first bad one freezes it.
void values(const std::string& folder) {
  Recording recording(folder, 1, 1 << 20);
  on_threads(kThreads, [](int thread) {
    for (int i = 0; i < 500; ++i) work(thread, sleuth::kValue);
  });
}

// Turns values on in a recording that did not keep them.
void late_values(const std::string& folder) {
  Meanwhile works(kThreads, [](int thread) { work(thread, sleuth::kValue); });
  for (uint64_t session = 1; session <= 10; ++session) {
    Recording recording(folder, session);
    std::string path = folder + "/" + std::to_string(session) + ".late_";
    await([&] { return sleuth_events() >= 500; });
    CHECK(!sleuth_open_values((path + "rows").c_str(), (path + "bytes").c_str(), 1 << 20));
    await([&] { return sleuth_events() >= 1500; });
  }
}

// The recording belongs to the parent, so the child writes nothing to it. Then the child makes its own.
void live_as_child(const std::string& folder) {
  CHECK(!sleuth_events());
  summarize(0);
  uint64_t session = uint64_t(getpid());
  std::string path = folder + "/" + std::to_string(session) + ".";
  std::string events = path + "events", calls = path + "calls", shapes = path + "shapes";
  sleuth::SessionPlan plan{
      events.c_str(), calls.c_str(), shapes.c_str(), "", "", session, kChunkRows, 12, 2, kChunkRows, 6, 0};
  CHECK(!sleuth_open(&plan));
  for (int i = 0; i < 200; ++i) work(0);
  CHECK(sleuth_events() >= 200);
  sleuth_close();
}

void fork_amid(const std::string& folder) {
  Recording recording(folder, 1, 1 << 20);
  Meanwhile works(kThreads, [](int thread) { work(thread, sleuth::kValue); });
  for (int round = 0; round < 25; ++round) {
    fork_often([&] { live_as_child(folder); }, 1);
    uint64_t before = sleuth_events();
    await([&] { return sleuth_events() != before; });  // the parent continues
  }
}

}  // namespace

const std::vector<Scenario> kRecordings{{"recording-restarts", restart},
                                        {"recording-many-threads", many_threads},
                                        {"recording-values", values},
                                        {"recording-late-values", late_values},
                                        {"recording-forks", fork_amid}};
