/* SPDX-License-Identifier: Apache-2.0
 *
 * Small helpers of all tests.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

/* The folder of the public test images, from the environment variable TOMOSTAGE_DATA, or NULL. */
const char *ts_test_data(void);
/* Ends the calling Criterion test as skipped, with the reason on stderr, where the data is absent. */
#define SKIP_WITHOUT_DATA(name)                                                                                        \
    do {                                                                                                               \
        if (!ts_test_data()) {                                                                                         \
            fprintf(stderr, "SKIPPED %s: TOMOSTAGE_DATA is not set\n", name);                                          \
            cr_skip_test("TOMOSTAGE_DATA is not set");                                                                 \
        }                                                                                                              \
    } while (0)

/* splitmix64: the same numbers on every machine. */
uint64_t ts_random_next(uint64_t *state);
double ts_random_unit(uint64_t *state); /* [0, 1) */

#endif
