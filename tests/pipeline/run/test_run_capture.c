/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in CUDA graphs: a graph of a chain, launched on other values in the same arrays, has the
 * bytes of a run, and chains that need the host are refused by the name of the stage.
 */
#include <criterion/criterion.h>

#ifdef TS_HAVE_CUDA
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "cuda/device/session.h"
#include "include/tomostage_array.h"
#include "pipeline/plan/plan.h"
#include "tests/support/chain_text.h"
#include "tests/support/graph.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

enum { NZ = 24, N = 40, PIXELS = NZ * N * N, MOST = 4 * PIXELS };

static struct ts_diag *diag;
static struct cuda_session *session;
static struct CUstream_st *stream;

static void begin(void)
{
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
}

TestSuite(run_capture, .init = begin, .fini = end);

static void expect_ok(enum ts_status status, const char *what)
{
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK, "%s", what);
}

static void begin_device(void)
{
    ts_test_begin_cuda();
    expect_ok(ts_cuda_session_create(ts_test_device, 0, diag, &session), "a session");
    stream = ts_test_stream_create();
    cr_assert(stream);
}

static void end_device(void)
{
    ts_test_stream_destroy(stream);
    ts_cuda_session_destroy(session);
    ts_test_end_cuda();
}

static void copy(void *to, const void *from, size_t bytes, enum cuda_direction direction)
{
    expect_ok(ts_cuda_copy(session, CUDA_COMPUTE, direction, to, from, bytes), "a copy");
    expect_ok(ts_cuda_wait(session, CUDA_COMPUTE), "a copy");
}

/* Writes other values to the input. */
static void fill(const struct ts_array *in, uint64_t seed)
{
    static float values[PIXELS];
    static uint16_t numbers[PIXELS];
    const bool floats = in->dtype == TS_F32;
    for (int i = 0; i < PIXELS; i++) {
        values[i] = (float)ts_random_unit(&seed);
        numbers[i] = (uint16_t)(values[i] * values[i] * 60000);
    }
    copy(in->data, floats ? (void *)values : numbers, floats ? sizeof values : sizeof numbers,
         CUDA_TO_DEVICE);
}

static struct ts_array array_of(const struct ts_image *image)
{
    struct ts_array array = {.size = sizeof array,
                             .data = ts_cuda_allocate(session, MOST * sizeof(float)),
                             .dtype = image->dtype,
                             .rank = image->rank,
                             .cuda_device = ts_test_device->index,
                             .cuda_stream = stream};
    cr_assert(array.data && ts_image_bytes(image) <= MOST * sizeof(float));
    for (int d = 0; d < image->rank; d++)
        array.n[d] = image->axes[d].n;
    return array;
}

struct trial {
    struct ts_chain *chain;
    struct ts_plan *plan;
    struct ts_run *run;
    struct ts_image made;
    struct ts_array in, out;
};

static struct trial begin_trial(const char *text, enum ts_dtype dtype,
                                const struct ts_options *given)
{
    const struct ts_image volume = {
        .rank = 3, .dtype = dtype, .axes = {{.n = NZ}, {.n = N}, {.n = N}}};
    struct ts_options options = *given;
    struct trial trial = {.in = array_of(&volume)};
    options.device = "cuda";
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &trial.chain, diag), text);
    expect_ok(ts_chain_set_array(trial.chain, "volume", &trial.in, NULL, diag), text);
    expect_ok(ts_plan_create(trial.chain, &options, &trial.plan, diag), text);
    expect_ok(ts_run_create(trial.plan, &trial.run, diag), text);
    expect_ok(ts_plan_describe(trial.plan, "data", &trial.made, diag), text);
    trial.out = array_of(&trial.made);
    expect_ok(ts_run_set_array(trial.run, "data", &trial.out, diag), text);
    return trial;
}

static void finish(struct trial *trial)
{
    ts_run_destroy(trial->run);
    ts_plan_destroy(trial->plan);
    ts_chain_destroy(trial->chain);
}

/* Poisons the output, has it computed by a graph or by a run, and compares it. */
static void expect_same(const struct trial *trial, struct CUgraphExec_st *graph,
                        const void *expected, const char *text)
{
    const size_t bytes = ts_image_bytes(&trial->made);
    void *made = malloc(bytes);
    expect_ok(ts_cuda_fill(session, CUDA_COMPUTE, trial->out.data, 0xFF, bytes), text);
    expect_ok(ts_cuda_wait(session, CUDA_COMPUTE), text);
    if (graph)
        cr_assert(ts_test_graph_launch(graph, stream), "%s", text);
    else
        expect_ok(ts_run_execute(trial->run, diag), text);
    copy(made, trial->out.data, bytes, CUDA_TO_HOST);
    cr_assert(memcmp(made, expected, bytes) == 0, "%s", text);
    free(made);
}

