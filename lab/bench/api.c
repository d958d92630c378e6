/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of `tomostage-bench api` share: rows, arrays where the device has its images, and
 * chains on arrays.
 */
#include "lab/bench/api.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "core/memory.h"
#include "io/file/new_folder.h"
#include "lab/bench/bench_devices.h"

const struct api_part ts_api_parts[API_PARTS] = {
    {"calls", "microseconds until a call of an operator returns", .measure = ts_api_calls},
    {"views", "90 calls of one view beside one call of 90 views", .measure = ts_api_views},
    {"copied", "memory for an array that one stage reads", true, ts_api_copied},
    {"chain", "box, equalize and radon on arrays beside the sum of their kernels",
     .measure = ts_api_chain},
    {"threads", "two runs of one thread each, at once, beside one", true, ts_api_threads},
    {"cycles", "what plans and runs leave behind", .measure = ts_api_cycles},
    {"digests", "results of arrays and of files, for every stage", .measure = ts_api_digests},
};

/* ---- rows ------------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct api_row, member)
static const struct table_column columns[] = {
    {"part", "part", COLUMN_TEXT, AT(part), -8},
    {"what", "what", COLUMN_CHARS, AT(what), -52},
    {"device", "device", COLUMN_TEXT, AT(device), -7},
    {"value", "value", COLUMN_REAL, AT(value), 11, 3},
    {"unit", "unit", COLUMN_TEXT, AT(unit), -6},
    {"beside", "beside", COLUMN_REAL, AT(beside), 11, 3},
    {"ratio", "ratio", COLUMN_REAL, AT(ratio), 8, 3},
    {"goal", "goal", COLUMN_REAL, AT(goal), 6, 1},
    {"verdict", "", COLUMN_TEXT, AT(verdict), -6, .unknown = "", .optional = true},
    {"note", "", COLUMN_CHARS, AT(note), -1, .unknown = "", .optional = true}};
static const struct table table = TABLE_OF(struct api_row, columns);

struct api_row ts_api_row(const struct api *api, const char *part, const char *unit,
                          const char *what, ...)
{
    struct api_row row = {.part = part,
                          .device = api->device_name,
                          .unit = unit,
                          .value = NAN,
                          .beside = NAN,
                          .ratio = NAN,
                          .goal = NAN};
    va_list list;
    va_start(list, what);
    vsnprintf(row.what, sizeof row.what, what, list);
    va_end(list);
    return row;
}

enum ts_status ts_api_add(struct api *api, struct api_row *row, const double *judged, bool at_least)
{
    if (isnan(row->ratio) && row->beside > 0)
        row->ratio = row->value / row->beside;
    if (judged && !isnan(row->goal))
        row->verdict = (at_least ? *judged >= row->goal : *judged <= row->goal) ? "met" : "missed";
    return ts_table_add(&api->rows, row, api->diag);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

struct ts_image ts_api_image(int64_t nz, int64_t ny, int64_t nx, bool sinogram)
{
    const int64_t n[] = {nz, ny, nx};
    struct ts_image image = {
        .rank = 3, .dtype = TS_F32, .quantity = TS_INTENSITY, .unit = "1", .axes = {{0}}};
    for (int d = 0; d < 3; d++)
        image.axes[d] = (struct ts_axis){
            .kind = TS_AXIS_Z + (enum ts_axis_kind)d, .n = n[d], .spacing = 1, .unit = "mm"};
    if (!sinogram)
        return image;
    image.quantity = TS_LINE_INTEGRAL;
    image.axes[1] = (struct ts_axis){
        .kind = TS_AXIS_VIEW, .n = ny, .spacing = 180.0 / (double)ny, .unit = "degree"};
    image.axes[2].kind = TS_AXIS_DETECTOR;
    image.axes[2].first = -0.5 * (double)(nx - 1);
    return image;
}

static void fill(float *values, size_t n)
{
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / (1 << 24);
    }
}

enum ts_status ts_api_array(struct api *api, const struct ts_image *image, bool on_host,
                            struct api_array *made)
{
    *made = (struct api_array){.array = {.size = sizeof made->array,
                                         .dtype = image->dtype,
                                         .rank = image->rank,
                                         .cuda_device = -1},
                               .bytes = ts_image_bytes(image)};
    for (int d = 0; d < image->rank; d++)
        made->array.n[d] = image->axes[d].n;
    made->array.data = made->host = ts_memory_aligned(made->bytes);
    if (!made->host)
        return ts_diag_no_memory(api->diag, made->bytes);
    if (image->data)
        memcpy(made->host, image->data, made->bytes);
    else if (image->dtype == TS_F32)
        fill(made->host, ts_image_count(image));
    else
        memset(made->host, 0, made->bytes);
#ifdef TS_HAVE_CUDA
    if (!on_host && api->device) {
        made->array.data = ts_cuda_allocate(api->session, made->bytes);
        made->array.cuda_device = api->device->index;
        made->array.cuda_stream = ts_api_stream(api);
        if (!made->array.data)
            return TS_RUN_FAILED;
        const enum ts_status status = ts_cuda_copy(api->session, CUDA_COMPUTE, CUDA_TO_DEVICE,
                                                   made->array.data, made->host, made->bytes);
        return status == TS_OK ? ts_api_wait(api) : status;
    }
#endif
    (void)on_host;
    return TS_OK;
}

void ts_api_array_clear(struct api_array *array)
{
    free(array->host);
    array->host = NULL;
}

enum ts_status ts_api_fetch(struct api *api, const struct api_array *array)
{
#ifdef TS_HAVE_CUDA
    if (array->array.cuda_device >= 0) {
        const enum ts_status status = ts_cuda_copy(api->session, CUDA_COMPUTE, CUDA_TO_HOST,
                                                   array->host, array->array.data, array->bytes);
        return status == TS_OK ? ts_api_wait(api) : status;
    }
#endif
    (void)api;
    (void)array;
    return TS_OK;
}

enum ts_status ts_api_wait(struct api *api)
{
#ifdef TS_HAVE_CUDA
    if (api->device)
        return ts_cuda_wait(api->session, CUDA_COMPUTE);
#endif
    (void)api;
    return TS_OK;
}

void *ts_api_stream(const struct api *api)
{
#ifdef TS_HAVE_CUDA
    if (api->device)
        return ts_cuda_stream(api->session, CUDA_COMPUTE);
#endif
    (void)api;
    return NULL;
}

struct ts_options ts_api_options(const struct api *api)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = api->device_name;
    return options;
}

/* ---- chains ---------------------------------------------------------------------------------- */

