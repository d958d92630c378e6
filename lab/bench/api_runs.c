/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures runs on arrays: their time and memory, two at once, many one after the other, and
 * whether results are those of files.
 */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/image.h"
#include "core/memory.h"
#include "core/timing.h"
#include "io/file/digest.h"
#include "lab/bench/api.h"
#include "lab/bench/bench.h"
#include "pipeline/run/profile.h"

static const char volume_chain[] = "memory in | box radius=3 dimensions=3d | equalize | "
                                   "radon views=180";

/* Executes a run. */
static enum ts_status execute(struct api *api, const struct api_trial *trial, double *seconds)
{
    const double begin = ts_seconds();
    const enum ts_status status = ts_run_execute(trial->run, api->diag);
    *seconds = ts_seconds() - begin;
    return status;
}

/* Makes an array for the last image of a trial and has its run write it. */
static enum ts_status take_result(struct api *api, const struct api_trial *trial, bool on_host,
                                  struct api_array *out)
{
    struct ts_image image;
    enum ts_status status = ts_plan_describe(trial->plan, "data", &image, api->diag);
    if (status == TS_OK)
        status = ts_api_array(api, &image, on_host, out);
    return status == TS_OK ? ts_run_set_array(trial->run, "data", &out->array, api->diag) : status;
}

/* ---- copied ---------------------------------------------------------------------------------- */

/* Returns a line of /proc/self/status such as "VmHWM:" in bytes; 0 if it is not known. */
static double memory_of(const char *name)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            kib = strtod(line + strlen(name), NULL);
    if (file)
        fclose(file);
    return 1024 * kib;
}

/* Has the most memory that the process held begin anew. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

static enum ts_status drop(void *user, const struct ts_image *slab)
{
    (void)user;
    (void)slab;
    return TS_OK;
}

/* Sets *bytes to what a run takes more than the process had, at its peak. */
static enum ts_status peak_of(struct api *api, const struct ts_array *in, double *bytes)
{
    const struct ts_options options = ts_api_options(api);
    struct api_trial trial;
    double seconds;
    enum ts_status status =
        ts_api_trial("memory in | statistics", in, NULL, &options, api->diag, &trial);
    if (status == TS_OK)
        status = ts_run_set_take(trial.run, "data", drop, NULL, api->diag);
    if (status == TS_OK)
        status = execute(api, &trial, &seconds); /* threads and tables are there then */
    forget_peak();
    const double before = memory_of("VmRSS:");
    if (status == TS_OK)
        status = execute(api, &trial, &seconds);
    *bytes = fmax(memory_of("VmHWM:") - before, 0);
    ts_api_trial_end(&trial);
    return status;
}

/* A stage that only reads needs no memory for an array in C order. Of one with another order its
 * slabs are copied. */
enum ts_status ts_api_copied(struct api *api)
{
    const int64_t side = api->request->side;
    const struct ts_image image = ts_api_image(side, side, side, false);
    struct api_row row = ts_api_row(
        api, "copied", "MiB", "statistics of %lld cubed: growth of the peak", (long long)side);
    struct api_array in = {0};
    double plain = 0, turned = 0;
    enum ts_status status = ts_api_array(api, &image, true, &in);
    if (status == TS_OK)
        status = peak_of(api, &in.array, &plain);
    struct ts_array array = in.array;
    array.stride[2] = sizeof(float);
    array.stride[0] = side * array.stride[2]; /* (y, z, x) in memory */
    array.stride[1] = side * array.stride[0];
    if (status == TS_OK)
        status = peak_of(api, &array, &turned);
    if (status == TS_OK) {
        row.value = plain / (1 << 20);
        row.beside = (double)in.bytes / (1 << 20);
        row.goal = 1;
        snprintf(row.note, sizeof row.note,
                 "beside the array; %.3f MiB if it is in the order (y, z, x)", turned / (1 << 20));
        status = ts_api_add(api, &row, &row.value, false);
    }
    ts_api_array_clear(&in);
    return status;
}

/* ---- chain ----------------------------------------------------------------------------------- */

