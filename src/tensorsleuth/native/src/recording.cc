#include "recording.h"

#include <pthread.h>
#include <string.h>

#include <atomic>
#include <mutex>
#include <string>

#include "files/buffers.h"
#include "files/op_ends.h"
#include "files/shapes.h"
#include "files/threads.h"
#include "files/values.h"
#include "kernels/health.h"
#include "memory/memory_sampler.h"
#include "observers/breaks.h"
#include "observers/guard.h"
#include "observers/input_rows.h"
#include "observers/layer_stats.h"
#include "observers/watches.h"
#include "tf1_runs.h"

namespace sleuth {
namespace {

// Writers count themselves in and out, so that closing can wait for them.
std::atomic<uint64_t> current{0};
std::atomic<int> writers{0};
std::atomic<uint64_t> calls_made{0};
std::atomic<uint64_t> bad_seen{0}, bad_in_functions{0};
std::atomic<int64_t> training_step{-1};
Ring events, calls;
Shapes shapes;
Values values;

uint32_t clamp(uint64_t count, uint32_t* flags) {
  if (count <= 0xFFFFFFFFull) return uint32_t(count);
  *flags |= kSaturated;
  return 0xFFFFFFFFu;
}

uint32_t flags_of(int look, const Health& health) {
  if (look < kCurt) return 0;
  uint32_t flags = kLooked | (health.first_bad != ~0ull ? kBad : 0u);
  if (look >= kConcise) flags |= kCounted;
  if (look >= kFull) flags |= kRanged;
  if (look >= kNumerics) flags |= kMoments;
  return flags;
}

// Converts the device's results, as far as `look` selects them.
Health health_of(const double* counts, const double* moments, int look) {
  Health health;
  if (look < kCurt) return health;
  health.elements = uint64_t(counts[4]);
  if (counts[5] + counts[6] + counts[7] > 0) health.first_bad = uint64_t(moments[4]);
  if (look >= kConcise) {
    health.neg_inf = uint64_t(counts[5]);
    health.pos_inf = uint64_t(counts[6]);
    health.nan = uint64_t(counts[7]);
  }
  if (look >= kFull) {
    health.neg = uint64_t(counts[8]);
    health.zero = uint64_t(counts[9]);
    health.pos = uint64_t(counts[10]);
    health.min = moments[0];
    health.max = moments[1];
  }
  if (look >= kNumerics) {
    health.mean = moments[2];
    health.std = moments[3];
  }
  return health;
}

// The address of a graph tensor is stored in its own row, instead of mean and deviation if those are not selected. A
// row of buffers.bin for each would take half as much disk space again. trace/process/buffers.py reads them.
bool has_room_for_buffer(int look, const Where& where) {
  return where.kind == kGraph && look >= kShape && look < kNumerics;
}

void put_buffer(Event* row, const TensorView& tensor) {
  uint64_t address = uint64_t(tensor.data), bytes = tensor.data ? tensor.bytes : 0;
  memcpy(&row->mean, &address, sizeof address);
  memcpy(&row->std, &bytes, sizeof bytes);
}

// Keeps what surrounds the first bad row of a kind, and the calls of that time, which lead from it back to its cause.
void raise_alarm(uint64_t number, Alarm kind) {
  if (events.has_alarm(kind)) return;
  if (!events.header()->alarm.load(std::memory_order_relaxed)) values.freeze_soon();
  events.raise_alarm(number, kind);
  calls.raise_alarm(calls.header()->head.load(std::memory_order_relaxed), kind);
}

void raise_alarms(uint64_t number, const Health& health) {
  if (health.pos_inf) raise_alarm(number, kFirstPosInf);
  if (health.neg_inf) raise_alarm(number, kFirstNegInf);
  if (health.nan || !(health.pos_inf || health.neg_inf)) raise_alarm(number, kFirstNan);  // or was not counted
}

bool write_event(const Health& health, const TensorView& tensor, int look, const Where& where, uint32_t flags,
                 uint64_t began) {
  uint64_t number;
  char* place = events.claim(&number);
  flags |= flags_of(look, health);
  if (!place) return flags & kBad;
  if (look == kValue && values.keep(number, tensor.data, tensor.bytes)) flags |= kHasValue;
  Event& row = *reinterpret_cast<Event*>(place);
  row.time = now_ns();
  flags |= look_bits(row.time - began);
  row.step = where.step;
  row.tensor = where.tensor;
  row.shape = look == kNoTensor ? 0 : shapes.number(tensor.rank, tensor.dims);
  row.iteration = where.iteration;
  row.frame = where.frame;
  row.thread = thread_number();
  row.dtype = uint8_t(tensor.dtype);
  row.neg_inf = clamp(health.neg_inf, &flags);
  row.pos_inf = clamp(health.pos_inf, &flags);
  row.nan = clamp(health.nan, &flags);
  row.neg = clamp(health.neg, &flags);
  row.zero = clamp(health.zero, &flags);
  row.pos = clamp(health.pos, &flags);
  row.min = health.min;
  row.max = health.max;
  if (look >= kNumerics) {
    row.mean = health.mean;
    row.std = health.std;
  } else {
    put_buffer(&row, has_room_for_buffer(look, where) && buffers::counts(tensor) ? tensor : TensorView{});
  }
  row.first_bad = health.first_bad;
  row.flags = flags;
  __atomic_store_n(&row.kind, where.kind, __ATOMIC_RELEASE);
  if (flags & kBad) raise_alarms(number, health);
  if (flags & kBad) bad_seen.fetch_add(1, std::memory_order_relaxed);
  if (flags & kBad && where.kind == kGraph) {
    bad_in_functions.fetch_add(1, std::memory_order_relaxed);
    guard::saw_bad(where, health.nan > 0);
  }
  return flags & kBad;
}

void forget_in_child() {
  threads::abandon();
  sampler::abandon();
  buffers::abandon();
  passed::abandon();
  guard::abandon();
  breaks::abandon();
  inside::abandon();
  watches::abandon();
  runs::abandon();
  current = 0;
  writers = 0;
  events.abandon();
  calls.abandon();
  shapes.abandon();
  values.abandon();
}

}  // namespace

Writing::Writing() {
  // Sequentially consistent with sleuth_close: either it sees this writer, or this writer sees that the recording is
  // over.
  writers.fetch_add(1, std::memory_order_seq_cst);
  ok = current.load(std::memory_order_seq_cst) != 0;
}

Writing::~Writing() { writers.fetch_sub(1, std::memory_order_release); }

uint32_t shape_number(int rank, const int64_t* dims) { return shapes.number(rank, dims); }

uint64_t current_session() { return current.load(std::memory_order_relaxed); }

bool recording(uint64_t session) { return session && current.load(std::memory_order_relaxed) == session; }

uint64_t bad_rows() { return bad_seen.load(std::memory_order_relaxed); }

uint64_t next_call() { return calls_made.fetch_add(1, std::memory_order_relaxed) + 1; }

namespace {

bool look_and_write(const TensorView& tensor, int what, const Where& where, uint32_t flags, Health* health, bool known,
                    bool* bad) {
  Writing writing;
  if (!writing.ok) return false;
  uint64_t began = now_ns();
  what = guard::closer(what, tensor.elements);
  if (what >= kCurt && !known) look(tensor.data, tensor.elements, tensor.dtype, what, health);
  if (health->first_bad != ~0ull && guard::on() && what < kFull) {
    what = kFull;  // somebody will ask about a bad tensor, so record it in full
    look(tensor.data, tensor.elements, tensor.dtype, what, health);
  }
  *bad = write_event(*health, tensor, what, where, flags, began);
  return true;
}

}  // namespace

int64_t step_now() { return training_step.load(std::memory_order_relaxed); }

bool note(const TensorView& tensor, int what, const Where& where, uint32_t flags, Health* given, bool known) {
  Health own;
  Health& health = given ? *given : own;
  bool bad = false;
  uint64_t asked = breaks::asked(where.tensor);
  uint32_t series = tensor.data || !tensor.elements ? watches::asked(where.tensor) : 0;
  what = watches::closer(breaks::closer(what, asked), series);
  if (where.kind == kGraph && !has_room_for_buffer(what, where)) buffers::saw(tensor, where, flags);
  if (!look_and_write(tensor, what, where, flags, &health, known, &bad)) return bad;
  if (series) {
    Writing writing;
    if (writing.ok) watches::saw(series, tensor, where, health);
  }
  if (uint32_t ours = inside::asked(where.tensor)) inside::saw(ours, tensor, where);
  // This may wait for the user, so it comes last, while nobody waits for this thread.
  if (asked) breaks::judge(asked, health, tensor, where);
  return bad;
}

void note_summary(const double* counts, const double* moments, const TensorView& tensor, int look, const Where& where) {
  uint64_t asked = breaks::asked(where.tensor);
  Health health = health_of(counts, moments, look);
  {
    Writing writing;
    if (!writing.ok) return;
    write_event(health, tensor, look, where, kDevice, now_ns());
  }
  if (asked) breaks::judge(asked, health, tensor, where);
}

void note_call(const Call& call) {
  Writing writing;
  uint64_t number;
  if (writing.ok) sampler::wake();
  if (writing.ok && call.kind == kBatch) input_rows::moved(call);
  if (writing.ok && call.kind == kJoin) guard::joined(call.tf_step, call.call);
  char* place = writing.ok ? calls.claim(&number) : nullptr;
  if (place) write_row(place, call, call.kind);
}

}  // namespace sleuth

