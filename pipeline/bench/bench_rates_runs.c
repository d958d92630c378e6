/* SPDX-License-Identifier: Apache-2.0
 *
 * Times processes that run a volume so small that its pixels take no time. What is left is the start of a run: the
 * program, headers, workers, threads, the file and its fsync, and what a device adds to them.
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

enum { FEW = 4, MANY = 132, PIXELS = 32, PATH = 4096, MOST_OPEN = 16, RUNS = 3 };

/* Starts this program in this folder, which holds the studies. */
struct start {
    const char *program, *folder;
};

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
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

/* Returns the exit code of the program with these arguments, or -1 where it could not be started. */
static int run_program(const struct start *start, char *const *argv)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, start->folder);
    if (posix_spawn(&pid, start->program, &actions, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid)
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

/* Sets *seconds to the median time of `tomostage COMMAND` on a study, after one run that warms the caches. */
static enum ts_status time_program(const struct start *start, const char *command, const char *study,
                                   const char *device, double *seconds, struct ts_diag *diag)
{
    char chain[64];
    double times[RUNS];
    snprintf(chain, sizeof chain, "dicom %s | box radius=1 | hdf5 out.h5", study);
    char *const argv[] = {(char *)"tomostage", (char *)command,   chain, (char *)"--device",
                          (char *)device,      (char *)"--force", NULL};
    for (int i = -1; i < RUNS; i++) {
        const double begin = ts_seconds();
        const int code = run_program(start, argv);
        if (code != 0)
            return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "benchmark-failed"},
                                 "%s %s '%s' --device %s ended with the code %d", start->program, command, chain,
                                 device, code);
        if (i >= 0)
            times[i] = ts_seconds() - begin;
    }
    *seconds = ts_median(times, RUNS);
    return TS_OK;
}

/* Times a run for which `auto` asks for devices and then takes the CPU, because these rates say that a device would
 * start for days. */
static enum ts_status time_query(const struct start *start, const struct rates *known, double *seconds,
                                 struct ts_diag *diag)
{
    char path[PATH];
    struct rates rates = *known;
    for (int i = 0; i < RATES; i++)
        rates.values[i] = i == RATE_CUDA_START ? 1e6 : 1e9;
    snprintf(path, sizeof path, "%s/rates.json", start->folder);
    enum ts_status status = ts_rates_save(&rates, path, diag);
    setenv("TOMOSTAGE_RATES", path, 1);
    if (status == TS_OK)
        status = time_program(start, "run", "few", "auto", seconds, diag);
    setenv("TOMOSTAGE_RATES", "", 1);
    return status;
}

static enum ts_status time_runs(const struct start *start, const char *device, struct rates *rates,
                                struct ts_diag *diag)
{
    double here, there, asked, few, many;
    setenv("TOMOSTAGE_RATES", "", 1); /* the programs that are timed choose no device by rates */
    enum ts_status status = time_program(start, "run", "few", "cpu", &here, diag);
    if (status == TS_OK)
        status = time_program(start, "check", "few", "cpu", &few, diag);
    if (status == TS_OK)
        status = time_program(start, "check", "many", "cpu", &many, diag);
    if (status != TS_OK)
        return status;
    rates->values[RATE_START] = here;
    rates->values[RATE_OPEN] = fmax(0, (many - few) / (MANY - FEW));
    if (!device)
        return TS_OK;
    status = time_program(start, "run", "few", device, &there, diag);
    if (status == TS_OK)
        status = time_query(start, rates, &asked, diag);
    if (status != TS_OK)
        return status;
    rates->values[RATE_CUDA_START] = fmax(0, there - here);
    rates->values[RATE_CUDA_QUERY] = fmax(0, asked - here);
    return TS_OK;
}

enum ts_status ts_bench_rates_runs(const char *program, const char *folder, const char *device, struct rates *rates,
                                   struct ts_diag *diag)
{
    char inner[PATH], name[] = "/tomostage-rates-XXXXXX";
    const struct start start = {program, inner};
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
        status = time_runs(&start, device, rates, diag);
    (void)nftw(inner, remove_entry, MOST_OPEN, FTW_DEPTH | FTW_PHYS);
    return status;
}
