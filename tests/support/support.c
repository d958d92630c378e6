/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/support.h"

#include <stdlib.h>

const char *ts_test_data(void)
{
    const char *folder = getenv("TOMOSTAGE_DATA");
    return folder && *folder ? folder : NULL;
}

uint64_t ts_random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double ts_random_unit(uint64_t *state)
{
    return (double)(ts_random_next(state) >> 11) * 0x1p-53;
}
