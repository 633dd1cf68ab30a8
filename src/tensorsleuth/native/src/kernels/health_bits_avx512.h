// The sweeps of health_bits.h with AVX-512. Its comparisons give bit masks, which the scalar units count. Its masked
// loads read what does not fill a vector.
#include <immintrin.h>

namespace sleuth::SLEUTH_ISA {

template <size_t Bytes>
struct Lane;  // the instructions for integers of that size

template <>
struct Lane<2> {
  using Mask = __mmask32;
  SLEUTH_TARGET static inline __m512i load(__m512i other, Mask some, const char* p) {
    return _mm512_mask_loadu_epi16(other, some, p);
  }
  SLEUTH_TARGET static inline Mask above(__m512i a, __m512i b) { return _mm512_cmpgt_epi16_mask(a, b); }
  SLEUTH_TARGET static inline Mask above_unsigned(__m512i a, __m512i b) { return _mm512_cmpgt_epu16_mask(a, b); }
};

template <>
struct Lane<4> {
  using Mask = __mmask16;
  SLEUTH_TARGET static inline __m512i load(__m512i other, Mask some, const char* p) {
    return _mm512_mask_loadu_epi32(other, some, p);
  }
  SLEUTH_TARGET static inline Mask above(__m512i a, __m512i b) { return _mm512_cmpgt_epi32_mask(a, b); }
  SLEUTH_TARGET static inline Mask above_unsigned(__m512i a, __m512i b) { return _mm512_cmpgt_epu32_mask(a, b); }
};

template <>
struct Lane<8> {
  using Mask = __mmask8;
  SLEUTH_TARGET static inline __m512i load(__m512i other, Mask some, const char* p) {
    return _mm512_mask_loadu_epi64(other, some, p);
  }
  SLEUTH_TARGET static inline Mask above(__m512i a, __m512i b) { return _mm512_cmpgt_epi64_mask(a, b); }
  SLEUTH_TARGET static inline Mask above_unsigned(__m512i a, __m512i b) { return _mm512_cmpgt_epu64_mask(a, b); }
};

template <class U>
constexpr size_t kPerVector = 64 / sizeof(U);

constexpr size_t kAhead = 2048;  // bytes to fetch ahead: a tenth faster than the processor's own choice, from L3

template <bool counts, class U>
struct MaskLanes {
  using L = Lane<sizeof(U)>;
  using Mask = typename L::Mask;
  using S = std::make_signed_t<U>;
  using V = Vec<U, 64>;
  using Signed = Vec<S, 64>;
  static constexpr size_t kChains = 4;  // hide the latency of a maximum

  Signed high[kChains];
  V low[kChains] = {};
  uint64_t neg = 0, pos = 0;

  SLEUTH_TARGET inline MaskLanes() {
    for (size_t c = 0; c < kChains; ++c) high[c] = Signed{} + S(kSign<U>);
  }

  SLEUTH_TARGET inline void add(const char* p, size_t chain) {
    V x;
    std::memcpy(&x, p, sizeof x);
    take(x, chain, Mask(~Mask{}));
  }

  // Fills the vector with a float that is there, which changes no maximum.
  SLEUTH_TARGET inline void add_some(const char* p, size_t n) {
    Mask some = Mask((1u << n) - 1);
    take((V)L::load((__m512i)(V{} + read<U>(p)), some, p), 0, some);
  }

  SLEUTH_TARGET inline void take(const V& x, size_t chain, Mask counted) {
    high[chain] = (Signed)x > high[chain] ? (Signed)x : high[chain];
    low[chain] = x > low[chain] ? x : low[chain];
    if constexpr (counts) {
      pos += uint64_t(__builtin_popcount(counted & L::above((__m512i)x, __m512i{})));
      neg += uint64_t(__builtin_popcount(counted & L::above_unsigned((__m512i)x, (__m512i)(V{} + kSign<U>))));
    }
  }

  SLEUTH_TARGET inline BitsFound<U> found() const {
    BitsFound<U> all;
    all.neg = neg, all.pos = pos;
    Signed highest = high[0];
    V lowest = low[0];
    for (size_t c = 1; c < kChains; ++c) {
      highest = high[c] > highest ? high[c] : highest;
      lowest = low[c] > lowest ? low[c] : lowest;
    }
    for (size_t i = 0; i < kPerVector<U>; ++i) {
      all.high = U(std::max(S(all.high), highest[i]));
      all.low = std::max(all.low, lowest[i]);
    }
    return all;
  }
};

template <bool counts, class U>
SLEUTH_TARGET BitsFound<U> sweep_bits(const char* p, size_t n) {
  using Lanes = MaskLanes<counts, U>;
  constexpr size_t kStep = Lanes::kChains * kPerVector<U>;
  Lanes lanes;
  // A load across two cache lines costs two, so the first one ends where a line does.
  size_t head = uintptr_t(p) % sizeof(U) ? 0 : (64 - uintptr_t(p) % 64) % 64 / sizeof(U);
  if (head && n >= kStep) lanes.add_some(p, head), n -= head, p += head * sizeof(U);
  for (; n >= kStep; n -= kStep, p += kStep * sizeof(U))
    for (size_t c = 0; c < Lanes::kChains; ++c) {
      __builtin_prefetch(p + c * 64 + kAhead);
      lanes.add(p + c * 64, c);
    }
  for (size_t c = 0; n >= kPerVector<U>; n -= kPerVector<U>, p += 64, ++c) lanes.add(p, c);
  if (n) lanes.add_some(p, n);
  return lanes.found();
}

}  // namespace sleuth::SLEUTH_ISA
