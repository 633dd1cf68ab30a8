// The values of the 256 bytes of each float8 type.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/health_decode.h"

namespace sleuth {
namespace {

struct Format {  // one sign bit, and an exponent and mantissa of these widths
  int mantissa, bias;
  enum { kIeee, kOneNan, kNanIsMinusZero } specials;
};

constexpr Format kFormats[] = {
    {2, 15, Format::kIeee},            // e5m2, TensorFlow's type 24
    {3, 7, Format::kOneNan},           // e4m3fn
    {3, 8, Format::kNanIsMinusZero},   // e4m3fnuz
    {3, 11, Format::kNanIsMinusZero},  // e4m3b11fnuz
    {2, 16, Format::kNanIsMinusZero},  // e5m2fnuz
};

float finite(const Format& format, int byte) {
  int exponent = (byte & 0x7f) >> format.mantissa, fraction = byte & ((1 << format.mantissa) - 1);
  if (exponent) fraction += 1 << format.mantissa;
  float size = std::ldexp(float(fraction), std::max(exponent, 1) - format.bias - format.mantissa);
  return byte & 0x80 ? -size : size;
}

float value(const Format& format, int byte) {
  int size = byte & 0x7f, infinity = 0x80 - (1 << format.mantissa);
  if (format.specials == Format::kNanIsMinusZero && byte == 0x80) return NAN;
  if (format.specials == Format::kOneNan && size == 0x7f) return NAN;
  if (format.specials != Format::kIeee || size < infinity) return finite(format, byte);
  return size > infinity ? NAN : byte & 0x80 ? -INFINITY : INFINITY;
}

using Tables = std::array<std::array<float, 256>, std::size(kFormats)>;

Tables make_tables() {
  Tables tables;
  for (size_t f = 0; f < tables.size(); ++f)
    for (int byte = 0; byte < 256; ++byte) tables[f][byte] = value(kFormats[f], byte);
  return tables;
}

}  // namespace

const float* float8_values(int tf_dtype) {
  static const Tables tables = make_tables();
  return tables[tf_dtype - 24].data();
}

}  // namespace sleuth
