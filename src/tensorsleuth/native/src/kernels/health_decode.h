// Decoders turn each dtype into numbers that the kernel can compare. A decoder makes one Value of the bytes at `p`.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace sleuth {

const float* float8_values(int tf_dtype);  // the value of each of the 256 bytes

template <class To>
inline To read(const void* p) {
  To value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
struct Plain {  // stored in a machine type: no decoding
  using Value = T;
  static constexpr size_t kBytes = sizeof(T);
};

struct Bool {
  using Value = uint8_t;
  static constexpr size_t kBytes = 1;
  Value operator()(const char* p) const { return *p != 0; }
};

struct Brain {  // bfloat16: the upper half of a float
  using Value = float;
  static constexpr size_t kBytes = 2;
  Value operator()(const char* p) const {
    uint32_t bits = uint32_t{read<uint16_t>(p)} << 16;
    return read<float>(&bits);
  }
};

struct Half {  // the product moves the exponent's bias from 15 to 127, and makes subnormals normal
  using Value = float;
  static constexpr size_t kBytes = 2;
  Value operator()(const char* p) const {
    uint32_t half = read<uint16_t>(p), shifted = (half & 0x7fff) << 13;
    float moved = read<float>(&shifted) * 0x1p112f;
    uint32_t special = (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    uint32_t bits = read<uint32_t>(&moved) | special | (half & 0x8000) << 16;
    return read<float>(&bits);
  }
};

struct Table {  // any one-byte type
  using Value = float;
  static constexpr size_t kBytes = 1;
  const float* values;
  Value operator()(const char* p) const { return values[read<uint8_t>(p)]; }
};

inline double modulus(float re, float im) {  // double does not overflow, and the products are exact
  double x = re, y = im;
  return std::sqrt(x * x + y * y);
}
inline double modulus(double re, double im) {
  double size = std::hypot(re, im);
  return std::isinf(size) ? std::numeric_limits<double>::max() : size;  // finite parts, but too large to represent
}

struct Signed {
  uint64_t neg = 0;  // finite values below zero; a modulus has no sign
};

template <class Part>
struct Complex : Signed {  // the modulus; or NaN, or the first infinite part
  using Value = double;
  static constexpr size_t kBytes = 2 * sizeof(Part);
  Value operator()(const char* p) {
    Part re = read<Part>(p), im = read<Part>(p + sizeof(Part));
    if (std::isnan(re) || std::isnan(im)) return std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(re)) return re;
    if (std::isinf(im)) return im;
    neg += re < 0;
    return modulus(re, im);
  }
};

template <class Decode>
struct Scaled {  // by a power of two, to keep squares in range
  using Value = double;
  static constexpr size_t kBytes = Decode::kBytes;
  Decode decode;
  double by;
  Value operator()(const char* p) { return decode(p) * by; }
};
template <>
inline double Scaled<Plain<double>>::operator()(const char* p) {
  return read<double>(p) * by;
}

// The bits of types that are a sign, an exponent and a mantissa, and of which no finite value is decoded to another.
template <class Decode>
struct FloatBits {
  using type = void;
  static constexpr size_t kSize = 0;
};
template <class Bits, Bits infinity>
struct OrderedBits {
  using type = Bits;
  static constexpr size_t kSize = sizeof(Bits);
  static constexpr Bits kInfinity = infinity;
};
template <>
struct FloatBits<Plain<float>> : OrderedBits<uint32_t, 0x7f800000> {};
template <>
struct FloatBits<Plain<double>> : OrderedBits<uint64_t, 0x7ff0000000000000> {};
template <>
struct FloatBits<Brain> : OrderedBits<uint16_t, 0x7f80> {};
template <>
struct FloatBits<Half> : OrderedBits<uint16_t, 0x7c00> {};

template <class Decode, class Bits>
inline double decode_bits(const Decode& decode, Bits bits) {
  return decode(reinterpret_cast<const char*>(&bits));
}
template <class T, class Bits>
inline double decode_bits(const Plain<T>&, Bits bits) {
  return read<T>(&bits);
}

}  // namespace sleuth
