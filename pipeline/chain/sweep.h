/* SPDX-License-Identifier: Apache-2.0
 *
 * A sweep gives one parameter of one stage several values. The chain keeps all of them, and the
 * stage's own field holds the first; a plan then repeats the stage and those behind it for each
 * value (pipeline/plan/plan_sweep.h).
 */
#ifndef PIPELINE_CHAIN_SWEEP_H
#define PIPELINE_CHAIN_SWEEP_H

#include "core/params.h"

struct chain_sweep {
    int64_t n;          /* number of values; 0: nothing is swept */
    int32_t stage;      /* index of the stage in the chain */
    size_t param;       /* index of the parameter in the stage's table */
    const void *values; /* n fields of the parameter, one after the other */
    struct ts_span span;
};

/* Returns value k in the form of a field of its parameter. */
const void *ts_sweep_value(const struct chain_sweep *sweep, const struct param *param, int64_t k);
/* Returns true, and writes value k to *number, if every value is one number or a list of one
   number. */
bool ts_sweep_number(const struct chain_sweep *sweep, const struct param *param, int64_t k,
                     double *number);
/* Writes value k as users read it. If all values are lists of one number, it has no brackets. */
void ts_sweep_text(const struct chain_sweep *sweep, const struct param *param, int64_t k, char *out,
                   size_t size);
/* Writes it with the name of its parameter and its unit: "radius 2 pixel". */
void ts_sweep_named(const struct chain_sweep *sweep, const struct param *param, int64_t k,
                    char *out, size_t size);

#endif
