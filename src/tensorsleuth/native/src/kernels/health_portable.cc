#define SLEUTH_ISA portable
#define SLEUTH_TARGET
#define SLEUTH_WIDTH 16
#if defined(__aarch64__)
#define SLEUTH_MAX_BYTES 4
#else
#define SLEUTH_MAX_BYTES 2
#endif
#include "kernels/health_look.h"
