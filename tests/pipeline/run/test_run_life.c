/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of plans and runs in a process that makes many of them: nothing is left behind, and
 * another thread ends a run wherever it is.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "include/tomostage_array.h"
#include "include/tomostage_context.h"
#include "include/tomostage_stage.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

static struct ts_diag *diag;
static char folder[256];

static void begin(void)
{
    diag = ts_diag_create();
    ts_test_folder(folder, sizeof folder);
}

static void end(void)
{
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

TestSuite(run_life, .init = begin, .fini = end);

struct life {
    struct ts_chain *chain;
    struct ts_plan *plan;
    struct ts_run *run;
};

/* Plans a chain whose input `volume`, if it has one, is this array. */
static void (*listener)(void *user, const struct ts_event *event);

static struct life begin_life(struct ts_context *context, const char *text,
                              const struct ts_array *in)
{
    struct life life = {0};
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    options.threads = 2;
    options.force = true;
    options.on_event = listener;
    ts_diag_clear(diag);
    enum ts_status status =
        ts_context_parse(context, text, strlen(text), "test", folder, &life.chain, diag);
    if (status == TS_OK && in)
        status = ts_chain_set_array(life.chain, "volume", in, NULL, diag);
    if (status == TS_OK)
        status = ts_plan_create(life.chain, &options, &life.plan, diag);
    if (status == TS_OK)
        status = ts_run_create(life.plan, &life.run, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    return life;
}

static void end_life(struct life *life)
{
    ts_run_destroy(life->run);
    ts_plan_destroy(life->plan);
    ts_chain_destroy(life->chain);
}

static void execute(const struct life *life)
{
    const enum ts_status status = ts_run_execute(life->run, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
}

static struct ts_array array_of(float *values, int64_t nz, int64_t ny, int64_t nx)
{
    return (struct ts_array){.size = sizeof(struct ts_array),
                             .data = values,
                             .dtype = TS_F32,
                             .rank = 3,
                             .n = {nz, ny, nx},
                             .cuda_device = -1};
}

/* Executes the run with its last image going to an array of 4 x 8 x 8. */
static void execute_to(const struct life *life, float *values)
{
    const struct ts_array out = array_of(values, 4, 8, 8);
    cr_assert_eq(ts_run_set_array(life->run, "data", &out, diag), TS_OK);
    execute(life);
}

/* ---- nothing is left ------------------------------------------------------------------------- */

#ifndef TS_SANITIZED /* which count memory in their own way */
static int count_entries(const char *path)
{
    DIR *entries = opendir(path);
    int n = 0;
    cr_assert_not_null(entries);
    while (readdir(entries))
        n++;
    closedir(entries);
    return n;
}

/* One turn in 50 has a context of its own, writes a file and reads it in a sandboxed process. */
static void live(struct ts_context *context, int turn)
{
    static float values[4 * 8 * 8], smooth[4 * 8 * 8];
    const struct ts_array in = array_of(values, 4, 8, 8), out = array_of(smooth, 4, 8, 8);
    struct life life =
        begin_life(context, "memory volume | box radius=1 dimensions=2d | statistics", &in);
    cr_assert_eq(ts_run_set_array(life.run, "data", &out, diag), TS_OK);
    execute(&life);
    end_life(&life);
    if (turn % 50 != 0)
        return;
    struct ts_context *own = NULL;
    cr_assert_eq(ts_context_create(NULL, &own, diag), TS_OK);
    life = begin_life(own, "memory volume | box radius=1 | hdf5 kept.h5", &in);
    execute(&life);
    end_life(&life);
    life = begin_life(own, "result kept.h5 | invert | hdf5 again.h5", NULL);
    execute(&life);
    end_life(&life);
    ts_context_destroy(own);
}

Test(run_life, nothing_is_left_behind)
{
    const int turns = getenv("TOMOSTAGE_TESTS_ALL") ? 10000 : 300;
    struct ts_context *context = NULL;
    size_t bytes = 0;
    int files = 0, threads = 0;
    cr_assert_eq(ts_context_create(NULL, &context, diag), TS_OK);
    for (int turn = 0; turn < turns; turn++) {
        live(context, turn);
        if (turn == turns / 2) { /* libraries fill what they keep first */
            bytes = mallinfo2().uordblks;
            files = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
        }
    }
    cr_assert_lt(mallinfo2().uordblks, bytes + (64 << 10));
    cr_assert_eq(count_entries("/proc/self/fd"), files);
    cr_assert_eq(count_entries("/proc/self/task"), threads);
    ts_context_destroy(context);
    fprintf(stderr, "%d plans and runs\n", turns);
}
#endif

/* ---- it writes in place ---------------------------------------------------------------------- */

static float *written[8];
static int n_written;

static enum ts_status note_place(const struct ts_call *call, struct ts_image *out)
{
    (void)call;
    if (n_written < 8)
        written[n_written] = out->data;
    n_written++;
    memset(out->data, 0, (size_t)(out->axes[0].n * out->axes[1].n * out->axes[2].n) * 4);
    return TS_OK;
}

/* What a stage is told to write to is the caller's array if that is in C order, and memory of the
 * run's if rows are apart. */
Test(run_life, outputs_are_computed_in_the_array)
{
    static const struct ts_stage stage = {.size = sizeof stage,
                                          .name = "note_place",
                                          .version = "1",
                                          .summary = "note where it writes",
                                          .doc = "It writes zeros.",
                                          .axes = TS_TAKES_VOLUMES,
                                          .dtypes = 1u << TS_F32,
                                          .map = note_place};
    float values[4 * 8 * 8] = {0}, result[4 * 8 * 16];
    const struct ts_array in = array_of(values, 4, 8, 8);
    struct ts_context *context = NULL;
    cr_assert_eq(ts_context_create(NULL, &context, diag), TS_OK);
    cr_assert_eq(ts_context_add_stage(context, &stage, diag), TS_OK);
    struct life life = begin_life(context, "memory volume | note_place", &in);
    struct ts_array out = array_of(result, 4, 8, 8);
    for (int apart = 0; apart < 2; apart++) {
        if (apart)
            memcpy(out.stride, (int64_t[]){8 * 16 * 4, 16 * 4, 4}, 3 * sizeof *out.stride);
        memset(result, 1, sizeof result);
        n_written = 0;
        cr_assert_eq(ts_run_set_array(life.run, "data", &out, diag), TS_OK);
        execute(&life);
        cr_assert(n_written > 0);
        const bool inside = written[0] >= result && written[0] < result + 4 * 8 * 16;
        cr_expect_eq(inside, !apart);
        cr_expect(written[0] == result || apart);
        for (int i = 0; i < 4 * 8 * 8; i++)
            cr_assert_eq(result[apart ? i / 8 * 16 + i % 8 : i], 0.0f);
    }
    end_life(&life);
    ts_context_destroy(context);
}

/* ---- it ends when it is asked to ------------------------------------------------------------- */

struct stopper {
    struct ts_run *run;
    int after_us;
};

static void *stop(void *data)
{
    const struct stopper *stopper = data;
    usleep((useconds_t)stopper->after_us);
    ts_run_stop(stopper->run);
    return NULL;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The stop comes before a run, then at many moments of others, of which it ends those that have
 * slabs or stages left. A run that is stopped can be executed again. */
Test(run_life, another_thread_stops_it)
{
    enum { NZ = 32, N = 64, TRIALS = 12 };
    float *values = calloc(2 * NZ * N * N, sizeof *values), *median = values + NZ * N * N;
    const struct ts_array in = array_of(values, NZ, N, N), out = array_of(median, NZ, N, N);
    for (int i = 0; i < NZ * N * N; i++)
        values[i] = 1.0f;
    struct life life = begin_life(NULL, "memory volume | median radius=3", &in);
    cr_assert_eq(ts_run_set_array(life.run, "data", &out, diag), TS_OK);
    double seconds = seconds_now();
    execute(&life);
    seconds = seconds_now() - seconds;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct stopper stopper = {life.run, (int)(1.5e6 * seconds * trial / TRIALS)};
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, stop, &stopper), 0);
        if (trial == 0)
            pthread_join(thread, NULL);
        ts_diag_clear(diag);
        const enum ts_status status = ts_run_execute(life.run, diag);
        cr_assert(status == TS_STOPPED || (trial > 0 && status == TS_OK), "%d", (int)status);
        if (trial > 0)
            pthread_join(thread, NULL);
    }
    ts_diag_clear(diag);
    if (ts_run_execute(life.run, diag) == TS_STOPPED) /* the last stop came after its run */
        execute(&life);
    for (int i = 0; i < NZ * N * N; i++)
        cr_assert_eq(median[i], 1.0f);
    end_life(&life);
    free(values);
}

/* A thread that wants to stop a run may be faster than the one that begins it. */
Test(run_life, a_stop_between_two_executions_ends_the_next)
{
    float values[4 * 8 * 8] = {0}, smooth[4 * 8 * 8];
    const struct ts_array in = array_of(values, 4, 8, 8), out = array_of(smooth, 4, 8, 8);
    struct life life = begin_life(NULL, "memory volume | box radius=1", &in);
    cr_assert_eq(ts_run_set_array(life.run, "data", &out, diag), TS_OK);
    struct stopper stopper = {life.run, 300000};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, stop, &stopper), 0);
    execute(&life);
    pthread_join(thread, NULL);
    cr_assert_eq(ts_run_execute(life.run, diag), TS_STOPPED);
    execute(&life);
    end_life(&life);
}

