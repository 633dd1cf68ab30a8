#if defined(__x86_64__)
#define SLEUTH_ISA avx2
#define SLEUTH_TARGET __attribute__((target("avx2,fma")))
#define SLEUTH_WIDTH 32
#define SLEUTH_MAX_BYTES 4
#include "kernels/health_look.h"
#endif
