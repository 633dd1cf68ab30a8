#define SLEUTH_ISA portable
#define SLEUTH_TARGET
#define SLEUTH_WIDTH 16
#include "kernels/health_look.h"