static struct ts_run *stopped;
static int64_t iterations;

static void stop_in_an_iteration(void *user, const struct ts_event *event)
{
    (void)user;
    if (event->kind != TS_EVENT_ITERATION)
        return;
    iterations++;
    if (event->iteration == 3)
        ts_run_stop(stopped);
}

/* Also in the last slab, and then the run has not ended well. */
Test(run_life, a_stop_ends_iterations)
{
    static const char *const stages[] = {"sirt iterations=500", "cgls iterations=500"};
    float values[3 * 16 * 16], result[3 * 16 * 16];
    const struct ts_array in = array_of(values, 3, 16, 16);
    for (int i = 0; i < 3 * 16 * 16; i++)
        values[i] = (float)(i * 37 % 101);
    listener = stop_in_an_iteration;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        char text[120];
        snprintf(text, sizeof text, "memory volume | radon views=20 | %s rows=16 columns=16",
                 stages[i]);
        struct life life = begin_life(NULL, text, &in);
        const struct ts_array out = array_of(result, 3, 16, 16);
        cr_assert_eq(ts_run_set_array(life.run, "data", &out, diag), TS_OK);
        stopped = life.run;
        iterations = 0;
        cr_expect_eq(ts_run_execute(life.run, diag), TS_STOPPED);
        cr_expect(iterations >= 4 && iterations < 20, "%d", (int)iterations);
        end_life(&life);
    }
    listener = NULL;
}

