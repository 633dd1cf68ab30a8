#include "memory/memory_sampler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "memory/cgroup.h"
#include "recording.h"

namespace sleuth::sampler {
namespace {

constexpr uint64_t kEvery = 50'000'000, kAtLeast = 1'000'000'000;  // nanoseconds
constexpr uint64_t kSame = 64 << 10;                               // bytes
constexpr size_t kStack = 128 << 10;
constexpr uint64_t kRest = 500;  // malloc is locked while it counts: at most a 500th of the time, but once a second

struct Mallinfo {  // mallinfo2, of glibc 2.33 and later
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
using AskMalloc = Mallinfo (*)();

std::atomic<bool> waiting{false};  // the files are open, the thread has not started

class Sampler {
 public:
  Sampler() { make_locks(); }

  int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks) {
    int error = rows_.open(path, plan_of<MemorySample>(chunk_rows, chunks));
    if (error) return error;
    statm_ = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    meminfo_ = ::open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    group_.open();
    last_ = MemorySample{};
    ask_malloc_ = reinterpret_cast<AskMalloc>(dlsym(RTLD_DEFAULT, "mallinfo2"));
    ask_again_ = 0;
    look(true);
    waiting = true;
    return 0;
  }

  // One thread, with all signals blocked.
  void begin() {
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    stop_ = false;
    running_ = !pthread_create(&thread_, &attributes, run, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
  }

  void close() {
    if (!rows_.is_open()) return;
    waiting = false;
    end();
    look(true);
    rows_.close();
    close_files();
  }

  void abandon() {  // a forked child does not have the thread
    make_locks();
    waiting = false;
    running_ = false;
    rows_.abandon();
    close_files();
  }

 private:
  void make_locks() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&mutex_, nullptr);
    pthread_cond_init(&stopping_, &attributes);
    pthread_condattr_destroy(&attributes);
  }

  void end() {
    if (!running_) return;
    pthread_mutex_lock(&mutex_);
    stop_ = true;
    pthread_cond_signal(&stopping_);
    pthread_mutex_unlock(&mutex_);
    pthread_join(thread_, nullptr);
    running_ = false;
  }

  void close_files() {
    for (int* file : {&statm_, &meminfo_}) {
      if (*file >= 0) ::close(*file);
      *file = -1;
    }
    group_.close();
  }

  static void* run(void* sampler) {
    pthread_setname_np(pthread_self(), "sleuth-memory");
    static_cast<Sampler*>(sampler)->keep_looking();
    return nullptr;
  }

  void keep_looking() {
    pthread_mutex_lock(&mutex_);
    while (!stop_) {
      look(false);
      uint64_t next = now_ns() + kEvery;
      timespec until{time_t(next / 1'000'000'000), long(next % 1'000'000'000)};
      pthread_cond_timedwait(&stopping_, &mutex_, &until);
    }
    pthread_mutex_unlock(&mutex_);
  }

  void look(bool always) {
    MemorySample now = sample();
    if (!always && now.time - last_.time < kAtLeast && is_same(now)) return;
    uint64_t number;
    char* place = rows_.claim(&number);
    last_ = now;
    if (place) write_row(place, now, 1);
  }

  MemorySample sample() {
    MemorySample now{};
    char text[128];
    unsigned long long size = 0, resident = 0, shared = 0;
    ssize_t read = pread(statm_, text, sizeof text - 1, 0);
    text[read > 0 ? read : 0] = 0;
    sscanf(text, "%llu %llu %llu", &size, &resident, &shared);
    uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    now.time = now_ns();
    now.step = step_now();
    now.resident = resident * page;
    now.anonymous = resident > shared ? (resident - shared) * page : 0;
    now.group_used = group_.used();
    now.group_limit = group_.limit();
    now.available = available();
    now.allocated = last_.allocated, now.kept = last_.kept;
    if (ask_malloc_ && now.time >= ask_again_) ask_malloc(&now);
    return now;
  }

  void ask_malloc(MemorySample* now) {
    uint64_t began = busy_ns();
    Mallinfo info = ask_malloc_();
    now->allocated = info.uordblks + info.hblkhd;
    now->kept = info.fordblks;
    ask_again_ = now->time + std::min(kRest * (busy_ns() - began), kAtLeast);
  }

  static uint64_t busy_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
  }

  uint64_t available() const {
    char text[512];
    ssize_t read = pread(meminfo_, text, sizeof text - 1, 0);
    text[read > 0 ? read : 0] = 0;
    const char* line = strstr(text, "MemAvailable:");
    return line ? strtoull(line + strlen("MemAvailable:"), nullptr, 10) * 1024 : 0;
  }

  bool is_same(const MemorySample& now) const {
    return near(now.resident, last_.resident) && near(now.group_used, last_.group_used) &&
           now.group_limit == last_.group_limit;
  }

  static bool near(uint64_t one, uint64_t other) { return (one > other ? one - other : other - one) < kSame; }

  Ring rows_;
  MemoryGroup group_;
  MemorySample last_{};
  int statm_ = -1, meminfo_ = -1;
  AskMalloc ask_malloc_ = nullptr;
  uint64_t ask_again_ = 0;
  pthread_t thread_{};
  pthread_mutex_t mutex_;
  pthread_cond_t stopping_;
  bool running_ = false, stop_ = false;
};

Sampler& the_sampler = *new Sampler;  // never destroyed: the thread may outlive static destructors

}  // namespace

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks) {
  return the_sampler.open(path, chunk_rows, chunks);
}

void wake() {
  if (waiting.load(std::memory_order_relaxed) && waiting.exchange(false)) the_sampler.begin();
}

void close() { the_sampler.close(); }

void abandon() { the_sampler.abandon(); }

}  // namespace sleuth::sampler
