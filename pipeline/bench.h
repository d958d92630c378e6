/* SPDX-License-Identifier: Apache-2.0
 *
 * The benchmark of the stages. Its cases come from the stage tables: element types, methods, required parameters.
 */
#ifndef PIPELINE_BENCH_H
#define PIPELINE_BENCH_H

#include "stages/stage.h"

enum bench_values {
    BENCH_CT,       /* air, soft tissue with noise, bone: few values, many runs */
    BENCH_UNIFORM,  /* every value of the type alike (floats: [0, 4096)) */
    BENCH_CONSTANT, /* the worst case of tables that are shared */
    BENCH_VALUES
};
extern const char *const ts_bench_values_names[BENCH_VALUES];

/* One thing to time. */
struct bench_case {
    const struct stage *stage;
    char parameters[256]; /* "radius=3 method=direct" */
    enum ts_dtype dtype;
    enum bench_values values;
    int64_t nz, ny, nx;
};

/* A whole image as doubles, to the whole result as doubles. */
typedef void bench_oracle(const struct stage_context *context, const double *in, double *out);

struct bench_request {
    const char *stage;                                  /* NULL: all */
    const char *parameters;                             /* NULL: the stage's own cases; else this one */
    int dtype, values;                                  /* -1: all that are benchmarked */
    int64_t nz, ny, nx;                                 /* 0: 32 x 512 x 512 */
    int runs;                                           /* 0: as many as fit a quarter of a second, at least 5 */
    int threads;                                        /* 0: one thread, and all */
    bool json;                                          /* an array of one object a case */
    bench_oracle *(*oracle)(const struct stage *stage); /* NULL: no error column */
};

/* Times the cases and prints them; a case that the stage refuses is left out, a stage without any case is named. */
enum ts_status ts_bench_run(const struct bench_request *request, FILE *stream, struct ts_diag *diag);

/* `tomostage bench [STAGE]`: hands over to the program tomostage-bench beside this one, which also knows the oracles;
 * where it is not installed, prints the table without errors. Returns the exit code. */
int ts_bench(const char *stage, bool json, FILE *stream);

/* ---- cases (bench_cases.c) --------------------------------------------------------------------- */

enum { BENCH_MAX_CASES = 64 };

/* The parameters of a stage's cases, one text each; returns how many. */
int ts_bench_parameters(const struct stage *stage, char parameters[BENCH_MAX_CASES][256]);
/* Fills a set (values: zeroed memory of params_bytes) from "a=1 b=name"; numbers and choices only. */
enum ts_status ts_bench_assign(struct param_set *set, const char *parameters, struct ts_diag *diag);
/* An image of the case, 1 mm voxels, with allocated data; data NULL where memory is out. */
struct ts_image ts_bench_image(const struct bench_case *which);

#endif
