/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracles by the names of their stages.
 */
#include "tests/reference/oracles.h"

#include <string.h>

/* Written by CMake: an include and a line for each stage whose tests/reference/<stage>_reference.h declares
 * ts_<stage>_reference as a bench_oracle (ORACLE_OF_MAP), ts_<stage>_reference_tables as a bench_tables_oracle
 * (ORACLE_OF_TABLES) or ts_<stage>_reference_results as a bench_results_oracle (ORACLE_OF_RESULTS). */
#define ORACLE_OF_MAP(noun)
#define ORACLE_OF_TABLES(noun)
#define ORACLE_OF_RESULTS(noun)
#include "bench_oracles.h"
#undef ORACLE_OF_MAP
#undef ORACLE_OF_TABLES
#undef ORACLE_OF_RESULTS

struct bench_oracles ts_oracles_of(const struct stage *stage)
{
    struct bench_oracles oracles = {0};
#define ORACLE_OF_MAP(noun)                                                                                            \
    if (!strcmp(stage->name, #noun))                                                                                   \
        oracles.map = ts_##noun##_reference;
#define ORACLE_OF_TABLES(noun)                                                                                         \
    if (!strcmp(stage->name, #noun))                                                                                   \
        oracles.tables = ts_##noun##_reference_tables;
#define ORACLE_OF_RESULTS(noun)                                                                                        \
    if (!strcmp(stage->name, #noun))                                                                                   \
        oracles.results = ts_##noun##_reference_results;
#include "bench_oracles.h"
#undef ORACLE_OF_MAP
#undef ORACLE_OF_TABLES
#undef ORACLE_OF_RESULTS
    return oracles;
}
