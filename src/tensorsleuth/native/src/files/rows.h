// The rows of a trace. core/layout/rows.py defines the same layout for Python, and a test keeps the two equal.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sleuth {

struct Health {  // the summary of a tensor
  uint64_t elements = 0;
  uint64_t neg_inf = 0, pos_inf = 0, nan = 0, neg = 0, zero = 0, pos = 0;
  double min = 0, max = 0, mean = 0, std = 0;  // of the finite values; NaN if there are none
  uint64_t first_bad = ~0ull;                  // flat index of the first NaN or infinity
};

constexpr int kNotItself = 254;  // as kDoNotLook, for a node that does not compute the tensor of its id
// Used instead of a Look: do not summarise the tensor, only keep it or record its address. probes.py has the same
// number.
constexpr int kDoNotLook = 255;

// How much to compute. core/modes.py has the same numbers.
enum Look : int { kNoTensor = 0, kShape = 1, kCurt = 2, kConcise = 3, kFull = 4, kNumerics = 5, kValue = 6 };

struct Event {
  uint64_t time, step;
  uint32_t tensor, shape, iteration, frame;
  uint16_t thread;
  uint8_t dtype, kind;
  uint32_t flags;
  uint32_t neg_inf, pos_inf, nan, neg, zero, pos;
  double min, max, mean, std;
  uint64_t first_bad;
};
static_assert(sizeof(Event) == 104, "core/layout/rows.py says 104");

struct Call {
  uint64_t time, call;
  int64_t step;
  uint32_t op;
  uint16_t thread;
  uint8_t inputs_count, kind;
  uint64_t duration, tf_step, inputs[6];
};
static_assert(sizeof(Call) == 96, "core/layout/rows.py says 96");

struct Value {
  uint64_t event, offset, size, kind;
};
static_assert(sizeof(Value) == 32, "core/layout/rows.py says 32");

constexpr int kBins = 64, kQuantiles = 5;
struct Watched {  // one measurement of a watched tensor
  uint64_t time;
  int64_t step;  // the training step
  uint64_t run;  // as Event::step
  uint32_t series, iteration, shape;
  uint16_t thread;
  uint8_t dtype, kind;   // kind: as Event's
  uint32_t flags, kept;  // kept: the number of images or texts kept
  uint64_t elements, nan, neg_inf, pos_inf, zero;
  double min, max, sum, norm;  // of the finite values
  double before, change;       // of a variable: its norm before the step, and the norm of the update
  double quantiles[kQuantiles];
  uint32_t bins[kBins];
};
static_assert(sizeof(Watched) == 432, "core/layout/rows.py says 432");
// Rows of layer statistics lack the last two fields.
constexpr uint32_t kInsideRow = offsetof(Watched, quantiles);
static_assert(kInsideRow == 136, "core/layout/rows.py says 136");

struct MemorySample {  // the memory use of the process at one moment
  uint64_t time;
  int64_t step;                  // the training step
  uint64_t resident, anonymous;  // of the process, in bytes; `anonymous` excludes mapped files
  uint64_t group_used;           // of the process's cgroup, including page cache; 0 if there is none
  uint64_t group_limit;          // the smallest limit of it and its parents; 0 if there is none
  uint64_t available;            // on the whole machine
  // From malloc: in use, and free but not returned. May be some samples old if the query takes long.
  uint64_t allocated, kept;
  uint64_t kind;  // 1; 0 is an unfinished row
};
static_assert(sizeof(MemorySample) == 80, "core/layout/rows.py says 80");

// A tensor of 64 kB or more was seen, or an eager tensor died.
struct BufferUse {
  uint64_t time, step;  // step: as Event's
  uint64_t address, bytes;
  uint32_t tensor, shape, iteration, frame;  // as Event's
  uint16_t thread;
  uint8_t dtype, kind;
  uint32_t flags;  // as Event's
};
static_assert(sizeof(BufferUse) == 56, "core/layout/rows.py says 56");

struct Passed {  // an op without outputs has ended
  uint64_t time, tf_step;
  uint32_t first, node;  // first: first tensor id of its function's instance; node: its number there
  uint16_t thread;
  uint8_t spare, kind;
  uint32_t more;
};
static_assert(sizeof(Passed) == 32, "core/layout/rows.py says 32");

// The hashes of one row of ids that a model got.
struct InputRow {
  uint64_t batch;                      // the same for all inputs of one call
  uint64_t whole, headless, tailless;  // hashes: of all ids; without the leading run of equal ids; or the trailing one
  uint32_t first, last;                // the id of each run, the lower half
  uint32_t series, fit;                // fit: how many calls of Keras's `fit` had begun
  int32_t step;                        // the training step
  uint16_t row;                        // its number in the batch
  uint8_t flags, kind;                 // kind: 1; 0 is an unfinished row
};
static_assert(sizeof(InputRow) == 56, "core/layout/rows.py says 56");
// Which of the three hashes cover enough tokens not to match by chance.
enum InputRowFlag : uint8_t { kLongWhole = 1, kLongHeadless = 2, kLongTailless = 4 };

// What to measure of a watched tensor; in a row: what was measured. `MeasureFlag` in core/layout/rows.py has the same numbers.
enum WatchWhat : uint32_t {
  kWatchScalar = 1,
  kWatchNorm = 2,
  kWatchHistogram = 4,
  kWatchQuantiles = 8,
  kWatchImage = 16,
  kWatchText = 32,
  kWatchValue = 64,
  kWatchExact = 128,      // the quantiles are exact
  kWatchCompared = 256,   // `before` and `change` are filled in
  kWatchUnits = 512,      // `before` and `change` count units instead: the dead ones, and all
  kWatchAttention = 1024  // the data of attention.h lies beside the row
};

enum EventKind : uint8_t { kEager = 1, kGraph = 2 };
enum BufferKind : uint8_t { kEagerBuffer = 1, kGraphBuffer = 2, kFreedBuffer = 3 };
enum CallKind : uint8_t {
  kOp = 1,
  kFunction = 2,
  kMoreInputs = 3,
  kJoin = 4,
  kFailed = 5,
  kEnded = 6,
  kReplaying = 7,
  kReplayed = 8,
  kBatch = 9
};
enum EventFlag : uint32_t {
  kBad = 1,
  kLooked = 2,
  kCounted = 4,
  kRanged = 8,
  kMoments = 16,
  kSaturated = 32,
  kDevice = 64,
  kHasValue = 128,
  kSteady = 256
};

// Bits 9 to 15: how long the probe took, in nanoseconds, as 5 bits of exponent and 2 of mantissa; 0 if unknown. Seven
// bits instead of a field keep rows small, and a precision of an eighth matches the variation of a probe's time.
constexpr int kLookShift = 9;
inline uint32_t look_bits(uint64_t ns) {
  if (ns < 8) return 0;
  int exponent = 63 - __builtin_clzll(ns);
  return exponent > 31 ? 127u << kLookShift : uint32_t(exponent << 2 | int(ns >> (exponent - 2) & 3)) << kLookShift;
}

constexpr int kDeviceShift = 16;  // the upper half of flags: number of the logical device, from 1; 0 if unknown

}  // namespace sleuth
