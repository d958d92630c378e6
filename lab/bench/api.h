/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage-bench api` measures the library as a program sees it that has its images in memory:
 * what calls of operators cost, what runs on arrays cost beside their kernels, what is copied, what
 * two threads gain, what is left behind, and whether arrays and files give the same results.
 */
#ifndef LAB_BENCH_API_H
#define LAB_BENCH_API_H

#include "cuda/device/session.h"
#include "include/tomostage_operator.h"
#include "lab/bench/table.h"
#include "program/cli/command.h"

enum { API_PARTS = 7 };
struct api;
struct api_part {
    const char *name, *summary;
    bool on_cpu; /* it is left out on a device */
    enum ts_status (*measure)(struct api *api);
};
extern const struct api_part ts_api_parts[API_PARTS];

struct api_request {
    bool parts[API_PARTS]; /* says which are measured; none: all are */
    const char *device; /* as ts_bench_devices_choose() takes it, but for auto: NULL is the CPU */
    const char *save;   /* file for the rows as JSON; NULL: none */
    int64_t side;       /* pixels along each side of an image */
    int runs, cycles;
    bool json;
};

/* One figure, and what it is compared with. */
struct api_row {
    const char *part;
    char what[128];
    const char *device, *unit;
    double value, beside, ratio, goal;
    const char *verdict;
    char note[256];
};

struct api {
    const struct api_request *request;
    const struct device_numbers *device; /* NULL: the CPU */
    char device_name[16];
    struct cuda_session *session; /* NULL on the CPU */
    struct table_rows rows;
    char folder[256]; /* is there for files, and removed at the end */
    struct ts_diag *diag;
};

enum ts_status ts_api_run(const struct api_request *request, FILE *stream, struct ts_diag *diag);

/* ---- for the parts --------------------------------------------------------------------------- */

/* Returns a row of which only the names are known. */
struct api_row ts_api_row(const struct api *api, const char *part, const char *unit,
                          const char *what, ...) __attribute__((format(printf, 4, 5)));
/* Adds the row. `judged` is the number that the goal limits, NULL if there is none; at_least: from
 * below. */
enum ts_status ts_api_add(struct api *api, struct api_row *row, const double *judged,
                          bool at_least);

/* A volume (z, y, x) of f32 with 1 mm, or a sinogram of parallel views over half a turn. */
struct ts_image ts_api_image(int64_t nz, int64_t ny, int64_t nx, bool sinogram);
/* An array for an image in host memory or, unless on_host is set, where the device has its images.
 * Values are random in [0, 1), or, for other types than f32, those of image->data. */
struct api_array {
    struct ts_array array;
    void *host; /* what array.data points to on the CPU; owned */
    size_t bytes;
};
enum ts_status ts_api_array(struct api *api, const struct ts_image *image, bool on_host,
                            struct api_array *made);
/* Frees the host's copy. Memory of a device lasts until the session ends. */
void ts_api_array_clear(struct api_array *array);
/* Copies the values to array->host. */
enum ts_status ts_api_fetch(struct api *api, const struct api_array *array);
/* Waits until the device has done what calls enqueued. */
enum ts_status ts_api_wait(struct api *api);
/* The stream for calls; NULL on the CPU. */
void *ts_api_stream(const struct api *api);
struct ts_options ts_api_options(const struct api *api);

/* A chain with its plan and its run. A chain that is refused leaves its records in diag. */
struct api_trial {
    struct ts_chain *chain;
    struct ts_plan *plan;
    struct ts_run *run;
};
/* `in` is the array that the chain calls "memory in" (NULL: it names a file). */
enum ts_status ts_api_trial(const char *text, const struct ts_array *in,
                            const struct ts_image *about, const struct ts_options *options,
                            struct ts_diag *diag, struct api_trial *trial);
void ts_api_trial_end(struct api_trial *trial);

/* The parts (api_calls.c and api_runs.c). */
enum ts_status ts_api_calls(struct api *api), ts_api_views(struct api *api),
    ts_api_copied(struct api *api), ts_api_chain(struct api *api), ts_api_threads(struct api *api),
    ts_api_cycles(struct api *api), ts_api_digests(struct api *api);

extern const struct command ts_api_command;

#endif