extern "C" {

#define SLEUTH_API __attribute__((visibility("default")))

// Opens the files for memory and time. Call it before the session that writes and closes them. 0 or errno.
SLEUTH_API int sleuth_open_memory(const char* samples, uint64_t sample_chunk_rows, uint64_t sample_chunks,
                                  const char* uses, uint64_t use_chunk_rows, uint64_t use_chunks, const char* ends,
                                  uint64_t end_chunk_rows, uint64_t end_chunks) {
  using namespace sleuth;
  int error = sampler::open(samples, uint32_t(sample_chunk_rows), sample_chunks);
  if (!error) error = buffers::open(uses, uint32_t(use_chunk_rows), use_chunks);
  if (!error) error = passed::open(ends, uint32_t(end_chunk_rows), end_chunks);
  if (error) {
    sampler::close();
    buffers::close();
  }
  return error;
}

SLEUTH_API int sleuth_open(const sleuth::SessionPlan* plan) {
  using namespace sleuth;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_in_child); });
  RingPlan event_plan = plan_of<Event>(plan->event_chunk_rows, plan->event_chunks);
  event_plan.window = plan->event_window;
  event_plan.has_alarms = true;
  int error = events.open(plan->events, event_plan);
  RingPlan call_plan = plan_of<Call>(plan->call_chunk_rows, plan->call_chunks);
  call_plan.window = plan->call_window;
  call_plan.has_alarms = true;
  if (!error) error = calls.open(plan->calls, call_plan);
  if (!error) error = shapes.open(plan->shapes);
  if (!error && plan->value_bytes) error = values.open(plan->values, plan->value_rows, plan->value_bytes);
  if (error) {
    events.close();
    calls.close();
    shapes.close();
    values.close();
    sampler::close();
    buffers::close();
    passed::close();
    return error;
  }
  calls_made = 0;
  guard::forget();
  current.store(plan->session, std::memory_order_release);
  return 0;
}

