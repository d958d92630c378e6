/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of runs: one that is executed again takes none, device memory is the caller's where the
 * caller has an allocator, all of it goes back, and slabs are handed over where they are.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "cuda/device/session.h"
#include "include/tomostage_array.h"
#include "tests/support/allocations.h"
#include "tests/support/folders.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

enum { NZ = 6, N = 160, PIXELS = NZ * N * N };

static struct ts_diag *diag;

static void begin(void)
{
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
}

TestSuite(run_memory, .init = begin, .fini = end);

static void expect_ok(enum ts_status status, const char *what)
{
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK, "%s", what);
}

/* Images with all kinds of memory: halos, kept images, reductions on either side, transforms. */
static const char *const chains[] = {
    "memory volume | box radius=2 dimensions=3d border=mirror | gaussian sigma=1",
    "memory volume | box radius=1 | equalize bins=16 | statistics",
    "memory volume | median radius=1 | radon views=9 | filter",
    "memory volume | radon views=9 | fbp filter=hann",
    "memory volume | clahe | histogram bins=32",
};
enum { CHAINS = sizeof chains / sizeof *chains };

static void fill(float *values, uint64_t seed)
{
    for (int i = 0; i < PIXELS; i++)
        values[i] = (float)ts_random_unit(&seed);
}

/* ---- the caller's allocator ------------------------------------------------------------------ */

/* Hands out parts of one block, in rising order until all are back. */
struct block {
    struct ts_allocator calls;
    unsigned char *at;
    size_t used, bytes; /* bytes: of what is not back */
    size_t most;        /* of them at once */
    int n, n_live, fail_at, wrong;
};
enum { BLOCK_BYTES = 1 << 29 };

static void *allocate(void *user, size_t bytes, int32_t device, void *stream)
{
    struct block *block = user;
    if (++block->n == block->fail_at)
        return NULL;
    block->wrong += bytes == 0 || !stream || !ts_test_device || device != ts_test_device->index ||
                    block->used + bytes > BLOCK_BYTES;
    void *at = block->at + block->used;
    block->used += (bytes + 255) / 256 * 256;
    block->bytes += bytes;
    block->most = block->bytes > block->most ? block->bytes : block->most;
    block->n_live++;
    return at;
}

static void give_back(void *user, void *at, size_t bytes, int32_t device, void *stream)
{
    struct block *block = user;
    const unsigned char *here = at;
    block->wrong += here < block->at || here + bytes > block->at + BLOCK_BYTES || !stream ||
                    device != ts_test_device->index || block->n_live == 0;
    block->bytes -= bytes;
    if (--block->n_live == 0)
        block->used = 0;
}

/* On the CPU the block is never asked. */
static void begin_block(struct block *block, struct cuda_session *session)
{
    *block = (struct block){.calls = {sizeof block->calls, allocate, give_back, block}};
#ifdef TS_HAVE_CUDA
    if (session)
        block->at = ts_cuda_allocate(session, BLOCK_BYTES);
    cr_assert(!session || block->at);
#endif
    (void)session;
}

static struct cuda_session *begin_session(void)
{
    struct cuda_session *session = NULL;
#ifdef TS_HAVE_CUDA
    if (ts_test_device)
        expect_ok(ts_cuda_session_create(ts_test_device, 0, diag, &session), "a session");
#endif
    return session;
}

