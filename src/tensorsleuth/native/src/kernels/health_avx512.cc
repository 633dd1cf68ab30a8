#if defined(__x86_64__)
#define SLEUTH_ISA avx512
#define SLEUTH_AVX512
#define SLEUTH_TARGET __attribute__((target("avx2,fma,popcnt,avx512f,avx512bw,avx512dq,avx512vl")))
#define SLEUTH_WIDTH 64
#define SLEUTH_MAX_BYTES 8
#include "kernels/health_look.h"
#endif