// Starts keeping values in a recording that did not. No value may have been requested yet.
SLEUTH_API int sleuth_open_values(const char* rows, const char* bytes, uint64_t bound) {
  using namespace sleuth;
  return values.is_open() ? 0 : values.open(bytes, rows, bound);
}

SLEUTH_API void sleuth_close() {
  using namespace sleuth;
  if (!current.exchange(0)) return;
  while (writers.load(std::memory_order_seq_cst)) sched_yield();
  events.close();
  calls.close();
  shapes.close();
  values.close();
  inside::close();
  watches::close();
  threads::close();
  sampler::close();
  buffers::close();
  passed::close();
}

SLEUTH_API uint64_t sleuth_session() { return sleuth::current.load(); }
SLEUTH_API uint64_t sleuth_events() {
  sleuth::Writing reading;  // keeps the file mapped during the read
  return reading.ok ? sleuth::events.header()->head.load() : 0;
}
SLEUTH_API uint64_t sleuth_alarm() {
  sleuth::Writing reading;
  return reading.ok ? sleuth::events.header()->alarm.load() : 0;
}
SLEUTH_API uint64_t sleuth_bad_in_functions() { return sleuth::bad_in_functions.load(); }
SLEUTH_API uint64_t sleuth_latest_call() { return sleuth::calls_made.load(); }
SLEUTH_API void sleuth_set_step(int64_t step) { sleuth::training_step = step; }
SLEUTH_API int64_t sleuth_step() { return sleuth::training_step; }
SLEUTH_API uint64_t sleuth_bad() { return sleuth::bad_rows(); }
SLEUTH_API uint64_t sleuth_next_call() { return sleuth::next_call(); }
SLEUTH_API void sleuth_call(sleuth::Call* call) {
  call->thread = sleuth::thread_number();
  sleuth::note_call(*call);
}

SLEUTH_API int sleuth_note(const sleuth::TensorView* tensor, int look, const sleuth::Where* where) {
  return sleuth::note(*tensor, look, *where);
}

SLEUTH_API void sleuth_note_summary(const double* counts, const double* moments, const sleuth::TensorView* tensor,
                                    int look, const sleuth::Where* where) {
  sleuth::note_summary(counts, moments, *tensor, look, *where);
}
}