static void end_session(struct cuda_session *session)
{
#ifdef TS_HAVE_CUDA
    ts_cuda_session_destroy(session);
#endif
    (void)session;
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct trial {
    struct ts_chain *chain;
    struct ts_plan *plan;
    struct ts_run *run;
    struct ts_image made;
};

static struct ts_array array_like(const struct ts_image *image, void *data)
{
    struct ts_array array = {.size = sizeof array,
                             .data = data,
                             .dtype = image->dtype,
                             .rank = image->rank,
                             .cuda_device = -1};
    for (int d = 0; d < image->rank; d++)
        array.n[d] = image->axes[d].n;
    return array;
}

static enum ts_status try_plan(const char *text, const struct ts_array *in,
                               const struct ts_options *given, struct trial *trial)
{
    struct ts_options options = *given;
    options.device = ts_test_device ? "cuda" : "cpu";
    options.threads = 2;
    options.force = true;
    *trial = (struct trial){.chain = NULL};
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &trial->chain, diag);
    if (status == TS_OK)
        status = ts_chain_set_array(trial->chain, "volume", in, NULL, diag);
    if (status == TS_OK)
        status = ts_plan_create(trial->chain, &options, &trial->plan, diag);
    if (status == TS_OK)
        status = ts_run_create(trial->plan, &trial->run, diag);
    return status == TS_OK ? ts_plan_describe(trial->plan, "data", &trial->made, diag) : status;
}

static void finish(struct trial *trial)
{
    ts_run_destroy(trial->run);
    ts_plan_destroy(trial->plan);
    ts_chain_destroy(trial->chain);
}

static struct ts_array host_volume(float *values)
{
    const struct ts_image volume = {
        .rank = 3, .dtype = TS_F32, .axes = {{.n = NZ}, {.n = N}, {.n = N}}};
    return array_like(&volume, values);
}

/* Plans a run from one array of the host to another, which is allocated. */
static struct trial begin_trial(const char *text, float *values, const struct ts_options *options,
                                void **result)
{
    struct trial trial;
    const struct ts_array in = host_volume(values);
    expect_ok(try_plan(text, &in, options, &trial), text);
    *result = malloc(ts_image_bytes(&trial.made));
    const struct ts_array out = array_like(&trial.made, *result);
    expect_ok(ts_run_set_array(trial.run, "data", &out, diag), text);
    return trial;
}

/* The values change from one execution to the next and back. */
static void check_again(const char *text, struct block *block)
{
    static float values[PIXELS];
    const struct ts_options options = {.allocator = &block->calls};
    void *result;
    fill(values, 1);
    struct trial trial = begin_trial(text, values, &options, &result);
    const size_t bytes = ts_image_bytes(&trial.made);
    void *first = malloc(bytes);
    const int64_t before = ts_allocations_large();
    expect_ok(ts_run_execute(trial.run, diag), text);
    cr_assert_gt(ts_allocations_large(), before, "%s: none is large", text);
    memcpy(first, result, bytes);
    const int n = block->n;
    for (int again = 0; again < 4; again++) {
        fill(values, (again + 1) % 2 + 1);
        const int64_t large = ts_allocations_large();
        expect_ok(ts_run_execute(trial.run, diag), text);
        if (!ts_test_device) /* CUDA and cuFFT allocate what they like */
            cr_expect_eq(ts_allocations_large(), large, "%s: %lld large allocations", text,
                         (long long)(ts_allocations_large() - large));
        cr_expect_eq(block->n, n, "%s: memory of the device", text);
        cr_expect_eq(memcmp(first, result, bytes) == 0, again % 2 == 1, "%s: %d", text, again);
    }
    finish(&trial);
    cr_assert_eq(block->n_live, 0, "%s", text);
    cr_assert_eq(block->wrong, 0, "%s", text);
    cr_assert_eq(block->n > 0, ts_test_device != NULL, "%s", text);
    free(first);
    free(result);
}

TEST_ON_BOTH(run_memory, a_second_execution_takes_none)
{
    struct cuda_session *session = begin_session();
    if (!ts_allocations_can_fail())
        ts_test_skip("the sanitizer has its own malloc");
    for (int i = 0; i < CHAINS; i++) {
        struct block block;
        begin_block(&block, session);
        check_again(chains[i], &block);
    }
    end_session(session);
}

/* An execution that was stopped, or that fails, leaves the run as it was. */
static enum ts_status fail(void *user, const struct ts_image *slab)
{
    (void)slab;
    return *(const bool *)user ? TS_RUN_FAILED : TS_OK;
}