enum ts_status ts_api_trial(const char *text, const struct ts_array *in,
                            const struct ts_image *about, const struct ts_options *options,
                            struct ts_diag *diag, struct api_trial *trial)
{
    *trial = (struct api_trial){0};
    enum ts_status status = ts_chain_parse(text, strlen(text), "api", NULL, &trial->chain, diag);
    if (status == TS_OK && in)
        status = ts_chain_set_array(trial->chain, "in", in, about, diag);
    if (status == TS_OK)
        status = ts_plan_create(trial->chain, options, &trial->plan, diag);
    return status == TS_OK ? ts_run_create(trial->plan, &trial->run, diag) : status;
}

void ts_api_trial_end(struct api_trial *trial)
{
    ts_run_destroy(trial->run);
    ts_plan_destroy(trial->plan);
    ts_chain_destroy(trial->chain);
    *trial = (struct api_trial){0};
}

/* ---- all parts ------------------------------------------------------------------------------- */

static bool is_chosen(const struct api_request *request, int part)
{
    bool any = false;
    for (int i = 0; i < API_PARTS; i++)
        any |= request->parts[i];
    return !any || request->parts[part];
}

static enum ts_status begin(struct api *api, const struct bench_devices *devices)
{
    const char *parent = getenv("TMPDIR");
    api->device = devices->device;
    snprintf(api->device_name, sizeof api->device_name, api->device ? "cuda:%d" : "cpu",
             api->device ? api->device->index : 0);
#ifdef TS_HAVE_CUDA
    if (api->device) {
        const enum ts_status status =
            ts_cuda_session_create(api->device, 0, api->diag, &api->session);
        if (status != TS_OK)
            return status;
    }
#endif
    return ts_temporary_folder_make(parent && *parent ? parent : "/tmp", api->folder,
                                    sizeof api->folder, api->diag);
}

static void end(struct api *api)
{
    if (*api->folder)
        ts_temporary_folder_remove(api->folder);
#ifdef TS_HAVE_CUDA
    ts_cuda_session_destroy(api->session);
#endif
    ts_table_clear(&api->rows);
}

enum ts_status ts_api_run(const struct api_request *request, FILE *stream, struct ts_diag *diag)
{
    struct bench_devices devices;
    struct api api = {.request = request,
                      .rows = {.table = &table, .stream = stream, .json = request->json},
                      .diag = diag};
    enum ts_status status =
        ts_bench_devices_choose(request->device ? request->device : "cpu", false, &devices, diag);
    if (status != TS_OK)
        return status;
    status = begin(&api, &devices);
    if (status == TS_OK)
        ts_table_begin(&api.rows);
    for (int i = 0; status == TS_OK && i < API_PARTS; i++)
        if (is_chosen(request, i) && !(api.device && ts_api_parts[i].on_cpu))
            status = ts_api_parts[i].measure(&api);
    if (status == TS_OK)
        status = ts_table_end(&api.rows, diag);
    if (status == TS_OK && request->save)
        status = ts_table_save(&api.rows, request->save, diag);
    end(&api);
    return status;
}
