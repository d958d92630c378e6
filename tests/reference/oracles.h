/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ORACLES_H
#define TESTS_ORACLES_H

#include "pipeline/bench.h"

/* What tests/reference has for this stage. */
struct bench_oracles ts_oracles_of(const struct stage *stage);

#endif
