// What each thread has begun and not ended yet, in a file that is mapped: rows are written when ops end, so this is all
// that is left of the op during which a program died. A thread writes to a slot of its own, without a lock.
//
//   | header, 4096 bytes: "SLEUTHTH", version, slots, size of a slot, pid | slot 0 | slot 1 | …
#pragma once
#include <cstdint>

namespace sleuth {

constexpr int kNesting = 7;  // a function, the Python in it, an op of that, …: what is deeper is not told

struct Begun {
  uint64_t time, call;  // call: of a function; 0 for an op, which has no number before it has ended
  int64_t step;         // the training step
  uint32_t op, more;    // op: in the catalogue, 0 where its place is not known yet
};

struct ThreadSlot {
  uint32_t id;      // the kernel's, 0: nobody's
  uint16_t thread;  // as in rows
  uint16_t depth;   // how many of `begun` have not ended; those behind are what was begun last
  uint64_t spare[3];
  Begun begun[kNesting];
};
static_assert(sizeof(ThreadSlot) == 256, "core/layout/rows.py says 256");

namespace threads {

int open(const char* path);  // 0 or errno; an empty path: in memory, for nobody
void close();                // gives back the slots that nobody used
void abandon();              // in a forked child: leave the parent's file alone

void begin(uint32_t op, uint64_t call, int64_t step, uint64_t time);
void end();                    // what this thread began last
void end_call(uint64_t call);  // and all that it began after

}  // namespace threads
}  // namespace sleuth
