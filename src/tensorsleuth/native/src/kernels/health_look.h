// The kernel, written once with the compiler's vector types and compiled once for each instruction set. The including
// file sets SLEUTH_ISA (a namespace), SLEUTH_TARGET (an attribute) and SLEUTH_WIDTH (bytes).
//
// The kernel reads a tensor in blocks that fit into L1. A healthy block, the common case, takes one cheap sweep. A
// block in which this sweep finds something odd gets a second, exact sweep. For floats of the common types, the cheap
// sweep is one over their bits, in longer spans (health_bits.h).
#include "kernels/health.h"
#include "kernels/health_bits.h"

namespace sleuth::SLEUTH_ISA {

template <class T>  // half of L1; for bytes, at most what a lane can count
constexpr uint64_t kBlock = sizeof(T) == 1 ? 2048 : 16384 / sizeof(T);
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kNoBad = Health{}.first_bad;

template <class Decode>
SLEUTH_TARGET const char* block(Decode& decode, const char* p, size_t n, typename Decode::Value* scratch) {
  if constexpr (std::is_same_v<Decode, Plain<typename Decode::Value>>) return p;
  else
    for (size_t i = 0; i < n; ++i) scratch[i] = decode(p + i * Decode::kBytes);
  return reinterpret_cast<const char*>(scratch);
}

template <class Decode>
SLEUTH_TARGET Moments gather(Decode& decode, const char* data, int look, Health& all) {
  using T = typename Decode::Value;
  T scratch[kBlock<T>];
  Moments moments;
  for (uint64_t start = 0; start < all.elements; start += kBlock<T>) {
    size_t length = std::min(kBlock<T>, all.elements - start);
    const char* p = block(decode, data + start * Decode::kBytes, length, scratch);
    Found<T> found = look < kFull ? sweep<kMark, T>(p, length) : sweep<kHealthy, T>(p, length);
    if (found.odd) {
      found = sweep<kSick, T>(p, length);
      if (found.bad()) all.first_bad = std::min(all.first_bad, start + first_odd<T>(p));
      if (look == kCurt && found.bad()) break;
      if (look > kCurt) all.neg_inf += found.neg_inf, all.pos_inf += found.pos_inf, all.nan += found.nan;
    }
    if (look < kFull) continue;
    all.neg += found.neg, all.pos += found.pos;
    all.min = std::min<double>(all.min, found.min), all.max = std::max<double>(all.max, found.max);
    if (look >= kNumerics) add_moments(p, length, found, moments);
  }
  return moments;
}

// As `gather` without moments, and faster if all floats are finite.
template <class Decode>
SLEUTH_TARGET void gather_bits(Decode decode, const char* data, int look, Health& all) {
  constexpr uint64_t kFloats = kSpan / Decode::kBytes;
  for (uint64_t start = 0; start < all.elements; start += kFloats) {
    uint64_t length = std::min(kFloats, all.elements - start);
    const char* p = data + start * Decode::kBytes;
    if (look < kFull ? is_finite(decode, p, length) : add_if_finite(decode, p, length, all)) continue;
    Health span;
    span.elements = length, span.min = kHighest<double>, span.max = kLowest<double>;
    gather(decode, p, look, span);
    all.neg_inf += span.neg_inf, all.pos_inf += span.pos_inf, all.nan += span.nan;
    all.neg += span.neg, all.pos += span.pos;
    all.min = std::min(all.min, span.min), all.max = std::max(all.max, span.max);
    if (all.first_bad == kNoBad) all.first_bad = start + span.first_bad;
    if (look == kCurt) break;
  }
}

// Squares of doubles above 2^400 or below 2^-400 may leave the range of doubles, so they are computed again, scaled.
template <class Decode>
SLEUTH_TARGET void finish_moments(Decode decode, const char* data, Moments moments, Health& all) {
  double peak = std::max(std::fabs(all.min), std::fabs(all.max)), scale = 1;
  if constexpr (std::is_same_v<typename Decode::Value, double>) {
    if (peak > 0 && !(peak > 0x1p-400 && peak < 0x1p400)) {
      scale = std::ldexp(1, std::clamp(-std::ilogb(peak), -1000, 1000));
      Scaled<Decode> scaled{decode, scale};
      Health again = all;
      moments = gather(scaled, data, kNumerics, again);
    }
  }
  all.mean = std::clamp(moments.mean / scale, all.min, all.max);
  all.std = std::sqrt(moments.squares / moments.count) / scale;
}

template <class Decode>
SLEUTH_TARGET void look_as(Decode decode, const char* data, int look, Health& all) {
  if (look < kFull) {
    if constexpr (kSweepsBits<Decode> && Decode::kBytes == 2) gather_bits(decode, data, look, all);
    else if constexpr (std::is_floating_point_v<typename Decode::Value>) gather(decode, data, look, all);
    return;
  }
  all.min = kHighest<double>, all.max = kLowest<double>;
  Moments moments;
  if constexpr (kSweepsBits<Decode>) {
    if (look == kFull) gather_bits(decode, data, look, all);
    else moments = gather(decode, data, look, all);
  } else {
    moments = gather(decode, data, look, all);
  }
  uint64_t finite = all.elements - all.neg_inf - all.pos_inf - all.nan;
  if constexpr (std::is_base_of_v<Signed, Decode>) all.neg = decode.neg, all.pos -= decode.neg;
  all.zero = finite - all.neg - all.pos;
  if (finite && look >= kNumerics) finish_moments(decode, data, moments, all);
  if (!finite) all.min = all.max = kNone;
  all.min += 0.0, all.max += 0.0;  // not -0: which of the zeros came first depends on the width of a vector
  if (!finite && look >= kNumerics) all.mean = all.std = kNone;
}

SLEUTH_TARGET __attribute__((noinline)) void look_at(const char* data, int tf_dtype, int look, Health& all) {
  switch (tf_dtype) {  // TensorFlow's DataType numbers; core/dtypes.py names them
    case 1: return look_as(Plain<float>{}, data, look, all);
    case 2: return look_as(Plain<double>{}, data, look, all);
    case 3:
    case 13: return look_as(Plain<int32_t>{}, data, look, all);
    case 4:
    case 12: return look_as(Plain<uint8_t>{}, data, look, all);
    case 5:
    case 15: return look_as(Plain<int16_t>{}, data, look, all);
    case 6:
    case 11: return look_as(Plain<int8_t>{}, data, look, all);
    case 8: return look_as(Complex<float>{}, data, look, all);
    case 9: return look_as(Plain<int64_t>{}, data, look, all);
    case 10: return look_as(Bool{}, data, look, all);
    case 14: return look_as(Brain{}, data, look, all);
    case 16:
    case 17: return look_as(Plain<uint16_t>{}, data, look, all);
    case 18: return look_as(Complex<double>{}, data, look, all);
    case 19: return look_as(Half{}, data, look, all);
    case 22: return look_as(Plain<uint32_t>{}, data, look, all);
    case 23: return look_as(Plain<uint64_t>{}, data, look, all);
    case 24:
    case 25:
    case 26:
    case 27:
    case 28: return look_as(Table{float8_values(tf_dtype)}, data, look, all);
  }
}

}  // namespace sleuth::SLEUTH_ISA
