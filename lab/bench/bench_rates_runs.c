/* SPDX-License-Identifier: Apache-2.0
 *
 * Times processes that run a volume so small that its pixels take no time. What is left is the
 * start of a run: the program, headers, workers, threads, the file and its fsync, and what a device
 * adds to them.
 */
#include <math.h>
#include <stdlib.h>

#include "core/timing.h"
#include "datasets/phantom.h"
#include "io/file/new_folder.h"
#include "lab/bench/bench_rates.h"
#include "lab/bench/runs_process.h"

enum { FEW = 4, MANY = 132, PIXELS = 32, PATH = 4096, RUNS = 3 };

static enum ts_status make_study(const char *folder, const char *name, int64_t slices,
                                 struct ts_diag *diag)
{
    struct phantom_options options = PHANTOM_OPTIONS_DEFAULT;
    char path[PATH];
    options.nx = options.ny = PIXELS;
    options.nz = slices;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return ts_phantom_write("disc", &options, path, diag);
}

/* Sets *seconds to the median time of `tomostage COMMAND` on a study of the folder, after one run
 * that warms the caches. */
static enum ts_status time_program(const char *folder, const char *command, const char *study,
                                   const char *device, double *seconds, struct ts_diag *diag)
{
    char input[PATH + 8], output[PATH + 8];
    double times[RUNS];
    snprintf(input, sizeof input, "%s/%s", folder, study);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    const char *const arguments[] = {command,    "dicom study | box radius=1 | hdf5 out.h5",
                                     "-i",       input,
                                     "-o",       output,
                                     "--device", device,
                                     "--force",  NULL};
    for (int i = -1; i < RUNS; i++) {
        struct runs_process process;
        const enum ts_status status = ts_runs_process(arguments, &process, diag);
        if (status != TS_OK)
            return status;
        if (i >= 0)
            times[i] = process.seconds;
    }
    *seconds = ts_median(times, RUNS);
    return TS_OK;
}

/* Times a run for which `auto` asks for devices and then takes the CPU, because these rates say
 * that a device would start for days. */
static enum ts_status time_query(const char *folder, const struct rates *known, double *seconds,
                                 struct ts_diag *diag)
{
    char path[PATH + 16];
    struct rates rates = *known;
    for (int i = 0; i < RATES; i++)
        rates.values[i] = i == RATE_CUDA_START ? 1e6 : 1e9;
    snprintf(path, sizeof path, "%s/rates.json", folder);
    enum ts_status status = ts_rates_save(&rates, path, diag);
    setenv("TOMOSTAGE_RATES", path, 1);
    if (status == TS_OK)
        status = time_program(folder, "run", "few", "auto", seconds, diag);
    setenv("TOMOSTAGE_RATES", "", 1);
    return status;
}

static enum ts_status time_runs(const char *folder, const char *device, struct rates *rates,
                                struct ts_diag *diag)
{
    double here, there, asked, few, many;
    setenv("TOMOSTAGE_RATES", "", 1); /* the programs that are timed choose no device by rates */
    enum ts_status status = time_program(folder, "run", "few", "cpu", &here, diag);
    if (status == TS_OK)
        status = time_program(folder, "check", "few", "cpu", &few, diag);
    if (status == TS_OK)
        status = time_program(folder, "check", "many", "cpu", &many, diag);
    if (status != TS_OK)
        return status;
    rates->values[RATE_START] = here;
    rates->values[RATE_OPEN] = fmax(0, (many - few) / (MANY - FEW));
    if (!device)
        return TS_OK;
    status = time_program(folder, "run", "few", device, &there, diag);
    if (status == TS_OK)
        status = time_query(folder, rates, &asked, diag);
    if (status != TS_OK)
        return status;
    rates->values[RATE_CUDA_START] = fmax(0, there - here);
    rates->values[RATE_CUDA_QUERY] = fmax(0, asked - here);
    return TS_OK;
}

enum ts_status ts_bench_rates_runs(const char *folder, const char *device, struct rates *rates,
                                   struct ts_diag *diag)
{
    char inner[PATH];
    enum ts_status status = ts_temporary_folder_make(folder, inner, sizeof inner, diag);
    if (status != TS_OK)
        return status;
    status = make_study(inner, "few", FEW, diag);
    if (status == TS_OK)
        status = make_study(inner, "many", MANY, diag);
    if (status == TS_OK)
        status = time_runs(inner, device, rates, diag);
    ts_temporary_folder_remove(inner);
    return status;
}
