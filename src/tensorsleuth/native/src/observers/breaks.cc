#include "observers/breaks.h"

#include <unistd.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <new>

#include "kernels/change.h"
#include "kernels/health.h"
#include "observers/tensor_map.h"

namespace sleuth::breaks {

std::atomic<uint64_t> active{0};
std::atomic<int64_t> closely_until{-1};

namespace {

// live/breakpoints/condition_words.py has the same numbers.
enum Word {
  kBad,
  kNan,
  kPosInf,
  kNegInf,
  kInf,
  kNeg,
  kZero,
  kPos,
  kMin,
  kMax,
  kAbsMax,
  kMean,
  kStd,
  kNorm,
  kSize,
  kBytes,
  kRank,
  kDtype,
  kChange,
  kStep,
  kIteration
};
enum Code {
  kConstant,
  kWord,
  kDimension,
  kMinus,
  kNot,
  kAdd,
  kSubtract,
  kTimes,
  kDivide,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr
};

struct Instruction {
  double code, value;
};

constexpr int kMostCode = 256;
struct Condition {
  int look;
  bool floats_only;
  int length;
  const Condition* before;  // the previous condition of this number; never freed, since another thread may be using it
  Instruction code[kMostCode];
};

thread_local double last_change = 0;  // of the tensor that is being judged

struct Seen {
  const Health& health;
  const TensorView& tensor;
  const Where& where;
  mutable bool compared = false;  // computing the change replaces the copy, so do it only once
  mutable double change = 0;

  double changed() const {
    if (!compared) compared = true, last_change = change = change_since(where.tensor, tensor);
    return change;
  }
};

TensorMap<uint64_t> sets;  // the conditions of each tensor
std::atomic<uint64_t> everywhere{0};
std::atomic<const Condition*> conditions[64];
std::mutex mutex;
using Hit = int (*)(int condition, const TensorView* tensor, const Where* where, const Health* health);
std::atomic<Hit> on_hit{nullptr};
thread_local int stop = 0;

std::atomic<int> tellers{0};
struct Telling {  // counts itself, so that the end of the process can wait for it
  Telling() { ++tellers; }
  ~Telling() { --tellers; }
};

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double norm(const Health& health) {
  uint64_t finite = health.neg + health.zero + health.pos;
  if (health.nan) return kNothing;
  if (health.neg_inf || health.pos_inf) return kInfinity;
  return finite ? std::sqrt(double(finite)) * std::hypot(health.mean, health.std) : 0;
}

double abs_max(const Health& health) {
  if (health.neg_inf || health.pos_inf) return kInfinity;
  return std::fmax(std::fabs(health.min), std::fabs(health.max));
}

double word(int which, const Seen& seen) {
  const Health& health = seen.health;
  switch (which) {
    case kBad: return health.first_bad != ~0ull;
    case kNan: return double(health.nan);
    case kPosInf: return double(health.pos_inf);
    case kNegInf: return double(health.neg_inf);
    case kInf: return double(health.pos_inf + health.neg_inf);
    case kNeg: return double(health.neg);
    case kZero: return double(health.zero);
    case kPos: return double(health.pos);
    case kMin: return health.neg_inf ? -kInfinity : health.min;
    case kMax: return health.pos_inf ? kInfinity : health.max;
    case kAbsMax: return abs_max(health);
    case kMean: return health.mean;
    case kStd: return health.std;
    case kNorm: return norm(health);
    case kSize: return double(seen.tensor.elements);
    case kBytes: return double(seen.tensor.bytes);
    case kRank: return seen.tensor.rank;
    case kDtype: return seen.tensor.dtype;
    case kChange: return seen.changed();
    case kStep: return double(step_now());
    case kIteration: return seen.where.kind == kGraph ? double(seen.where.iteration) : kNothing;
    default: return kNothing;
  }
}

double dimension(double which, const TensorView& tensor) {
  int at = int(which) < 0 ? tensor.rank + int(which) : int(which);
  return at >= 0 && at < tensor.rank && at < 8 ? double(tensor.dims[at]) : kNothing;
}

bool is_true(double value) { return value != 0 && value == value; }

double combine(Code code, double a, double b) {
  switch (code) {
    case kAdd: return a + b;
    case kSubtract: return a - b;
    case kTimes: return a * b;
    case kDivide: return b != 0 ? a / b : kNothing;
    case kLess: return a < b;
    case kLessEqual: return a <= b;
    case kGreater: return a > b;
    case kGreaterEqual: return a >= b;
    case kEqual: return a == b;
    case kNotEqual: return a < b || a > b;  // a missing value is neither equal nor unequal
    case kAnd: return is_true(a) && is_true(b);
    case kOr: return is_true(a) || is_true(b);
    default: return kNothing;
  }
}

bool is_float(int dtype) {  // or complex
  return dtype == 1 || dtype == 2 || dtype == 8 || dtype == 14 || dtype == 18 || dtype == 19 ||
         (dtype >= 24 && dtype <= 28);
}

bool holds(const Condition& condition, const Seen& seen) {
  if (condition.floats_only && !is_float(seen.tensor.dtype)) return false;
  double stack[kMostCode];
  int top = 0;
  for (int i = 0; i < condition.length; ++i) {
    Code code = Code(int(condition.code[i].code));
    double value = condition.code[i].value;
    if (code == kConstant) stack[top++] = value;
    else if (code == kWord) stack[top++] = word(int(value), seen);
    else if (code == kDimension) stack[top++] = dimension(value, seen.tensor);
    else if (top < 1) return false;
    else if (code == kMinus) stack[top - 1] = -stack[top - 1];
    else if (code == kNot) stack[top - 1] = !is_true(stack[top - 1]);
    else if (top < 2) return false;
    else --top, stack[top - 1] = combine(code, stack[top - 1], stack[top]);
  }
  return top == 1 && is_true(stack[0]);
}

}  // namespace

uint64_t look_up(uint32_t tensor) {
  uint64_t own = sets.get(tensor);
  return (own & kNotGuards) |
         ((own | everywhere.load(std::memory_order_relaxed)) & active.load(std::memory_order_relaxed));
}

int needed(uint64_t asked) {
  int look = 0;
  for (uint64_t left = asked & ~kNotGuards; left; left &= left - 1) {
    const Condition* condition = conditions[__builtin_ctzll(left)].load(std::memory_order_acquire);
    if (condition && condition->look > look) look = condition->look;
  }
  return look;
}

void judge(uint64_t asked, const Health& health, const TensorView& tensor, const Where& where) {
  if (where.kind == kGraph && !where.step) return;  // the graph optimizer is folding a constant
  Telling telling;
  Hit tell = on_hit.load();
  Seen seen{health, tensor, where};
  last_change = kNothing;
  for (uint64_t left = asked & ~kNotGuards; tell && left; left &= left - 1) {
    int number = __builtin_ctzll(left);
    const Condition* condition = conditions[number].load(std::memory_order_acquire);
    if (!condition || !holds(*condition, seen)) continue;
    bool before = busy;
    busy = true;  // ops that Python runs here are not the program's
    if (int wanted = tell(number, &tensor, &where, &health)) stop = wanted;
    busy = before;
  }
}

int take_stop() {
  int taken = stop;
  stop = 0;
  return taken;
}

void abandon() {
  new (&mutex) std::mutex();
  abandon_changes();
  active = 0;
  closely_until = -1;
  on_hit = nullptr;
  tellers = 0;
}

}  // namespace sleuth::breaks

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))
using namespace sleuth;

