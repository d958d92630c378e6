/* SPDX-License-Identifier: Apache-2.0
 *
 * Small helpers of all tests.
 */
#ifndef TESTS_SUPPORT_SUPPORT_H
#define TESTS_SUPPORT_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "core/diag.h"
#include "core/image.h"

/* The folder of the public test images, from the environment variable TOMOSTAGE_DATA, or NULL. */
const char *ts_test_data(void);
/* Ends the calling Criterion test as skipped, with the reason on stderr, where the data is
 * absent. */
#define SKIP_WITHOUT_DATA(name)                                                                    \
    do {                                                                                           \
        if (!ts_test_data()) {                                                                     \
            fprintf(stderr, "SKIPPED %s: TOMOSTAGE_DATA is not set\n", name);                      \
            cr_skip_test("TOMOSTAGE_DATA is not set");                                             \
        }                                                                                          \
    } while (0)

/* A file or folder below the tests' folder, "chains/good": of the environment variable
 * TESTS_FOLDER, or of the bundle that this program stands in, or of the source. The text lasts for
 * 15 more calls. */
const char *ts_test_path(const char *relative);
/* The program tomostage: the environment variable TOMOSTAGE_PROGRAM, or the one beside this
 * program, or the built one. */
const char *ts_test_program(void);

/* splitmix64: the same numbers on every machine. */
uint64_t ts_random_next(uint64_t *state);
double ts_random_unit(uint64_t *state); /* [0, 1) */

/* Writes element i of an array of any dtype. Values beyond its range become the lowest or highest
 * one. */
void ts_test_store(void *data, enum ts_dtype dtype, size_t i, double value);

/* Returns the first record of this code; NULL where there is none. */
const struct ts_diag_record *ts_test_record(const struct ts_diag *diag, const char *code);

/* Fails the test where a child of this process is left other than the fork server. */
void ts_test_no_children(void);

#endif