/* Sets *seconds to how long kernels, or the stages on the CPU, were at work in one run. */
static enum ts_status kernels_of(struct api *api, const struct ts_array *in, bool on_host,
                                 double *seconds)
{
    struct ts_options options = ts_api_options(api);
    struct profile_sum sums[TRACE_PARTS];
    struct profile_memory memory;
    struct api_trial trial = {0};
    struct api_array out = {0};
    struct trace *trace = NULL;
    char name[320], file[336], digest[DIGEST_TEXT_BYTES];
    struct arena *arena = ts_arena_create();
    snprintf(name, sizeof name, "%s/profile", api->folder);
    snprintf(file, sizeof file, "%s.json", name);
    options.profile = name;
    options.force = true;
    enum ts_status status = arena
                                ? ts_api_trial(volume_chain, in, NULL, &options, api->diag, &trial)
                                : ts_diag_no_memory(api->diag, 0);
    if (status == TS_OK)
        status = take_result(api, &trial, on_host, &out);
    for (int i = 0; status == TS_OK && i < 2; i++) /* the first loads kernels */
        status = execute(api, &trial, seconds);
    if (status == TS_OK)
        status = ts_profile_read(file, arena, &trace, &memory, digest, api->diag);
    if (status == TS_OK && ts_profile_sums(trace, sums) < 0)
        status = ts_diag_no_memory(api->diag, sizeof sums);
    if (status == TS_OK)
        *seconds = sums[TRACE_COMPUTE].busy;
    ts_trace_destroy(trace);
    ts_arena_destroy(arena);
    ts_api_trial_end(&trial);
    ts_api_array_clear(&out);
    return status;
}

static enum ts_status time_chain(struct api *api, bool on_host)
{
    const int64_t side = api->request->side;
    const int runs = api->request->runs;
    const struct ts_image image = ts_api_image(side, side, side, false);
    const struct ts_options options = ts_api_options(api);
    struct api_trial trial = {0};
    struct api_array in = {0}, out = {0};
    double *seconds = malloc((size_t)runs * sizeof *seconds), first = 0, kernels = 0;
    enum ts_status status = seconds ? ts_api_array(api, &image, on_host, &in)
                                    : ts_diag_no_memory(api->diag, sizeof *seconds);
    if (status == TS_OK)
        status = ts_api_trial(volume_chain, &in.array, NULL, &options, api->diag, &trial);
    if (status == TS_OK)
        status = take_result(api, &trial, on_host, &out);
    for (int i = -1; status == TS_OK && i < runs; i++)
        status = execute(api, &trial, i < 0 ? &first : &seconds[i]);
    if (status == TS_OK)
        status = kernels_of(api, &in.array, on_host, &kernels);
    if (status == TS_OK) {
        struct api_row row =
            ts_api_row(api, "chain", "ms", "box, equalize, radon of %lld cubed, %s arrays",
                       (long long)side, on_host ? "host" : "device");
        row.value = 1e3 * ts_median(seconds, runs);
        row.beside = 1e3 * kernels;
        snprintf(row.note, sizeof row.note, "beside its kernels; the first run took %.3f ms",
                 1e3 * first);
        status = ts_api_add(api, &row, NULL, false);
    }
    free(seconds);
    ts_api_trial_end(&trial);
    ts_api_array_clear(&in);
    ts_api_array_clear(&out);
    return status;
}

