// While the program is paused, its main thread may wait inside TensorFlow, where Python handles no signals. During that
// time we catch the signals that have a Python handler, and pass them to it.
#include <signal.h>

#include <atomic>
#include <mutex>

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
constexpr int kCount = 2;
struct sigaction before[kCount];
bool heard[kCount];
std::mutex mutex;
int listeners = 0;
std::atomic<unsigned> arrived{0};

void hear(int number, siginfo_t* info, void* context) {
  arrived.fetch_add(1);
  for (int i = 0; i < kCount; ++i) {
    if (kSignals[i] != number) continue;
    if (before[i].sa_flags & SA_SIGINFO) before[i].sa_sigaction(number, info, context);
    else before[i].sa_handler(number);
  }
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void begin(int i) {
  heard[i] = !sigaction(kSignals[i], nullptr, &before[i]) && has_handler(before[i]);
  if (!heard[i]) return;
  struct sigaction ours = before[i];
  ours.sa_sigaction = hear;
  ours.sa_flags |= SA_SIGINFO;
  sigaction(kSignals[i], &ours, nullptr);
}

void end(int i) {
  struct sigaction now;
  if (heard[i] && !sigaction(kSignals[i], nullptr, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == hear)
    sigaction(kSignals[i], &before[i], nullptr);
}

}  // namespace

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

// Starts or stops listening. Several threads may do so.
SLEUTH_API void sleuth_listen_to_signals(int on) {
  std::lock_guard<std::mutex> lock(mutex);
  if (on && listeners++ == 0)
    for (int i = 0; i < kCount; ++i) begin(i);
  if (!on && --listeners == 0)
    for (int i = 0; i < kCount; ++i) end(i);
}

SLEUTH_API unsigned sleuth_signals_arrived() { return arrived; }
}
