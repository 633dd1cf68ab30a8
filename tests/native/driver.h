// Helpers for the scenarios that tests/unit/test_sanitizers.py runs under sanitizers: checks, threads, and the
// functions of the native library that Python calls.
#pragma once
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "recording.h"

[[noreturn]] void fail(const char* truth, const char* file, int line);
#define CHECK(truth) ((truth) ? void() : fail(#truth, __FILE__, __LINE__))

#if defined(__SANITIZE_THREAD__)
constexpr bool kSlow = true;  // under a sanitizer that makes everything ten times as slow
#else
constexpr bool kSlow = false;
#endif

// AddressSanitizer's malloc may hold its own lock in a forked child. A child that hangs there proves nothing about our
// code.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kForksBadly = true;
#else
constexpr bool kForksBadly = false;
#endif

// A chunk is mapped separately, so it is whole pages. With more chunks than threads, one can always be reused.
constexpr uint64_t kChunkRows = 512;

struct Scenario {
  const char* name;
  void (*run)(const std::string& folder);  // `folder` is empty
};
extern const std::vector<Scenario> kRings, kRecordings, kObservers, kKernels, kGraphs, kBirths;

// Runs `body(0)` … `body(count - 1)`, each on its own thread.
inline void on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> pool;
  for (int i = 0; i < count; ++i) pool.emplace_back(body, i);
  for (auto& thread : pool) thread.join();
}

// Runs `body` repeatedly on its own threads until the end of the scope.
class Meanwhile {
 public:
  Meanwhile(int count, std::function<void(int)> body) {
    for (int i = 0; i < count; ++i)
      pool_.emplace_back([this, body, i] {
        while (!stop_) body(i);
      });
  }
  ~Meanwhile() {
    stop_ = true;
    for (auto& thread : pool_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> pool_;
};

// Waits in few steps: ThreadSanitizer keeps a limited history for each thread, and needs it to report a position.
inline void await(const std::function<bool()>& truth) {
  while (!truth()) usleep(200);
}

// Forks repeatedly; each child runs `body` and must finish.
inline void fork_often(const std::function<void()>& body, int times = 50) {
  for (int round = 0; round < times; ++round) {
    pid_t child = fork();
    if (!child) {
      alarm(kForksBadly ? 5 : 60);  // in case of a lock that nobody releases
      body();
      _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (kForksBadly && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) continue;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

// A tensor of `count` floats whose memory ends with its last element.
class Floats {
 public:
  explicit Floats(uint64_t count) : values(count, 1) {}
  sleuth::TensorView view() const {
    return {values.data(), values.size(), 4 * values.size(), 1, 1, {int64_t(values.size())}};
  }
  std::vector<float> values;
};

// A recording into a folder, with all its files.
struct Recording {
  Recording(const std::string& folder, uint64_t session, uint64_t value_bytes = 0);
  ~Recording();
};

extern "C" {
int sleuth_open(const sleuth::SessionPlan* plan);
int sleuth_open_memory(const char* samples, uint64_t sample_chunk_rows, uint64_t sample_chunks, const char* uses,
                       uint64_t use_chunk_rows, uint64_t use_chunks, const char* ends, uint64_t end_chunk_rows,
                       uint64_t end_chunks);
int sleuth_open_threads(const char* path);
int sleuth_open_values(const char* rows, const char* bytes, uint64_t bound);
void sleuth_close();
uint64_t sleuth_events();
uint64_t sleuth_alarm();
void sleuth_set_step(int64_t step);
void sleuth_call(sleuth::Call* call);
void sleuth_begin_call(uint32_t op, uint64_t call, int64_t step, uint64_t time);
void sleuth_end_call(uint64_t call);
void sleuth_note_summary(const double* counts, const double* moments, const sleuth::TensorView* tensor, int look,
                         const sleuth::Where* where);
}
