// The sweep over floats that are expected to be finite: on their bits, as integers. Compiled once for each instruction
// set, see health_look.h.
//
// A float is a sign and a magnitude, and magnitudes are in the order of their bits. So the largest signed integer is the
// largest float that has no sign. With the sign bit flipped, it is the most negative float. A NaN or an infinity is
// larger than all finite floats of its sign, so these two maxima also tell whether there is one.
#include "kernels/health_sweep.h"

namespace sleuth::SLEUTH_ISA {

template <class Decode>
using BitsOf = typename FloatBits<Decode>::type;

// Whether this instruction set has a maximum of integers of that size.
template <class Decode>
constexpr bool kSweepsBits = !std::is_void_v<BitsOf<Decode>> && FloatBits<Decode>::kSize <= SLEUTH_MAX_BYTES;

// More than a block: in the middle of this much, a sweep pays once for the maximum over its lanes. It fits into L1, and
// a lane of 16 bits can count it.
constexpr size_t kSpan = 32768;

template <class U>
constexpr U kSign = U(U{1} << (8 * sizeof(U) - 1));

template <class U>
struct BitsFound {
  // The bits of the largest float without a sign, and of the most negative one. As long as there is none: of -0, +0.
  U high = kSign<U>, low = 0;
  uint64_t neg = 0, pos = 0;

  bool has_plain() const { return !(high & kSign<U>); }
  bool has_signed() const { return low & kSign<U>; }
  bool all_below(U infinity) const { return (!has_plain() || high < infinity) && U(low & ~kSign<U>) < infinity; }
};

template <bool counts, class U, size_t Bytes>
struct BitLanes {
  using S = std::make_signed_t<U>;
  using V = Vec<S, Bytes>;
  static constexpr S kLeast = std::numeric_limits<S>::min();

  V high = V{} + kLeast, low = V{} + kLeast, neg = {}, pos = {};

  SLEUTH_TARGET inline void add(const char* p) {
    V x;
    std::memcpy(&x, p, sizeof x);
    V flipped = x ^ kLeast;
    high = x > high ? x : high;
    low = flipped > low ? flipped : low;
    if constexpr (counts) pos -= x > 0, neg -= flipped > 0;
  }

  SLEUTH_TARGET inline void give(BitsFound<U>& found) const {
    for (size_t i = 0; i < Bytes / sizeof(U); ++i) {
      found.high = U(std::max<S>(S(found.high), high[i]));
      found.low = std::max<U>(found.low, U(low[i] ^ kLeast));
      found.neg += uint64_t(neg[i]), found.pos += uint64_t(pos[i]);
    }
  }

  SLEUTH_TARGET inline void add(const BitLanes& other) {
    high = other.high > high ? other.high : high;
    low = other.low > low ? other.low : low;
    neg += other.neg, pos += other.pos;
  }
};

template <bool counts, class U, size_t Bytes>
SLEUTH_TARGET size_t sweep_bits_by(const char* p, size_t n, BitsFound<U>& found) {
  constexpr size_t kLanes = Bytes / sizeof(U);
  if (n < kLanes) return 0;
  BitLanes<counts, U, Bytes> one, two;
  const char *q = p, *end = p + n / kLanes * Bytes;
  for (; q + 4 * Bytes <= end; q += 4 * Bytes)
    one.add(q), two.add(q + Bytes), one.add(q + 2 * Bytes), two.add(q + 3 * Bytes);
  for (; q < end; q += Bytes) one.add(q);
  one.add(two);
  one.give(found);
  return size_t(q - p) / sizeof(U);
}

template <class U, size_t Bytes>
SLEUTH_TARGET size_t smallest_by(const char* p, size_t n, U& least) {
  using S = std::make_signed_t<U>;
  using V = Vec<S, Bytes>;
  constexpr size_t kLanes = Bytes / sizeof(U), kChains = 4;
  if (n < kLanes) return 0;
  V low[kChains];
  for (V& one : low) one = V{} + std::numeric_limits<S>::max();
  size_t i = 0;
  auto take = [&](size_t chain) SLEUTH_TARGET {
    V x;
    std::memcpy(&x, p + i * sizeof(U), sizeof x);
    low[chain] = x < low[chain] ? x : low[chain];
    i += kLanes;
  };
  while (i + kChains * kLanes <= n)
    for (size_t c = 0; c < kChains; ++c) take(c);
  while (i + kLanes <= n) take(0);
  for (size_t c = 1; c < kChains; ++c) low[0] = low[c] < low[0] ? low[c] : low[0];
  for (size_t l = 0; l < kLanes; ++l) least = U(std::min<S>(S(least), low[0][l]));
  return i;
}

#ifdef SLEUTH_AVX512
}  // namespace sleuth::SLEUTH_ISA
#include "kernels/health_bits_avx512.h"
namespace sleuth::SLEUTH_ISA {
#else
template <bool counts, class U>
SLEUTH_TARGET BitsFound<U> sweep_bits(const char* p, size_t n) {
  BitsFound<U> found;
  size_t done = sweep_bits_by<counts, U, SLEUTH_WIDTH>(p, n, found);
  sweep_bits_by<counts, U, sizeof(U)>(p + done * sizeof(U), n - done, found);
  return found;
}

#endif

// The bits nearest to zero, of floats that all have the same sign.
template <class U>
SLEUTH_TARGET U smallest(const char* p, size_t n) {
  U least = U(~kSign<U>);
  size_t done = smallest_by<U, SLEUTH_WIDTH>(p, n, least);
  smallest_by<U, sizeof(U)>(p + done * sizeof(U), n - done, least);
  return least;
}

template <class Decode>
SLEUTH_TARGET bool is_finite(Decode, const char* p, size_t n) {
  return sweep_bits<false, BitsOf<Decode>>(p, n).all_below(FloatBits<Decode>::kInfinity);
}

// Adds a span of floats to `all`. Returns false, and adds nothing, if one of them is NaN or infinite.
template <class Decode>
SLEUTH_TARGET bool add_if_finite(Decode decode, const char* p, size_t n, Health& all) {
  using U = BitsOf<Decode>;
  BitsFound<U> found = sweep_bits<true, U>(p, n);
  if (!found.all_below(FloatBits<Decode>::kInfinity)) return false;
  // If all have one sign, the extreme that is nearer to zero needs another look. But if there is a zero, it is that.
  U max = found.has_plain() ? found.high : found.neg < n ? U{0} : smallest<U>(p, n);
  U min = found.has_signed() ? found.low : found.pos < n ? U{0} : smallest<U>(p, n);
  all.neg += found.neg, all.pos += found.pos;
  all.min = std::min<double>(all.min, decode_bits(decode, min)),
  all.max = std::max<double>(all.max, decode_bits(decode, max));
  return true;
}

}  // namespace sleuth::SLEUTH_ISA
