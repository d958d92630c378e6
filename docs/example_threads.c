/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs at once, in one context: each thread has a chain, a plan and a run of its own, and one
 * processor for it.
 *     cc example_threads.c $(pkg-config --cflags --libs tomostage) \
 *         -Wl,-rpath,$(pkg-config --variable=libdir tomostage) -pthread -o threads && ./threads
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <tomostage_array.h>
#include <tomostage_context.h>

enum { THREADS = 4, NZ = 16, NY = 64, NX = 64, PIXELS = NZ * NY * NX };

struct job {
    pthread_t thread;
    struct ts_context *context;
    float value;
    double mean;
    enum ts_status status;
};

static enum ts_status smooth(struct job *job, float *values, struct ts_diag *diag)
{
    static const char text[] = "memory volume | box radius=2 | statistics";
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_run *run = NULL;
    struct ts_image mean;
    struct ts_array in = {.size = sizeof in,
                          .data = values,
                          .dtype = TS_F32,
                          .rank = 3,
                          .n = {NZ, NY, NX},
                          .cuda_device = -1};
    struct ts_array out = in;
    out.data = values + PIXELS;
    enum ts_status status =
        ts_context_parse(job->context, text, strlen(text), "chain", NULL, &chain, diag);
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
        job->mean = *(const double *)mean.data;
    ts_run_destroy(run);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return status;
}

static void *work(void *data)
{
    struct job *job = data;
    struct ts_diag *diag = ts_diag_create();
    float *values = malloc(2 * PIXELS * sizeof *values); /* the input, then the result */
    for (int i = 0; values && i < PIXELS; i++)
        values[i] = job->value;
    job->status = diag && values ? smooth(job, values, diag) : TS_RUN_FAILED;
    if (diag)
        ts_diag_print(diag, stderr);
    free(values);
    ts_diag_destroy(diag);
    return NULL;
}

int main(void)
{
    struct job jobs[THREADS];
    struct ts_context *context = NULL;
    struct ts_diag *diag = ts_diag_create();
    const struct ts_settings settings = {.size = sizeof settings, .threads = 1};
    enum ts_status status = ts_context_create(&settings, &context, diag);
    for (int i = 0; i < THREADS && status == TS_OK; i++) {
        jobs[i] = (struct job){.context = context, .value = (float)(i + 1)};
        if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]) != 0)
            return TS_RUN_FAILED;
    }
    for (int i = 0; i < THREADS && context; i++) {
        pthread_join(jobs[i].thread, NULL);
        printf("thread %d: mean %g\n", i, jobs[i].mean);
        status = status == TS_OK ? jobs[i].status : status;
    }
    ts_context_destroy(context);
    ts_diag_destroy(diag);
    return (int)status;
}
