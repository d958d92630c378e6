/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes the images and the expected results of the studies of histograms, and measures. Counts
 * are integers, so that every result has to be equal to what is expected. So are the tries of
 * tagged counts: of the lanes that write to one slot one succeeds with each try, so that a warp
 * takes as many tries as its commonest slot has lanes.
 */
#include "lab/study/histogram_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, APART_TABLES = 4 };

/* ---- the image ------------------------------------------------------------------------------- */

static struct bench_case case_of(const struct gray_study *study, const char *stage)
{
    return (struct bench_case){.stage = ts_stage_find(stage),
                               .dtype = TS_U8,
                               .values = study->values,
                               .nz = 1,
                               .ny = study->side,
                               .nx = study->side,
                               .given = study->run->given.values ? &study->run->given : NULL};
}

/* Opens the CUDA device that takes part, if any, for images up to this side. Ends with
 * close_study(), whatever it returned. */
static enum ts_status open_study(struct gray_study *study, struct study_run *run, int64_t most_side)
{
    const size_t bytes = (size_t)(most_side * most_side);
    *study = (struct gray_study){.run = run, .result = malloc(bytes)};
    run->threads = 1; /* a slice is not shared out among threads */
    if (!study->result)
        return ts_diag_no_memory(run->diag, bytes);
#ifdef TS_HAVE_CUDA
    if (run->devices.device) {
        study->device = ts_cuda_gray_create(run->devices.device, most_side * most_side, run->diag);
        return study->device ? TS_OK : TS_RUN_FAILED;
    }
#endif
    return TS_OK;
}

static void close_study(struct gray_study *study)
{
#ifdef TS_HAVE_CUDA
    ts_cuda_gray_destroy(study->device);
#endif
    free(study->image.data);
    free(study->result);
}

/* Takes a square image of these values in the place of the one before, and works out what it should
 * come to. */
static enum ts_status take_image(struct gray_study *study, enum bench_values values, int64_t side)
{
    const uint64_t n = (uint64_t)(side * side);
    uint64_t sum = 0;
    study->values = values;
    study->side = side;
    const struct bench_case which = case_of(study, "histogram");
    free(study->image.data);
    study->image = ts_bench_image(&which);
    if (!study->image.data)
        return ts_diag_no_memory(study->run->diag, n);
    memset(study->counts, 0, sizeof study->counts);
    for (uint64_t i = 0; i < n; i++)
        study->counts[((const uint8_t *)study->image.data)[i]]++;
    for (int value = 0; value < GRAY_VALUES; value++) {
        sum += study->counts[value];
        study->transform[value] =
            (uint8_t)floor((double)((GRAY_VALUES - 1) * sum) / (double)n + 0.5);
    }
    return TS_OK;
}

enum ts_status ts_gray_images(struct study_run *run, enum bench_values first,
                              enum bench_values last, gray_measure *measure)
{
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    struct gray_study study;
    enum ts_status status = open_study(&study, run, sides[n - 1]);
    for (int values = (int)first; values <= (int)last; values++)
        for (int i = 0; status == TS_OK && i < n; i++) {
            status = take_image(&study, (enum bench_values)values, sides[i]);
            if (status == TS_OK)
                status = measure(&study);
        }
    close_study(&study);
    return status;
}

const char *ts_gray_values_name(const struct gray_study *study)
{
    const bool given = study->run->given.values && study->values == BENCH_CT;
    return given ? "slice" : ts_bench_values_names[study->values];
}

/* ---- kernels --------------------------------------------------------------------------------- */

#ifdef TS_HAVE_CUDA
struct gray_work {
    struct gray_device *device;
    struct gray_job job;
};

static enum ts_status run_once(void *data, double *seconds)
{
    const struct gray_work *work = data;
    return ts_cuda_gray_run(work->device, &work->job, seconds);
}

static enum ts_status wrong(const struct gray_study *study, const char *method, const char *what,
                            uint64_t found, uint64_t expected)
{
    return ts_diag_error(
        study->run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-result"},
        "%s, side %lld: %s came to %llu instead of %llu", method, (long long)study->side, what,
        (unsigned long long)found, (unsigned long long)expected);
}

/* Compares what the last run came to with what is expected. */
static enum ts_status check(const struct gray_study *study, const char *method,
                            const struct gray_job *job)
{
    const uint8_t *pixels = study->image.data;
    uint32_t counts[GRAY_VALUES];
    enum ts_status status =
        ts_cuda_gray_read(study->device, counts, job->transform ? study->result : NULL, NULL);
    for (int value = 0; status == TS_OK && value < GRAY_VALUES; value++)
        if (counts[value] != study->counts[value])
            status = wrong(study, method, "a count", counts[value], study->counts[value]);
    for (int64_t i = 0; status == TS_OK && job->transform && i < study->side * study->side; i++)
        if (study->result[i] != study->transform[pixels[i]])
            status =
                wrong(study, method, "a gray value", study->result[i], study->transform[pixels[i]]);
    return status;
}

