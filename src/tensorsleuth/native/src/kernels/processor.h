// Queries the processor's features directly. __builtin_cpu_supports needs a table in the compiler's runtime library,
// and the compiler of our wheels (tools/wheels.py) does not have it.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

namespace sleuth {

// Returns whether the operating system saves the wide AVX registers when it switches threads.
inline bool system_saves_avx() {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 6) == 6;
}

inline bool has_avx2_and_fma() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned needed = bit_OSXSAVE | bit_AVX | bit_FMA;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & needed) != needed || !system_saves_avx()) return false;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_AVX2);
}

inline bool has_crc32() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_2);
}

}  // namespace sleuth
#endif
