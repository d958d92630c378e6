/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries the jobs out one after another, each in its folder: makes the inputs, then times row
 * after row. A run and the plain writing of its result's bytes take turns, so that a disk that
 * slows down slows both. Results are removed before the next is written: a job never needs space
 * for more than its inputs and one set of results.
 */
#include "lab/bench/runs.h"

#include <errno.h>
#include <linux/magic.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/timing.h"
#include "io/file/file_bytes.h"
#include "io/file/new_folder.h"
#include "io/file/whole_file.h"
#include "lab/bench/bench_devices.h"
#include "lab/bench/runs_process.h"
#include "lab/bench/table.h"

struct runs_row {
    const char *job, *form, *device;
    double seconds, least, most; /* the median of the runs, the shortest and the longest */
    double processor_seconds, memory_bytes, bytes, write_seconds, ratio, goal;
    const char *verdict;
    int64_t runs;
    char why[512]; /* says why the job was left out; "": it was not */
};

#define AT(member) offsetof(struct runs_row, member)
static const struct table_column columns[] = {
    {"job", "job", COLUMN_TEXT, AT(job), -3},
    {"form", "form", COLUMN_TEXT, AT(form), -11},
    {"device", "device", COLUMN_TEXT, AT(device), -7},
    {"seconds", "s", COLUMN_REAL, AT(seconds), 8, 3},
    {"least", "from", COLUMN_REAL, AT(least), 8, 3},
    {"most", "to", COLUMN_REAL, AT(most), 8, 3},
    {"runs", NULL, COLUMN_INTEGER, AT(runs)},
    {"processor_seconds", "CPU s", COLUMN_REAL, AT(processor_seconds), 8, 2},
    {"memory_bytes", "peak MiB", COLUMN_REAL, AT(memory_bytes), 8, 0, 1.0 / (1 << 20)},
    {"bytes", "file MB", COLUMN_REAL, AT(bytes), 9, 1, 1e-6},
    {"write_seconds", "write s", COLUMN_REAL, AT(write_seconds), 8, 3},
    {"ratio", "ratio", COLUMN_REAL, AT(ratio), 6, 2},
    {"goal", "goal s", COLUMN_REAL, AT(goal), 7, 2},
    {"verdict", "", COLUMN_TEXT, AT(verdict), -6, .unknown = "", .optional = true},
    {"left_out", "", COLUMN_CHARS, AT(why), -1, .unknown = "", .optional = true}};
static const struct table table = TABLE_OF(struct runs_row, columns);

struct runs {
    const struct runs_request *request;
    struct bench_devices devices;
    struct table_rows rows;
    struct ts_diag *diag;
};

/* A series is the runs of one row, which carry out the same chain on the same device into the same
 * form. */
struct series {
    const struct runs_job *job;
    const struct runs_form *form;
    const char *folder, *device;
    char name[64]; /* begins the names of its files */
};

/* ---- one run --------------------------------------------------------------------------------- */

static void result_path(const struct series *series, int i, char path[RUNS_PATH_BYTES])
{
    snprintf(path, RUNS_PATH_BYTES, "%s/%s-%02d.h5", series->folder, series->name, i + 1);
}

/* Runs the chain on input i. */
static enum ts_status run_one(const struct runs *runs, const struct series *series, int i,
                              bool profiled, struct runs_process *process)
{
    char chain[RUNS_PATH_BYTES], input[RUNS_PATH_BYTES], output[RUNS_PATH_BYTES],
        lanes[RUNS_PATH_BYTES];
    const char *arguments[24] = {"run", chain,  "--quiet",  "-i",          input,
                                 "-o",  output, "--device", series->device};
    int n = 9;
    snprintf(chain, sizeof chain, "%s/%s.yaml", series->folder, series->job->name);
    ts_runs_input_path(series->job, series->folder, i, input);
    result_path(series, i, output);
    for (int k = 0; k < 2 && series->form->set[k]; k++) {
        arguments[n++] = "--set";
        arguments[n++] = series->form->set[k];
    }
    if (profiled) {
        snprintf(lanes, sizeof lanes, "%s/%s", runs->request->folder, series->name);
        arguments[n++] = "--profile";
        arguments[n++] = lanes;
        arguments[n++] = "--force";
    }
    return ts_runs_process(arguments, process, runs->diag);
}

static enum ts_status verify_results(const struct runs *runs, const struct series *series)
{
    enum ts_status status = TS_OK;
    for (int i = 0; i < series->job->n_inputs && status == TS_OK; i++) {
        char path[RUNS_PATH_BYTES];
        struct runs_process process;
        result_path(series, i, path);
        status = ts_runs_process((const char *const[]){"verify", path, NULL}, &process, runs->diag);
    }
    return status;
}

