// The current recording of this process: its files, and the functions that write to them.
#pragma once
#include <cstdint>

#include "files/ring.h"
#include "files/rows.h"

namespace sleuth {

struct TensorView {
  const void* data;
  uint64_t elements, bytes;
  int dtype, rank;
  int64_t dims[8];  // only the first eight
};

struct Where {  // identifies an event, together with its tensor
  uint64_t step;
  uint32_t tensor, iteration, frame;
  uint8_t kind;
};

struct SessionPlan {
  const char *events, *calls, *shapes, *value_rows, *values;  // paths of the files
  uint64_t session;
  uint64_t event_chunk_rows, event_chunks, event_window;
  uint64_t call_chunk_rows, call_chunks;
  uint64_t value_bytes;  // 0: values are not kept
  uint64_t call_window;
};

inline thread_local bool busy = false;  // our own code runs on this thread, so its ops are not the program's

// Counts itself, so that closing can wait for it.
struct Writing {
  bool ok;  // whether there is a recording to write to
  Writing();
  ~Writing();
};

uint64_t current_session();  // 0 if there is no recording
bool recording(uint64_t session);
uint64_t bad_rows();  // recorded so far, of all recordings of this process
// The current training step.
int64_t step_now();
// Returns whether it is bad. `health`: what is in it if `known`, else this function fills it in.
bool note(const TensorView& tensor, int look, const Where& where, uint32_t flags = 0, Health* health = nullptr,
          bool known = false);
// `counts`: DebugNumericSummaryV2's FULL_HEALTH: id, device, dtype, rank, elements, -inf, +inf, nan, -, 0, +.
// `moments`: min, max, mean, std, first_bad.
void note_summary(const double* counts, const double* moments, const TensorView& tensor, int look, const Where& where);
uint32_t shape_number(int rank, const int64_t* dims);
void note_call(const Call& call);
uint64_t next_call();

}  // namespace sleuth
