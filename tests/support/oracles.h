/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracles by the names of their stages. tests/stages/ROOM/X_oracle.c defines those that stage X has: ts_X_oracle
 * for its image, ts_X_oracle_tables for its image and tables, ts_X_oracle_results for stages whose tables alone can be
 * checked. They are declared here for every stage, so that the compiler checks their types and nobody lists them; weak,
 * so that one that is not defined is NULL.
 */
#ifndef TESTS_SUPPORT_ORACLES_H
#define TESTS_SUPPORT_ORACLES_H

#include "pipeline/bench/bench.h"

#define STAGE(room, name)                                                                                              \
    bench_oracle ts_##name##_oracle __attribute__((weak));                                                             \
    bench_tables_oracle ts_##name##_oracle_tables __attribute__((weak));                                               \
    bench_results_oracle ts_##name##_oracle_results __attribute__((weak));
#include "stages/stages.def"
#undef STAGE

/* NULL for what the stage has no oracle of. */
struct bench_oracles ts_oracles_of(const struct stage *stage);

#endif
