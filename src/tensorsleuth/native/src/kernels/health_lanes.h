// The state in vector registers during the sweep over a block. Compiled once for each instruction set, see
// health_look.h.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/health_decode.h"

namespace sleuth::SLEUTH_ISA {

enum Depth { kMark, kHealthy, kSick };  // detect anything odd; count a healthy block; count any block

template <class T, class Limits = std::numeric_limits<T>>
constexpr T kHighest = std::is_integral_v<T> ? Limits::max() : Limits::infinity();
template <class T, class Limits = std::numeric_limits<T>>
constexpr T kLowest = std::is_integral_v<T> ? Limits::lowest() : -Limits::infinity();

template <class T>
struct Found {  // results for one block
  T min = kHighest<T>, max = kLowest<T>;
  uint64_t neg_inf = 0, pos_inf = 0, nan = 0, neg = 0, pos = 0;
  double sum = 0;      // kMark and kHealthy: approximate
  bool rough = false;  // whether `sum` is valid
  bool odd = false;    // and is not finite: the block has a NaN or infinity, or the sum overflowed
  uint64_t bad() const { return neg_inf + pos_inf + nan; }
};

template <class T, size_t Bytes>
struct Vector {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, size_t Bytes>
using Vec = typename Vector<T, Bytes>::type;

template <class Mask>
SLEUTH_TARGET inline uint64_t total(const Mask& mask) {
  int64_t sum = 0;
  for (size_t i = 0; i < sizeof mask / sizeof mask[0]; ++i) sum -= mask[i];
  return sum;
}

template <Depth depth, class T, size_t Bytes>
struct Lanes {
  using V = Vec<T, Bytes>;
  using Mask = decltype(V{} < V{});  // -1 where true: a sum of masks counts downwards

  V low = V{} + kHighest<T>, high = V{} + kLowest<T>, sum = {};
  Mask neg = {}, pos = {}, nan = {}, pos_inf = {}, neg_inf = {};

  SLEUTH_TARGET inline void add(const char* p) {
    V x;
    std::memcpy(&x, p, sizeof x);
    if constexpr (depth == kSick) return add_sick(x);
    if constexpr (std::is_floating_point_v<T>) sum += x;
    if constexpr (depth == kHealthy) {
      low = x < low ? x : low;
      high = x > high ? x : high;
      neg += x < 0;
      pos += positive(x);
    }
  }

  // Unless a float is NaN, its bits have its sign. Comparing them as integers keeps the float units free.
  SLEUTH_TARGET static inline Mask positive(const V& x) {
    if constexpr (std::is_floating_point_v<T>) return (Mask)x > 0;
    else return x > 0;
  }

  SLEUTH_TARGET inline void add_sick(const V& x) {
    Mask above = x > kLowest<T>, below = x < kHighest<T>;
    low = (above & (x < low)) ? x : low;
    high = (below & (x > high)) ? x : high;
    neg += above & (x < 0);
    pos += below & (x > 0);
    nan += x != x;
    pos_inf += x == kHighest<T>;
    neg_inf += x == kLowest<T>;
  }

  SLEUTH_TARGET inline void add(const Lanes& other) {
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
    sum += other.sum;
    neg += other.neg, pos += other.pos, nan += other.nan, pos_inf += other.pos_inf, neg_inf += other.neg_inf;
  }

  SLEUTH_TARGET inline void give(Found<T>& found) const {
    found.neg += total(neg), found.pos += total(pos);
    if constexpr (depth == kSick)
      found.nan += total(nan), found.pos_inf += total(pos_inf), found.neg_inf += total(neg_inf);
    for (size_t i = 0; i < Bytes / sizeof(T); ++i) {
      found.min = std::min<T>(found.min, low[i]);
      found.max = std::max<T>(found.max, high[i]);
      found.odd |= sum[i] - sum[i] != 0;  // NaN if it is not finite
      found.sum += sum[i];
      found.rough = depth == kHealthy && !found.odd;
    }
  }
};

}  // namespace sleuth::SLEUTH_ISA
