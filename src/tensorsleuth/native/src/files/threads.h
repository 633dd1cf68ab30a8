// The ops and calls that each thread has begun and not ended, in a mapped file. Rows are written when ops end, so this
// is the only trace of the op during which a program died. Each thread writes to its own slot, without a lock.
//
//   | header, 4096 bytes: "SLEUTHTH", version, slots, size of a slot, pid | slot 0 | slot 1 | …
#pragma once
#include <cstdint>

namespace sleuth {

constexpr int kNesting = 7;  // a function, the Python in it, an op of that, …; deeper levels are not recorded

struct Begun {
  uint64_t time, call;  // call: of a function; 0 for an op, which gets its number when it ends
  int64_t step;         // the training step
  uint32_t op, more;    // op: in the catalogue, 0 if its source line is not known yet
};

struct ThreadSlot {
  uint32_t id;      // the kernel's thread id; 0 if the slot is free
  uint16_t thread;  // as in rows
  uint16_t depth;   // how many entries of `begun` have not ended; those after them ended last
  uint64_t spare[3];
  Begun begun[kNesting];
};
static_assert(sizeof(ThreadSlot) == 256, "core/layout/rows.py says 256");

namespace threads {

int open(const char* path);  // 0 or errno; an empty path maps anonymous memory
void close();                // truncates the unused slots
void abandon();              // in a forked child: leave the parent's file alone

void begin(uint32_t op, uint64_t call, int64_t step, uint64_t time);
void end();                    // ends the entry that this thread began last
void end_call(uint64_t call);  // also ends all entries that it began after

}  // namespace threads
}  // namespace sleuth
