// Queries the processor's features directly. __builtin_cpu_supports needs a table in the compiler's runtime library,
// and the compiler of our wheels (tools/wheels.py) does not have it.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

namespace sleuth {

// Returns whether the operating system saves these registers, as bits of XCR0, when it switches threads.
inline bool system_saves(unsigned registers) {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & registers) == registers;
}

constexpr unsigned kAvxRegisters = 0x06, kAvx512Registers = 0xe6;

inline bool has_avx2_and_fma() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned needed = bit_OSXSAVE | bit_AVX | bit_FMA;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & needed) != needed || !system_saves(kAvxRegisters)) return false;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_AVX2);
}

// Of a processor that has AVX2: the parts that the kernels use, those of every server processor with AVX-512.
inline bool has_avx512() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned needed = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  if (!system_saves(kAvx512Registers) || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  return (ebx & needed) == needed;
}

inline bool has_crc32() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_2);
}

}  // namespace sleuth
#endif