TEST_ON_BOTH(run_memory, executions_that_fail_keep_nothing_from_the_next)
{
    static float values[PIXELS];
    struct block block;
    struct cuda_session *session = begin_session();
    begin_block(&block, session);
    const struct ts_options options = {.allocator = &block.calls};
    void *result;
    bool fails = true;
    fill(values, 3);
    struct trial trial = begin_trial(chains[0], values, &options, &result);
    ts_run_stop(trial.run);
    cr_assert_eq(ts_run_execute(trial.run, diag), TS_STOPPED);
    expect_ok(ts_run_execute(trial.run, diag), "after a stop");
    expect_ok(ts_run_set_take(trial.run, "data", fail, &fails, diag), "another taker");
    const int n = block.n;
    cr_assert_eq(ts_run_execute(trial.run, diag), TS_RUN_FAILED);
    fails = false;
    expect_ok(ts_run_execute(trial.run, diag), "after a failure");
    cr_assert_eq(block.n, n);
    finish(&trial);
    cr_assert_eq(block.n_live, 0);
    cr_assert_eq(block.wrong, 0);
    free(result);
    end_session(session);
}

/* ---- slabs where they are -------------------------------------------------------------------- */

#ifndef TS_HAVE_CUDA
static enum ts_status take_nothing(void *user, const struct ts_image *slab, void *stream)
{
    (void)user;
    (void)slab;
    (void)stream;
    return TS_OK;
}
#else
struct taken {
    struct cuda_session *session; /* the test's own */
    unsigned char *all, *waste;
    int64_t next;
    int n;
    enum ts_status answer;
};
enum { WASTE_BYTES = 1 << 28, WASTE_TURNS = 16 };

/* Enqueues a copy of the slab behind work that takes long. */
static enum ts_status take_there(void *user, const struct ts_image *slab, void *stream)
{
    struct taken *taken = user;
    enum ts_status status = slab->z_first == taken->next ? taken->answer : TS_RUN_FAILED;
    ts_cuda_lend(taken->session, stream, diag);
    for (int i = 0; status == TS_OK && i < WASTE_TURNS; i++)
        status = ts_cuda_fill(taken->session, CUDA_COMPUTE, taken->waste, i, WASTE_BYTES);
    if (status == TS_OK)
        status = ts_cuda_copy(taken->session, CUDA_COMPUTE, CUDA_ON_DEVICE,
                              taken->all + (size_t)slab->z_first * ts_slice_bytes(slab), slab->data,
                              ts_image_bytes(slab));
    ts_cuda_lend_end(taken->session);
    taken->next += slab->axes[0].n;
    taken->n++;
    return status;
}

static enum ts_status take_nothing(void *user, const struct ts_image *slab, void *stream)
{
    (void)user;
    return slab->data && stream ? TS_OK : TS_RUN_FAILED;
}

/* Compares the slabs of an image with the array that the same run fills on the host. */
static void check_taken(const char *text, const char *image, struct taken *taken)
{
    enum { TALL = 40 };
    static float values[TALL * N * N];
    const struct ts_image volume = {
        .rank = 3, .dtype = TS_F32, .axes = {{.n = TALL}, {.n = N}, {.n = N}}};
    const struct ts_array in = array_like(&volume, values);
    const struct ts_options options = {.gpu_memory_bytes = 4 << 20};
    struct trial trial;
    uint64_t seed = 5;
    for (int i = 0; i < TALL * N * N; i++)
        values[i] = (float)ts_random_unit(&seed);
    expect_ok(try_plan(text, &in, &options, &trial), text);
    expect_ok(ts_plan_describe(trial.plan, image, &trial.made, diag), text);
    const size_t bytes = ts_image_bytes(&trial.made);
    unsigned char *expected = malloc(bytes), *there = malloc(bytes);
    const struct ts_array out = array_like(&trial.made, expected);
    expect_ok(ts_run_set_array(trial.run, image, &out, diag), text);
    expect_ok(ts_run_execute(trial.run, diag), text);
    expect_ok(ts_run_set_take_device(trial.run, image, take_there, taken, diag), text);
    for (int again = 0; again < 2; again++) {
        taken->next = taken->n = 0;
        taken->answer = TS_OK;
        expect_ok(ts_run_execute(trial.run, diag), text);
        cr_assert_eq(taken->next, trial.made.axes[0].n, "%s", text);
        cr_assert_gt(taken->n, 3, "%s: one slab", text);
        expect_ok(
            ts_cuda_copy(taken->session, CUDA_COMPUTE, CUDA_TO_HOST, there, taken->all, bytes),
            text);
        expect_ok(ts_cuda_wait(taken->session, CUDA_COMPUTE), text);
        cr_assert(memcmp(there, expected, bytes) == 0, "%s: %s", text, image);
    }
    taken->next = 0;
    taken->answer = TS_STOPPED;
    cr_assert_eq(ts_run_execute(trial.run, diag), TS_STOPPED);
    finish(&trial);
    free(expected);
    free(there);
}

