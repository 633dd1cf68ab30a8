// Summarises data row by row: the health of each row, and a hash that distinguishes rows. Needs no TensorFlow, so that
// `sleuth data check` starts at once. build.py links this and health*.cc into a separate library.
#include "kernels/health.h"
#include "kernels/processor.h"
#include "kernels/row_hash.h"

namespace sleuth {
namespace {

// CRC-32C, as in TFRecord files: the Castagnoli polynomial, bit-reversed.
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
#if defined(__clang__)
#define SLEUTH_CRC_TARGET __attribute__((target("crc32")))  // GCC 11 does not know it
#else
#define SLEUTH_CRC_TARGET __attribute__((target("sse4.2")))
#endif
SLEUTH_CRC_TARGET uint32_t crc_by_instruction(const unsigned char* p, uint64_t bytes) {
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

// `out` has one element for each row.
SLEUTH_API void sleuth_look_rows(const char* data, uint64_t rows, uint64_t elements, uint64_t bytes, int tf_dtype,
                                 int look, sleuth::Health* out) {
  for (uint64_t i = 0; i < rows; ++i) sleuth::look(data + i * bytes, elements, tf_dtype, look, out + i);
}

// On entry, `hashes` has the hash of the row's other parts, or 0.
SLEUTH_API void sleuth_hash_rows(const char* data, uint64_t rows, uint64_t bytes, uint64_t* hashes) {
  for (uint64_t i = 0; i < rows; ++i) hashes[i] = sleuth::hash(data + i * bytes, bytes, hashes[i]);
}

SLEUTH_API uint32_t sleuth_crc32c(const unsigned char* data, uint64_t bytes) {
#if defined(__x86_64__)
  static const bool crc32 = sleuth::has_crc32();  // the query is slow
  if (crc32) return sleuth::crc_by_instruction(data, bytes);
#endif
  return sleuth::crc_by_table(data, bytes);
}
}