enum ts_status ts_api_chain(struct api *api)
{
    enum ts_status status = time_chain(api, true);
    return status == TS_OK && api->device ? time_chain(api, false) : status;
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { PAIR = 2 };

struct thread_run {
    struct api_trial trial;
    struct api_array in, out;
    struct ts_diag *diag;
    pthread_t thread;
    enum ts_status status;
    double processor_seconds;
};

static enum ts_status thread_create(struct api *api, struct thread_run *run)
{
    const int64_t side = api->request->side;
    const struct ts_image image = ts_api_image(side, side, side, false);
    struct ts_options options = ts_api_options(api);
    options.threads = 1;
    run->diag = ts_diag_create();
    enum ts_status status = run->diag ? ts_api_array(api, &image, true, &run->in)
                                      : ts_diag_no_memory(api->diag, sizeof *run);
    if (status == TS_OK)
        status = ts_api_trial(volume_chain, &run->in.array, NULL, &options, run->diag, &run->trial);
    return status == TS_OK ? take_result(api, &run->trial, true, &run->out) : status;
}

static void thread_destroy(struct thread_run *run)
{
    ts_api_trial_end(&run->trial);
    ts_api_array_clear(&run->in);
    ts_api_array_clear(&run->out);
    ts_diag_destroy(run->diag);
}

static void *work(void *data)
{
    struct thread_run *run = data;
    const double begin = ts_thread_seconds();
    run->status = ts_run_execute(run->trial.run, run->diag);
    run->processor_seconds = ts_thread_seconds() - begin;
    return NULL;
}

/* Counts, for as much processor time as a run took: what threads gain that share nothing. */
static void *spin(void *data)
{
    struct thread_run *run = data;
    const double end = ts_thread_seconds() + run->processor_seconds;
    while (ts_thread_seconds() < end)
        ;
    return NULL;
}

/* Starts a thread for each of the first n runs, and waits for them. */
static enum ts_status run_threads(struct thread_run *runs, int n, void *(*start)(void *),
                                  double *seconds, struct ts_diag *diag)
{
    const double begin = ts_seconds();
    int started = 0;
    for (; started < n; started++)
        if (pthread_create(&runs[started].thread, NULL, start, &runs[started]) != 0)
            break;
    enum ts_status status = TS_OK;
    for (int i = 0; i < started; i++) {
        pthread_join(runs[i].thread, NULL);
        status = status == TS_OK ? runs[i].status : status;
    }
    *seconds = ts_seconds() - begin;
    return started == n ? status : ts_diag_no_memory(diag, sizeof *runs);
}

/* Sets *gain to how much more two threads do than one in the same time, *one to the seconds of one,
 * and *cost to the processor time of a run beside another as a share of that of one alone. */
static enum ts_status gain_of(struct thread_run *runs, void *(*start)(void *), double *gain,
                              double *one, double *cost, struct ts_diag *diag)
{
    double two = 1;
    enum ts_status status = run_threads(runs, 1, start, one, diag);
    const double alone = runs[0].processor_seconds;
    if (status == TS_OK)
        status = run_threads(runs, PAIR, start, &two, diag);
    *gain = PAIR * *one / two;
    *cost = (runs[0].processor_seconds + runs[1].processor_seconds) / PAIR / alone;
    return status;
}

static enum ts_status add_threads(struct api *api, struct thread_run *runs)
{
    const int n = api->request->runs;
    double *times = malloc(4 * (size_t)n * sizeof *times), load = 0, ignored[2];
    double *gain = times, *cost = times + n, *one = times + 2 * n, *counting = times + 3 * n;
    enum ts_status status = times ? TS_OK : ts_diag_no_memory(api->diag, sizeof *times);
    for (int i = -1; status == TS_OK && i < n; i++) { /* -1 is not counted */
        const int at = i < 0 ? 0 : i;
        status = gain_of(runs, work, &gain[at], &one[at], &cost[at], api->diag);
        if (status == TS_OK)
            status = gain_of(runs, spin, &counting[at], &ignored[0], &ignored[1], api->diag);
    }
    (void)getloadavg(&load, 1);
    struct api_row row = ts_api_row(api, "threads", "times", "%s", "two runs at once, beside one");
    struct api_row slower =
        ts_api_row(api, "threads", "times", "%s", "processor time of a run, one of two to one");
    if (status == TS_OK) {
        row.value = ts_median(gain, n);
        row.beside = ts_median(counting, n);
        row.goal = 1.9;
        snprintf(row.note, sizeof row.note,
                 "beside threads that only count; one run takes %.3f ms; the load is %.2f",
                 1e3 * ts_median(one, n), load);
        status = ts_api_add(api, &row, &row.value, true);
    }
    if (status == TS_OK) {
        slower.value = ts_median(cost, n);
        status = ts_api_add(api, &slower, NULL, false);
    }
    free(times);
    return status;
}

enum ts_status ts_api_threads(struct api *api)
{
    struct thread_run runs[PAIR] = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < PAIR; i++)
        status = thread_create(api, &runs[i]);
    if (status == TS_OK)
        status = add_threads(api, runs);
    for (int i = 0; i < PAIR; i++)
        thread_destroy(&runs[i]);
    return status;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

static int open_files(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

static double device_memory(const struct api *api)
{
    size_t left = 0, total = 0;
#ifdef TS_HAVE_CUDA
    char pci[32];
    if (api->device && ts_cuda_pci_address(api->device, pci, sizeof pci))
        (void)ts_cuda_memory_left(pci, &left, &total);
#endif
    (void)api;
    return (double)total - (double)left;
}

static enum ts_status cycle(struct api *api, const struct api_array *in, struct api_array *out)
{
    static const char text[] = "memory in | box radius=1 | equalize | rescale range=[0,1]";
    const struct ts_options options = ts_api_options(api);
    struct api_trial trial;
    double seconds;
    enum ts_status status = ts_api_trial(text, &in->array, NULL, &options, api->diag, &trial);
    if (status == TS_OK && !out->host)
        status = take_result(api, &trial, false, out);
    else if (status == TS_OK)
        status = ts_run_set_array(trial.run, "data", &out->array, api->diag);
    if (status == TS_OK)
        status = execute(api, &trial, &seconds);
    ts_api_trial_end(&trial);
    ts_diag_clear(api->diag);
    return status;
}

enum ts_status ts_api_cycles(struct api *api)
{
    const int n = api->request->cycles;
    const struct ts_image image = ts_api_image(8, 32, 32, false);
    struct api_row row = ts_api_row(api, "cycles", "KiB", "growth by %d plans and runs", n);
    struct api_array in = {0}, out = {0};
    enum ts_status status = ts_api_array(api, &image, false, &in);
    for (int i = 0; status == TS_OK && i < 20 + n / 10; i++)
        status = cycle(api, &in, &out);
    const double resident = memory_of("VmRSS:"), on_device = device_memory(api);
    const int files = open_files();
    for (int i = 0; status == TS_OK && i < n; i++)
        status = cycle(api, &in, &out);
    if (status == TS_OK) {
        row.value = (memory_of("VmRSS:") - resident) / 1024;
        row.goal = 1024;
        snprintf(row.note, sizeof row.note, "open files %+d; device memory %+.0f KiB",
                 open_files() - files, (device_memory(api) - on_device) / 1024);
        status = ts_api_add(api, &row, &row.value, false);
    }
    ts_api_array_clear(&in);
    ts_api_array_clear(&out);
    return status;
}

/* ---- digests --------------------------------------------------------------------------------- */

enum { DIGEST_SLICES = 4 };

/* Runs a chain and writes the digest of its last image. Its records go to `diag`. */
static enum ts_status digest_of(struct api *api, const char *text, const struct ts_array *in,
                                const struct ts_image *about, bool on_host, struct ts_diag *diag,
                                char digest[DIGEST_TEXT_BYTES])
{
    const struct ts_options options = ts_api_options(api);
    struct ts_diag *own = api->diag;
    struct api_trial trial;
    struct api_array out = {0};
    double seconds;
    api->diag = diag;
    enum ts_status status = ts_api_trial(text, in, about, &options, diag, &trial);
    if (status == TS_OK)
        status = take_result(api, &trial, on_host, &out);
    if (status == TS_OK)
        status = execute(api, &trial, &seconds);
    if (status == TS_OK)
        status = ts_api_fetch(api, &out);
    if (status == TS_OK && !ts_digest_of(out.host, out.bytes, digest))
        status = ts_diag_no_memory(diag, out.bytes);
    ts_api_trial_end(&trial);
    ts_api_array_clear(&out);
    api->diag = own;
    return status;
}

/* What a stage is run on: an array, and a file that holds the same image. */
struct digest_case {
    char stage[320];
    struct ts_image image;
    struct api_array host, own; /* own: where the device has its images */
};

/* Computes the digests of the stage on a file, a host array and an array of the device. */
static enum ts_status compare(struct api *api, const struct digest_case *which, struct api_row *row,
                              struct ts_diag *diag)
{
    const bool on_device = api->device != NULL;
    char path[320], text[1024], of_file[DIGEST_TEXT_BYTES] = "", of_array[DIGEST_TEXT_BYTES] = "",
                                of_own[DIGEST_TEXT_BYTES] = "";
    struct ts_options options = ts_api_options(api);
    struct api_trial trial;
    double seconds;
    snprintf(path, sizeof path, "%s/in.h5", api->folder);
    snprintf(text, sizeof text, "memory in | %s", which->stage);
    enum ts_status status =
        digest_of(api, text, &which->host.array, &which->image, true, diag, of_array);
    if (status == TS_OK && on_device)
        status = digest_of(api, text, &which->own.array, &which->image, false, diag, of_own);
    options.force = true;
    snprintf(text, sizeof text, "memory in | hdf5 %s", path);
    if (status == TS_OK) {
        status = ts_api_trial(text, &which->host.array, &which->image, &options, diag, &trial);
        if (status == TS_OK)
            status = execute(api, &trial, &seconds);
        ts_api_trial_end(&trial);
    }
    snprintf(text, sizeof text, "result %s | %s", path, which->stage);
    if (status == TS_OK)
        status = digest_of(api, text, NULL, NULL, true, diag, of_file);
    if (status != TS_OK)
        return status;
    row->value = strcmp(of_file, of_array) || (on_device && strcmp(of_own, of_array)) ? 0 : 1;
    row->goal = 1;
    snprintf(row->note, sizeof row->note, "%.16s of the file, %.16s of the array%s%.16s", of_file,
             of_array, on_device ? ", of the device's " : "", of_own);
    return TS_OK;
}

/* Writes the stage as a chain names it: references are the input, and the scan is the image's. */
static void name_stage(const struct stage *stage, const char *parameters, char text[320])
{
    char copy[256], *rest = copy;
    int used = snprintf(text, 320, "%s", stage->name);
    snprintf(copy, sizeof copy, "%s", parameters);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strstr(word, "=" BENCH_ITSELF);
        if (value)
            *value = 0;
        if (strncmp(word, BENCH_SCAN, strlen(BENCH_SCAN)) != 0)
            used +=
                snprintf(text + used, (size_t)(320 - used), " %s%s", word, value ? "=input" : "");
    }
}

/* Finds the first of the stage's cases that a chain takes, and compares it. */
static enum ts_status add_digest(struct api *api, const struct stage *stage)
{
    char parameters[BENCH_MAX_CASES][256];
    const int n = ts_bench_parameters(stage, parameters);
    const int64_t side = api->request->side;
    struct api_row row = ts_api_row(api, "digests", "same", "%s", stage->name);
    for (int i = 0; i < n && isnan(row.value); i++) {
        struct bench_case which = {.stage = stage,
                                   .dtype = TS_F32,
                                   .values = BENCH_CT,
                                   .nz = DIGEST_SLICES,
                                   .ny = side,
                                   .nx = side};
        struct digest_case made = {.stage = ""};
        struct ts_diag *diag = ts_diag_create();
        for (int dtype = TS_U8; !(stage->dtypes & TS_DTYPE_BIT(which.dtype)); dtype++)
            which.dtype = (enum ts_dtype)dtype;
        snprintf(which.parameters, sizeof which.parameters, "%s", parameters[i]);
        name_stage(stage, parameters[i], made.stage);
        made.image = ts_bench_image(&which);
        enum ts_status status = diag && made.image.data ? TS_OK : TS_RUN_FAILED;
        if (status == TS_OK)
            status = ts_api_array(api, &made.image, true, &made.host);
        if (status == TS_OK)
            status = ts_api_array(api, &made.image, false, &made.own);
        if (status == TS_OK && compare(api, &made, &row, diag) != TS_OK)
            snprintf(row.note, sizeof row.note, "left out: %s",
                     ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
        ts_api_array_clear(&made.host);
        ts_api_array_clear(&made.own);
        free(made.image.data);
        ts_diag_destroy(diag);
        if (status != TS_OK)
            return status;
    }
    return ts_api_add(api, &row, isnan(row.value) ? NULL : &row.value, true);
}

enum ts_status ts_api_digests(struct api *api)
{
    enum ts_status status = TS_OK;
    for (const struct stage *const *stage = ts_stages; status == TS_OK && *stage; stage++)
        if ((*stage)->map)
            status = add_digest(api, *stage);
    return status;
}
