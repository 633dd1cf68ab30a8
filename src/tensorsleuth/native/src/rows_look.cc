// Looks at data row by row: the health of each, and a hash that tells rows apart. Needs no TensorFlow, so that
// `sleuth data check` starts at once: build.py links this and health*.cc into a library of their own.
#include <cstring>

#include "health.h"

namespace sleuth {
namespace {

constexpr uint64_t kOne = 0x9e3779b97f4a7c15, kTwo = 0xd1b54a32d192ed03, kThree = 0x8cb92ba72f3d8dd7;

inline uint64_t word(const char* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Both halves of the product: every bit of it depends on every bit of a and b.
inline uint64_t mix(uint64_t a, uint64_t b) {
  __uint128_t product = __uint128_t(a) * b;
  return uint64_t(product) ^ uint64_t(product >> 64);
}

// Three chains hide the latency of a product.
uint64_t hash(const char* p, uint64_t bytes, uint64_t seed) {
  uint64_t a = seed ^ kOne, b = seed ^ kTwo, c = seed ^ kThree, left = bytes;
  for (; left >= 48; p += 48, left -= 48) {
    a = mix(word(p) ^ kOne, word(p + 8) ^ a);
    b = mix(word(p + 16) ^ kTwo, word(p + 24) ^ b);
    c = mix(word(p + 32) ^ kThree, word(p + 40) ^ c);
  }
  for (; left >= 8; p += 8, left -= 8) a = mix(word(p) ^ kTwo, a ^ kThree);  // not kOne, which would cancel out where nothing was mixed in
  char rest[8] = {};
  std::memcpy(rest, p, left);
  b = mix(word(rest) ^ kThree, b ^ kOne);
  return mix(mix(a ^ kTwo, b ^ kThree) ^ bytes, c ^ kOne);
}

// CRC-32C, as TFRecord files have it: the polynomial of Castagnoli, bit-reversed.
struct Table {
  uint32_t of[256];
  Table() {
    for (uint32_t i = 0; i < 256; ++i) {
      of[i] = i;
      for (int bit = 0; bit < 8; ++bit) of[i] = of[i] >> 1 ^ (of[i] & 1 ? 0x82f63b78u : 0);
    }
  }
};

uint32_t crc_by_table(const unsigned char* p, uint64_t bytes) {
  static const Table table;
  uint32_t crc = ~0u;
  for (uint64_t i = 0; i < bytes; ++i) crc = crc >> 8 ^ table.of[(crc ^ p[i]) & 255];
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc_by_instruction(const unsigned char* p, uint64_t bytes) {
  uint64_t crc = ~0u;
  for (; bytes >= 8; p += 8, bytes -= 8) crc = __builtin_ia32_crc32di(crc, word(reinterpret_cast<const char*>(p)));
  for (; bytes; ++p, --bytes) crc = __builtin_ia32_crc32qi(uint32_t(crc), *p);
  return ~uint32_t(crc);
}
#endif

}  // namespace
}  // namespace sleuth

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

// `out` has a place for each row.
SLEUTH_API void sleuth_look_rows(const char* data, uint64_t rows, uint64_t elements, uint64_t bytes, int tf_dtype, int look,
                                 sleuth::Health* out) {
  for (uint64_t i = 0; i < rows; ++i) sleuth::look(data + i * bytes, elements, tf_dtype, look, out + i);
}

// `hashes` begins with the hash of what else belongs to each row, or 0.
SLEUTH_API void sleuth_hash_rows(const char* data, uint64_t rows, uint64_t bytes, uint64_t* hashes) {
  for (uint64_t i = 0; i < rows; ++i) hashes[i] = sleuth::hash(data + i * bytes, bytes, hashes[i]);
}

SLEUTH_API uint32_t sleuth_crc32c(const unsigned char* data, uint64_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return sleuth::crc_by_instruction(data, bytes);
#endif
  return sleuth::crc_by_table(data, bytes);
}
}