SLEUTH_API void sleuth_break_tell(breaks::Hit hit) { breaks::on_hit = hit; }

// Sets condition `number`: pairs of a code and a value, for a stack machine. Returns 0 if it is too long.
SLEUTH_API int sleuth_break_set(int number, int look, int floats_only, const double* code, int length) {
  if (number < 0 || number >= breaks::kMost || length > breaks::kMostCode) return 0;
  auto* condition = new breaks::Condition{look, floats_only != 0, length, breaks::conditions[number], {}};
  for (int i = 0; i < length; ++i) condition->code[i] = {code[2 * i], code[2 * i + 1]};
  breaks::conditions[number] = condition;
  return 1;
}

SLEUTH_API void sleuth_break_activate(int number, int on, int everywhere) {
  uint64_t bit = 1ull << number;
  std::lock_guard<std::mutex> lock(breaks::mutex);
  breaks::everywhere = everywhere ? breaks::everywhere | bit : breaks::everywhere & ~bit;
  breaks::active = on ? breaks::active | bit : breaks::active & ~bit;
}

SLEUTH_API void sleuth_break_on(uint32_t tensor, uint64_t set) {
  std::lock_guard<std::mutex> lock(breaks::mutex);
  breaks::sets.put(tensor, set);
}

// Forgets the conditions of all tensors, because tensor ids are about to change meaning.
SLEUTH_API void sleuth_break_forget() {
  std::lock_guard<std::mutex> lock(breaks::mutex);
  breaks::active = breaks::everywhere = 0;
  breaks::closely_until = -1;
  breaks::sets.clear();
  forget_changes();
}

// Waits until no thread is in Python, but at most that many milliseconds. Returns 0 if one still is.
SLEUTH_API int sleuth_break_drain(int milliseconds) {
  for (; breaks::tellers.load() && milliseconds > 0; --milliseconds) usleep(1000);
  return !breaks::tellers.load();
}

SLEUTH_API void sleuth_break_closely(int64_t until) { breaks::closely_until = until; }
SLEUTH_API double sleuth_break_change() { return breaks::last_change; }
SLEUTH_API int sleuth_break_take_stop() { return breaks::take_stop(); }

// Judges a tensor by these conditions without recording it.
SLEUTH_API void sleuth_break_judge(uint64_t asked, const TensorView* tensor, const Where* where) {
  asked &= breaks::active.load();
  if (!asked) return;
  Health health;
  int close = breaks::needed(asked);
  if (close >= kCurt) look(tensor->data, tensor->elements, tensor->dtype, close, &health);
  breaks::judge(asked, health, *tensor, *where);
}

// For tests: returns whether condition `number` holds.
SLEUTH_API int sleuth_break_holds(int number, const TensorView* tensor, const Where* where, const Health* health) {
  return breaks::holds(*breaks::conditions[number].load(), breaks::Seen{*health, *tensor, *where});
}
}