/* The second image is the input's, whose slabs are uploaded while earlier ones are computed. */
Test(run_memory, slabs_are_taken_on_the_device_on_cuda)
{
    ts_test_begin_cuda();
    struct cuda_session *session = begin_session();
    struct taken taken = {.session = session,
                          .all = ts_cuda_allocate(session, BLOCK_BYTES),
                          .waste = ts_cuda_allocate(session, WASTE_BYTES)};
    cr_assert(taken.all && taken.waste);
    check_taken("memory volume | box radius=1 | gaussian sigma=1", "data", &taken);
    check_taken("memory volume | save name=read | box radius=1", "read", &taken);
    end_session(session);
    ts_test_end_cuda();
}
#endif

Test(run_memory, slabs_on_a_device_need_one)
{
    static float values[PIXELS];
    struct trial trial;
    const struct ts_array in = host_volume(values);
    const struct ts_options options = TS_OPTIONS_DEFAULT;
    expect_ok(try_plan(chains[0], &in, &options, &trial), chains[0]);
    cr_assert_eq(ts_run_set_take_device(trial.run, "data", take_nothing, NULL, diag), TS_BAD_CHAIN);
    const struct ts_diag_record *record = ts_test_record(diag, "take-device");
    cr_assert(record && strstr(record->message, "the chain runs on cpu"));
    cr_assert_eq(ts_run_set_take_device(trial.run, "other", take_nothing, NULL, diag),
                 TS_BAD_CHAIN);
    cr_assert(ts_test_record(diag, "image-unknown"));
    finish(&trial);
}

#ifdef TS_HAVE_CUDA
/* ---- all device memory, and failures --------------------------------------------------------- */

/* Arrays of the device, whose images are in the caller's memory, then those of the host. */
Test(run_memory, arrays_of_the_device_take_the_callers_on_cuda)
{
    static float values[PIXELS];
    fill(values, 7);
    ts_test_begin_cuda();
    struct cuda_session *session = begin_session();
    struct block block;
    begin_block(&block, session);
    const struct ts_options options = {.allocator = &block.calls};
    for (int i = 0; i < CHAINS; i++) {
        struct trial trial;
        struct ts_array in = host_volume(ts_cuda_allocate(session, sizeof values));
        in.cuda_device = ts_test_device->index;
        expect_ok(
            ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_DEVICE, in.data, values, sizeof values),
            "a copy");
        expect_ok(ts_cuda_wait(session, CUDA_COMPUTE), "a copy");
        expect_ok(try_plan(chains[i], &in, &options, &trial), chains[i]);
        const size_t bytes = ts_image_bytes(&trial.made);
        void *expected = malloc(bytes), *result = malloc(bytes);
        struct ts_array here = array_like(&trial.made, expected), there = here;
        there.data = ts_cuda_allocate(session, bytes);
        there.cuda_device = in.cuda_device;
        expect_ok(ts_run_set_array(trial.run, "data", &there, diag), chains[i]);
        for (int again = 0; again < 3; again++) {
            const int n = block.n;
            if (again == 0) { /* none but the caller's */
                block.most = 0;
                ts_cuda_most_held();
            }
            const size_t before = ts_cuda_most_held();
            expect_ok(ts_run_execute(trial.run, diag), chains[i]);
            if (again == 0)
                cr_assert_eq(ts_cuda_most_held() - before, block.most, "%s", chains[i]);
            cr_assert(again == 0 || block.n == n, "%s: %d", chains[i], block.n - n);
        }
        expect_ok(ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, result, there.data, bytes),
                  "a copy");
        expect_ok(ts_cuda_wait(session, CUDA_COMPUTE), "a copy");
        expect_ok(ts_run_set_array(trial.run, "data", &here, diag), chains[i]);
        cr_assert_eq(block.n_live, 0, "%s: memory of the images before", chains[i]);
        expect_ok(ts_run_execute(trial.run, diag), chains[i]);
        cr_assert(memcmp(result, expected, bytes) == 0, "%s", chains[i]);
        finish(&trial);
        cr_assert_eq(block.n_live, 0);
        cr_assert_eq(block.wrong, 0);
        free(expected);
        free(result);
    }
    end_session(session);
    ts_test_end_cuda();
}