/* Runs the job once more, with its tries counted, and works out the row's number. */
static enum ts_status check_tries(const struct gray_study *study, struct gray_job job,
                                  struct study_row *row)
{
    uint32_t counts[GRAY_VALUES];
    uint64_t tries = 0, counted;
    const uint64_t expected =
        ts_gray_tries(study->image.data, study->side * study->side, job.kernel, &counted);
    double seconds;
    job.counts_tries = true;
    enum ts_status status = ts_cuda_gray_run(study->device, &job, &seconds);
    if (status == TS_OK)
        status = ts_cuda_gray_read(study->device, counts, NULL, &tries);
    row->number = (double)tries / (double)counted;
    return status != TS_OK || tries == expected
               ? status
               : wrong(study, row->method, "the tries", tries, expected);
}
#endif

static struct study_row row_of(const struct gray_study *study, const char *subject,
                               const char *method)
{
    struct study_row row = {.device = "CUDA",
                            .x = study->side,
                            .threads = -1,
                            .items = (double)(study->side * study->side),
                            .number = NAN};
    snprintf(row.subject, sizeof row.subject, "%s", subject);
    snprintf(row.method, sizeof row.method, "%s", method);
    return row;
}

enum ts_status ts_gray_kernel(struct gray_study *study, const char *subject, const char *method,
                              enum gray_memory memory, const struct gray_job *job)
{
    struct study_row row = row_of(study, subject, method);
    enum ts_status status = TS_OK;
#ifdef TS_HAVE_CUDA
    const bool tagged = job->kernel == GRAY_WARP_TAGGED || job->kernel == GRAY_WARP_APART;
    struct gray_work work = {study->device, *job};
    if (!study->device)
        return TS_OK;
    status = ts_cuda_gray_load(study->device, memory, study->image.data, study->side, study->side);
    if (status == TS_OK)
        status = ts_study_time(study->run, run_once, &work, &row);
    if (status == TS_OK)
        status = check(study, method, job);
    if (status == TS_OK && tagged)
        status = check_tries(study, *job, &row);
    if (status == TS_OK)
        status = ts_study_add(study->run, &row);
#else
    (void)memory;
    (void)job;
    (void)row;
#endif
    return status;
}

enum ts_status ts_gray_stage(struct gray_study *study, const char *subject, const char *method,
                             const char *stage, const char *parameters)
{
    const struct study_row row = row_of(study, subject, method);
    struct bench_case which = case_of(study, stage);
    snprintf(which.parameters, sizeof which.parameters, "%s", parameters);
    return ts_study_stage(study->run, &row, &which);
}

enum ts_status ts_gray_methods(struct gray_study *study, const char *subject,
                               const char *const methods[], int n)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n; i++) {
        char name[32], parameters[64];
        snprintf(name, sizeof name, "stage, %s", methods[i]);
        snprintf(parameters, sizeof parameters, "bins=256 limits=dtype method=%s", methods[i]);
        status = ts_gray_stage(study, subject, name, "histogram", parameters);
    }
    return status;
}

/* ---- tries ----------------------------------------------------------------------------------- */

/* Returns the lanes of the commonest slot among the values of a warp's lanes; -1: a lane without a
 * pixel. Apart, four tables share out the lanes. */
static uint64_t commonest(const int values[LANES], bool apart)
{
    uint8_t lanes[APART_TABLES][GRAY_VALUES] = {{0}};
    uint64_t most = 1;
    for (int lane = 0; lane < LANES; lane++)
        if (values[lane] >= 0) {
            const uint8_t n = ++lanes[apart ? lane % APART_TABLES : 0][values[lane]];
            most = n > most ? n : most;
        }
    return most;
}

uint64_t ts_gray_tries(const uint8_t *pixels, int64_t n, enum gray_kernel kernel, uint64_t *counted)
{
    const bool apart = kernel == GRAY_WARP_APART;
    const int64_t words = n / 4, share = (words + LANES - 1) / LANES,
                  golden = (int64_t)(0.618034 * (double)share);
    uint64_t tries = 0;
#pragma omp parallel for reduction(+ : tries)
    for (int64_t i = 0; i < 4 * share; i++) {
        int values[LANES];
        for (int64_t lane = 0; lane < LANES; lane++) {
            const int64_t turned = (i / 4 + lane * golden % share) % share;
            const int64_t word = apart ? lane * share + turned : i / 4 * LANES + lane;
            values[lane] = word < words ? pixels[4 * word + i % 4] : -1;
        }
        tries += commonest(values, apart);
    }
    *counted = (uint64_t)(4 * share);
    if (n % 4 > 0) {
        int values[LANES];
        for (int lane = 0; lane < LANES; lane++)
            values[lane] = lane < n % 4 ? pixels[4 * words + lane] : -1;
        tries += commonest(values, apart);
        ++*counted;
    }
    return tries;
}
