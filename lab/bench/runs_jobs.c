/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs, and how their inputs and chains are made. A job's chain is a file beside its inputs, so
 * that anybody can run it by hand; `-i` and `--set` change what differs between its runs.
 */
#include <math.h>
#include <stdio.h>

#include "datasets/phantom_scan.h"
#include "io/file/whole_file.h"
#include "lab/bench/runs.h"
#include "lab/bench/runs_process.h"

#define DEFAULT_FORM                                                                               \
    {                                                                                              \
        {                                                                                          \
            .name = "deflate"                                                                      \
        }                                                                                          \
    }

const struct runs_job ts_runs_jobs[RUNS_JOBS] = {
    {.name = "A",
     .summary = "512 DICOM slices of 512 x 512 through box and equalize",
     .size = 512,
     .slices = 512,
     .n_inputs = 1,
     .forms = DEFAULT_FORM,
     .goal = 0.6},
    {.name = "B",
     .summary = "a scan of 1,500 views of 128 x 2,048 through flat_field, minus_log and fbp",
     .scans = true,
     .size = 2048,
     .slices = 128,
     .views = 1500,
     .n_inputs = 1,
     .forms = DEFAULT_FORM,
     .goal = 2.0,
     .goal_writes = 1.3,
     .goal_start = 0.5},
    {.name = "C",
     .summary = "a scan of 1,500 views of 2,048 x 2,048 to 2,048 cubed, from memory to memory",
     .scans = true,
     .size = 2048,
     .slices = 2048,
     .views = 1500,
     .n_inputs = 1,
     .in_memory = true,
     .forms = {{"f16 none", {"output.dtype=f16", "output.compression=none"}},
               {"f32 none", {"output.compression=none"}},
               {"f16 deflate", {"output.dtype=f16"}},
               {"f32 deflate", {NULL}}},
     .goal = 7.0},
    {.name = "D",
     .summary = "16 studies of 64 DICOM slices one after another, a process each, as job A",
     .size = 512,
     .slices = 64,
     .n_inputs = 16,
     .forms = DEFAULT_FORM},
};

static int64_t divided(int64_t n, int64_t by, int64_t least)
{
    return n / by > least ? n / by : least;
}

struct runs_job ts_runs_job_smaller(const struct runs_job *job, int64_t smaller)
{
    struct runs_job made = *job;
    made.size = divided(job->size, smaller, 8);
    made.slices = divided(job->slices, smaller, 3);
    made.views = job->scans ? divided(job->views, smaller, 8) : 0;
    if (smaller > 1)
        made.goal = made.goal_writes = made.goal_start = 0;
    return made;
}

int64_t ts_runs_job_bytes(const struct runs_job *job)
{
    const int64_t frames = job->scans ? job->views + SCAN_DARKS + SCAN_FLATS : job->size;
    return job->n_inputs * job->slices * job->size * (2 * frames + 4 * job->size);
}

void ts_runs_input_path(const struct runs_job *job, const char *folder, int i,
                        char path[RUNS_PATH_BYTES])
{
    if (job->scans)
        snprintf(path, RUNS_PATH_BYTES, "%s/%s.nxs", folder, job->name);
    else
        snprintf(path, RUNS_PATH_BYTES, "%s/%s-%02d", folder, job->name, i + 1);
}

/* References stand in the chain alone, and so the scan does; it lies beside the chain. */
static void write_chain(const struct runs_job *job, FILE *file)
{
    const struct scan_options scan = {.n_detectors = job->size};
    if (job->scans)
        fprintf(file,
                "tomostage: 2\n"
                "input: {nexus: ./%s.nxs}\n"
                "inputs:\n"
                "  flats: {nexus: ./%s.nxs, frames: flats}\n"
                "  darks: {nexus: ./%s.nxs, frames: darks}\n"
                "stages:\n"
                "  - flat_field: {flats: flats, darks: darks}\n"
                "  - minus_log: {nonpositive: floor}\n"
                "  - center: {center: %.1f}\n"
                "  - fbp: {filter: ramp}\n",
                job->name, job->name, job->name, ts_scan_axis(&scan));
    else
        fprintf(file,
                "tomostage: 2\n"
                "input: {dicom: ./%s-01}\n"
                "stages:\n"
                "  - box: {radius: 2}\n"
                "  - equalize\n",
                job->name);
    fprintf(file, "output: {hdf5: ./%s.h5}\n", job->name);
}

static enum ts_status make_chain(const struct runs_job *job, const char *folder,
                                 struct ts_diag *diag)
{
    char path[RUNS_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.yaml", folder, job->name);
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, false, diag);
    if (status != TS_OK)
        return status;
    write_chain(job, file.stream);
    return ts_whole_file_close(&file, diag);
}

enum ts_status ts_runs_make(const struct runs_job *job, const char *folder, struct ts_diag *diag)
{
    enum ts_status status = make_chain(job, folder, diag);
    for (int i = 0; i < job->n_inputs && status == TS_OK; i++) {
        char path[RUNS_PATH_BYTES], numbers[4][24];
        struct runs_process process;
        ts_runs_input_path(job, folder, i, path);
        const int64_t values[] = {job->size, job->slices, job->views, i};
        for (int k = 0; k < 4; k++)
            snprintf(numbers[k], sizeof numbers[k], "%lld", (long long)values[k]);
        const char *const scan[] = {"phantom", "scan",     "-o",       path,
                                    "--size",  numbers[0], "--slices", numbers[1],
                                    "--views", numbers[2], NULL};
        const char *const head[] = {"phantom",  "head",     "-o",       path,      "--size",
                                    numbers[0], "--slices", numbers[1], "--noise", "20",
                                    "--seed",   numbers[3], NULL};
        status = ts_runs_process(job->scans ? scan : head, &process, diag);
    }
    return status;
}
