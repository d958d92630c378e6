/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/device/launch.cuh"

#include <stdlib.h>

extern "C" {
#include "tests/support/device_reset.h"
}

static void reset(void)
{
    cudaDeviceReset();
}

void ts_test_reset_device_at_exit(void)
{
    static bool asked;
    if (!asked)
        atexit(reset);
    asked = true;
}
