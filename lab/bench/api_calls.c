/* SPDX-License-Identifier: Apache-2.0
 *
 * Times calls of operators. On a device a call returns before its work is done, so that what one
 * costs the host and what many take together are two figures.
 */
#include <math.h>
#include <stdlib.h>

#include "core/timing.h"
#include "cuda/device/gather.h"
#include "lab/bench/api.h"

typedef enum ts_status api_call(struct ts_operator *op, const struct ts_array *in,
                                const struct ts_array *out, void *stream, struct ts_diag *diag);

/* ---- what a call costs ----------------------------------------------------------------------- */

enum { CALLS = 100, CALL_SLICES = 4, CALL_SIDE = 64, CALL_VIEWS = 8 };

static const struct {
    const char *stage;
    bool sinogram, on_device; /* on_device: the CPU lacks the method */
} timed[] = {
    {"radon views=8", false},
    {"radon views=8 method=stack", false, true},
    {"box radius=1", false},
    {"box radius=2 dimensions=3d", false},
    {"box radius=1 border=nearest", false},
    {"gaussian sigma=1", false},
    {"convolve kernel=sharpen-4", false},
    {"resample shape=[32,32]", false},
    {"backproject", true},
    {"filter", true},
    {"fbp gaps=accept", true},
};

/* What CALLS calls are, beside those of an operator. */
struct timed_call {
    struct ts_operator *op; /* NULL: what a call of the device itself costs */
    api_call *call;
    const struct api_array *in, *out;
    bool launches; /* without an operator: a kernel, else a fill */
};

/* The least that a call on a device can cost. */
static enum ts_status call_device(struct api *api, const struct timed_call *timed_call)
{
#ifdef TS_HAVE_CUDA
    static const int64_t n[] = {1, 1, 1};
    const struct stage_context context = {
        .stage = ts_stage_find("box"), .device = api->device, .diag = api->diag};
    return timed_call->launches
               ? ts_cuda_embed(&context, n, n, timed_call->in->array.data,
                               timed_call->out->array.data, ts_api_stream(api))
               : ts_cuda_fill(api->session, CUDA_COMPUTE, timed_call->out->array.data, 0, 4096);
#else
    (void)api;
    (void)timed_call;
    return TS_OK;
#endif
}

/* Sets *us to the median of the microseconds of a call, over stretches of CALLS calls. */
static enum ts_status time_call(struct api *api, const struct timed_call *timed_call, double *us)
{
    const int runs = api->request->runs;
    double *times = malloc((size_t)runs * sizeof *times);
    void *stream = ts_api_stream(api);
    enum ts_status status = times ? TS_OK : ts_diag_no_memory(api->diag, sizeof *times);
    for (int i = -1; status == TS_OK && i < runs; i++) { /* -1 is not counted */
        status = ts_api_wait(api);
        const double begin = ts_seconds();
        for (int k = 0; status == TS_OK && k < CALLS; k++)
            status = timed_call->op ? timed_call->call(timed_call->op, &timed_call->in->array,
                                                       &timed_call->out->array, stream, api->diag)
                                    : call_device(api, timed_call);
        if (i >= 0)
            times[i] = (ts_seconds() - begin) / CALLS * 1e6;
    }
    if (status == TS_OK)
        status = ts_api_wait(api);
    if (status == TS_OK)
        *us = ts_median(times, runs);
    free(times);
    return status;
}

static enum ts_status add_call(struct api *api, const char *what, const char *call,
                               const struct timed_call *timed_call)
{
    struct api_row row = ts_api_row(api, "calls", "us", "%s%s", what, call);
    const enum ts_status status = time_call(api, timed_call, &row.value);
    if (api->device && timed_call->op)
        row.goal = 3;
    return status == TS_OK ? ts_api_add(api, &row, &row.value, false) : status;
}

static enum ts_status time_operator(struct api *api, const char *stage, bool sinogram)
{
    const struct ts_image image =
        ts_api_image(CALL_SLICES, sinogram ? CALL_VIEWS : CALL_SIDE, CALL_SIDE, sinogram);
    const struct ts_options options = ts_api_options(api);
    struct ts_operator *op = NULL;
    struct ts_image from, to;
    struct api_array x = {0}, y = {0}, z = {0};
    enum ts_status status = ts_operator_create(stage, &image, &options, &op, api->diag);
    if (status != TS_OK)
        return status;
    ts_operator_describe(op, &from, &to);
    status = ts_api_array(api, &from, false, &x);
    if (status == TS_OK)
        status = ts_api_array(api, &to, false, &y);
    if (status == TS_OK)
        status = ts_api_array(api, &from, false, &z);
    if (status == TS_OK)
        status = add_call(api, stage, ": A x", &(struct timed_call){op, ts_operator_apply, &x, &y});
    if (status == TS_OK)
        status =
            add_call(api, stage, ": A' y", &(struct timed_call){op, ts_operator_adjoint, &y, &x});
    if (status == TS_OK)
        status =
            add_call(api, stage, ": A' A x", &(struct timed_call){op, ts_operator_normal, &x, &z});
    ts_operator_destroy(op);
    ts_api_array_clear(&x);
    ts_api_array_clear(&y);
    ts_api_array_clear(&z);
    return status;
}

