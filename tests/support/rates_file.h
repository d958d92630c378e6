/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed rates for tests of predictions: those of no machine, with powers of two so that sums can be
 * worked out by hand.
 */
#ifndef TESTS_SUPPORT_RATES_FILE_H
#define TESTS_SUPPORT_RATES_FILE_H

#include "pipeline/rates/rates.h"

/* Rates of this machine's name for two threads, and of the device "test device 0". The stage box
 * has a rate on both. */
struct rates ts_test_rates(void);
/* Writes them to `path`, as this machine's, and names the file in the environment of programs that
 * tests start. */
void ts_test_keep_rates(struct rates *rates, const char *path);

#endif
