// TensorFlow's strings, in the layout of the C ABI (tensorflow/core/platform/ctstring_internal.h): 24 bytes, of which
// the lowest two bits say where the text is.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sleuth {

constexpr int kStringDtype = 7;
constexpr uint64_t kStringBytes = 24;

inline std::string_view text_of(const void* tstring) {
  const char* bytes = static_cast<const char*>(tstring);
  uint64_t words[3];
  uint32_t halves[2];
  std::memcpy(words, bytes, sizeof words);
  std::memcpy(halves, bytes, sizeof halves);
  switch (bytes[0] & 3) {
    case 0: return {bytes + 1, size_t(uint8_t(bytes[0]) >> 2)};                        // small: inline
    case 1: return {reinterpret_cast<const char*>(words[2]), size_t(words[0] >> 2)};   // large: size, capacity, pointer
    case 2: return {bytes + halves[1], size_t(halves[0] >> 2)};                        // at an offset from here
    default: return {reinterpret_cast<const char*>(words[1]), size_t(words[0] >> 2)};  // a view: size, pointer
  }
}

}  // namespace sleuth
