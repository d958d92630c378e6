/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain on arrays: a volume in memory is smoothed, the result is in an array and its mean is
 * printed.
 *     cc example_arrays.c $(pkg-config --cflags --libs tomostage) \
 *         -Wl,-rpath,$(pkg-config --variable=libdir tomostage) -o arrays && ./arrays
 */
#include <stdlib.h>
#include <string.h>
#include <tomostage_array.h>

enum { NZ = 16, NY = 64, NX = 64, PIXELS = NZ * NY * NX };

int main(void)
{
    static const char text[] = "memory volume | box radius=2 | statistics";
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_run *run = NULL;
    struct ts_image mean;
    struct ts_diag *diag = ts_diag_create();
    float *values = malloc(PIXELS * sizeof *values), *smooth = malloc(PIXELS * sizeof *smooth);
    for (int i = 0; values && i < PIXELS; i++)
        values[i] = (float)(i % NX);

    struct ts_array in = {.size = sizeof in,
                          .data = values,
                          .dtype = TS_F32,
                          .rank = 3,
                          .n = {NZ, NY, NX},
                          .cuda_device = -1};
    struct ts_array out = in;
    out.data = smooth;
    enum ts_status status = ts_chain_parse(text, strlen(text), "chain", NULL, &chain, diag);
    if (status == TS_OK)
        status = ts_chain_set_array(chain, "volume", &in, NULL, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &options, &plan, diag);
    if (status == TS_OK)
        status = ts_run_create(plan, &run, diag);
    if (status == TS_OK)
        status = ts_run_set_array(run, "data", &out, diag);
    if (status == TS_OK)
        status = ts_run_execute(run, diag);
    if (status == TS_OK)
        status = ts_run_table(run, "statistics.mean", &mean, diag);
    if (status == TS_OK)
        printf("smoothed %d values, mean %g\n", PIXELS, *(const double *)mean.data);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    ts_run_destroy(run);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    free(values);
    free(smooth);
    return (int)status;
}