static enum ts_status time_device(struct api *api)
{
    const struct ts_image image = ts_api_image(1, 1, 1024, false);
    struct api_array x = {0}, y = {0};
    enum ts_status status = ts_api_array(api, &image, false, &x);
    if (status == TS_OK)
        status = ts_api_array(api, &image, false, &y);
    if (status == TS_OK)
        status = add_call(api, "a bare fill", "", &(struct timed_call){.in = &x, .out = &y});
    if (status == TS_OK)
        status = add_call(api, "a bare launch", "",
                          &(struct timed_call){.in = &x, .out = &y, .launches = true});
    ts_api_array_clear(&x);
    ts_api_array_clear(&y);
    return status;
}

enum ts_status ts_api_calls(struct api *api)
{
    enum ts_status status = api->device ? time_device(api) : TS_OK;
    for (size_t i = 0; status == TS_OK && i < sizeof timed / sizeof *timed; i++)
        if (api->device || !timed[i].on_device)
            status = time_operator(api, timed[i].stage, timed[i].sinogram);
    return status;
}

/* ---- one view at a time ---------------------------------------------------------------------- */

enum { VIEWS = 90 };

/* An operator of all views, and one of each. */
struct views {
    struct ts_operator *all, *one[VIEWS];
    struct ts_image volume;
    struct api_array x, y, y_one;
};

static enum ts_status views_create(struct api *api, int64_t slices, struct views *views)
{
    const struct ts_options options = ts_api_options(api);
    struct ts_image to;
    char text[64];
    views->volume = ts_api_image(slices, api->request->side, api->request->side, false);
    snprintf(text, sizeof text, "radon views=%d", VIEWS);
    enum ts_status status =
        ts_operator_create(text, &views->volume, &options, &views->all, api->diag);
    for (int v = 0; status == TS_OK && v < VIEWS; v++) {
        snprintf(text, sizeof text, "radon views=1 start=%.17g", v * 180.0 / VIEWS);
        status = ts_operator_create(text, &views->volume, &options, &views->one[v], api->diag);
    }
    if (status == TS_OK)
        status = ts_api_array(api, &views->volume, false, &views->x);
    if (status == TS_OK) {
        ts_operator_describe(views->all, &views->volume, &to);
        status = ts_api_array(api, &to, false, &views->y);
    }
    if (status == TS_OK) {
        ts_operator_describe(views->one[0], &views->volume, &to);
        status = ts_api_array(api, &to, false, &views->y_one);
    }
    return status;
}

static void views_destroy(struct views *views)
{
    ts_operator_destroy(views->all);
    for (int v = 0; v < VIEWS; v++)
        ts_operator_destroy(views->one[v]);
    ts_api_array_clear(&views->x);
    ts_api_array_clear(&views->y);
    ts_api_array_clear(&views->y_one);
}

/* Calls the operator of all views, or those of one view one after the other, and waits. */
static enum ts_status views_run(struct api *api, const struct views *views, bool adjoint, bool all,
                                double *seconds)
{
    api_call *call = adjoint ? ts_operator_adjoint : ts_operator_apply;
    const struct ts_array *volume = &views->x.array,
                          *sinogram = all ? &views->y.array : &views->y_one.array;
    void *stream = ts_api_stream(api);
    const double begin = ts_seconds();
    enum ts_status status = TS_OK;
    for (int v = 0; status == TS_OK && v < (all ? 1 : VIEWS); v++)
        status = call(all ? views->all : views->one[v], adjoint ? sinogram : volume,
                      adjoint ? volume : sinogram, stream, api->diag);
    if (status == TS_OK)
        status = ts_api_wait(api);
    *seconds = ts_seconds() - begin;
    return status;
}

static enum ts_status add_views(struct api *api, const struct views *views, bool adjoint)
{
    const int runs = api->request->runs;
    const struct ts_axis *n = views->volume.axes;
    double *seconds = malloc(2 * (size_t)runs * sizeof *seconds), ignored;
    enum ts_status status = seconds ? TS_OK : ts_diag_no_memory(api->diag, sizeof *seconds);
    struct api_row row = ts_api_row(
        api, "views", "ms", "%s of %lldx%lldx%lld: %d calls of one view", adjoint ? "A' y" : "A x",
        (long long)n[0].n, (long long)n[1].n, (long long)n[2].n, VIEWS);
    for (int i = -1; status == TS_OK && i < runs; i++) {
        status = views_run(api, views, adjoint, false, i < 0 ? &ignored : &seconds[i]);
        if (status == TS_OK)
            status = views_run(api, views, adjoint, true, i < 0 ? &ignored : &seconds[runs + i]);
    }
    if (status == TS_OK) {
        row.value = 1e3 * ts_median(seconds, runs);
        row.beside = 1e3 * ts_median(seconds + runs, runs);
        row.goal = 1.5;
        snprintf(row.note, sizeof row.note, "beside one call of %d views", VIEWS);
        status = ts_api_add(api, &row, &row.ratio, false);
    }
    free(seconds);
    return status;
}

enum ts_status ts_api_views(struct api *api)
{
    static const int64_t slices[] = {1, 8, 64};
    enum ts_status status = TS_OK;
    for (size_t i = 0; status == TS_OK && i < sizeof slices / sizeof *slices; i++) {
        struct views *views = calloc(1, sizeof *views);
        status = views ? views_create(api, slices[i], views)
                       : ts_diag_no_memory(api->diag, sizeof *views);
        for (int adjoint = 0; status == TS_OK && adjoint < 2; adjoint++)
            status = add_views(api, views, adjoint == 1);
        if (views)
            views_destroy(views);
        free(views);
    }
    return status;
}