static void expect_refused(struct block *block, enum ts_status status, const char *what)
{
    const struct ts_diag_record *record = ts_test_record(diag, "cuda-memory");
    cr_assert_eq(status, TS_RUN_FAILED, "%s: call %d", what, block->fail_at);
    cr_assert(record && strstr(record->message, "by the program's own allocator"), "%s: call %d",
              what, block->fail_at);
    ts_diag_clear(diag);
}

/* Every call fails once; what was allocated before goes back, and the next run succeeds. */
Test(run_memory, an_allocator_may_have_none_on_cuda)
{
    static float values[PIXELS];
    fill(values, 8);
    ts_test_begin_cuda();
    struct cuda_session *session = begin_session();
    struct block block;
    begin_block(&block, session);
    const struct ts_options options = {.allocator = &block.calls};
    for (int i = 0; i < CHAINS; i++) {
        void *result;
        struct trial trial = begin_trial(chains[i], values, &options, &result);
        expect_ok(ts_run_execute(trial.run, diag), chains[i]);
        const int all = block.n;
        block.n = 0;
        finish(&trial);
        free(result);
        for (int at = 1; at <= all; at++) {
            trial = begin_trial(chains[i], values, &options, &result);
            block.n = 0;
            block.fail_at = at;
            expect_refused(&block, ts_run_execute(trial.run, diag), chains[i]);
            expect_ok(ts_run_execute(trial.run, diag), chains[i]);
            finish(&trial);
            cr_assert_eq(block.n_live, 0, "%s: call %d", chains[i], at);
            free(result);
        }
        block.n = block.fail_at = 0;
    }
    cr_assert_eq(block.wrong, 0);
    end_session(session);
    ts_test_end_cuda();
}

/* A plan that runs by itself keeps nothing. */
Test(run_memory, a_plan_gives_all_back_on_cuda)
{
    static float values[PIXELS];
    char folder[64], text[256];
    struct ts_options options = TS_OPTIONS_DEFAULT;
    const struct ts_array in = host_volume(values);
    fill(values, 9);
    ts_test_begin_cuda();
    struct cuda_session *session = begin_session();
    struct block block;
    struct trial trial;
    begin_block(&block, session);
    options.allocator = &block.calls;
    ts_test_folder(folder, sizeof folder);
    snprintf(text, sizeof text, "memory volume | box radius=1 | hdf5 %s/out.h5", folder);
    expect_ok(try_plan(text, &in, &options, &trial), text);
    for (int again = 0; again < 2; again++) {
        block.n = 0;
        expect_ok(ts_plan_run(trial.plan, diag), text);
        cr_assert_gt(block.n, 0);
        cr_assert_eq(block.n_live, 0);
    }
    cr_assert_eq(block.wrong, 0);
    finish(&trial);
    ts_test_remove_folder(folder);
    end_session(session);
    ts_test_end_cuda();
}
#endif
