/* SPDX-License-Identifier: Apache-2.0
 *
 * Skips a test and says why. Criterion keeps the reason of cr_skip_test to itself, so that nobody
 * would see which tests a machine leaves out.
 */
#ifndef TESTS_SUPPORT_SKIP_H
#define TESTS_SUPPORT_SKIP_H

#include <criterion/criterion.h>
#include <stdio.h>

#define ts_test_skip(...)                                                                          \
    do {                                                                                           \
        fputs("SKIPPED: ", stderr);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        cr_skip_test(__VA_ARGS__);                                                                 \
    } while (0)

#endif
