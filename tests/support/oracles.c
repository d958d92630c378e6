/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/oracles.h"

#include <string.h>

struct bench_oracles ts_oracles_of(const struct stage *stage)
{
#define STAGE(room, noun)                                                                          \
    if (!strcmp(stage->name, #noun))                                                               \
        return (struct bench_oracles){ts_##noun##_oracle, ts_##noun##_oracle_tables,               \
                                      ts_##noun##_oracle_results};
#include "stages/stages.def"
#undef STAGE
    return (struct bench_oracles){0};
}
