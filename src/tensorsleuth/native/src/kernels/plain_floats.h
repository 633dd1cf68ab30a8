// TensorFlow's threads flush subnormals to zero, and a user may trap on NaN. This turns both off while a kernel runs.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sleuth {

struct [[maybe_unused]] PlainFloats {
#if defined(__x86_64__)
  unsigned before = _mm_getcsr();
  PlainFloats() { _mm_setcsr(0x1f80); }
  ~PlainFloats() { _mm_setcsr(before); }
#elif defined(__aarch64__)
  uint64_t before;
  PlainFloats() { asm volatile("mrs %0, fpcr\n\tmsr fpcr, xzr" : "=&r"(before)); }
  ~PlainFloats() { asm volatile("msr fpcr, %0" : : "r"(before)); }
#endif
};

}  // namespace sleuth