static void check_graph(const char *text, enum ts_dtype dtype, const struct ts_options *options)
{
    enum { SEEDS = 3 };
    struct trial trial = begin_trial(text, dtype, options);
    const size_t bytes = ts_image_bytes(&trial.made);
    void *expected[SEEDS];
    for (int i = 0; i < SEEDS; i++) {
        fill(&trial.in, (uint64_t)i + 1);
        expect_ok(ts_run_execute(trial.run, diag), text);
        expected[i] = malloc(bytes);
        copy(expected[i], trial.out.data, bytes, CUDA_TO_HOST);
        cr_assert(i == 0 || memcmp(expected[i], expected[0], bytes) != 0, "%s", text);
    }
    ts_test_graph_begin(stream);
    expect_ok(ts_run_execute(trial.run, diag), text);
    struct CUgraphExec_st *graph = ts_test_graph_end(stream);
    cr_assert(graph, "%s: the capture was broken", text);
    for (int i = 0; i < 2 * SEEDS; i++) {
        fill(&trial.in, (uint64_t)(i % SEEDS) + 1);
        expect_same(&trial, i == SEEDS ? NULL : graph, expected[i % SEEDS], text);
    }
    ts_test_graph_destroy(graph);
    finish(&trial);
    for (int i = 0; i < SEEDS; i++)
        free(expected[i]);
}

/* Stages of operators, of points, and equalize, whose table is made on the device; in one slab and,
 * with little memory, in several. */
Test(run_capture, a_graph_has_the_bytes_of_a_run_on_cuda)
{
    static const char *const texts[] = {
        "memory volume | box radius=2 dimensions=3d border=mirror | rescale range=[0,2]",
        "memory volume | gaussian sigma=1 dimensions=3d | convolve kernel=sharpen-4",
        "memory volume | radon views=9",
        "memory volume | radon views=9 | filter",
        "memory volume | radon views=9 | fbp filter=hann",
        "memory volume | median radius=1 | invert range=[0,1]",
        "memory volume | resample shape=[32,32] | box radius=1",
    };
    begin_device();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_graph(texts[i], TS_F32, &(struct ts_options){.threads = 2});
    check_graph("memory volume | box radius=1 | equalize", TS_U16,
                &(struct ts_options){.threads = 2});
    struct trial whole = begin_trial(texts[0], TS_F32, &(struct ts_options){.threads = 2});
    const struct ts_options little = {.gpu_memory_bytes = whole.plan->gpu_bytes / 3 * 2};
    finish(&whole);
    struct trial cut = begin_trial(texts[0], TS_F32, &little);
    cr_assert_lt(cut.plan->slab_slices, NZ);
    finish(&cut);
    check_graph(texts[0], TS_F32, &little);
    end_device();
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* A run that is refused enqueues nothing, and runs outside of a capture as before. */
static void expect_refused(struct trial *trial, const char *stage, const char *words)
{
    ts_diag_clear(diag);
    ts_test_graph_begin(stream);
    const enum ts_status status = ts_run_execute(trial->run, diag);
    struct CUgraphExec_st *graph = ts_test_graph_end(stream);
    const struct ts_diag_record *record = ts_test_record(diag, "run-capture");
    cr_assert(record, "%s: %s", words, ts_test_errors(diag));
    cr_assert_eq(status, TS_BAD_CHAIN, "%s", words);
    cr_assert(strstr(record->message, words), "%s", record->message);
    cr_assert(stage ? record->stage && strcmp(record->stage, stage) == 0 : !record->stage, "%s",
              words);
    cr_assert(graph, "%s: the capture was broken", words);
    ts_test_graph_destroy(graph);
    ts_diag_clear(diag);
}

Test(run_capture, chains_that_need_the_host_are_refused_by_name_on_cuda)
{
    static const struct {
        const char *text, *stage, *words;
    } wrong[] = {
        {"memory volume | box radius=1 | statistics", "statistics", "leaves a table"},
        {"memory volume | histogram bins=8", "histogram", "leaves a table"},
        {"memory volume | equalize", "equalize", "needs the host"},
        {"memory volume | invert limits=data", "invert", "needs the host"},
        {"memory volume | box radius=1 | rescale", "rescale", "needs the host"},
    };
    begin_device();
    const struct ts_options options = TS_OPTIONS_DEFAULT;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct trial trial = begin_trial(wrong[i].text, TS_F32, &options);
        fill(&trial.in, 4);
        expect_ok(ts_run_execute(trial.run, diag), wrong[i].text);
        expect_refused(&trial, wrong[i].stage, wrong[i].words);
        expect_ok(ts_run_execute(trial.run, diag), wrong[i].text);
        finish(&trial);
    }
    /* a run that was not executed, an array of the host, and one with another stream */
    static float values[PIXELS];
    struct trial trial = begin_trial("memory volume | box radius=1", TS_F32, &options);
    fill(&trial.in, 5);
    expect_refused(&trial, NULL, "was not executed before");
    expect_ok(ts_run_execute(trial.run, diag), "box");
    struct ts_array other = trial.out;
    other.cuda_stream = ts_test_stream_create();
    expect_ok(ts_run_set_array(trial.run, "data", &other, diag), "another stream");
    expect_refused(&trial, NULL, "another one");
    ts_test_stream_destroy(other.cuda_stream);
    other.data = values;
    other.cuda_device = -1;
    other.cuda_stream = NULL;
    expect_ok(ts_run_set_array(trial.run, "data", &other, diag), "an array of the host");
    expect_refused(&trial, NULL, "host memory");
    expect_ok(ts_run_execute(trial.run, diag), "box");
    /* its kernels are still loaded if the image goes to the device again */
    expect_ok(ts_run_set_array(trial.run, "data", &trial.out, diag), "an array of the device");
    ts_test_graph_begin(stream);
    expect_ok(ts_run_execute(trial.run, diag), "box");
    struct CUgraphExec_st *graph = ts_test_graph_end(stream);
    cr_assert(graph);
    ts_test_graph_destroy(graph);
    finish(&trial);
    end_device();
}
#endif