/* The stop of a plan is for the run at work, or for the next one; it does not stay. */
Test(run_life, a_stop_is_for_one_run_of_a_plan)
{
    float values[4 * 8 * 8] = {0}, result[4 * 8 * 8];
    const struct ts_array in = array_of(values, 4, 8, 8);
    struct life life = begin_life(NULL, "memory volume | box radius=1 | hdf5 out.h5", &in);
    for (int stops = 0; stops < 4; stops++) {
        for (int i = 0; i < stops; i++)
            ts_plan_stop(life.plan);
        ts_diag_clear(diag);
        cr_assert_eq(ts_plan_run(life.plan, diag), stops > 0 ? TS_STOPPED : TS_OK, "%d", stops);
        cr_assert_eq(ts_plan_run(life.plan, diag), TS_OK, "after %d", stops);
    }
    ts_plan_stop(life.plan); /* is not for the runs that the caller made of it */
    execute_to(&life, result);
    cr_assert_eq(ts_plan_run(life.plan, diag), TS_STOPPED);
    end_life(&life);
}

/* ---- options --------------------------------------------------------------------------------- */

Test(run_life, options_may_be_left_out)
{
    float values[4 * 8 * 8] = {0}, cut[4 * 8 * 8];
    const struct ts_array in = array_of(values, 4, 8, 8), out = array_of(cut, 2, 4, 3);
    static const char text[] = "memory volume | crop above=0.5 margin=0";
    struct life life = {0};
    for (int z = 1; z < 3; z++)
        for (int y = 2; y < 6; y++)
            for (int x = 4; x < 7; x++)
                values[(z * 8 + y) * 8 + x] = (float)(z + y * x);
    cr_assert_eq(ts_chain_parse(text, strlen(text), "test", folder, &life.chain, diag), TS_OK);
    cr_assert_eq(ts_chain_set_array(life.chain, "volume", &in, NULL, diag), TS_OK);
    cr_assert_eq(ts_chain_search(life.chain, NULL, diag), TS_OK);
    cr_assert_eq(ts_plan_create(life.chain, NULL, &life.plan, diag), TS_OK);
    cr_assert_eq(ts_run_create(life.plan, &life.run, diag), TS_OK);
    cr_assert_eq(ts_run_set_array(life.run, "data", &out, diag), TS_OK);
    execute(&life);
    for (int i = 0; i < 2 * 4 * 3; i++)
        cr_assert_eq(cut[i], values[((1 + i / 12) * 8 + 2 + i / 3 % 4) * 8 + 4 + i % 3]);
    end_life(&life);
}