/* Removes the results and writes as many bytes as they had. */
static enum ts_status write_plainly(const struct runs *runs, const struct series *series,
                                    double *bytes, double *seconds)
{
    enum ts_status status = TS_OK;
    *bytes = *seconds = 0;
    for (int i = 0; i < series->job->n_inputs && status == TS_OK; i++) {
        char path[RUNS_PATH_BYTES];
        struct stat found;
        double taken = 0;
        result_path(series, i, path);
        if (stat(path, &found) != 0 || unlink(path) != 0)
            return ts_diag_error(runs->diag, TS_RUN_FAILED,
                                 &(struct diag_site){.code = "runs-failed"}, "%s: %s", path,
                                 ts_errno_text(errno));
        status = ts_runs_write(path, found.st_size, &taken, runs->diag);
        *bytes += (double)found.st_size;
        *seconds += taken;
    }
    return status;
}

/* Runs the chain on all inputs, one after another, and sums up what they took. */
static enum ts_status run_all(const struct runs *runs, const struct series *series, bool last,
                              struct runs_process *sum)
{
    enum ts_status status = TS_OK;
    *sum = (struct runs_process){0};
    for (int i = 0; i < series->job->n_inputs && status == TS_OK; i++) {
        struct runs_process process = {0};
        status = run_one(runs, series, i, last && i == 0 && runs->request->profile, &process);
        sum->seconds += process.seconds;
        sum->processor_seconds += process.processor_seconds;
        sum->memory_bytes = fmax(sum->memory_bytes, process.memory_bytes);
    }
    return status == TS_OK && last && runs->request->verify ? verify_results(runs, series) : status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void judge(const struct runs_job *job, struct runs_row *row)
{
    row->ratio = row->seconds / row->write_seconds;
    if (!(job->goal > 0))
        return;
    row->goal = fmax(job->goal, job->goal_writes * row->write_seconds + job->goal_start);
    row->verdict = row->seconds <= row->goal ? "met" : "missed";
}

static struct runs_row empty_row(const struct runs_job *job)
{
    return (struct runs_row){.job = job->name,
                             .seconds = NAN,
                             .least = NAN,
                             .most = NAN,
                             .processor_seconds = NAN,
                             .memory_bytes = NAN,
                             .bytes = NAN,
                             .write_seconds = NAN,
                             .ratio = NAN,
                             .goal = NAN,
                             .runs = -1};
}

static enum ts_status time_row(struct runs *runs, const struct series *series)
{
    const int n = runs->request->runs;
    struct runs_row row = empty_row(series->job);
    double *seconds = malloc(3 * (size_t)n * sizeof *seconds), *processor = seconds + n,
           *writing = processor + n;
    enum ts_status status =
        seconds ? TS_OK : ts_diag_no_memory(runs->diag, 3 * (size_t)n * sizeof *seconds);
    row.form = series->form->name;
    row.device = series->device;
    row.runs = n;
    row.memory_bytes = 0;
    for (int i = 0; i < n && status == TS_OK; i++) {
        struct runs_process sum;
        status = run_all(runs, series, i == n - 1, &sum);
        if (status == TS_OK)
            status = write_plainly(runs, series, &row.bytes, &writing[i]);
        seconds[i] = sum.seconds;
        processor[i] = sum.processor_seconds;
        row.memory_bytes = fmax(row.memory_bytes, sum.memory_bytes);
    }
    if (status == TS_OK) {
        row.seconds = ts_median(seconds, n);
        row.least = seconds[0];
        row.most = seconds[n - 1];
        row.processor_seconds = ts_median(processor, n);
        row.write_seconds = ts_median(writing, n);
        judge(series->job, &row);
        status = ts_table_add(&runs->rows, &row, runs->diag);
    }
    free(seconds);
    return status;
}

static enum ts_status time_forms(struct runs *runs, const struct runs_job *job, const char *folder,
                                 const char *device)
{
    enum ts_status status = TS_OK;
    for (int i = 0; i < RUNS_FORMS && job->forms[i].name && status == TS_OK; i++) {
        struct series series = {
            .job = job, .form = &job->forms[i], .folder = folder, .device = device};
        snprintf(series.name, sizeof series.name, "%s-%s-%s", job->name, job->forms[i].name,
                 device);
        for (char *c = series.name; *c; c++)
            *c = (char)(strchr(" :,", *c) ? '-' : *c);
        status = time_row(runs, &series);
    }
    return status;
}

static enum ts_status time_job(struct runs *runs, const struct runs_job *job, const char *folder)
{
    const char *wanted = runs->request->device;
    enum ts_status status = ts_runs_make(job, folder, runs->diag);
    if (status == TS_OK && runs->devices.on_cpu)
        status = time_forms(runs, job, folder, "cpu");
    if (status == TS_OK && runs->devices.device)
        status = time_forms(runs, job, folder, wanted && strchr(wanted, ':') ? wanted : "cuda");
    return status;
}

/* ---- folders --------------------------------------------------------------------------------- */

/* Times the job in a new folder of `parent`, which is removed at the end. */
static enum ts_status time_job_in(struct runs *runs, const struct runs_job *job, const char *parent)
{
    char folder[RUNS_PATH_BYTES];
    enum ts_status status = ts_temporary_folder_make(parent, folder, sizeof folder, runs->diag);
    if (status != TS_OK)
        return status;
    status = time_job(runs, job, folder);
    ts_temporary_folder_remove(folder);
    return status;
}

/* Returns true where the folder is one of a memory file system. */
static bool is_in_memory(const char *folder, struct statfs *found)
{
    return statfs(folder, found) == 0 &&
           (found->f_type == TMPFS_MAGIC || found->f_type == RAMFS_MAGIC);
}

/* Times a job whose files lie in memory, or says why not. */
static enum ts_status time_job_in_memory(struct runs *runs, const struct runs_job *job)
{
    static const char memory[] = "/dev/shm";
    const char *folder = runs->request->folder;
    struct statfs found;
    const bool own = folder && is_in_memory(folder, &found);
    const double bytes = 1.02 * (double)ts_runs_job_bytes(job);
    struct runs_row row = empty_row(job);
    if (!own && !is_in_memory(memory, &found))
        snprintf(row.why, sizeof row.why, "left out: %s is no memory file system", memory);
    else if ((double)found.f_bavail * (double)found.f_bsize < bytes)
        snprintf(row.why, sizeof row.why,
                 "left out: it needs %.1f GB in %s, where %.1f GB are free", 1e-9 * bytes,
                 own ? folder : memory, 1e-9 * (double)found.f_bavail * (double)found.f_bsize);
    if (*row.why)
        return ts_table_add(&runs->rows, &row, runs->diag);
    return own ? time_job(runs, job, folder) : time_job_in(runs, job, memory);
}

static enum ts_status time_jobs(struct runs *runs)
{
    const struct runs_request *request = runs->request;
    const char *temporary = getenv("TMPDIR");
    bool all = true;
    enum ts_status status = TS_OK;
    for (int i = 0; i < RUNS_JOBS; i++)
        all = all && !request->jobs[i];
    for (int i = 0; i < RUNS_JOBS && status == TS_OK; i++) {
        const struct runs_job job = ts_runs_job_smaller(&ts_runs_jobs[i], request->smaller);
        if (!all && !request->jobs[i])
            continue;
        if (job.in_memory)
            status = time_job_in_memory(runs, &job);
        else if (request->folder)
            status = time_job(runs, &job, request->folder);
        else
            status = time_job_in(runs, &job, temporary && *temporary ? temporary : "/tmp");
    }
    return status;
}

static void print_head(const struct runs *runs)
{
    FILE *stream = runs->rows.stream;
    fprintf(stream,
            "Whole processes, median of %d; write: as many bytes as the file has, with fsync; "
            "ratio: of the two\n",
            runs->request->runs);
    if (*runs->devices.why)
        fprintf(stream, "no rows of a CUDA device: %s\n", runs->devices.why);
    fputc('\n', stream);
}

enum ts_status ts_runs_run(const struct runs_request *request, FILE *stream, struct ts_diag *diag)
{
    struct runs runs = {.request = request,
                        .rows = {.table = &table, .stream = stream, .json = request->json},
                        .diag = diag};
    bool made;
    enum ts_status status = ts_bench_devices_choose(request->device, true, &runs.devices, diag);
    if (status == TS_OK && request->save)
        status = ts_whole_file_check(request->save, true, diag);
    if (status == TS_OK && request->folder)
        status = ts_new_folder(request->folder, &made, diag);
    if (status != TS_OK)
        return status;
    ts_runs_signals_catch();
    if (!request->json)
        print_head(&runs);
    ts_table_begin(&runs.rows);
    status = time_jobs(&runs);
    const enum ts_status printed = ts_table_end(&runs.rows, diag);
    status = status == TS_OK ? printed : status;
    if (status == TS_OK && request->save)
        status = ts_table_save(&runs.rows, request->save, diag);
    ts_table_clear(&runs.rows);
    ts_runs_signals_obey();
    return status;
}
