/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracles by the names of their stages. tests/stages/ROOM/X_oracle.c defines those that stage X
 * has: ts_X_oracle for its image, ts_X_oracle_tables for its image and tables, ts_X_oracle_results
 * for stages whose tables alone can be checked. They are declared here for every stage, so that the
 * compiler checks their types and nobody lists them; weak, so that one that is not defined is NULL.
 */
#ifndef TESTS_SUPPORT_ORACLES_H
#define TESTS_SUPPORT_ORACLES_H

#include "lab/bench/bench.h"
#include "stages/engine/reduce.h"

/* The tables of a stage, in the order in which the stage describes them; the oracle fills in those
 * that it knows. */
struct bench_tables {
    const struct stage_table *tables;
    int n;
    double *values[STAGE_TABLES]; /* zeros at first */
    bool known[STAGE_TABLES];
};
/* The values of a table, which are known from then on; NULL where the stage has none of this
 * name. */
double *ts_bench_table(struct bench_tables *tables, const char *name);

/* Computes the whole result, as doubles, of a whole image, for a stage without references. */
typedef void bench_oracle(const struct stage_context *context, const double *in, double *out);
/* Computes the tables of a stage whose map has a bench_oracle: in as it is given to that, out as it
 * comes from there. */
typedef void bench_tables_oracle(const struct stage_context *context, const double *in,
                                 const double *out, struct bench_tables *tables);
/* Computes all results of a stage: inputs[0] is its image, inputs[1 + i] reference i, data NULL
 * where it is not given. A stage that maps has an `out`. Tables that the oracle does not ask for
 * are not compared. */
typedef void bench_results_oracle(const struct stage_context *context,
                                  const struct ts_image inputs[STAGE_INPUTS], double *out,
                                  struct bench_tables *tables);
/* The oracles of a stage; NULL: it has none of this kind. */
struct bench_oracles {
    bench_oracle *map;
    bench_tables_oracle *tables;   /* beside map */
    bench_results_oracle *results; /* before the others, where it is there too */
};

#define STAGE(room, name)                                                                          \
    bench_oracle ts_##name##_oracle __attribute__((weak));                                         \
    bench_tables_oracle ts_##name##_oracle_tables __attribute__((weak));                           \
    bench_results_oracle ts_##name##_oracle_results __attribute__((weak));
#include "stages/stages.def"
#undef STAGE

/* NULL for what the stage has no oracle of. */
struct bench_oracles ts_oracles_of(const struct stage *stage);

/* oracle_error.c: compares the map, and all tables that the oracle knows, on a small image. */
struct bench_error ts_oracle_error(const struct bench_case *which,
                                   const struct device_numbers *device,
                                   struct bench_oracles oracles);

#endif
