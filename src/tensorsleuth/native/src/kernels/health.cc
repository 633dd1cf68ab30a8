#include "kernels/health.h"

#include "kernels/plain_floats.h"
#include "kernels/processor.h"

namespace sleuth {

namespace portable {
void look_at(const char* data, int tf_dtype, int look, Health& all);
}
namespace avx2 {
void look_at(const char* data, int tf_dtype, int look, Health& all);
}
namespace avx512 {
void look_at(const char* data, int tf_dtype, int look, Health& all);
}

int best_isa() {
#if defined(__x86_64__)
  static const Isa best = !has_avx2_and_fma() ? kPortable : has_avx512() ? kAvx512 : kAvx2;
  return best;
#else
  return kPortable;
#endif
}

void look_with([[maybe_unused]] int isa, const void* data, uint64_t n, int tf_dtype, int look, Health* out) {
  *out = Health{};
  out->elements = n;
  if (look < kCurt) return;
  PlainFloats plain;
#if defined(__x86_64__)
  if (isa == kAvx512) return avx512::look_at(static_cast<const char*>(data), tf_dtype, look, *out);
  if (isa == kAvx2) return avx2::look_at(static_cast<const char*>(data), tf_dtype, look, *out);
#endif
  portable::look_at(static_cast<const char*>(data), tf_dtype, look, *out);
}

void look(const void* data, uint64_t n, int tf_dtype, int look, Health* out) {
  look_with(best_isa(), data, n, tf_dtype, look, out);
}

}  // namespace sleuth

#define SLEUTH_DOOR __attribute__((visibility("default")))

SLEUTH_DOOR void sleuth_health(const void* data, uint64_t n, int tf_dtype, int look, int isa, sleuth::Health* out) {
  sleuth::look_with(isa < 0 ? sleuth::best_isa() : isa, data, n, tf_dtype, look, out);
}

SLEUTH_DOOR int sleuth_isa() { return sleuth::best_isa(); }
