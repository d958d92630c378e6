/* SPDX-License-Identifier: Apache-2.0
 *
 * Times whole runs of a volume so small that its pixels take no time. What is left is the start of a run: headers,
 * workers, threads, the file and its fsync. The first run on each device is the one that counts, because a run of the
 * program pays for everything anew.
 */
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/timing.h"
#include "datasets/phantom.h"
#include "pipeline/bench/bench_rates.h"

extern char **environ;

enum { FEW = 4, MANY = 132, PIXELS = 32, PATH = 4096, MOST_OPEN = 16 };

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Times a process that prints its help and ends, which is the start of the program and its end. */
static double time_process(void)
{
    char *const argv[] = {(char *)"tomostage", (char *)"--help", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    const double start = ts_seconds();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) == 0)
        waitpid(pid, NULL, 0);
    posix_spawn_file_actions_destroy(&actions);
    return ts_seconds() - start;
}

static enum ts_status make_study(const char *folder, const char *name, int64_t slices, struct ts_diag *diag)
{
    struct phantom_options options = PHANTOM_OPTIONS_DEFAULT;
    char path[PATH];
    options.nx = options.ny = PIXELS;
    options.nz = slices;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return ts_phantom_write("disc", &options, path, diag);
}

/* Times the plan of a study, and its run where `run` is not NULL; both from the first call on. */
static enum ts_status time_run(const char *folder, const char *study, const char *device, double *plan, double *run,
                               struct ts_diag *diag)
{
    char text[2 * PATH];
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_chain *chain = NULL;
    struct ts_plan *made = NULL;
    const double start = ts_seconds();
    options.device = device;
    options.force = true;
    snprintf(text, sizeof text,
             "tomostage: 1\ninput: {dicom: %s}\nstages: [{box: {radius: 1}}]\noutput: {hdf5: out.h5}\n", study);
    enum ts_status status = ts_chain_parse(text, strlen(text), "rates", folder, &chain, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &options, &made, diag);
    *plan = ts_seconds() - start;
    if (status == TS_OK && run)
        status = ts_plan_run(made, diag);
    ts_plan_destroy(made);
    ts_chain_destroy(chain);
    if (run)
        *run = ts_seconds() - start;
    return status;
}

static enum ts_status time_runs(const char *folder, const char *device, struct rates *rates, struct ts_diag *diag)
{
    double first, warm, few, many, there = 0;
    enum ts_status status = time_run(folder, "few", "cpu", &few, &first, diag);
    if (status == TS_OK)
        status = time_run(folder, "few", "cpu", &few, &warm, diag);
    if (status == TS_OK)
        status = time_run(folder, "many", "cpu", &many, NULL, diag);
    if (status == TS_OK && device)
        status = time_run(folder, "few", device, &few, &there, diag);
    if (status != TS_OK)
        return status;
    rates->values[RATE_START] = time_process() + first;
    rates->values[RATE_OPEN] = fmax(0, (many - few) / (MANY - FEW));
    if (device)
        rates->values[RATE_CUDA_START] = fmax(0, there - warm);
    return TS_OK;
}

enum ts_status ts_bench_rates_runs(const char *folder, const char *device, struct rates *rates, struct ts_diag *diag)
{
    char inner[PATH], name[] = "/tomostage-rates-XXXXXX";
    if (strlen(folder) + sizeof name > sizeof inner)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"}, "%s is too long", folder);
    snprintf(inner, sizeof inner, "%s%s", folder, name);
    if (!mkdtemp(inner))
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                             "no folder can be made in %s", folder);
    enum ts_status status = make_study(inner, "few", FEW, diag);
    if (status == TS_OK)
        status = make_study(inner, "many", MANY, diag);
    if (status == TS_OK)
        status = time_runs(inner, device, rates, diag);
    (void)nftw(inner, remove_entry, MOST_OPEN, FTW_DEPTH | FTW_PHYS);
    return status;
}
