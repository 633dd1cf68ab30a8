// A 64-bit hash that distinguishes rows of data, for `sleuth data check` and for the rows that a model gets.
#pragma once
#include <cstdint>
#include <cstring>

namespace sleuth {

constexpr uint64_t kOne = 0x9e3779b97f4a7c15, kTwo = 0xd1b54a32d192ed03, kThree = 0x8cb92ba72f3d8dd7;

inline uint64_t word(const char* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Both halves of the product, so that every bit depends on every bit of a and b.
inline uint64_t mix(uint64_t a, uint64_t b) {
  __uint128_t product = __uint128_t(a) * b;
  return uint64_t(product) ^ uint64_t(product >> 64);
}

// Three independent chains hide the latency of a multiplication.
struct RowHash {
  uint64_t a, b, c;
  explicit RowHash(uint64_t seed) : a(seed ^ kOne), b(seed ^ kTwo), c(seed ^ kThree) {}

  // Consumes all blocks of 48 bytes and returns where it stopped.
  const char* eat(const char* p, const char* end) {
    for (; end - p >= 48; p += 48) {
      a = mix(word(p) ^ kOne, word(p + 8) ^ a);
      b = mix(word(p + 16) ^ kTwo, word(p + 24) ^ b);
      c = mix(word(p + 32) ^ kThree, word(p + 40) ^ c);
    }
    return p;
  }

  // Adds the bytes after the last block; `bytes` is the total. The chains stay unchanged, so the caller may add more.
  uint64_t end(const char* p, const char* end, uint64_t bytes) const {
    uint64_t x = a;
    // Not kOne, which would cancel out if nothing was mixed in.
    for (; end - p >= 8; p += 8) x = mix(word(p) ^ kTwo, x ^ kThree);
    char rest[8] = {};
    for (int i = 0; p < end; ++p, ++i) rest[i] = *p;
    uint64_t y = mix(word(rest) ^ kThree, b ^ kOne);
    return mix(mix(x ^ kTwo, y ^ kThree) ^ bytes, c ^ kOne);
  }
};

inline uint64_t hash(const char* p, uint64_t bytes, uint64_t seed) {
  RowHash row(seed);
  return row.end(row.eat(p, p + bytes), p + bytes, bytes);
}

}  // namespace sleuth
